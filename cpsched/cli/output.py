"""What commands print: text from logs, files and names cannot steer the terminal."""

from __future__ import annotations

import typer


def echo(text: str) -> None:
    """Print text and a newline; of what is no printable character only line ends stay."""
    typer.echo(text if _is_plain(text) else "\n".join(map(escaped, text.split("\n"))))


def escaped(text: str) -> str:
    r"""Return text on one line: what is not printable as ``\x1b``, ``\n`` or the like."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Return a number with its noun: ``1 job``, ``2,000 jobs``."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def _is_plain(text: str) -> bool:
    return text.replace("\n", "").isprintable()
