"""What a job holds: on which nodes, how many units, how much of each resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from cpsched.model.types import IntArray


class Allocation(NamedTuple):
    """
    The nodes of one job; K nodes, R resource kinds.

    Attributes
    ----------
    node
        Node indices, strictly increasing, shape ``(K,)``.
    units
        Units on each node, shape ``(K,)``.
    amount
        What is taken of each node and given back at the end, shape ``(K, R)``.
    """

    node: IntArray
    units: IntArray
    amount: IntArray


class AllocationArena:
    """
    The allocations of all running jobs in three growing arrays.

    Kernels walk it by the ``ALLOC_FIRST`` and ``ALLOC_COUNT`` columns of the job store; the owner
    compacts it between decisions.

    Parameters
    ----------
    num_resources
        R.
    """

    __slots__ = ("amount", "node", "units", "used")

    def __init__(self, num_resources: int, capacity: int = 256) -> None:
        self.node: IntArray = np.zeros(capacity, dtype=np.int64)
        self.units: IntArray = np.zeros(capacity, dtype=np.int64)
        self.amount: IntArray = np.zeros((capacity, num_resources), dtype=np.int64)
        self.used = 0

    def reserve(self, count: int) -> int:
        """Make room for ``count`` nodes more; return the position of the first."""
        if self.used + count > len(self.node):
            self._grow(self.used + count)
        return self.used

    def add(self, allocation: Allocation) -> int:
        """Copy an allocation in; return the position of its first node."""
        first = self.reserve(len(allocation.node))
        end = self.used = first + len(allocation.node)
        self.node[first:end] = allocation.node
        self.units[first:end] = allocation.units
        self.amount[first:end] = allocation.amount
        return first

    def get(self, first: int, count: int) -> Allocation:
        """Return a copy of ``count`` nodes from a position on."""
        part = slice(first, first + count)
        return Allocation(self.node[part].copy(), self.units[part].copy(), self.amount[part].copy())

    def compacted(self, first: IntArray, count: IntArray) -> tuple[AllocationArena, IntArray]:
        """Return an arena of only these allocations, and their new first positions."""
        total = int(count.sum())
        new = AllocationArena(self.amount.shape[1], max(256, 2 * total))
        ends = np.cumsum(count)
        picked = np.repeat(first - (ends - count), count) + np.arange(total)
        new.node[:total] = self.node[picked]
        new.units[:total] = self.units[picked]
        new.amount[:total] = self.amount[picked]
        new.used = total
        return new, (ends - count).astype(np.int64)

    def _grow(self, needed: int) -> None:
        capacity = max(2 * len(self.node), needed)
        for name in ("node", "units", "amount"):
            old = getattr(self, name)
            new = np.zeros((capacity, *old.shape[1:]), dtype=np.int64)
            new[: self.used] = old[: self.used]
            setattr(self, name, new)
