"""
Forecasts corrected by how far earlier ones were off.

Scenarios cover the spread of runtimes but not everything else that can change, so their intervals
are too narrow. The remedy is conformal: the quantiles move by the correction that was right for the
jobs that have started since (Romano, Patterson and Candes 2019, *Conformalized quantile
regression*), and the share of these that must be inside adapts to how often the corrected intervals
were missed (Gibbs and Candes 2021, *Adaptive conformal inference under distribution shift*), each
tail by itself. A job that waits beyond its interval counts as a miss long before it starts, so a
sudden growth of waits is noticed hours earlier.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.answer.starts import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.answer.starts import Starts
    from cpsched.base.types import FloatArray, IntArray

#: The corrected quantiles; the scenarios between them move with them.
LEVELS = (0.1, 0.5, 0.9)
#: The last forecasts that are compared with the outcome, at most; with fewer than the least number,
#: quantiles move by what was about right on eight logs.
_REMEMBERED, _LEAST = 150, 20
_AT_FIRST = (-0.3, 0.0, 0.3)
#: How fast the tails adapt at each job start; from the range that Gibbs and Candes try.
_RATE = 0.03
#: The outcomes of jobs that start soon are known first. While a queue grows, they are most of what
#: is known, and rarely late. So the share that may be late never grows beyond this.
_MOST_LATE = 0.15
#: Waits are compared by logarithms, those shorter than this by seconds.
_SHORT = 60.0
#: If even the largest error is too small a correction, this is added to the logarithm.
_BEYOND = 0.5
_FARTHEST = 366 * 86400.0


class _Error(NamedTuple):
    """Of one forecast: how far below and above the outer quantiles the wait was, and the median."""

    below: float
    median: float
    above: float


class Calibration:
    """
    Errors of past forecasts, and the correction of the next ones.

    It may be asked at any time; it covers the jobs passed to :meth:`note` and :meth:`still_wait`.
    The second of a forecast and the job's handle identify it.
    """

    def __init__(self) -> None:
        #: The last ones, by second and job.
        self._errors: dict[tuple[int, int], _Error] = {}
        #: Forecasts of jobs that should have started and are still waiting.
        self._overdue: set[tuple[int, int]] = set()
        #: The share of starts that may be before, and after, the corrected quantiles.
        self._early = LEVELS[0]
        self._late = 1 - LEVELS[-1]

    def __len__(self) -> int:
        """Return the number of forecasts it is based on."""
        return len(self._errors)

    def corrected(self, starts: Starts) -> Starts:
        """Return a forecast with its scenarios moved."""
        second = starts.second
        level = (np.arange(len(second)) + 0.5) / len(second)
        moves = np.interp(level, LEVELS, self._moves())
        wait = np.exp(_logarithm(second - starts.now) + moves[:, None]) - _SHORT
        moved = starts.now + np.round(np.maximum(wait, 0)).astype(np.int64)
        return replace(
            starts, scenario=np.maximum.accumulate(np.where(second == NEVER, NEVER, moved), axis=0)
        )

    def _moves(self) -> FloatArray:
        """Return the shifts of the logarithms of the waits at :data:`LEVELS`."""
        if len(self._errors) < _LEAST:
            return np.array(_AT_FIRST)
        below, median, above = np.array(list(self._errors.values())).T
        return np.array(
            [
                -_quantile(below, 1 - self._early),
                float(np.median(median)),
                _quantile(above, 1 - self._late),
            ]
        )

    def note(self, raw: Starts, told: Starts, start: IntArray) -> None:
        """
        Learn from jobs that have started.

        Parameters
        ----------
        raw, told
            Their forecasts from the scenarios, and after correction.
        start
            The seconds at which they started, shape ``(n,)``.
        """
        self._learn(raw, told, start, np.arange(len(start)))
        self._overdue.difference_update(_keys(raw))

    def still_wait(self, raw: Starts, told: Starts, now: int) -> None:
        """
        Learn from jobs that are still waiting: those beyond their last quantile have missed it.

        Until :meth:`note` is told of its start, such a job counts as if it started now.

        Parameters
        ----------
        raw, told
            As :meth:`note`.
        now
            The second at which they are waiting.
        """
        keys = _keys(raw)
        late = np.flatnonzero(now > told.quantile(LEVELS[-1]))
        new = [at for at in late.tolist() if keys[at] not in self._overdue]
        self._learn(raw, told, np.full(len(keys), now), new)
        self._overdue.update(keys[at] for at in new)

    def _learn(self, raw: Starts, told: Starts, start: IntArray, which: Iterable[int]) -> None:
        waits = _logarithm(start - raw.now)
        quantiles = [_logarithm(raw.quantile(level) - raw.now) for level in LEVELS]
        first, last = told.quantile(LEVELS[0]), told.quantile(LEVELS[-1])
        keys = _keys(raw)
        for at in which:
            wait = float(waits[at])
            low, middle, high = (float(quantile[at]) for quantile in quantiles)
            if len(self._errors) >= _LEAST and keys[at] not in self._overdue:
                self._early += _RATE * (LEVELS[0] - (start[at] < first[at]))
                late = self._late + _RATE * (1 - LEVELS[-1] - (start[at] > last[at]))
                self._late = min(late, _MOST_LATE)
            self._errors[keys[at]] = _Error(low - wait, wait - middle, wait - high)
            if len(self._errors) > _REMEMBERED:
                del self._errors[next(iter(self._errors))]


def _keys(raw: Starts) -> list[tuple[int, int]]:
    """Return the key of each forecast."""
    return [(raw.now, handle) for handle in raw.handle.tolist()]


def _logarithm(wait: IntArray) -> FloatArray:
    clipped: FloatArray = np.log(np.clip(wait, 0, _FARTHEST) + _SHORT)
    return clipped


def _quantile(errors: FloatArray, level: float) -> float:
    """
    Return the correction that was enough for this share; below 0 and above 1 mean more than all.
    """
    if level > 1:
        return float(errors.max()) + _BEYOND
    return float(np.quantile(errors, max(level, 0.0)))
