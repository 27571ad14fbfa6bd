"""What a job holds: on which nodes, how many units, how much of each resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.model.arrays import shared

if TYPE_CHECKING:
    from cpsched.util.types import IntArray


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


#: Nodes there is room for at least: compacting an arena that is full costs more than a start.
_LEAST = 8192


class AllocationArena:
    """
    The allocations of all running jobs in three growing arrays.

    The native core reads it by the ``ALLOC_FIRST`` and ``ALLOC_COUNT`` columns of the job store.
    The owner compacts it between decisions.

    Parameters
    ----------
    num_resources
        R.

    Attributes
    ----------
    node, units, amount
        As in :class:`Allocation`; they cannot be made writable.
    writable
        The same for the owner of the arena.
    used
        How many nodes of them are in use.
    """

    __slots__ = ("amount", "node", "units", "used", "writable")

    def __init__(self, num_resources: int, capacity: int = _LEAST) -> None:
        self.used = 0
        self._make(capacity, num_resources)

    @classmethod
    def of(cls, node: IntArray, units: IntArray, amount: IntArray) -> AllocationArena:
        """Return the arena of arrays that somebody else writes to."""
        arena = cls.__new__(cls)
        arena.used = len(node)
        arena.node, arena.units, arena.amount = node, units, amount
        return arena

    def _make(self, capacity: int, num_resources: int) -> None:
        node, self.node = shared(capacity)
        units, self.units = shared(capacity)
        amount, self.amount = shared(capacity, num_resources)
        self.writable = Allocation(node, units, amount)

    def _fill(self, first: int, allocation: Allocation) -> None:
        end = first + len(allocation.node)
        for target, given in zip(self.writable, allocation, strict=True):
            target[first:end] = given

    def reserve(self, count: int) -> int:
        """Make room for ``count`` nodes more; return the position of the first."""
        needed = self.used + count
        if needed > len(self.node):
            current = Allocation(*(part[: self.used] for part in self.writable))
            self._make(max(2 * len(self.node), needed), self.amount.shape[1])
            self._fill(0, current)
        return self.used

    def add(self, allocation: Allocation) -> int:
        """Copy an allocation in; return the position of its first node."""
        first = self.reserve(len(allocation.node))
        self._fill(first, allocation)
        self.used = first + len(allocation.node)
        return first

    def get(self, first: int, count: int) -> Allocation:
        """Return a copy of ``count`` nodes from a position on."""
        part = slice(first, first + count)
        return Allocation(self.node[part].copy(), self.units[part].copy(), self.amount[part].copy())

    def compacted(self, first: IntArray, count: IntArray) -> tuple[AllocationArena, IntArray]:
        """Return an arena of only these allocations, and their new first positions."""
        total = int(count.sum())
        new = AllocationArena(self.amount.shape[1], max(_LEAST, 2 * total))
        ends = np.cumsum(count)
        picked = np.repeat(first - (ends - count), count) + np.arange(total)
        new.add(Allocation(self.node[picked], self.units[picked], self.amount[picked]))
        return new, (ends - count).astype(np.int64)
