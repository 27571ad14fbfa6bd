"""Seconds, amounts and hostile names as words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_NAME = 80


def safe(name: str) -> str:
    """Return a name from a log for a terminal: control characters escaped, cut where it is long."""
    shown = name if name.isprintable() and name else repr(name)
    return shown if len(shown) <= _LONGEST_NAME else shown[: _LONGEST_NAME - 3] + "..."


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
    """Return an amount of a resource; memory is in KB."""
    return f"{number:,} KB {kind}" if kind == "mem" else f"{number:,} {kind}"


def amounts(asked: Mapping[str, int]) -> str:
    """Return amounts of several resources."""
    return " + ".join(amount(kind, number) for kind, number in asked.items()) or "nothing"
