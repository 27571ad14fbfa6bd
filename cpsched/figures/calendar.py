"""Tick marks for a time axis: hours, days or months, as many as there is room for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

_DAY = 86400
#: One of the next longer unit, by what dateutil calls months, hours, minutes and seconds.
_LONGEST_STEPS = {1: 12, 4: 24, 5: 60, 6: 60}
#: Of years, months, days, hours, minutes and seconds; and of the first of each.
_FORMATS = ["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%H:%M:%S"]
_FIRSTS = ["", "%Y", "%d %b", "%d %b", "%H:%M", "%H:%M"]


def marks(
    epoch: int | None, start: float, end: float, most: int = 8
) -> tuple[list[int], list[str]]:
    """
    Return where an axis from ``start`` to ``end`` (seconds) has marks, and their texts.

    Parameters
    ----------
    epoch
        Unix time of second 0; without it days are counted, from 1.
    most
        Marks there is room for.
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    base = epoch or 0
    first, last = start + base, max(end, start + 1) + base
    if epoch is None and last - first > 2 * _DAY:
        days = MaxNLocator(most, integer=True).tick_values(first / _DAY, last / _DAY)
        at = [round(day) * _DAY for day in days if first <= day * _DAY <= last]
        return at, [f"day {1 + moment // _DAY}" for moment in at]
    locator: Any = AutoDateLocator(tz=UTC, minticks=min(3, most), maxticks=most)  # type: ignore[no-untyped-call]
    # Where there is room for a few marks only, the locator's own steps are too short.
    for unit, longest in _LONGEST_STEPS.items():
        locator.intervald[unit] = [*locator.intervald[unit], longest]
    dates = locator.tick_values(*(datetime.fromtimestamp(one, UTC) for one in (first, last)))
    found = {round(date * _DAY): date for date in dates if first <= round(date * _DAY) <= last}
    # A few minutes may lie between two marks.
    found = found or {round(first): first / _DAY}
    at = [moment - base for moment in found]
    if epoch is None:
        texts = [
            f"{moment % _DAY // 3600:02}:{moment % 3600 // 60:02}"
            if moment % _DAY
            else f"day {1 + moment // _DAY}"
            for moment in at
        ]
        return at, texts
    named: Any = ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator, tz=UTC, formats=_FORMATS, zero_formats=_FIRSTS
    )
    return at, list(named.format_ticks(list(found.values())))
