"""A schedule's segments, sorted by job and time, for the rules about placement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics.window import ended
from cpsched.model.schedule import JobOutcome
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule, Segments
    from cpsched.util.types import BoolArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Phases:
    """
    What each job holds without a change; P phases, one a job unless it is resized or restarted.

    Attributes
    ----------
    order
        Positions of the segments by (job, start, end, node), without those of jobs that must not
        hold any, shape ``(M,)``.
    first
        Where each phase begins in ``order``, shape ``(P,)``.
    job, start, end, leaving
        Row of the workload, seconds, and :class:`~cpsched.model.schedule.Leaving` of each phase,
        shape ``(P,)``.
    """

    order: IntArray
    first: IntArray
    job: IntArray
    start: IntArray
    end: IntArray
    leaving: IntArray

    @classmethod
    def of(cls, schedule: Schedule) -> Phases:
        """Sort the segments of a schedule, which may come in any order, into phases."""
        segments = schedule.segments
        columns = (segments.job, segments.start, segments.end, segments.leaving)
        order = np.lexsort((segments.node, *columns[::-1]))
        may_hold = holding(schedule) | may_restart(schedule)
        order = order[may_hold[segments.job[order]]]
        keys = [column[order] for column in columns]
        changes = np.ones(len(order), dtype=np.bool_)
        changes[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
        first = np.flatnonzero(changes)
        job, start, end, leaving = (key[first] for key in keys)
        return cls(order=order, first=first, job=job, start=start, end=end, leaving=leaving)

    def take(self, chosen: BoolArray) -> Phases:
        """Return some phases, of which only job and times are to be looked at."""
        columns = {name: getattr(self, name)[chosen] for name in ("job", "start", "end", "leaving")}
        return replace(self, first=self.first[chosen], **columns)

    def total(self, values: IntArray) -> IntArray:
        """Return the sum over each phase of a value a segment, shape ``(P,)``."""
        return np.add.reduceat(values[self.order], self.first) if len(self.first) else self.first

    def neighbours(self, segments: Segments) -> tuple[IntArray, IntArray, BoolArray]:
        """
        Return how the segments of each phase lie next to each other, in ``order``.

        Returns
        -------
        node, beyond, follows
            The first node of each segment, the node after the segment before it, and whether
            that one is of the same phase; shape ``(M,)``.
        """
        node = segments.node[self.order]
        beyond = np.zeros(len(node), dtype=np.int64)
        beyond[1:] = (node + segments.count[self.order])[:-1]
        follows = np.ones(len(node), dtype=np.bool_)
        follows[self.first] = False
        return node, beyond, follows


def may_restart(schedule: Schedule) -> BoolArray:
    """Tell which jobs may have been cut short, shape ``(J,)``: all of them if nodes fail."""
    entered = schedule.outcome != JobOutcome.REJECTED
    fails = np.bool_(len(schedule.outages) > 0)
    return np.asarray((schedule.workload.restartable | fails) & entered, dtype=np.bool_)


def holding(schedule: Schedule) -> BoolArray:
    """Tell which jobs must hold nodes, shape ``(J,)``: they ran, or were running at the cut."""
    running = (schedule.outcome == JobOutcome.NOT_ENDED) & (schedule.start != MISSING)
    return np.asarray(ended(schedule) | running, dtype=np.bool_)


def inside(schedule: Schedule) -> BoolArray:
    """Tell which segments lie on nodes of the machine, shape ``(M,)``."""
    node, count = schedule.segments.node, schedule.segments.count
    num_nodes = schedule.system.num_nodes
    # Written so that no sum of two numbers out of range can wrap around.
    lies = (node >= 0) & (node < num_nodes) & (count >= 1) & (count <= num_nodes - node)
    return np.asarray(lies, dtype=np.bool_)


def node_name(schedule: Schedule, node: int) -> str:
    """Return a node's name, or its number where the machine has no such node."""
    names = schedule.system.node_names
    return names[node] if 0 <= node < len(names) else str(node)
