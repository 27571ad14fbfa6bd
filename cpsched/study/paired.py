"""
Differences and ratios of paired runs, with their confidence intervals.

Runs are paired by seed: the same jittered log under two dispatchers. Differences have the mean
plus and minus ``t(0.975, n - 1) * s / sqrt(n)``; ratios have that of their logarithms, so that
their mean is geometric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.base.types import FloatArray

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
