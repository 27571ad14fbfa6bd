"""
Allocations of jobs whose size changes, and the actions of one decision about sizes.

A job that shrinks releases its smallest pieces first, so that whole nodes become free; one that
grows keeps what it holds, and gets the rest where its dispatcher's allocator would place a job of
that many units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model import columns as c
from cpsched.model.decision import Resize, Start
from cpsched.util.types import JobType, Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.allocation import Allocation
    from cpsched.model.decision import Action
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, IntArray


def may_change(jobs: JobTable, least: JobType) -> BoolArray:
    """
    Return which jobs may have another size, shape ``(n,)``.

    Jobs with placement constraints keep their preferred size.

    Parameters
    ----------
    least
        ``MOLDABLE`` for other sizes at the start, ``MALLEABLE`` for changes while they run.
    """
    placed = (jobs.split == Split.EVEN) | (jobs.contiguous != 0)
    for column in (jobs.segment, jobs.max_switches):
        placed |= column != 0
    chosen: BoolArray = (jobs.job_type >= least) & (jobs.units_min < jobs.units_max) & ~placed
    return chosen


def expanded(
    view: View, index: int, units: int, free: IntArray, allocator: Allocator
) -> Allocation | None:
    """Return what a running job holds, with more units besides; None if they do not fit."""
    running = view.running
    row, current = int(running.rows[index]), running.allocation(index)
    more = units - int(current.units.sum())
    # The fewest nodes are those of the whole job.
    extra = allocator.place(view, row, free, {c.UNITS: more, c.NODES_MIN: 1})
    if extra is None:
        return None
    takes = np.zeros(len(free), dtype=np.int64)
    takes[current.node] = current.units
    takes[extra.node] += extra.units
    allocation = allocator.allocation(view, row, takes)
    return None if len(allocation.node) > running.nodes_max[index] else allocation


def shrunk(view: View, index: int, units: int, allocator: Allocator) -> Allocation:
    """Return what is left of a running job's nodes when it has so many units, fewer than now."""
    running = view.running
    current = running.allocation(index)
    keep, excess = current.units.copy(), int(current.units.sum()) - units
    for at in np.argsort(keep, kind="stable").tolist():
        less = min(excess, int(keep[at]))
        keep[at] -= less
        excess -= less
    takes = np.zeros(len(view.free), dtype=np.int64)
    takes[current.node] = keep
    return allocator.allocation(view, int(running.rows[index]), takes)


class Changes:
    """
    What a decision starts and resizes.

    Parameters
    ----------
    starts
        Starts that are decided already.

    Attributes
    ----------
    actions
        In the order in which they are to be carried out.
    free
        What each node has left after them, shape ``(N, R)``.
    units
        Units of the running jobs after them.
    may_resize
        Which running jobs may still change in this second.
    """

    def __init__(self, view: View, allocator: Allocator, starts: Sequence[Action]) -> None:
        self.view, self._allocator = view, allocator
        self.actions: list[Action] = list(starts)
        self.free: IntArray = view.free.copy()
        for action in starts:
            assert isinstance(action, Start)
            self._take(action.allocation)
        running = view.running
        self.units: IntArray = running.held_units
        self.may_resize: BoolArray = may_change(running, JobType.MALLEABLE)
        self.may_resize &= running.since < view.now

    def free_cores(self, row: int) -> int:
        """Return how many cores (the first resource kind) are free where a job may be."""
        store = self.view.waiting.store
        nodes = self.view.eligible[store.shapes[store.columns[row, c.SHAPE], c.SHAPE_CLASS]]
        return int(self.free[nodes, 0].sum())

    def start(self, row: int, units: int, sizes: IntArray | None = None) -> bool:
        """
        Start a job, if it fits once running jobs have shrunk; say whether it does.

        Parameters
        ----------
        sizes
            Units of the running jobs then; None: as they are.
        """
        view, before = self.view, self.free
        less = [] if sizes is None else np.flatnonzero(sizes < self.units).tolist()
        resized = [(at, shrunk(view, at, int(sizes[at]), self._allocator)) for at in less]  # type: ignore[index]
        if resized:
            self.free = before.copy()
        for at, left in resized:
            self._give_back(view.running.allocation(at))
            self._take(left)
        allocation = self._allocator.place(view, row, self.free, {c.UNITS: units})
        if allocation is None:
            self.free = before
            return False
        for at, left in resized:
            self._note(at, left)
        self._take(allocation)
        self.actions.append(Start(view.waiting.store.columns.item(row, c.HANDLE), allocation))
        return True

    def shrink(self, index: int, units: int) -> None:
        """Let a running job have fewer units."""
        allocation = shrunk(self.view, index, units, self._allocator)
        self._give_back(self.view.running.allocation(index))
        self._take(allocation)
        self._note(index, allocation)

    def grow(self, index: int, units: int) -> bool:
        """Let a running job have more units, if they fit; say whether they do."""
        allocation = expanded(self.view, index, units, self.free, self._allocator)
        if allocation is None:
            return False
        self._give_back(self.view.running.allocation(index))
        self._take(allocation)
        self._note(index, allocation)
        return True

    def _note(self, index: int, allocation: Allocation) -> None:
        self.units[index] = allocation.units.sum()
        self.may_resize[index] = False
        self.actions.append(Resize(int(self.view.running.handle[index]), allocation))

    def _take(self, allocation: Allocation) -> None:
        self.free[allocation.node] -= allocation.amount

    def _give_back(self, allocation: Allocation) -> None:
        # What is on nodes that are down is not free when it is given back.
        up = self.view.node_up[allocation.node]
        self.free[allocation.node[up]] += allocation.amount[up]
