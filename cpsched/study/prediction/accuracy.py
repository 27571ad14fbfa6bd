"""How far predictions are from the runtimes: pure functions of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.prediction import BOUND, HORIZONS, LEVELS

if TYPE_CHECKING:
    from cpsched.util.types import AnyArray, FloatArray, IntArray

#: An answer counts as close within this share of the runtime.
CLOSE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """
    Errors of predictions over some jobs; None where no job or no order gives a value.

    Attributes
    ----------
    jobs
        How many are scored.
    mean_error_s
        Mean absolute error, seconds.
    median_log_error
        Median of ``|ln(predicted / runtime)|``; what is below 1 second counts as 1.
    close
        Share of predictions within 20 % of the runtime.
    under
        Share of predictions below the runtime.
    rank
        Spearman's rank correlation of predictions and runtimes; ties have their mean rank.
    bound_exceeded
        Share of runtimes, cut at the requested time, above the predicted bound.
    bound_loss_s
        Mean pinball loss of the bound as the 0.9 quantile of these runtimes, seconds.
    """

    jobs: int = 0
    mean_error_s: float | None = None
    median_log_error: float | None = None
    close: float | None = None
    under: float | None = None
    rank: float | None = None
    bound_exceeded: float | None = None
    bound_loss_s: float | None = None


def accuracy(
    plan: IntArray, bound: IntArray, runtime: IntArray, requested_time: IntArray
) -> Accuracy:
    """
    Return the errors of predictions.

    Parameters
    ----------
    plan, bound
        Predicted runtimes, seconds, shape ``(n,)``; ``plan`` is the answer that is scored.
    runtime
        What the jobs ran, seconds; uncut, also beyond the requested time.
    requested_time
        Seconds, shape ``(n,)``.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    if not plan.shape == bound.shape == runtime.shape == requested_time.shape:
        raise ValueError("plan, bound, runtime and requested_time must have one shape")
    if not len(plan):
        return Accuracy()
    error = np.abs(plan - runtime)
    cut = np.minimum(runtime, requested_time)
    ratio = np.log(np.maximum(plan, 1)) - np.log(np.maximum(runtime, 1))
    return Accuracy(
        jobs=len(plan),
        mean_error_s=float(error.mean()),
        median_log_error=float(np.median(np.abs(ratio))),
        close=float((error <= CLOSE * runtime).mean()),
        under=float((plan < runtime).mean()),
        rank=rank_correlation(plan, runtime),
        bound_exceeded=float((cut > bound).mean()),
        bound_loss_s=pinball(bound, cut, BOUND),
    )


def pinball(quantile: IntArray, value: IntArray, share: float) -> float:
    """
    Mean pinball loss of predicted quantiles; the true ones have the smallest.

    ``share * (value - quantile)`` where the value is above, ``(1 - share) * (quantile - value)``
    where it is not (Koenker and Bassett 1978, Regression quantiles, eq. 3.1).
    """
    above = value - quantile
    return float(np.maximum(share * above, (share - 1) * above).mean())


def rank_correlation(first: AnyArray, second: AnyArray) -> float | None:
    """
    Spearman's rank correlation of two samples of shape ``(n,)``; None if one is constant.

    The product-moment correlation of the ranks, where equal values share the mean of theirs.
    """
    deviations = [rank - rank.mean() for rank in map(ranks, (first, second))]
    spread = float(np.sqrt((deviations[0] ** 2).sum() * (deviations[1] ** 2).sum()))
    return float((deviations[0] * deviations[1]).sum()) / spread if spread else None


