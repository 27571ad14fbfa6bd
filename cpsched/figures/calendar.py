"""Marks for an axis of moments: hours, days or months, as many as there is room for."""

from __future__ import annotations

from datetime import UTC, datetime

_HOUR, _DAY = 3600, 86400
#: Spans between two marks, seconds; a month is made of whole months below.
_STEPS = (60, 300, 900, _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY)
_MONTHS = (1, 2, 3, 6, 12, 24, 60)
_MOST = 8


def marks(epoch: int | None, start: float, end: float) -> tuple[list[int], list[str]]:
    """
    Return where an axis from ``start`` to ``end`` (seconds) has marks, and their texts.

    Parameters
    ----------
    epoch
        Unix time of second 0; without it days are counted, from 1.
    """
    base = epoch or 0
    first, last = round(start) + base, round(end) + base
    span = max(last - first, 1)
    for step in _STEPS:
        if span / step <= _MOST:
            at = list(range(-(-first // step) * step, last + 1, step))
            return [one - base for one in at], [_text(one, step, epoch) for one in at]
    if epoch is None:
        step = _DAY * next(n for n in (14, 28, 70, 140, 365, 10**6) if span / _DAY / n <= _MOST)
        at = list(range(-(-first // step) * step, last + 1, step))
        return at, [f"day {1 + one // _DAY}" for one in at]
    return _by_month(base, first, last)


def _text(moment: int, step: int, epoch: int | None) -> str:
    if epoch is None:
        day, second = divmod(moment, _DAY)
        return f"{second // _HOUR:02}:{second % _HOUR // 60:02}" if second else f"day {1 + day}"
    date = datetime.fromtimestamp(moment, UTC)
    if step >= _DAY or not moment % _DAY:
        return f"{date.day} {date:%b}"
    return f"{date:%H:%M}"


def _by_month(base: int, first: int, last: int) -> tuple[list[int], list[str]]:
    months = (last - first) / (30 * _DAY)
    every = next((n for n in _MONTHS if months / n <= _MOST), 120)
    date = datetime.fromtimestamp(first, UTC)
    count = date.year * 12 + date.month - 1
    count += -count % every
    found: list[tuple[int, str]] = []
    while True:
        year, month = divmod(count, 12)
        moment = datetime(year, month + 1, 1, tzinfo=UTC)
        second = int(moment.timestamp())
        if second > last:
            break
        if second >= first:
            found.append((second - base, f"{moment:%b %Y}"))
        count += every
    return [at for at, _ in found], [text for _, text in found]
