"""
The machine node by node over time, and list plans on it.

Exact where :mod:`cpsched.kernels.pool` relaxes: each job gets the first window in which it can be
*placed*, with that placement, for its whole duration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp.solve import Candidate
from cpsched.kernels import planning
from cpsched.model import columns as c

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.types import IntArray
    from cpsched.model.view import View


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Timeline:
    """
    What the running jobs leave of N nodes over S segments.

    Attributes
    ----------
    times
        Seconds from now at which segments begin, shape ``(S,)``; the first is 0, the last segment
        never ends.
    levels
        What each node has to give in each, shape ``(S, N, R)``; never decreasing.
    """

    view: View
    allocator: Allocator
    times: IntArray
    levels: IntArray

    @classmethod
    def of(cls, view: View, allocator: Allocator) -> Timeline:
        """Return the timeline of a view; who should have ended by now ends in the next second."""
        running, columns = view.running, view.waiting.store.columns
        rows, arena = running.rows, running.arena
        end = np.maximum(running.expected_end - view.now, 1)
        times, segment = np.unique(np.append(end, 0), return_inverse=True)
        levels = np.zeros((len(times), *view.free.shape), dtype=np.int64)
        # Nodes that others overdraw have nothing to give.
        levels[0] = np.maximum(view.free, 0)
        for job, at in zip(rows.tolist(), segment.tolist(), strict=False):
            first = columns.item(job, c.ALLOC_FIRST)
            held = slice(first, first + columns.item(job, c.ALLOC_COUNT))
            levels[at, arena.node[held]] += arena.amount[held]
        return cls(view=view, allocator=allocator, times=times, levels=np.cumsum(levels, axis=0))

    def until(self, last: int) -> Timeline:
        """
        Return what of it matters to jobs that start by a second at the latest.

        After that nobody starts, so what runs only gets less, and what is free only more.
        """
        count = int(np.searchsorted(self.times, last, side="right"))
        return replace(self, times=self.times[:count], levels=self.levels[:count])

    def alone(self, rows: IntArray, duration: IntArray) -> IntArray:
        """Return when each job could start with only the running ones beside it, -1 for never."""
        work = _Work(self, 0)
        takes = np.empty(self.levels.shape[1], dtype=np.int64)
        found = [
            work.window(row, length, takes)
            for row, length in zip(rows.tolist(), duration.tolist(), strict=True)
        ]
        return np.array([self.times[at] if at >= 0 else -1 for at in found], dtype=np.int64)

    def listed(self, rows: IntArray, duration: IntArray, order: IntArray) -> Candidate:
        """
        Give jobs, in some order, the first window they fit in behind those before them.

        The start of a job that can be placed at no time is -1.
        """
        work = _Work(self, len(rows))
        start = np.full(len(rows), -1, dtype=np.int64)
        takes = np.zeros((len(rows), self.levels.shape[1]), dtype=np.int64)
        for job in order.tolist():
            at = work.window(int(rows[job]), int(duration[job]), takes[job])
            if at >= 0:
                start[job] = work.times[at]
                work.take(at, int(rows[job]), int(duration[job]), takes[job])
        return Candidate(start, takes)


class _Work:
    """A timeline that jobs are entered into, as the kernels want it."""

    def __init__(self, timeline: Timeline, more: int) -> None:
        count, num_nodes, num_kinds = timeline.levels.shape
        self.view, self.allocator = timeline.view, timeline.allocator
        self.count = count
        self.times = np.concatenate([timeline.times, np.zeros(more, dtype=np.int64)])
        self.rows = np.arange(count + more, dtype=np.int64)
        self.levels = timeline.levels
        if more:
            self.levels = np.empty((count + more, num_nodes, num_kinds), dtype=np.int64)
            self.levels[:count] = timeline.levels
        self.room = np.zeros((count + more, num_kinds), dtype=np.int64)
        self.room[:count] = timeline.levels.sum(axis=1)
        self._low = np.empty((num_nodes, num_kinds), dtype=np.int64)

    def window(self, row: int, duration: int, takes: IntArray) -> int:
        """Return the first segment a job fits at for its duration, or -1; fill ``takes``."""
        store = self.view.waiting.store
        at: int = planning.first_window(
            self.allocator.policy, row, duration, 0, self.count,
            self.times, self.rows, self.levels, self.room, self.count,
            store.columns, store.shapes, self.view.eligible,
            self.allocator.capacity, self.allocator.scarce,
            self._low, takes,
        )  # fmt: skip
        if at < 0:
            takes[:] = 0
        return at

    def take(self, at: int, row: int, duration: int, takes: IntArray) -> None:
        """Enter a placed job."""
        store = self.view.waiting.store
        self.count = planning.occupy(
            at, int(self.times[at]) + duration, takes, store.columns.item(row, c.SHAPE),
            store.shapes, self.allocator.capacity,
            self.times, self.rows, self.levels, self.room, self.count,
        )  # fmt: skip
