"""What people read: text from outside made safe, and numbers, times and amounts as words."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What no file of text should hold: control characters but tab and newline, halves of surrogate
#: pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_FORMULA = re.compile(r"[=+\-@\t](?!\d+(?:\.\d+)?$)")


def escaped(text: str) -> str:
    r"""Return text on one line: what is not printable as ``\x1b``, ``\n`` or the like."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def brief(text: str, most: int = 80) -> str:
    """Return text from a log, such as a name, on one line of at most ``most`` characters."""
    shown = escaped(text) or "''"
    return shown if len(shown) <= most else shown[: most - 3] + "..."


def quoted(text: str) -> str:
    """Return text from a log in quotation marks, on one line."""
    return f"'{brief(text, 58)}'" if text else "''"


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


def seconds(time: int) -> str:
    """Return a second or a number of them."""
    return f"{time:,} s"


def duration(time: float) -> str:
    """Return a time span in its largest fitting unit: ``30 s``, ``5 min``, ``2.5 h``, ``3 d``."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if abs(time) >= size:
            return f"{time / size:,.3g} {unit}"
    return f"{time:,.3g} s" if time else "0"


def clock(time: int, epoch: int | None) -> str:
    """Return a second, with its date (UTC) where the log has one."""
    if epoch is None:
        return seconds(time)
    try:
        date = datetime.fromtimestamp(epoch + time, UTC)
    except (OverflowError, ValueError, OSError):
        return seconds(time)
    return f"{seconds(time)} ({date:%Y-%m-%d %H:%M:%S})"


def estimate(predictor: str) -> str:
    """Return what a predictor's runtime estimates are called."""
    return {"requested": "requested time", "actual": "actual runtime"}.get(predictor, predictor)


def amount(kind: str, number: int) -> str:
    """Return an amount of a resource; memory, given in KB, in its largest fitting unit."""
    if kind != "mem":
        return f"{number:,} {kind}"
    for power, unit in ((3, "TB"), (2, "GB"), (1, "MB")):
        # What is not told exactly in it is told in a smaller one.
        if number >= 1024**power and number * 100 % 1024**power == 0:
            return f"{number / 1024**power:,.6g} {unit} {kind}"
    return f"{number:,} KB {kind}"


def amounts(asked: Mapping[str, int]) -> str:
    """Return amounts of several resources."""
    return " + ".join(amount(kind, number) for kind, number in asked.items()) or "nothing"


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()
