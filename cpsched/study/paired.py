"""
Differences and ratios of paired runs, with their confidence intervals: over repetitions, and over
the days of a log.

Runs are paired by seed: the same jittered log under two dispatchers. Differences have the mean
plus and minus ``t(0.975, n - 1) * s / sqrt(n)``; ratios have that of their logarithms, so that
their mean is geometric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.util.types import AnyArray, FloatArray, IntArray

#: Of all intervals here.
LEVEL = 0.95
#: With fewer logs there is no interval over them.
FEWEST_LOGS = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """
    A mean and its 95 % confidence interval.

    Attributes
    ----------
    low, high
        None where there are too few values for an interval.
    number
        Of the pairs, or of the days.
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
    logarithm = _with_interval(np.log(above / below))
    if logarithm.low is None or logarithm.high is None:
        return Estimate(float(np.exp(logarithm.mean)), None, None, logarithm.number)
    low, mean, high = np.exp([logarithm.low, logarithm.mean, logarithm.high]).tolist()
    return Estimate(mean, low, high, logarithm.number)


def over_logs(ratios: Sequence[float | None]) -> Estimate | None:
    """
    Return the geometric mean of the ratios on each log; None if one is not known.

    Two logs have no interval: that they happen to be alike says nothing of others.
    """
    known = [value for value in ratios if value is not None]
    if len(known) < len(ratios):
        return None
    mean = ratio(known, [1.0] * len(known))
    if mean is not None and mean.number < FEWEST_LOGS:
        return replace(mean, low=None, high=None)
    return mean


def _with_interval(values: FloatArray) -> Estimate:
    """Return the mean and Student's t interval; equal values have one of no width."""
    number, mean = len(values), float(values.mean())
    if number == 1:
        return Estimate(mean, None, None, number)
    # Equal values have no deviation; their mean may be off in its last digit.
    spread = float(values.std(ddof=1)) if np.ptp(values) else 0.0
    half = _quantile(number - 1) * spread / number**0.5
    return Estimate(mean, mean - half, mean + half, number)


DAY = 86400
#: Whole days of a log that an interval needs.
FEWEST = 8


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """
    One value per job, added up by the day of the submit; D days.

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
        weights = None if weight is None else weight.astype(np.float64)
        weighed = values if weights is None else values * weights
        return cls(
            np.bincount(day, weights=weighed, minlength=num_days).astype(np.float64),
            np.bincount(day, weights=weights, minlength=num_days).astype(np.float64),
        )

    @property
    def mean(self) -> float | None:
        """The weighted mean over all jobs; None if the total weight is 0."""
        weight = float(self.weight.sum())
        return float(self.total.sum()) / weight if weight else None

    def __add__(self, other: Sums) -> Sums:
        """Return the sums over two repetitions of a run."""
        # Jitter may move the last job over the end of its day.
        days = max(len(self.total), len(other.total))
        own, theirs = self.padded(days), other.padded(days)
        return Sums(own.total + theirs.total, own.weight + theirs.weight)

    def added(self, mean: float) -> FloatArray:
        """Return the contribution of each day to the deviation of the mean, shape ``(D,)``."""
        deviation: FloatArray = (self.total - mean * self.weight) / self.weight.sum()
        return deviation

    def padded(self, days: int) -> Sums:
        """Return the sums with empty days appended."""
        more = (0, days - len(self.total))
        return Sums(np.pad(self.total, more), np.pad(self.weight, more))


def over_days(values: Sums, base: Sums) -> tuple[Estimate | None, Estimate | None]:
    """
    Return the difference and the ratio of two means, with their intervals over the days of a log.

    The one rule for what a single run says. What each day adds to a mean is projected on the first
    ``0.4 D^(2/3)`` cosines, and their mean square is the variance of the mean: days that depend on
    the days before widen the interval, as independent ones would not [1]_. The ratio's interval
    is that of its logarithm; the difference's is the ratio's times the baseline's mean, so that
    both say the same.

    None if the log has fewer than eight whole days, or jobs on fewer than eight days; no ratio
    either if a mean is not above 0.

    References
    ----------
    .. [1] Lazarus, Lewis, Stock and Watson (2018). HAR inference: recommendations for practice.
       Journal of Business & Economic Statistics 36 (4), the equal-weighted cosine estimator.
    """
    # If jobs were left out or added, the last days may have none.
    days = max(len(values.total), len(base.total))
    ours, theirs = values.padded(days), base.padded(days)
    mean, mean_base = ours.mean, theirs.mean
    # The last day is seldom whole.
    busy = int(np.count_nonzero((ours.weight > 0) & (theirs.weight > 0)))
    if min(days - 1, busy) < FEWEST or mean is None or mean_base is None:
        return None, None
    added, base_added, apart = ours.added(mean), theirs.added(mean_base), mean - mean_base
    if mean <= 0 or mean_base <= 0:
        half = _half_width(added - base_added)
        return Estimate(apart, apart - half, apart + half, days), None
    half = _half_width(added / mean - base_added / mean_base)
    low, middle, high = (mean / mean_base * np.exp([-half, 0.0, half])).tolist()
    ends = mean_base * (low - 1), mean_base * (high - 1)
    return Estimate(apart, *ends, days), Estimate(middle, low, high, days)


def _half_width(added: FloatArray) -> float:
    """Return half the width of the interval of a sum, of what each day adds to it."""
    days = len(added)
    number = max(2, round(0.4 * days ** (2 / 3)))
    at = (np.arange(days) + 0.5) / days
    waves = 2**0.5 * np.cos(np.pi * np.arange(1, number + 1)[:, None] * at)
    # Sums in a fixed order, whatever the number of threads: equal runs give equal tables.
    coefficients = np.einsum("wd,d->w", waves, added)
    return _quantile(number) * math.sqrt(float(np.square(coefficients).mean()))


def _quantile(freedom: int) -> float:
    # This is what scipy.stats.t.ppf calls; importing that takes longer than everything else here.
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
