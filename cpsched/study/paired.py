"""
Differences and ratios of paired runs, with their confidence intervals; and how much a mean depends
on the weeks in the log.

Runs are paired by seed: the same jittered log under two dispatchers. Differences have the mean
plus and minus ``t(0.975, n - 1) * s / sqrt(n)``; ratios have that of their logarithms, so that
their mean is geometric.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.base.types import AnyArray, FloatArray, IntArray

#: Of all intervals here.
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """
    A mean and its 95 % confidence interval.

    Attributes
    ----------
    low, high
        None where there are too few values for an interval.
    number
        Of the pairs, or of the weeks.
    """

    mean: float
    low: float | None
    high: float | None
    number: int


def difference(values: Sequence[float], base: Sequence[float]) -> Estimate | None:
    """Return the mean of the paired differences; None where there is no pair."""
    if not len(values):
        return None
    return _with_interval(np.subtract(values, base, dtype=np.float64))


def ratio(values: Sequence[float], base: Sequence[float]) -> Estimate | None:
    """Return the geometric mean of the paired ratios; None where one is not above 0."""
    above, below = np.asarray(values, dtype=np.float64), np.asarray(base, dtype=np.float64)
    if not len(above) or (above <= 0).any() or (below <= 0).any():
        return None
    found = _with_interval(np.log(above / below))
    if found.low is None or found.high is None:
        return Estimate(float(np.exp(found.mean)), None, None, found.number)
    low, mean, high = np.exp([found.low, found.mean, found.high]).tolist()
    return Estimate(mean, low, high, found.number)


def _with_interval(values: FloatArray) -> Estimate:
    """Return the mean and Student's t interval; equal values have one of no width."""
    number, mean = len(values), float(values.mean())
    if number == 1:
        return Estimate(mean, None, None, number)
    # This is what scipy.stats.t.ppf calls; importing that takes longer than everything else here.
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    quantile = float(stdtrit(number - 1, (1 + LEVEL) / 2))
    # Equal values have no deviation; their mean may be off in its last digit.
    half = quantile * float(values.std(ddof=1)) / number**0.5 if np.ptp(values) else 0.0
    return Estimate(mean, mean - half, mean + half, number)


WEEK = 7 * 86400
#: Draws of the weeks, and the seed of their generator.
DRAWS = 4000
_SEED = 1
#: With fewer weeks there are too few different draws to say anything.
FEWEST = 8


@dataclass(frozen=True, slots=True, eq=False)
class WeekSums:
    """
    One value per job, added up by the week of the submit; W weeks.

    Attributes
    ----------
    total
        Sum of the values, each times its weight, float64, shape ``(W,)``.
    weight
        Sum of the weights, float64, shape ``(W,)``: how many jobs, where all weigh the same.
    """

    total: FloatArray
    weight: FloatArray

    @classmethod
    def of(
        cls, week: IntArray, values: AnyArray, num_weeks: int, weight: AnyArray | None = None
    ) -> WeekSums:
        """Add up values, shape ``(n,)``, by the number of their week; None: all weigh 1."""
        whole = np.ones(len(week)) if weight is None else weight.astype(np.float64)
        return cls(
            np.bincount(week, weights=values * whole, minlength=num_weeks).astype(np.float64),
            np.bincount(week, weights=whole, minlength=num_weeks).astype(np.float64),
        )

    @property
    def mean(self) -> float | None:
        """The weighted mean over all weeks; None if the total weight is 0."""
        weight = float(self.weight.sum())
        return float(self.total.sum()) / weight if weight else None

    def __add__(self, other: WeekSums) -> WeekSums:
        """Return the sums over two repetitions of a run."""
        # Jitter may move the last job over the end of its week.
        most = max(len(self.total), len(other.total))
        one, two = self.padded(most), other.padded(most)
        return WeekSums(one.total + two.total, one.weight + two.weight)

    def padded(self, weeks: int) -> WeekSums:
        """Return the sums with empty weeks appended."""
        more = (0, weeks - len(self.total))
        return WeekSums(np.pad(self.total, more), np.pad(self.weight, more))


def week_of(submit: IntArray) -> tuple[IntArray, int]:
    """Return the week of each submit, counted from the first one, and how many weeks there are."""
    if not len(submit):
        return submit, 0
    week = (submit - submit.min()) // WEEK
    return week, int(week.max()) + 1


def intervals(values: WeekSums, base: WeekSums) -> tuple[Estimate | None, Estimate | None]:
    """
    Return the difference and the ratio of two means, with their intervals.

    None if the log has fewer than eight weeks or a mean has no weight; no ratio either if a mean is
    0 in some draw. Weeks without jobs are drawn like all others; the few draws of only such weeks
    are left out.
    """
    # If jobs were left out or added, the last weeks may have none.
    weeks = max(len(values.total), len(base.total))
    values, base = values.padded(weeks), base.padded(weeks)
    mean, mean_base = values.mean, base.mean
    if weeks < FEWEST or mean is None or mean_base is None:
        return None, None
    drawn, based = _means(values), _means(base)
    usable = np.isfinite(drawn) & np.isfinite(based)
    drawn, based = drawn[usable], based[usable]
    difference = _estimate(mean - mean_base, drawn - based, weeks)
    if mean_base <= 0 or (based <= 0).any():
        return difference, None
    return difference, _estimate(mean / mean_base, drawn / based, weeks)


def _means(sums: WeekSums) -> FloatArray:
    """Return the mean in each draw, shape ``(DRAWS,)``; NaN where a draw has no job."""
    draws = _draws(len(sums.total))
    # Sums in a fixed order, whatever the number of threads: equal runs give equal tables.
    total = np.einsum("dw,w->d", draws, sums.total)
    weight = np.einsum("dw,w->d", draws, sums.weight)
    found = np.full(len(draws), np.nan)
    np.divide(total, weight, out=found, where=weight > 0)
    return found


@lru_cache(maxsize=8)
def _draws(weeks: int) -> FloatArray:
    """Return how often each week is in each draw, shape ``(DRAWS, W)``."""
    rng = np.random.default_rng(_SEED)
    counts = rng.multinomial(weeks, np.full(weeks, 1 / weeks), size=DRAWS)
    return counts.astype(np.float64)


def _estimate(mean: float, draws: FloatArray, weeks: int) -> Estimate:
    tail = _tail(weeks)
    low, high = np.quantile(draws, [tail, 1 - tail]).tolist()
    return Estimate(mean, low, high, weeks)


def _tail(weeks: int) -> float:
    """Return the share of the draws below an interval: Phi(-sqrt(W / (W - 1)) t(0.975, W - 1))."""
    from scipy.special import ndtr, stdtrit

    quantile = float(stdtrit(weeks - 1, (1 + LEVEL) / 2))
    return float(ndtr(-quantile * (weeks / (weeks - 1)) ** 0.5))
