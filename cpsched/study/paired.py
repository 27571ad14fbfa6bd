"""
Differences and ratios of paired runs, with their confidence intervals; and how much a mean depends
on the part of the log: on its weeks, or its days.

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
    block_days
        The length of a block; None: pairs.
    number
        Of the pairs, or of the blocks.
    """

    mean: float
    low: float | None
    high: float | None
    number: int
    block_days: int | None = None


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


DAY = 86400
WEEK = 7 * DAY
#: Draws of the blocks, and the seed of their generator.
DRAWS = 4000
_SEED = 1
#: With fewer blocks there are too few different draws to say anything.
FEWEST = 8
#: Days of a block; the first of which the log has enough.
_BLOCKS = (7, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """
    One value per job, added up by the day of the submit, or a block of days; D of them.

    Attributes
    ----------
    total
        Sum of the values, each times its weight, float64, shape ``(D,)``.
    weight
        Sum of the weights, float64, shape ``(D,)``: how many jobs, where all weigh the same.
    """

    total: FloatArray
    weight: FloatArray

    @classmethod
    def of(
        cls, day: IntArray, values: AnyArray, num_days: int, weight: AnyArray | None = None
    ) -> Sums:
        """Add up values, shape ``(n,)``, by the number of their day; None: all weigh 1."""
        whole = np.ones(len(day)) if weight is None else weight.astype(np.float64)
        return cls(
            np.bincount(day, weights=values * whole, minlength=num_days).astype(np.float64),
            np.bincount(day, weights=whole, minlength=num_days).astype(np.float64),
        )

    @property
    def mean(self) -> float | None:
        """The weighted mean over all jobs; None if the total weight is 0."""
        weight = float(self.weight.sum())
        return float(self.total.sum()) / weight if weight else None

    def __add__(self, other: Sums) -> Sums:
        """Return the sums over two repetitions of a run."""
        # Jitter may move the last job over the end of its day.
        most = max(len(self.total), len(other.total))
        one, two = self.padded(most), other.padded(most)
        return Sums(one.total + two.total, one.weight + two.weight)

    def padded(self, days: int) -> Sums:
        """Return the sums with empty days appended."""
        more = (0, days - len(self.total))
        return Sums(np.pad(self.total, more), np.pad(self.weight, more))

    def blocks(self, days: int) -> Sums:
        """Return the sums over blocks of so many days; the last may be shorter."""
        whole = self.padded(-(-len(self.total) // days) * days)
        return Sums(*(one.reshape(-1, days).sum(axis=1) for one in (whole.total, whole.weight)))


def day_of(submit: IntArray) -> tuple[IntArray, int]:
    """Return the day of each submit, counted from the first one, and how many days there are."""
    if not len(submit):
        return submit, 0
    day = (submit - submit.min()) // DAY
    return day, int(day.max()) + 1


def intervals(values: Sums, base: Sums) -> tuple[Estimate | None, Estimate | None]:
    """
    Return the difference and the ratio of two means, with their intervals over blocks of the log.

    The one rule for what a single run says: blocks are weeks if the log has eight whole ones, else
    days if it has eight whole ones. None if it has not; else as :func:`over_blocks`.
    """
    # If jobs were left out or added, the last days may have none.
    days = max(len(values.total), len(base.total))
    for length in _BLOCKS:
        if days - 1 >= FEWEST * length:
            ours, theirs = (one.padded(days).blocks(length) for one in (values, base))
            return over_blocks(ours, theirs, length)
    return None, None


def over_blocks(
    values: Sums, base: Sums, block_days: int | None = None
) -> tuple[Estimate | None, Estimate | None]:
    """
    Return the difference and the ratio of two means, with their intervals over equal blocks.

    None if a mean has no weight; no ratio either if a mean is 0 in some draw. Blocks without jobs
    are drawn like all others; the few draws of only such blocks are left out.
    """
    mean, mean_base = values.mean, base.mean
    if mean is None or mean_base is None:
        return None, None
    drawn, based = _means(values), _means(base)
    usable = np.isfinite(drawn) & np.isfinite(based)
    drawn, based = drawn[usable], based[usable]
    of = (len(values.total), block_days)
    difference = _estimate(mean - mean_base, drawn - based, *of)
    if mean_base <= 0 or (based <= 0).any():
        return difference, None
    return difference, _estimate(mean / mean_base, drawn / based, *of)


def _means(sums: Sums) -> FloatArray:
    """Return the mean in each draw, shape ``(DRAWS,)``; NaN where a draw has no job."""
    draws = _draws(len(sums.total))
    # Sums in a fixed order, whatever the number of threads: equal runs give equal tables.
    total = np.einsum("db,b->d", draws, sums.total)
    weight = np.einsum("db,b->d", draws, sums.weight)
    found = np.full(len(draws), np.nan)
    np.divide(total, weight, out=found, where=weight > 0)
    return found


@lru_cache(maxsize=8)
def _draws(blocks: int) -> FloatArray:
    """Return how often each block is in each draw, shape ``(DRAWS, B)``."""
    rng = np.random.default_rng(_SEED)
    counts = rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=DRAWS)
    return counts.astype(np.float64)


def _estimate(mean: float, draws: FloatArray, blocks: int, days: int | None) -> Estimate:
    tail = _tail(blocks)
    low, high = np.quantile(draws, [tail, 1 - tail]).tolist()
    return Estimate(mean, low, high, blocks, days)


def _tail(blocks: int) -> float:
    """Return the share of the draws below an interval: Phi(-sqrt(B / (B - 1)) t(0.975, B - 1))."""
    from scipy.special import ndtr, stdtrit

    quantile = float(stdtrit(blocks - 1, (1 + LEVEL) / 2))
    return float(ndtr(-quantile * (blocks / (blocks - 1)) ** 0.5))
