"""
The machine node by node over time, and list plans on it.

Exact where :mod:`cpsched.cp.pool` relaxes: each job gets the first window in which it can be
*placed*, with that placement, for its whole duration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp.solve import Candidate

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.view import View
    from cpsched.util.types import IntArray


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
        """Return the timeline of a view; overdue jobs end in the next second."""
        running = view.running
        end = np.maximum(running.expected_end - view.now, 1)
        times, segment = np.unique(np.append(end, 0), return_inverse=True)
        levels = np.zeros((len(times), *view.free.shape), dtype=np.int64)
        # Nodes that others overdraw have nothing to give.
        levels[0] = np.maximum(view.free, 0)
        for position, at in enumerate(segment[: len(running)].tolist()):
            held = running.allocation(position)
            levels[at, held.node] += held.amount
        return cls(view=view, allocator=allocator, times=times, levels=np.cumsum(levels, axis=0))

    def until(self, last: int) -> Timeline:
        """
        Return what of it matters to jobs that start by a second at the latest.

        After that no job starts, and free capacity only grows.
        """
        count = int(np.searchsorted(self.times, last, side="right"))
        return replace(self, times=self.times[:count], levels=self.levels[:count])

    def alone(self, rows: IntArray, duration: IntArray) -> IntArray:
        """Return when each job could start with only the running ones beside it, -1 for never."""
        return self._placed(rows, duration, np.arange(len(rows)), occupy=False).starts

    def listed(self, rows: IntArray, duration: IntArray, order: IntArray) -> Candidate:
        """
        Give jobs, in some order, the first window in which they fit after those before them.

        The start of a job that can be placed at no time is -1.
        """
        return self._placed(rows, duration, order, occupy=True)

    def _placed(
        self, rows: IntArray, duration: IntArray, order: IntArray, *, occupy: bool
    ) -> Candidate:
        """Place jobs at their first windows, which each takes from the next if it occupies it."""
        memory = self.allocator.look_at(self.view)
        start, takes = memory.list_on_nodes(rows, duration, order, occupy, self.times, self.levels)
        return Candidate(start, takes)
