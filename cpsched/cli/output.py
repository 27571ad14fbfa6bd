"""What commands print: text from logs, files and names cannot steer the terminal."""

from __future__ import annotations

import json
from typing import Any

import typer

from cpsched.base.words import counted, escaped

__all__ = ["counted", "echo", "escaped", "print_json"]


def echo(text: str, *, err: bool = False) -> None:
    """
    Print text and a newline; unprintable characters except line ends are escaped.

    Parameters
    ----------
    err
        Whether it goes to stderr: what is said on the way, where stdout is for JSON alone.
    """
    typer.echo(text if _is_plain(text) else "\n".join(map(escaped, text.split("\n"))), err=err)


def print_json(kind: str, content: dict[str, Any]) -> None:
    """
    Print what a command found as one JSON object, for programs.

    Parameters
    ----------
    kind
        Determines the keys: ``schema`` is ``cpsched.KIND/1``; the number grows when a key changes
        its meaning or is removed. Units are part of the keys' names (``wait_s``).
    """
    typer.echo(json.dumps({"schema": f"cpsched.{kind}/1", **content}, indent=1))


def _is_plain(text: str) -> bool:
    return text.replace("\n", "").isprintable()