def ranks(values: AnyArray) -> FloatArray:
    """Return the rank of each value, from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: FloatArray = (ends - (counts - 1) / 2)[inverse]
    return ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionScore:
    """
    How good distributions of runtimes were.

    Attributes
    ----------
    jobs
        How many are scored: those of which a distribution was predicted.
    crps
        Mean continuous ranked probability score of the logarithm of the runtime.
    coverage
        Share of runtimes within the 80 % interval, its ends included.
    below, above
        Shares of runtimes below and above it.
    """

    jobs: int
    crps: float
    coverage: float
    below: float
    above: float


def distribution_score(
    quantiles: IntArray,
    ends_within: FloatArray | None,
    runtime: IntArray,
    requested_time: IntArray,
) -> DistributionScore | None:
    """
    Score predicted distributions, see :func:`crps`; None where none is known.

    Parameters
    ----------
    quantiles, ends_within
        As in :class:`~cpsched.model.prediction.Prediction`; rows of -1 and NaN are left out.
    runtime
        Seconds, cut at the requested time.
    requested_time
        Seconds.
    """
    known = quantiles[:, 0] >= 0
    if not known.any():
        return None
    quantiles, runtime, requested = quantiles[known], runtime[known], requested_time[known]
    chances = None if ends_within is None else ends_within[known]
    below = float((runtime < quantiles[:, 0]).mean())
    above = float((runtime > quantiles[:, -1]).mean())
    return DistributionScore(
        jobs=len(runtime),
        crps=float(crps(quantiles, chances, runtime, requested).mean()),
        coverage=1.0 - below - above,
        below=below,
        above=above,
    )


def crps(
    quantiles: IntArray,
    ends_within: FloatArray | None,
    runtime: IntArray,
    requested_time: IntArray,
) -> FloatArray:
    """
    Continuous ranked probability score of the logarithm of each runtime; lower is better.

    The integral of ``(F(x) - [x >= y])^2`` over x (Matheson and Winkler 1976), where y is the
    natural logarithm of the runtime and F the distribution that the prediction stands for: it goes
    through the quantiles at their levels and the horizons at their chances, straight in between
    on the logarithmic axis, from 0 at one second to 1 at the requested time. Where several points
    are at one second, F jumps there. Integrated exactly, piece by piece.

    Parameters
    ----------
    quantiles, ends_within
        As in :class:`~cpsched.model.prediction.Prediction`, shapes ``(n, L)`` and ``(n, H)``.
    runtime
        Seconds, cut at the requested time; below 1 counts as 1.
    requested_time
        Seconds.
    """
    num = len(quantiles)
    top = np.log(np.maximum(requested_time, 1))[:, None]
    target = np.log(np.maximum(runtime, 1))[:, None]
    points = [np.zeros((num, 1)), np.log(np.maximum(quantiles, 1)), top]
    heights = [np.zeros((num, 1)), np.tile(LEVELS, (num, 1)), np.ones((num, 1))]
    if ends_within is not None:
        points.append(np.tile(np.log(HORIZONS), (num, 1)))
        # Where nothing is said of a chance the quantiles speak alone.
        heights.append(np.where(np.isnan(ends_within), 0.0, ends_within))
    point, height = np.concatenate(points, axis=1), np.concatenate(heights, axis=1)
    height = np.where(point >= top, np.where(point > top, 1.0, height), height)
    point = np.minimum(point, top)
    order = np.lexsort((height, point), axis=1)
    point = np.take_along_axis(point, order, axis=1)
    height = np.maximum.accumulate(np.take_along_axis(height, order, axis=1), axis=1)
    low, high, width = height[:, :-1], height[:, 1:], np.diff(point, axis=1)
    part = np.clip((target - point[:, :-1]) / np.where(width > 0, width, 1.0), 0.0, 1.0)
    middle = low + (high - low) * part
    score: FloatArray = (
        width * part * _mean_square(low, middle)
        + width * (1 - part) * _mean_square(1 - middle, 1 - high)
    ).sum(axis=1)
    return score


def _mean_square(first: FloatArray, last: FloatArray) -> FloatArray:
    """Return the mean of the squares of what goes straight from one value to another."""
    mean: FloatArray = (first * first + first * last + last * last) / 3
    return mean
