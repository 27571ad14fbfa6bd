"""What a job holds: on which nodes, how many units, how much of each resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.model.arrays import shared

if TYPE_CHECKING:
    from cpsched.util.types import IntArray


class Allocation(NamedTuple):
    """
    Nodes allocated to one job, with its tasks and resources on each: K nodes, R resource types.

    For example, two tasks of 4 cores on node 7 are ``node=[7]``, ``units=[2]``, ``amount=[[8]]``.

    Attributes
    ----------
    node
        Node indices, strictly increasing, int64, shape ``(K,)``.
    units
        Number of tasks on each node, int64, shape ``(K,)``.
    amount
        Allocated amount of each resource type on each node, int64, shape ``(K, R)``. ``mem`` is in
        KB, all other types are counts.
    """

    node: IntArray
    units: IntArray
    amount: IntArray


#: The least number of ranges in an arena: compacting a full one costs more than a start.
_LEAST = 8192


class AllocationArena:
    """
    The allocations of all running jobs as contiguous ranges of nodes, in four growing arrays.

    The native core reads it by the ``ALLOC_FIRST`` and ``ALLOC_COUNT`` columns of the job store.
    The owner compacts it between decisions.

    Parameters
    ----------
    num_resources
        R.

    Attributes
    ----------
    node, count
        Ranges ``[node, node + count)`` of node indices, those of a job in order.
    units
        Units on each of these nodes.
    amount
        What is taken of each of these nodes, shape ``(K, R)``.
    used
        How many ranges of them are in use.
    """

    __slots__ = ("_writable", "amount", "count", "node", "units", "used")

    def __init__(self, num_resources: int, capacity: int = _LEAST) -> None:
        self.used = 0
        self._make(capacity, num_resources)

    @classmethod
    def of(
        cls, node: IntArray, count: IntArray, units: IntArray, amount: IntArray
    ) -> AllocationArena:
        """Return the arena of arrays that somebody else writes to."""
        arena = cls.__new__(cls)
        arena.used = len(node)
        arena.node, arena.count, arena.units, arena.amount = node, count, units, amount
        return arena

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Node, count, units and amount."""
        return self.node, self.count, self.units, self.amount

    def _make(self, capacity: int, num_resources: int) -> None:
        node, self.node = shared(capacity)
        count, self.count = shared(capacity)
        units, self.units = shared(capacity)
        amount, self.amount = shared(capacity, num_resources)
        self._writable = node, count, units, amount

    def _append(self, *ranges: IntArray) -> int:
        """Copy ranges in; return the position of the first."""
        first, needed = self.used, self.used + len(ranges[0])
        if needed > len(self.node):
            current = tuple(part[: self.used].copy() for part in self._writable)
            self._make(max(2 * len(self.node), needed), self.amount.shape[1])
            self.used = 0
            self._append(*current)
        for target, values in zip(self._writable, ranges, strict=True):
            target[first:needed] = values
        self.used = needed
        return first

    def add(self, allocation: Allocation) -> tuple[int, int]:
        """Copy an allocation in; return the position of its first range, and how many there are."""
        node, units, amount = allocation
        begins = np.ones(len(node), dtype=np.bool_)
        begins[1:] = (
            (node[1:] != node[:-1] + 1)
            | (units[1:] != units[:-1])
            | (amount[1:] != amount[:-1]).any(axis=1)
        )
        firsts = np.flatnonzero(begins)
        counts = np.diff(firsts, append=len(node))
        return self._append(node[firsts], counts, units[firsts], amount[firsts]), len(firsts)

    def get(self, first: int, num_ranges: int) -> Allocation:
        """Return a copy of so many ranges from a position on, node by node."""
        part = slice(first, first + num_ranges)
        counts = self.count[part]
        nodes = np.repeat(self.node[part] - np.cumsum(counts) + counts, counts)
        return Allocation(
            nodes + np.arange(len(nodes)),
            np.repeat(self.units[part], counts),
            np.repeat(self.amount[part], counts, axis=0),
        )

    def compacted(self, first: IntArray, num_ranges: IntArray) -> tuple[AllocationArena, IntArray]:
        """Return an arena of only these allocations, and their new first positions."""
        total = int(num_ranges.sum())
        new = AllocationArena(self.amount.shape[1], max(_LEAST, 2 * total))
        ends = np.cumsum(num_ranges)
        picked = np.repeat(first - (ends - num_ranges), num_ranges) + np.arange(total)
        new._append(*(part[picked] for part in self.arrays))
        return new, (ends - num_ranges).astype(np.int64)
