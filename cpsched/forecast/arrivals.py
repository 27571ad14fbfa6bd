"""Future arrivals: whole days of the past, each job at the same time of day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.base.types import IntArray

_HOUR, _DAY = 3600, 86400


class PastDays:
    """
    Past days that are repeated as future arrivals.

    A day begins at the time of day it is now. Where less than a day is known, what is known comes
    again at once; where it is less than an hour, once an hour: the first seconds of a log say
    nothing of the rate at which jobs come.

    Parameters
    ----------
    submit
        Of the jobs submitted so far, shape ``(K,)``, non-decreasing.
    now
        The second.
    days
        How many days back to draw from.
    """

    def __init__(self, submit: IntArray, now: int, days: int) -> None:
        self._submit, self._now = submit, now
        known = now - int(submit[0]) if len(submit) else 0
        self._num_days = min(max(known // _DAY, 1), days)
        self._day = _DAY if known >= _DAY else max(known, _HOUR)

    def draw(self, until: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """
        Draw arrivals up to a second: handles of the repeated jobs, and their submits.

        Returns
        -------
        like, submit
            Shape ``(m,)``; in submit order.
        """
        like, submit = [], []
        for ahead in range(0, until - self._now, self._day):
            back = int(rng.integers(1, self._num_days + 1)) * self._day
            begin = self._now - back
            first, end = np.searchsorted(self._submit, [begin, begin + self._day], side="right")
            like.append(np.arange(first, end))
            submit.append(self._submit[first:end] + back + ahead)
        nothing = np.zeros(0, dtype=np.int64)
        jobs, seconds = np.concatenate([nothing, *like]), np.concatenate([nothing, *submit])
        keep = seconds <= until
        return jobs[keep], seconds[keep]
