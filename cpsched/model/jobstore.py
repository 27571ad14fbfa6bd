"""
The store behind job tables: one int64 row for every job submitted so far.

It is filled by copying, never by slicing a workload, so no array reachable from it has the future
behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model import columns as c

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.types import IntArray

#: Columns of strings a store keeps.
LABELS = ("queue", "user", "name", "group")


class JobStore:
    """
    Every job submitted so far, as columns.

    Parameters
    ----------
    resources
        Names of the R resource kinds.
    capacity
        Rows to make room for at first; the store doubles when it is full.

    Attributes
    ----------
    columns
        int64, shape ``(capacity, NUM_COLUMNS)``, read-only; one job a row, columns as in
        :mod:`cpsched.model.columns`.
    shapes
        Distinct requests, int64, shape ``(S, 4 + 3 R)``, read-only.
    reordered
        How often a job came into the queue elsewhere than at its end, because it was held.
    labels
        The strings seen so far for each of queue, user, name and group, by code.
    """

    __slots__ = ("_columns", "columns", "labels", "reordered", "resources", "shapes", "size")

    def __init__(self, resources: Sequence[str], capacity: int = 1024) -> None:
        self.resources = tuple(resources)
        self.labels: dict[str, list[str]] = {label: [] for label in LABELS}
        self.size = 0
        self.reordered = 0
        width = c.SHAPE_REQUEST + 3 * len(self.resources)
        self.shapes: IntArray = _read_only(np.zeros((0, width), dtype=np.int64))
        self._set_columns(np.zeros((max(capacity, 1), c.NUM_COLUMNS), dtype=np.int64))

    def _set_columns(self, columns: IntArray) -> None:
        self._columns = columns
        self.columns: IntArray = _read_only(columns.view())

    @property
    def writable(self) -> IntArray:
        """The columns for the owner of the store; views get :attr:`columns`."""
        return self._columns

    def append(self, block: IntArray) -> int:
        """
        Copy submitted jobs into the store.

        Parameters
        ----------
        block
            int64, shape ``(n, NUM_SUBMIT)``: the submit columns, one job a row.

        Returns
        -------
        int
            The row of the first; the others follow it.
        """
        first = self.size
        end = first + len(block)
        if end > len(self._columns):
            grown = np.zeros((max(2 * len(self._columns), end), c.NUM_COLUMNS), dtype=np.int64)
            grown[:first] = self._columns[:first]
            self._set_columns(grown)
        self._columns[first:end, : c.NUM_SUBMIT] = block
        self.size = end
        return first

    def add_shapes(self, shapes: IntArray) -> None:
        """Append distinct requests; rows as in :attr:`shapes`."""
        self.shapes = _read_only(np.vstack([self.shapes, shapes]))


def distinct_shapes(
    flags: IntArray, request: IntArray, per_node: IntArray, per_node_max: IntArray
) -> tuple[IntArray, IntArray]:
    """
    Number the distinct requests in order of first appearance.

    Parameters
    ----------
    flags
        Shape ``(n, 4)``: eligible class, split, contiguous, exclusive.
    request, per_node, per_node_max
        Shape ``(n, R)``.

    Returns
    -------
    shapes, shape_of
        The distinct rows as in :attr:`JobStore.shapes`, and each job's row of it.
    """
    full = np.ascontiguousarray(np.concatenate([flags, request, per_node, per_node_max], axis=1))
    if not len(full):
        return full, np.zeros(0, dtype=np.int64)
    raw = full.view(np.dtype((np.void, full.dtype.itemsize * full.shape[1]))).ravel()
    _, first, inverse = np.unique(raw, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first, kind="stable")
    rank = np.empty(len(first), dtype=np.int64)
    rank[by_appearance] = np.arange(len(first))
    return full[first[by_appearance]], rank[inverse]


def _read_only(array: IntArray) -> IntArray:
    array.flags.writeable = False
    return array
