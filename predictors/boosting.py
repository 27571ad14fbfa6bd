"""Growing boosted trees with scikit-learn; a :class:`~predictors.forest.Forest` comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from predictors.forest import Forest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.api.model import AnyArray, BoolArray, FloatArray, IntArray
    from predictors.shared_bins import SharedBins


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """
    How trees are grown.

    Attributes
    ----------
    trees, leaves, rate, min_leaf
        Their number, the leaves and the jobs of a leaf at least, and the learning rate.
    share
        Of the features that are looked at: drawn for each split. A half is as accurate as all of
        them, and takes half of the time.
    bins
        Values a feature is rounded to while trees grow; a quarter of the library's default is as
        accurate.
    seed
        Of the random numbers that draw features.
    """

    trees: int = 100
    leaves: int = 15
    rate: float = 0.08
    min_leaf: int = 20
    share: float = 0.5
    bins: int = 63
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """
    What a forest is to learn.

    Attributes
    ----------
    target
        float64, shape ``(n,)``.
    quantile
        Of the target; 0.5 is the median, that is least absolute error. None: its mean.
    taught_by
        Which rows to learn from, booleans of shape ``(n,)``, not all False; None: all.
    chance
        Whether the target is 0 or 1, and the logarithm of the odds of 1 is learnt (log loss).
    """

    target: FloatArray
    quantile: float | None = 0.5
    taught_by: BoolArray | None = None
    chance: bool = False


def grow(rows: AnyArray, tasks: Sequence[Task], growth: Growth) -> list[Forest]:
    """
    Grow a forest for each task, on one core; equal input gives equal forests.

    Parameters
    ----------
    rows
        Features, float32, shape ``(n, F)``, without missing values.
    """
    from predictors.shared_bins import SharedBins

    bins = SharedBins(rows)
    return [_certain(task) or _grown(bins, task, growth) for task in tasks]


def _certain(task: Task) -> Forest | None:
    """Return a forest that says what all rows say, where a chance is to be learnt from such."""
    if not task.chance:
        return None
    target = task.target if task.taught_by is None else task.target[task.taught_by]
    if target.min() != target.max():
        return None
    # As if one more row said the other.
    odds = float(np.log((target.sum() + 0.5) / (len(target) - target.sum() + 0.5)))
    leaf = {"feature": -1, "threshold": 0.0, "left": 0, "right": 0, "value": 0.0}
    return Forest.join(odds, [{name: np.array([value]) for name, value in leaf.items()}])


def _grown(bins: SharedBins, task: Task, growth: Growth) -> Forest:
    from threadpoolctl import threadpool_limits

    from predictors.shared_bins import BinnedBooster, BinnedClassifier

    if task.chance:
        make: Any = BinnedClassifier
    else:
        losses = {None: "squared_error", 0.5: "absolute_error"}
        loss = losses.get(task.quantile, "quantile")
        quantile = task.quantile if loss == "quantile" else None
        make = partial(BinnedBooster, loss=loss, quantile=quantile)
    model = make(
        learning_rate=growth.rate,
        max_iter=growth.trees,
        max_leaf_nodes=growth.leaves,
        min_samples_leaf=growth.min_leaf,
        max_features=growth.share,
        max_bins=growth.bins,
        early_stopping=False,
        random_state=growth.seed % 2**32,
    )
    # Not by weights: with them it takes eighteen times as long.
    chosen = slice(None) if task.taught_by is None else task.taught_by
    with threadpool_limits(limits=1):
        model.fit_binned(bins, task.target[chosen], chosen)
    return _of_sklearn(model, bins.kept)


def _of_sklearn(model: Any, kept: IntArray) -> Forest:
    """Read the trees out of a model of these features."""
    trees = []
    for (grown,) in model._predictors:
        nodes = grown.nodes
        leaf = nodes["is_leaf"].astype(np.bool_)
        tree = {
            "feature": np.where(leaf, -1, kept[nodes["feature_idx"].astype(np.int64)]),
            "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
            "left": np.where(leaf, 0, nodes["left"]),
            "right": np.where(leaf, 0, nodes["right"]),
            "value": np.where(leaf, nodes["value"], 0.0),
        }
        trees.append(tree)
    return Forest.join(float(model._baseline_prediction.item()), trees)
