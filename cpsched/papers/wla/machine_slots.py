"""The slots of a machine at a decision, and which jobs fit where: a problem made from a view."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.errors import ConfigError
from cpsched.model import columns as c
from cpsched.model.distinct import distinct
from cpsched.model.jobtable import JobTable
from cpsched.papers.wla.knapsack import LEFT_OUT, Knapsack
from cpsched.util.types import MAX_TIME

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobstore import JobStore
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, IntArray


#: Of a shape: what a job says itself of how it is to lie.
OWN_PLACES = [c.SHAPE_SEGMENT, c.SHAPE_SWITCHES]
_DEMAND = (c.SHAPE, c.UNITS, c.NODES_MIN, c.NODES_MAX)


def runs(marked: BoolArray, at: IntArray) -> tuple[IntArray, IntArray]:
    """
    Return the maximal runs of marked nodes: the first of each and the one behind its last.

    Parameters
    ----------
    at
        Nodes that may not be in one run with the node before them, in any order.
    """
    begins = np.zeros(len(marked) + 1, dtype=np.bool_)
    begins[at] = True
    edges = np.diff(marked.astype(np.int8), prepend=0, append=0)
    inside = np.append(marked, False) & begins
    inside[1:] &= marked
    inside[0] = False
    return np.flatnonzero((edges > 0) | inside), np.flatnonzero((edges < 0) | inside)


class Slots(NamedTuple):
    """
    Runs of wholly free nodes at a decision that are of one sort and reserved alike; m of them.

    Attributes
    ----------
    first, end
        Half-open intervals of nodes, in order, shape ``(m,)``.
    sort
        The sort of each one's nodes, see :class:`MachineSlots`.
    until
        The second from which on each one is reserved for another job.
    """

    first: IntArray
    end: IntArray
    sort: IntArray
    until: IntArray


class MachineSlots:
    """
    The slots of a machine at a decision, and how many nodes jobs need of each sort.

    What it keeps is a cache and no state: it follows from the view.

    Parameters
    ----------
    system
        The machine.

    Attributes
    ----------
    free
        Nodes that are up and wholly free, shape ``(N,)``.
    sort
        Nodes of one sort have the same capacity and are open to the same jobs, shape ``(N,)``.
    begins
        The nodes that are of another sort than the node before them, node 0 included.
    num_sorts
        How many sorts there are.

    Raises
    ------
    ConfigError
        If the machine is a counted pool, which has no individual nodes.
    """

    def __init__(self, system: System) -> None:
        if system.is_counted_pool:
            raise ConfigError(
                "jobs are placed on neighbouring nodes, and the system counts processors without"
                ' nodes. Give it nodes (processors = "whole-nodes" or "packed"), or use easy.',
                where=f"system {system.name}",
            )
        self._capacity = system.capacity
        self.free: BoolArray = np.zeros(system.num_nodes, dtype=np.bool_)
        self.sort: IntArray = np.zeros(0, dtype=np.int64)
        self.begins: IntArray = np.zeros(0, dtype=np.int64)
        self.num_sorts = 0
        #: What the sorts, and then the sizes, were found for.
        self._eligible: BoolArray | None = None
        self._classes: list[int] = []
        self._store: JobStore | None = None
        self._sizes: dict[tuple[int, ...], IntArray] = {}

    def update(self, view: View, classes: IntArray) -> None:
        """
        Take up a view.

        Parameters
        ----------
        classes
            The classes of eligible nodes by which nodes are told apart, ascending.
        """
        self.free = (view.free == self._capacity).all(axis=1) & view.node_up
        if view.eligible is self._eligible and classes.tolist() == self._classes:
            return
        self._eligible, self._classes = view.eligible, classes.tolist()
        columns = [*self._capacity.T, *view.eligible[classes]]
        self.sort, first = distinct(columns, len(self._capacity))
        self.begins = np.flatnonzero(np.diff(self.sort, prepend=-1))
        self.num_sorts = len(first)
        self._store = None

    def available(self, taken: BoolArray | None = None, reserved: IntArray | None = None) -> Slots:
        """
        Return the slots there are beside some nodes, each of one sort and reserved alike.

        Parameters
        ----------
        taken
            Nodes that others start on now, shape ``(N,)``; None: none.
        reserved
            The second from which on each node is reserved, ``MAX_TIME`` where it is not; None:
            nothing is.
        """
        free, at = self.free, self.begins
        if taken is not None:
            free = free & ~taken
        if reserved is not None:
            at = np.append(at, np.flatnonzero(reserved[1:] != reserved[:-1]) + 1)
        first, end = runs(free, at)
        until = np.full(len(first), MAX_TIME) if reserved is None else reserved[first]
        return Slots(first, end, self.sort[first], until)

    def sizes(self, view: View, rows: IntArray, allocator: Allocator) -> IntArray:
        """
        Return how many neighbouring nodes of each sort jobs need, shape ``(n, number of sorts)``.

        They are found by placing a job on all nodes of a sort as if they were free, once for each
        distinct request. 0 for nodes that a job may not use, where even the whole machine has no
        run of them that is long enough, and for jobs that say themselves how they are to lie.
        """
        store = view.waiting.store
        if store is not self._store:
            self._store, self._sizes = store, {}
        code, first = JobTable(store, rows).distinct()
        by_demand = np.zeros((len(first), self.num_sorts), dtype=np.int64)
        for at, row in enumerate(rows[first].tolist()):
            demand = tuple(store.columns[row, _DEMAND].tolist())
            if demand not in self._sizes:
                self._sizes[demand] = self._size(view, row, allocator)
            by_demand[at] = self._sizes[demand]
        sizes: IntArray = by_demand[code]
        return sizes

    def _size(self, view: View, row: int, allocator: Allocator) -> IntArray:
        size = np.zeros(self.num_sorts, dtype=np.int64)
        store = view.waiting.store
        if store.shapes[store.columns[row, c.SHAPE], OWN_PLACES].any():
            return size
        longest = np.zeros(self.num_sorts, dtype=np.int64)
        length = np.diff(self.begins, append=len(self.sort))
        np.maximum.at(longest, self.sort[self.begins], length)
        for sort, slot_length in enumerate(longest.tolist()):
            free = np.where((self.sort == sort)[:, None], allocator.capacity, 0)
            allocation = allocator.place(view, row, free)
            if allocation is not None and len(allocation.node) <= slot_length:
                size[sort] = len(allocation.node)
        return size


class WindowProblem(NamedTuple):
    """A knapsack problem: positions of its jobs and slots among those that it was made of."""

    problem: Knapsack
    jobs: list[int]
    slots: Slots
    which: IntArray

    def places(self, answer: list[int], *, tight: bool) -> list[tuple[int, int, int]]:
        """
        Return the job, the first node and the number of nodes of each job that is selected.

        By slot of the answer, or with ``tight`` by the smallest one that holds its jobs; these lie
        side by side from its first node on, in their order.
        """
        used = sorted({slot for slot in answer if slot != LEFT_OUT})
        into = {slot: int(self.which[slot]) for slot in used}
        if tight:
            into = self._tight(answer, into)
        first = {slot: int(self.slots.first[at]) for slot, at in into.items()}
        positions = []
        for slot in sorted(used, key=first.__getitem__):
            for job, own in enumerate(answer):
                if own == slot:
                    size = self.problem.weight[job][slot]
                    positions.append((self.jobs[job], first[slot], size))
                    first[slot] += size
        return positions

    def _tight(self, answer: list[int], into: dict[int, int]) -> dict[int, int]:
        """Return the smallest slot that holds each slot's jobs, the fullest first."""
        load = dict.fromkeys(into, 0)
        for job, slot in enumerate(answer):
            if slot != LEFT_OUT:
                load[slot] += self.problem.weight[job][slot]
        lengths = self.slots.end - self.slots.first
        free = np.ones(len(lengths), dtype=np.bool_)
        smallest = {}
        for slot in sorted(into, key=lambda slot: (-load[slot], slot)):
            own = into[slot]
            alike = (self.slots.sort == self.slots.sort[own]) & (
                self.slots.until == self.slots.until[own]
            )
            enough = np.flatnonzero(free & alike & (lengths >= load[slot]))
            smallest[slot] = int(enough[np.argmin(lengths[enough])])
            free[smallest[slot]] = False
        return smallest


