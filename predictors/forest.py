"""
Gbm trees as plain arrays: what every library's model is turned into, walked by one kernel.

A forest predicts the same as the library that grew it, can be saved as arrays, and needs that
library no more. Loading one runs nothing, and its arrays are checked, so that walking it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from predictors import kernels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import AnyArray, FloatArray, IntArray

_LEAF = -1


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """
    The sum of T trees with N nodes in all.

    Attributes
    ----------
    base
        Added to the sum.
    root
        First node of each tree, int64, shape ``(T,)``.
    feature
        What a node looks at, int64, shape ``(N,)``; -1 at a leaf.
    threshold
        Left if the feature is at most this, float64, shape ``(N,)``.
    left, right
        Nodes, int64, shape ``(N,)``; always after their parent.
    value
        What a leaf adds, float64, shape ``(N,)``.
    """

    base: float
    root: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray

    @classmethod
    def join(cls, base: float, trees: Sequence[Mapping[str, AnyArray]]) -> Forest:
        """Join trees given as arrays of their own, with children counted from 0 in each."""
        sizes = [len(tree["feature"]) for tree in trees]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        joined: dict[str, Any] = {
            name: np.concatenate([np.asarray(tree[name], dtype=kind) for tree in trees])
            for name, kind in _COLUMNS.items()
        }
        shift = np.repeat(first[:-1], sizes)
        return cls(
            base,
            first[:-1],
            joined["feature"],
            joined["threshold"],
            joined["left"] + shift,
            joined["right"] + shift,
            joined["value"],
        )

    def __call__(self, rows: AnyArray) -> FloatArray:
        """Predict rows of features, shape ``(n, F)``, float32; without missing values."""
        return ForestSet.join([self])(rows)[:, 0]

    def state(self) -> dict[str, Any]:
        """Return the arrays."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def restore(cls, state: Mapping[str, Any], num_features: int) -> Forest:
        """
        Restore what :meth:`state` returned.

        Raises
        ------
        ValueError
            If the arrays are not a forest over so many features.
        """
        root = np.ascontiguousarray(state["root"], dtype=np.int64)
        columns: dict[str, Any] = {
            name: np.ascontiguousarray(state[name], dtype=kind) for name, kind in _COLUMNS.items()
        }
        forest = cls(float(state["base"]), root, **columns)
        forest._check(num_features)
        return forest

    def _check(self, num_features: int) -> None:
        num = len(self.feature)
        columns: list[AnyArray] = [getattr(self, name) for name in _COLUMNS]
        inner = np.flatnonzero(self.feature != _LEAF)
        children = np.concatenate([self.left[inner], self.right[inner]])
        sound = (
            all(column.shape == (num,) for column in columns)
            and self.root.ndim == 1
            and bool(((self.root >= 0) & (self.root < num)).all())
            and bool(((self.feature >= _LEAF) & (self.feature < num_features)).all())
            and bool((children > np.tile(inner, 2)).all() and (children < num).all())
            and bool(np.isfinite(self.value).all() and np.isfinite(self.base))
            and not bool(np.isnan(self.threshold).any())
        )
        if not sound:
            raise ValueError(
                f"the arrays of its trees are not a forest over {num_features} features"
            )


class ForestSet(NamedTuple):
    """
    K forests over the same features in shared arrays, so that one call of a kernel asks all.

    Attributes
    ----------
    base
        Of each forest, float64, shape ``(K,)``.
    first
        First tree of each forest and the end of the last, int64, shape ``(K + 1,)``.
    root, feature, threshold, left, right, value
        As of a :class:`Forest`, one forest after the other.
    """

    base: FloatArray
    first: IntArray
    root: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray

    @classmethod
    def join(cls, forests: Sequence[Forest]) -> ForestSet:
        """Put forests, at least one, side by side."""
        nodes = np.cumsum([0, *(len(forest.feature) for forest in forests)])
        trees = np.cumsum([0, *(len(forest.root) for forest in forests)])

        def joined(name: str, shifted: bool = False) -> AnyArray:
            columns = [getattr(forest, name) for forest in forests]
            if shifted:
                pairs = zip(columns, nodes[:-1], strict=True)
                columns = [column + shift for column, shift in pairs]
            return np.concatenate(columns)

        return cls(
            np.array([forest.base for forest in forests], dtype=np.float64),
            trees.astype(np.int64),
            joined("root", shifted=True),
            joined("feature"),
            joined("threshold"),
            joined("left", shifted=True),
            joined("right", shifted=True),
            joined("value"),
        )

    def __call__(self, rows: AnyArray) -> FloatArray:
        """Predict rows of features, float32; shape ``(n, K)``."""
        out = np.empty((len(rows), len(self.base)))
        kernels.evaluate(*self, rows, out)
        return out


_COLUMNS: dict[str, type] = {
    "feature": np.int64,
    "threshold": np.float64,
    "left": np.int64,
    "right": np.int64,
    "value": np.float64,
}
