"""
Growing boosted trees with scikit-learn; a :class:`~predictors.forest.Forest` comes of it.

This is the only file that uses private parts of scikit-learn. They may change with any release, so
``pyproject.toml`` bounds scikit-learn to versions known to work, and
``tests/test_private_parts.py`` says what a new one lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from predictors.forest import LEAF, Forest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.api.model import AnyArray, FloatArray, IntArray

#: Rows that bounds of bins are found from, or up to twice as many: sorting all takes longer.
_ENOUGH = 10_000
#: How trees are grown. Half of the features, drawn for each split, are as accurate as all of them,
#: and take half of the time; so are a quarter of the library's default number of bins.
_GROWTH = {
    "learning_rate": 0.08,
    "max_leaf_nodes": 15,
    "min_samples_leaf": 20,
    "max_features": 0.5,
    "max_bins": 63,
    "early_stopping": False,
}


def grow(
    rows: AnyArray, tasks: Sequence[tuple[FloatArray, float]], *, trees: int = 100, seed: int = 0
) -> list[Forest]:
    """
    Grow a forest for each task, on one core; equal input gives equal forests.

    Parameters
    ----------
    rows
        Features, float32, shape ``(n, F)``, without missing values.
    tasks
        What each forest is to learn: a target, float64, shape ``(n,)``, and which quantile of it;
        0.5 is the median, that is least absolute error.
    trees
        Of each forest.
    seed
        Of the random numbers that draw features.
    """
    # Features that never differ only cost time.
    differ = np.flatnonzero((rows != rows[0]).any(axis=0))
    kept = differ if len(differ) else np.zeros(1, dtype=np.int64)
    bins = _Bins(rows[:, kept])
    forests = []
    for target, quantile in tasks:
        loss = {"loss": "absolute_error"} if quantile == 0.5 else {"quantile": quantile}
        settings = {"loss": "quantile", **_GROWTH, **loss}
        model = _Booster(max_iter=trees, random_state=seed % 2**32, **settings)
        model.bins = bins
        with threadpool_limits(limits=1):
            model.fit(bins.rows, target)
        forests.append(of_sklearn(model, kept))
    return forests


class _Bins:
    """Rows, and the bins of their values once a fit has made them."""

    def __init__(self, rows: AnyArray) -> None:
        self.rows = rows
        self.made: tuple[Any, AnyArray] | None = None


class _Booster(HistGradientBoostingRegressor):  # type: ignore[misc]
    """
    scikit-learn's booster, with bins that are made once for many fits.

    Making them takes a quarter of a fit of 100 trees.
    """

    bins: _Bins

    # A private method of the library; where a version has none, every fit makes its own bins.
    def _bin_data(self, *_: Any, **__: Any) -> AnyArray:
        rows = self.bins.rows
        if self.bins.made is None:
            mapper: Any = self._bin_mapper  # type: ignore[has-type]
            few = rows[:: max(1, len(rows) // _ENOUGH)]
            self.bins.made = mapper, mapper.fit(few).transform(rows)
        self._bin_mapper, binned = self.bins.made
        return np.asfortranarray(binned)


def of_sklearn(model: Any, kept: IntArray) -> Forest:
    """Read the trees out of a model of these features."""
    trees = [grown.nodes for (grown,) in model._predictors]
    sizes = [len(nodes) for nodes in trees]
    root = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
    nodes, first = np.concatenate(trees), np.repeat(root, sizes)
    leaf = nodes["is_leaf"].astype(np.bool_)
    return Forest(
        base=float(model._baseline_prediction.item()),
        root=root,
        feature=np.where(leaf, LEAF, kept[nodes["feature_idx"].astype(np.int64)]),
        threshold=np.where(leaf, 0.0, nodes["num_threshold"]),
        left=first + np.where(leaf, 0, nodes["left"]).astype(np.int64),
        right=first + np.where(leaf, 0, nodes["right"]).astype(np.int64),
        value=np.where(leaf, nodes["value"], 0.0),
    )
