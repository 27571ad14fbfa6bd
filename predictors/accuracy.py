"""How far predictions are from the runtimes: pure functions of arrays."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.api.model import AnyArray, FloatArray, IntArray

#: An answer counts as close within this share of the runtime.
CLOSE = 0.2
#: Share of the runtimes that a bound is to hold.
BOUND = 0.9


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

    jobs: int
    mean_error_s: float | None
    median_log_error: float | None
    close: float | None
    under: float | None
    rank: float | None
    bound_exceeded: float | None
    bound_loss_s: float | None

    def to_dict(self) -> dict[str, int | float | None]:
        """Return it as plain JSON types."""
        return asdict(self)


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
        return Accuracy(
            jobs=0, mean_error_s=None, median_log_error=None, close=None, under=None, rank=None,
            bound_exceeded=None, bound_loss_s=None,
        )  # fmt: skip
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
