"""How many slots are free from when on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Profile:
    """
    The slots that are free over time, a step function.

    Parameters
    ----------
    now, idle
        From when on, and what is free then.
    releases
        Second and number of slots of all that is given back later.
    """

    def __init__(self, now: int, idle: int, releases: Iterable[tuple[int, int]]) -> None:
        #: From ``_times[i]`` on, ``_free[i]`` slots are free.
        self._times, self._free = [now], [idle]
        for second, slots in sorted(releases):
            if second <= self._times[-1]:
                self._free[-1] += slots
            else:
                self._times.append(second)
                self._free.append(self._free[-1] + slots)

    def least(self, start: int, seconds: int) -> int:
        """Return how many slots are free all the time in ``[start, start + seconds)``."""
        first = bisect_right(self._times, start) - 1
        return min(self._free[first : bisect_left(self._times, start + seconds, first + 1)])

    def earliest(self, slots: int, seconds: int) -> int | None:
        """Return from when on so many slots are free for so long; None: never."""
        start: int | None = None
        end = 0
        for second, number in zip(self._times, self._free, strict=True):
            if start is None:
                if number >= slots:
                    start, end = second, second + seconds
            elif second >= end:
                break
            elif number < slots:
                start = None
        return start

    def take(self, start: int, seconds: int, slots: int) -> None:
        """Take slots away in ``[start, start + seconds)``."""
        first, end = self._cut(start), self._cut(start + seconds)
        for position in range(first, end):
            self._free[position] -= slots

    def _cut(self, second: int) -> int:
        """Return the position that begins at a second, which may be a new one."""
        position = bisect_left(self._times, second)
        if position == len(self._times) or self._times[position] != second:
            self._times.insert(position, second)
            self._free.insert(position, self._free[position - 1])
        return position
