"""Arrivals of benchmark workloads: some jobs at once, the others with Gaussian gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.model.types import IntArray


def gaussian_arrivals(
    rng: np.random.Generator, count: int, *, initial: int, gap: float, deviation: float
) -> IntArray:
    """
    Return when jobs arrive, whole seconds, in order.

    Parameters
    ----------
    count
        Number of jobs.
    initial
        So many of them arrive at second 0.
    gap, deviation
        Mean and standard deviation of the gaps after that, in seconds. A gap below 0 counts as 0,
        so where the deviation is large beside the mean, jobs arrive slower than it says.

    Returns
    -------
    ndarray
        Non-decreasing, shape ``(count,)``. Gaps are added up before they are rounded.
    """
    gaps = np.maximum(rng.normal(gap, deviation, count), 0.0)
    gaps[: min(initial, count)] = 0.0
    return np.asarray(np.rint(np.cumsum(gaps)), dtype=np.int64)
