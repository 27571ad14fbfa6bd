"""
Ratios of paired runs: geometric means, confidence intervals, who is first.

Runs are paired by seed: the same jittered log under two dispatchers. The logarithm of a figure's
ratio is taken within each pair; its mean plus and minus ``t(0.975, n - 1) * s / sqrt(n)`` is the
95 % confidence interval of the logarithm of the geometric mean (Student's t: the logarithms are
taken as normal).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Ratio:
    """
    A geometric mean of n ratios, and its 95 % interval.

    Attributes
    ----------
    low, high
        None where one pair is all there is.
    """

    mean: float
    low: float | None
    high: float | None
    pairs: int

    @property
    def is_above(self) -> bool:
        """Whether it is significantly above 1."""
        return self.low is not None and self.low > 1

    def __str__(self) -> str:
        if self.low is None:
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} ({self.low:.3f}-{self.high:.3f})"


def ratio(values: Sequence[float], base: Sequence[float]) -> Ratio | None:
    """
    Return the geometric mean of paired ratios; None where a value is 0 or there is no pair.

    Equal ratios have an interval of no width.
    """
    above, below = np.asarray(values, dtype=np.float64), np.asarray(base, dtype=np.float64)
    if not len(above) or (above <= 0).any() or (below <= 0).any():
        return None
    logs = np.log(above / below)
    mean, num = float(logs.mean()), len(logs)
    if num == 1:
        return Ratio(float(np.exp(mean)), None, None, num)
    half = float(stats.t.ppf(0.975, num - 1) * logs.std(ddof=1) / np.sqrt(num))
    low, middle, high = np.exp([mean - half, mean, mean + half]).tolist()
    return Ratio(middle, low, high, num)


def places(values: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """
    Return ``first`` for the name with the lowest geometric mean, ``tied`` for those not behind.

    Not behind: the interval of the paired ratio to the first reaches down to 1. A single pair has
    no interval; then only who equals the first is not behind.
    """
    first = min(values, key=lambda name: float(np.log(values[name]).mean()))
    found = {first: "first"}
    for name, one in values.items():
        against = ratio(one, values[first])
        if name == first or against is None:
            continue
        if against.mean == 1 or (against.low is not None and not against.is_above):
            found[name] = "tied"
    return found
