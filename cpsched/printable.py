"""Text from logs, files and names, made safe for terminals, pages and spreadsheets."""

from __future__ import annotations

import re
from typing import Any

#: What no file of text should hold: control characters but tab and newline, halves of surrogate
#: pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_FORMULA = re.compile(r"[=+\-@\t](?!\d+(?:\.\d+)?$)")


def escaped(text: str) -> str:
    r"""Return text on one line: what is not printable as ``\x1b``, ``\n`` or the like."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def visible(text: str) -> str:
    r"""Return text with control characters as ``\x1b`` or the like; line ends and tabs stay."""
    return _UNPRINTABLE.sub(lambda match: _escape(match[0]), text)


def cell(value: Any) -> Any:
    """
    Return a value as a cell of a CSV file that people open in a spreadsheet.

    Text is made visible, and gets an apostrophe in front where a spreadsheet would take it for a
    formula (``=1+1``); numbers stay as they are.
    """
    if not isinstance(value, str):
        return value
    return f"'{visible(value)}" if _FORMULA.match(value) else visible(value)


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Return a number with its noun: ``1 job``, ``2,000 jobs``."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()