def problem_of(slots: Slots, weight: IntArray) -> WindowProblem:
    """
    Return the problem of some jobs and the slots.

    Jobs that no slot can hold are held (assumption 7 of the paper), slots that are too small for
    every job are left out (assumption 8), and of slots that differ in capacity only at most as many
    enter as there are jobs, the largest (section III.A).

    Parameters
    ----------
    weight
        Nodes that each job needs in each slot, 0 where it cannot be; shape ``(n, m)``.
    """
    lengths = slots.end - slots.first
    fits = (weight > 0) & (weight <= lengths)
    jobs = np.flatnonzero(fits.any(axis=1))
    which = np.flatnonzero(fits.any(axis=0))
    weight = weight[jobs]
    if len(which) > len(jobs):
        alike, _ = distinct([*weight[:, which]], len(which))
        by_length = np.lexsort((which, -lengths[which], alike))
        # Of each sort so many slots as there are jobs.
        begins = np.flatnonzero(np.diff(alike[by_length], prepend=-1))
        rank = np.arange(len(which)) - np.repeat(begins, np.diff(begins, append=len(which)))
        which = np.sort(which[by_length[rank < len(jobs)]])
    problem = Knapsack(weight=weight[:, which].tolist(), capacity=lengths[which].tolist())
    return WindowProblem(problem, jobs.tolist(), slots, which)
