"""Arrivals with normally distributed gaps, for the generators that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.util.types import IntArray


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
        Number of jobs that arrive at second 0.
    gap, deviation
        Mean and standard deviation of the gaps after that, in seconds. A gap below 0 counts as 0,
        so if the deviation is large compared with the mean, jobs arrive more slowly than given.

    Returns
    -------
    ndarray
        Non-decreasing, shape ``(count,)``. Gaps are added up before they are rounded.
    """
    gaps = np.maximum(rng.normal(gap, deviation, count), 0.0)
    gaps[: min(initial, count)] = 0.0
    return np.asarray(np.rint(np.cumsum(gaps)), dtype=np.int64)
