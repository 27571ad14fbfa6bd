"""
A bootstrap over the weeks of a log: how much a mean depends on the weeks in the log.

Weeks are drawn with replacement, as many as there are, and the mean is recomputed over the jobs
submitted in the drawn weeks. Jobs of a week belong together, because they queue behind each other;
jobs drawn one by one would make every interval too narrow. Two dispatchers are compared on the same
draws. Intervals are percentiles of the draws [1]_. With few weeks these are farther out than 2.5
and 97.5: draws of W weeks vary less than weeks do, and their tails are thinner than Student's [2]_.

References
----------
.. [1] Efron and Tibshirani (1993). An Introduction to the Bootstrap. Chapter 13. The blocks are
   those of Carlstein (1986), The use of subseries values for estimating the variance of a general
   statistic from a stationary sequence, Annals of Statistics 14(3).
.. [2] Hesterberg (2015). What teachers should know about the bootstrap. The American Statistician
   69(4), the expanded percentile interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cpsched.study.paired import LEVEL, Estimate

if TYPE_CHECKING:
    from cpsched.base.types import AnyArray, FloatArray, IntArray

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
    from scipy.special import ndtr, stdtrit  # type: ignore[import-untyped]

    quantile = float(stdtrit(weeks - 1, (1 + LEVEL) / 2))
    return float(ndtr(-quantile * (weeks / (weeks - 1)) ** 0.5))
