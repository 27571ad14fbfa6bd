"""
Forecasts corrected by how far earlier ones were off.

Scenarios cover the spread of runtimes but not everything else that can change, so their intervals
are too narrow. The remedy is conformal: the quantiles move by the correction that was right for the
jobs that have started since (Romano, Patterson and Candes 2019, *Conformalized quantile
regression*), and the share of these that must be inside adapts to how often the corrected intervals
were missed (Gibbs and Candes 2021, *Adaptive conformal inference under distribution shift*), each
tail by itself. A job that waits beyond its interval counts as a miss long before it starts, so a
sudden growth of waits is noticed hours earlier.

What is corrected lies between the scenarios and the plan by requested times, which err differently:
each quantile is an average over several such places, where those that would have been right for the
earlier forecasts weigh most.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.forecast.start_forecast import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.forecast.start_forecast import StartForecast
    from cpsched.util.types import FloatArray, IntArray

#: The corrected quantiles; the scenarios between them move with them.
LEVELS = (0.1, 0.5, 0.9)
#: The last forecasts that are compared with the outcome, at most; with fewer than the least number,
#: quantiles move by what was about right on three logs.
_REMEMBERED, _LEAST = 150, 20
_AT_FIRST = (0.0, 0.0, 0.05)
#: How far from the scenarios to the plan; the weight of each falls with this power of the loss.
_TO_PLAN, _POWER = np.linspace(0, 1, 5), 2
#: How fast the tails adapt at each job start; from the range that Gibbs and Candes try.
_RATE = 0.03
#: The outcomes of jobs that start soon are known first. While a queue grows, they are most of what
#: is known, and rarely late. So the share that may be late never grows beyond this; and neither
#: share falls below the least, since the largest error of all would then widen every interval.
_MOST_LATE, _LEAST_OUTSIDE = 0.15, 0.03
#: Waits are compared by logarithms, those shorter than this by seconds: what moves a short wait by
#: a large factor says nothing of long ones.
_SHORT = 1800.0
_FARTHEST = 366 * 86400.0


class _Outcome(NamedTuple):
    """A forecast at :data:`LEVELS`, the plan, and the wait; logarithms."""

    quantiles: tuple[float, ...]
    planned: float
    wait: float


class Calibration:
    """
    Errors of past forecasts, and the correction of the next ones.

    It may be asked at any time; it covers the jobs passed to :meth:`note` and :meth:`still_wait`.
    The second of a forecast and the job's handle identify it.
    """

    def __init__(self) -> None:
        #: The last ones, by second and job.
        self._known: dict[tuple[int, int], _Outcome] = {}
        #: Forecasts of jobs that should have started and are still waiting.
        self._overdue: set[tuple[int, int]] = set()
        #: The share of starts that may be before, and after, the corrected quantiles.
        self._early = LEVELS[0]
        self._late = 1 - LEVELS[-1]

    def __len__(self) -> int:
        """Return the number of forecasts it is based on."""
        return len(self._known)

    def corrected(self, starts: StartForecast) -> StartForecast:
        """Return a forecast with its scenarios moved."""
        second = starts.second
        level = (np.arange(len(second)) + 0.5) / len(second)
        raw, planned = _logarithms(starts)
        moves = (self._corrected(raw, planned) - raw).T
        moved = np.array([np.interp(level, LEVELS, move) for move in moves]).T
        wait = np.exp(_logarithm(second - starts.now) + moved) - _SHORT
        moved = starts.now + np.round(np.maximum(wait, 0)).astype(np.int64)
        return replace(
            starts, scenario=np.maximum.accumulate(np.where(second == NEVER, NEVER, moved), axis=0)
        )

    def _corrected(self, raw: FloatArray, planned: FloatArray) -> FloatArray:
        """Return the logarithms of waits at :data:`LEVELS`, shape ``(3, n)``, corrected."""
        if len(self._known) < _LEAST:
            corrected: FloatArray = raw + np.array(_AT_FIRST)[:, None]
            return corrected
        outcomes = list(self._known.values())
        wait = np.array([outcome.wait for outcome in outcomes])
        before = _between(
            np.array([outcome.quantiles for outcome in outcomes]).T,
            np.array([outcome.planned for outcome in outcomes]),
        )
        now, shares = _between(raw, planned), (self._early, 0.5, 1 - self._late)
        corrected = np.empty_like(raw)
        for at, (level, share) in enumerate(zip(LEVELS, shares, strict=True)):
            move = np.quantile(wait - before[at], share, axis=1)[:, None]
            apart = np.exp(wait) - np.exp(before[at] + move)
            # The pinball loss, in seconds; one more, so that none is 0.
            loss = np.where(apart > 0, level * apart, (level - 1) * apart).mean(axis=1) + 1
            weight = (loss.min() / loss) ** _POWER
            corrected[at] = np.log(weight @ np.exp(now[at] + move) / weight.sum())
        return np.sort(corrected, axis=0)

    def note(self, raw: StartForecast, corrected: StartForecast, start: IntArray) -> None:
        """
        Learn from jobs that have started.

        Parameters
        ----------
        raw, corrected
            Their forecasts from the scenarios, and after correction.
        start
            The seconds at which they started, shape ``(n,)``.
        """
        self._learn(raw, corrected, start, np.arange(len(start)))
        self._overdue.difference_update(_keys(raw))

    def still_wait(self, raw: StartForecast, corrected: StartForecast, now: int) -> None:
        """
        Learn from jobs that are still waiting: those beyond their last quantile have missed it.

        Until :meth:`note` is told of its start, such a job counts as if it started now.

        Parameters
        ----------
        raw, corrected
            As :meth:`note`.
        now
            The second at which they are waiting.
        """
        keys = _keys(raw)
        late = np.flatnonzero(now > corrected.quantile(LEVELS[-1]))
        new = [at for at in late.tolist() if keys[at] not in self._overdue]
        self._learn(raw, corrected, np.full(len(keys), now), new)
        self._overdue.update(keys[at] for at in new)

    def _learn(
        self, raw: StartForecast, corrected: StartForecast, start: IntArray, which: Iterable[int]
    ) -> None:
        waits, (levels, planned) = _logarithm(start - raw.now), _logarithms(raw)
        first, last = corrected.quantile(LEVELS[0]), corrected.quantile(LEVELS[-1])
        keys = _keys(raw)
        for at in which:
            if len(self._known) >= _LEAST and keys[at] not in self._overdue:
                early = self._early + _RATE * (LEVELS[0] - (start[at] < first[at]))
                late = self._late + _RATE * (1 - LEVELS[-1] - (start[at] > last[at]))
                self._early = min(max(early, _LEAST_OUTSIDE), 0.5)
                self._late = min(max(late, _LEAST_OUTSIDE), _MOST_LATE)
            quantiles = tuple(levels[:, at].tolist())
            self._known[keys[at]] = _Outcome(quantiles, float(planned[at]), float(waits[at]))
            if len(self._known) > _REMEMBERED:
                del self._known[next(iter(self._known))]


def _keys(raw: StartForecast) -> list[tuple[int, int]]:
    """Return the key of each forecast."""
    return [(raw.now, handle) for handle in raw.handle.tolist()]


def _logarithms(starts: StartForecast) -> tuple[FloatArray, FloatArray]:
    """
    Return the logarithms of waits at :data:`LEVELS`, shape ``(3, n)``, and by the plan, ``(n,)``.

    A plan beyond the end of the scenarios, or none, is one like the scenarios: NaN.
    """
    quantiles = np.array([_logarithm(starts.quantile(level) - starts.now) for level in LEVELS])
    planned = _logarithm(starts.planned - starts.now)
    return quantiles, np.where(starts.planned == NEVER, np.nan, planned)


def _between(quantiles: FloatArray, planned: FloatArray) -> FloatArray:
    """Return the places between scenarios and plan, shape ``(3, places, n)``."""
    to_plan = np.where(np.isnan(planned), 0.0, planned - quantiles)
    points: FloatArray = quantiles[:, None] + _TO_PLAN[:, None] * to_plan[:, None]
    return points


def _logarithm(wait: IntArray) -> FloatArray:
    clipped: FloatArray = np.log(np.clip(wait, 0, _FARTHEST) + _SHORT)
    return clipped
