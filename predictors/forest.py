"""
Gbm trees as plain arrays, walked by one kernel.

A forest predicts the same as the library that grew it, can be saved as arrays, and needs that
library no more. Loading one runs nothing, and its arrays are checked, so that walking it ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.api.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.api.model import AnyArray, FloatArray, IntArray

#: What a leaf looks at.
LEAF = -1


class Forest(NamedTuple):
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

    def __call__(self, rows: AnyArray) -> FloatArray:
        """Predict rows of features, shape ``(n, F)``, float32; without missing values."""
        found: FloatArray = _walk(self, rows)
        return found

    @classmethod
    def restore(cls, state: Mapping[str, Any], num_features: int) -> Forest:
        """
        Make a forest of its fields by name.

        Raises
        ------
        ValueError
            If the arrays are not a forest over so many features.
        """
        kinds = {"threshold": np.float64, "value": np.float64}
        columns: list[Any] = [
            np.ascontiguousarray(state[name], dtype=kinds.get(name, np.int64))
            for name in cls._fields[1:]
        ]
        forest = cls(float(state["base"]), *columns)
        if not forest._is_sound(num_features):
            raise ValueError(
                f"the arrays of its trees are not a forest over {num_features} features"
            )
        return forest

    def _is_sound(self, num_features: int) -> bool:
        num = len(self.feature)
        inner = np.flatnonzero(self.feature != LEAF)
        if self.root.ndim != 1 or any(column.shape != (num,) for column in self[2:]):
            return False
        children = np.concatenate([self.left[inner], self.right[inner]])
        return bool(
            ((self.root >= 0) & (self.root < num)).all()
            and ((self.feature >= LEAF) & (self.feature < num_features)).all()
            and (children > np.tile(inner, 2)).all()
            and (children < num).all()
            and np.isfinite(self.value).all()
            and np.isfinite(self.base)
            and not np.isnan(self.threshold).any()
        )


@kernel
def _walk(forest, rows):  # type: ignore[no-untyped-def]
    """Return what a forest says of each row of features."""
    said = np.empty(len(rows))
    for row in range(len(rows)):
        total = forest.base
        for tree in range(len(forest.root)):
            node = forest.root[tree]
            while forest.feature[node] >= 0:
                below = rows[row, forest.feature[node]] <= forest.threshold[node]
                node = forest.left[node] if below else forest.right[node]
            total += forest.value[node]
        said[row] = total
    return said
