"""
Allocations of jobs whose size changes: fewer of a job's units, additional units, or any number.

A job that shrinks releases its smallest pieces first, so that whole nodes become free; one that
grows keeps what it holds, and gets the rest where its dispatcher's allocator would place a job of
that many units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.base.types import JobType, Split
from cpsched.model import columns as c

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray, IntArray
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.allocation import Allocation
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View


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


def started(
    view: View, row: int, units: int, free: IntArray, allocator: Allocator
) -> Allocation | None:
    """
    Return an allocation of so many units of a job; None if they do not fit.

    Parameters
    ----------
    row
        The job's row in the store; it may wait or run.
    free
        What each node has to give, shape ``(N, R)``.
    """
    return allocator.place_changed(view, row, free, {c.UNITS: units})


def expanded(
    view: View, index: int, units: int, free: IntArray, allocator: Allocator
) -> Allocation | None:
    """Return what a running job holds, with more units besides; None if they do not fit."""
    running = view.running
    row, held = int(running.rows[index]), running.allocation(index)
    more = units - int(held.units.sum())
    # The fewest nodes are those of the whole job.
    besides = allocator.place_changed(view, row, free, {c.UNITS: more, c.NODES_MIN: 1})
    if besides is None:
        return None
    takes = np.zeros(len(free), dtype=np.int64)
    takes[held.node] = held.units
    takes[besides.node] += besides.units
    allocation = allocator.allocation(view, row, takes)
    return None if len(allocation.node) > running.nodes_max[index] else allocation


def shrunk(view: View, index: int, units: int, allocator: Allocator) -> Allocation:
    """Return what is left of a running job's nodes when it has so many units, fewer than now."""
    running = view.running
    held = running.allocation(index)
    keep, excess = held.units.copy(), int(held.units.sum()) - units
    for at in np.argsort(keep, kind="stable").tolist():
        less = min(excess, int(keep[at]))
        keep[at] -= less
        excess -= less
    takes = np.zeros(len(view.free), dtype=np.int64)
    takes[held.node] = keep
    return allocator.allocation(view, int(running.rows[index]), takes)
