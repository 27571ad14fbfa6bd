"""What commands print: text from logs, files and names cannot steer the terminal."""

from __future__ import annotations

import typer

from cpsched.words import counted, escaped

__all__ = ["counted", "echo", "escaped"]


def echo(text: str) -> None:
    """Print text and a newline; what is not printable is escaped, but for line ends."""
    typer.echo(text if _is_plain(text) else "\n".join(map(escaped, text.split("\n"))))


def _is_plain(text: str) -> bool:
    return text.replace("\n", "").isprintable()
