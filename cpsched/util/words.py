"""Text for people: escaped text from outside, and numbers, times and amounts as words."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What no file of text should hold: control characters but tab and newline, halves of surrogate
#: pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_FORMULA = re.compile(r"[=+\-@\t](?!\d+(?:\.\d+)?$)")

#: Resource types in words, one and several.
_NAMES = {"core": ("core", "cores"), "gpu": ("GPU", "GPUs"), "mic": ("MIC", "MICs")}
#: Units of time, in seconds.
_SPANS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
#: From here on seconds have no decimals, and up to here there are none.
_WHOLE_SECONDS, _NOTHING = 10, 1e-6
#: A ratio that says no more than this: the baseline's figure is next to nothing.
_HUGE = 1000


def escaped(text: str) -> str:
    r"""Return text on one line: what is not printable as ``\x1b``, ``\n`` or the like."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def brief(text: str, max_length: int = 80) -> str:
    """Return text from a log, such as a name, on one line of at most ``max_length`` characters."""
    shown = escaped(text) or "''"
    return shown if len(shown) <= max_length else shown[: max_length - 3] + "..."


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
    """
    Return a time span in one or two units: ``45 s``, ``3 min 20 s``, ``1 h 24 min``, ``2 d 3 h``.

    Below ten seconds with two digits (``0.25 s``). Two units never span more than neighbours, and
    the smaller one is left out where it is zero.
    """
    sign, time = "-" if time < 0 else "", abs(time)
    if time < _WHOLE_SECONDS:
        return f"{sign}{time:.2g} s" if time > _NOTHING else "0 s"
    for (size, unit), (smaller, named) in pairwise(_SPANS):
        # Rounded first: 3,599.6 s are an hour and not 59 min 60 s.
        parts = round(time / smaller)
        if parts * smaller >= size:
            count, rest = divmod(parts, size // smaller)
            return f"{sign}{count:,} {unit}" + (f" {rest} {named}" if rest else "")
    return f"{sign}{round(time)} s"


def ratio(value: float) -> str:
    """Return a ratio as a factor: ``×1.12``."""
    if value >= _HUGE:
        return f"over ×{_HUGE:,}"
    if 0 < value < 1 / 10:
        return f"×{value:.2g}"
    return f"×{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def percent(share: float, decimals: int = 0) -> str:
    """Return a share in percent: ``6 %``."""
    return f"{100 * share:.{decimals}f} %"


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
    """Return the name of a predictor's runtime estimates."""
    return {"requested": "requested time", "actual": "actual runtime"}.get(predictor, predictor)


def amount(kind: str, number: int) -> str:
    """Return an amount of a resource: ``16 cores``, ``1 GPU``, ``4 GB memory`` (given in KB)."""
    if kind == "mem":
        return f"{memory(number)} memory"
    return f"{number:,} {_NAMES.get(kind, (kind, kind))[number != 1]}"


def memory(number: int) -> str:
    """Return an amount of memory, given in KB: ``187.5 GB``."""
    for power, unit in ((3, "TB"), (2, "GB"), (1, "MB")):
        if number >= 1024**power:
            # Five digits: amounts that differ should not look the same.
            return f"{number / 1024**power:,.5g} {unit}"
    return f"{number:,} KB"


def amounts(asked: Mapping[str, int]) -> str:
    """Return amounts of several resources."""
    return " + ".join(amount(kind, number) for kind, number in asked.items()) or "nothing"


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()
