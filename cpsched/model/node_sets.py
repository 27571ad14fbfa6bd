"""Many sets of nodes at once, each as runs of consecutive nodes, and how much a node holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from cpsched.util.types import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class NodeSets:
    """
    S sets of nodes in M runs; no set is empty.

    Attributes
    ----------
    begin
        Where each set's runs begin, shape ``(S,)``; they are in order and do not overlap.
    first, count
        First node and number of nodes of each run, shape ``(M,)``.
    """

    begin: IntArray
    first: IntArray
    count: IntArray

    @classmethod
    def of(cls, nodes: IntArray) -> Self:
        """Return one set of distinct nodes, in any order."""
        nodes = np.sort(np.asarray(nodes, dtype=np.int64))
        starts = np.flatnonzero(np.diff(nodes, prepend=-2) != 1)
        count = np.diff(starts, append=len(nodes))
        return cls(np.zeros(1, dtype=np.int64), nodes[starts], count)

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def runs(self) -> IntArray:
        """Number of runs of each set, shape ``(S,)``."""
        return np.diff(self.begin, append=len(self.first))

    @property
    def size(self) -> IntArray:
        """Number of nodes of each set, shape ``(S,)``."""
        return self.summed(self.count)

    def blocks(self) -> IntArray:
        """Return how many maximal runs of consecutive nodes each set makes, shape ``(S,)``."""
        joined = np.zeros(len(self.first), dtype=np.int64)
        joined[1:] = self.first[1:] == (self.first + self.count)[:-1]
        joined[self.begin] = 0
        return self.summed(1 - joined)

    def groups(self, group: IntArray) -> IntArray:
        """Return how many groups each set touches, shape ``(S,)``; ``group`` as in ``parts``."""
        return np.bincount(self.parts(group)[0], minlength=len(self)).astype(np.int64)

    def nodes(self, index: int) -> IntArray:
        """Return the nodes of one set, in order."""
        end = len(self.first) if index + 1 == len(self) else int(self.begin[index + 1])
        runs = slice(int(self.begin[index]), end)
        pairs = zip(self.first[runs], self.count[runs], strict=True)
        return np.concatenate([np.arange(first, first + count) for first, count in pairs])

    def parts(self, group: IntArray) -> tuple[IntArray, IntArray]:
        """
        Cut sets into the parts that lie in one group each.

        Parameters
        ----------
        group
            The group of every node, non-decreasing, shape ``(N,)``.

        Returns
        -------
        owner, size
            The set and the number of nodes of each part, set by set.
        """
        low, high = group[self.first], group[self.first + self.count - 1]
        run = np.repeat(np.arange(len(self.first)), high - low + 1)
        before = np.cumsum(high - low + 1) - (high - low + 1)
        own = low[run] + np.arange(len(run)) - before[run]
        start = np.searchsorted(group, own)
        end = np.searchsorted(group, own, side="right")
        last = self.first[run] + self.count[run]
        size = np.minimum(end, last) - np.maximum(start, self.first[run])
        owner = np.repeat(np.arange(len(self)), self.runs)[run]
        # The last part of a run and the first of the next may be in one group.
        new = np.ones(len(run), dtype=np.bool_)
        new[1:] = (owner[1:] != owner[:-1]) | (own[1:] != own[:-1])
        begin = np.flatnonzero(new)
        return owner[begin], np.add.reduceat(size, begin) if len(begin) else begin

    def summed(self, values: IntArray) -> IntArray:
        """Return the sum over each set of a value a run."""
        total: IntArray = np.add.reduceat(values, self.begin) if len(self) else self.begin
        return total


def unit_capacity(
    capacity: IntArray, request: IntArray, per_node: IntArray, limit: IntArray
) -> IntArray:
    """
    Return how many units of each shape an empty node of each kind holds.

    Parameters
    ----------
    capacity
        What a node of each kind holds, shape ``(M, R)``.
    request, per_node
        What one unit needs, and the job on each node in addition, shapes ``(S, R)``.
    limit
        The most units of interest, shape ``(S,)``: a unit may need nothing at all.

    Returns
    -------
    ndarray
        Units, at most ``limit``, shape ``(S, M)``.
    """
    left = capacity[None, :, :] - per_node[:, None, :]
    needed = request[:, None, :]
    units = np.where(needed > 0, left // np.maximum(needed, 1), limit[:, None, None])
    fitting = np.where((left < 0).any(axis=2), 0, units.min(axis=2))
    return np.asarray(np.clip(fitting, 0, limit[:, None]), dtype=np.int64)
