"""
Scores of forecasts that are ensembles, and how sure a ratio of their means is.

Of n forecasts, each S values of equal probability; all in seconds, lower is better.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.util.types import FloatArray

#: An interval leaves out so much, half of it on each side.
ALPHA = 0.2
_RESAMPLES = 2000


def interval_score(low: FloatArray, high: FloatArray, value: FloatArray) -> FloatArray:
    """
    Return the interval score of central intervals of 80 %, shape ``(n,)``.

    ``(u - l) + 2 / alpha * (l - x) [x < l] + 2 / alpha * (x - u) [x > u]``, with ``alpha = 0.2``:
    what is outside costs ten times as much as width ([1]_, equation 43).

    References
    ----------
    .. [1] Gneiting and Raftery (2007). Strictly proper scoring rules, prediction, and estimation.
       Journal of the American Statistical Association 102.
    """
    outside = np.maximum(low - value, 0) + np.maximum(value - high, 0)
    score: FloatArray = high - low + 2 / ALPHA * outside
    return score


def crps(ensemble: FloatArray, value: FloatArray) -> FloatArray:
    """
    Return the continuous ranked probability score, shape ``(n,)``.

    ``E|X - x| - E|X - X'| / 2`` over the values of the ensemble, shape ``(n, S)``, with ``X`` and
    ``X'`` independent (equation 21 of Gneiting and Raftery 2007); for a point it is the absolute
    error.
    """
    ordered = np.sort(ensemble, axis=1)
    num = ordered.shape[1]
    # The sum over pairs: the i-th smallest is larger than i others and smaller than the rest.
    weight = 2 * np.arange(num) - num + 1
    spread = ordered @ weight / num**2
    score: FloatArray = np.abs(ordered - value[:, None]).mean(axis=1) - spread
    return score


def ratio_interval(ours: FloatArray, theirs: FloatArray, seed: int) -> tuple[float, float]:
    """
    Return a 95 % interval of the ratio of two mean scores of the same forecasts.

    Neighbouring forecasts are of the same queue and err together. So not single ones are drawn with
    replacement but blocks of ``sqrt(n)`` neighbours, which may run from the end to the beginning
    ([1]_).

    Parameters
    ----------
    ours, theirs
        In the order of time, shape ``(n,)``.

    References
    ----------
    .. [1] Politis and Romano (1992). A circular block-resampling procedure for stationary data.
       In: Exploring the limits of bootstrap.
    """
    num = len(ours)
    length = ceil(sqrt(num))
    rng = np.random.default_rng(seed)
    first = rng.integers(num, size=(_RESAMPLES, ceil(num / length)))
    drawn = (first[:, :, None] + np.arange(length)) % num
    rows = drawn.reshape(_RESAMPLES, -1)[:, :num]
    ratio = ours[rows].mean(axis=1) / np.maximum(theirs[rows].mean(axis=1), 1e-9)
    low, high = np.quantile(ratio, [0.025, 0.975])
    return float(low), float(high)
