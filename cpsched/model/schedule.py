"""The result of a simulation: when and where every job ran."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.arrays import constant, let_go, put_away
from cpsched.util.types import MAX_TIME, MISSING, DependencyType, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpsched.model.system import System
    from cpsched.model.workload import Workload
    from cpsched.util.types import IntArray


#: Jobs of a part of a schedule, and segments that are looked at together.
PART = 1 << 20
_OF_JOBS = (
    *("start", "end", "outcome"),
    *("ranking_estimate", "runtime_estimate", "runtime_bound"),
)


class JobOutcome(IntEnum):
    """Outcome of a job at the end of a simulation."""

    NOT_ENDED = -1
    COMPLETED = 0
    TIMEOUT = 1
    """Ended at its requested time, because of overrun policy ``kill``."""
    CANCELLED = 2
    """Taken out of the queue before it started."""
    REJECTED = 3
    """Can never run on this system; it never entered the queue."""
    KILLED = 4
    """Ended by the dispatcher."""
    NEVER_STARTED = 5
    """Left the queue without a start: no end of another job, and no second, could start it."""


class Leaving(IntEnum):
    """Reason why a job left some nodes."""

    END = 0
    """It ended there, or still runs."""
    RESIZED = 1
    """It went on at once on other nodes."""
    REQUEUED = 2
    """It was queued again, with what its last checkpoint has kept."""
    SUSPENDED = 3
    """It was queued again, with all it had done."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segments:
    """
    Nodes allocated to each job over time, as contiguous ranges: M segments, R resource types.

    All segments of a job that is started once and never resized have the same ``start`` and
    ``end``. Segments of starts that were cut short come first.

    Attributes
    ----------
    job
        Row of the workload, shape ``(M,)``.
    start, end
        Seconds, ``[start, end)``.
    node, count
        Node indices ``[node, node + count)``.
    units
        Number of tasks on each of these nodes.
    amount
        Allocated amounts on each of these nodes, shape ``(M, R)``.
    leaving
        :class:`Leaving` codes.
    """

    job: IntArray
    start: IntArray
    end: IntArray
    node: IntArray
    count: IntArray
    units: IntArray
    amount: IntArray
    leaving: IntArray

    def __len__(self) -> int:
        return len(self.job)

    def take(self, rows: IntArray | slice) -> Segments:
        """Return some of them."""
        return Segments(**{name: getattr(self, name)[rows] for name in self.__slots__})

    def batches(self) -> Iterator[Segments]:
        """Yield them in order, some at a time: of many, not all need be in memory at once."""
        for first in range(0, max(len(self), 1), PART):
            yield self.take(slice(first, first + PART))
            self.let_go(first, min(first + PART, len(self)))

    def let_go(self, first: int, end: int) -> None:
        """Take some of them out of memory where they lie in files."""
        for name in self.__slots__:
            let_go(getattr(self, name), first, end)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outages:
    """
    When nodes are down; O outages, by (start, node).

    Attributes
    ----------
    node
        Index of a node, shape ``(O,)``.
    start, end
        Seconds, ``[start, end)``.
    known
        From which second on it is known that the node will go down; ``start`` if not before.
    """

    node: IntArray
    start: IntArray
    end: IntArray
    known: IntArray

    def __len__(self) -> int:
        return len(self.node)

    @classmethod
    def of(
        cls, rows: Sequence[tuple[int, int, int]], known: Sequence[int] | None = None
    ) -> Outages:
        """
        Return outages given as node, start and end, in any order.

        Parameters
        ----------
        known
            From when on each is known; by default when it begins.
        """
        node, start, end = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        first = start if known is None else np.minimum(np.array(known, dtype=np.int64), start)
        order = np.lexsort((node, start))
        return cls(node=node[order], start=start[order], end=end[order], known=first[order])

    @classmethod
    def none(cls) -> Outages:
        """Return those of a machine that never fails."""
        return cls.of([])

    def overlap(self) -> int | None:
        """Return the position of an outage of a node that is down already; None: there is none."""
        order = np.lexsort((self.start, self.node))
        node, start, end = self.node[order], self.start[order], self.end[order]
        again = np.flatnonzero((node[1:] == node[:-1]) & (start[1:] < end[:-1]))
        return int(order[again[0] + 1]) if len(again) else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Schedule:
    """
    Starts, ends and nodes of all jobs in a simulation: J jobs in the order of the workload.

    Attributes
    ----------
    workload
        The workload as simulated: mapped onto the system, with the rejected jobs.
    system
        The system as simulated.
    start, end
        Seconds, or ``MISSING``, shape ``(J,)``. A requeued job has the last of its starts. A job
        that was cancelled in the queue, or never starts, has an end and no start.
    outcome
        :class:`JobOutcome` codes.
    ranking_estimate, runtime_estimate, runtime_bound
        Runtimes predicted at submit, seconds: for queue orders, for reservations, and as upper
        bound. ``MISSING`` for rejected jobs.
    segments
        Nodes of the jobs over time, in order of start, job and node.
    rejected
        Reason why a job can never run on the system, by row of the workload.
    never_started
        Reason why a job in the queue can never start, by row of the workload.
    outages
        Outages of nodes.
    overrun
        Treatment of jobs at their requested time: ``kill`` or ``extend``.
    """

    workload: Workload
    system: System
    start: IntArray
    end: IntArray
    outcome: IntArray
    ranking_estimate: IntArray
    runtime_estimate: IntArray
    runtime_bound: IntArray
    segments: Segments
    rejected: Mapping[int, str]
    overrun: str
    outages: Outages = field(default_factory=Outages.none)
    never_started: Mapping[int, str] = field(default_factory=dict)

    def parts(self) -> Iterator[tuple[int, Schedule]]:
        """
        Yield the schedule in parts of at most a million jobs, each with the row of its first job.

        Each part has all outages, and dependencies by the rows of the entire schedule.
        """
        num_jobs = len(self.workload)
        if num_jobs <= PART:
            yield 0, self
            return
        order = put_away(np.argsort(self.segments.job, kind="stable"))
        edges = [*range(0, num_jobs, PART), num_jobs]
        bounds = np.searchsorted(self.segments.job, edges, sorter=order).tolist()
        for at, (first, end) in enumerate(pairwise(edges)):
            segments = self.segments.take(np.sort(order[bounds[at] : bounds[at + 1]]))
            yield (
                first,
                replace(
                    self,
                    workload=self.workload.between(first, end),
                    segments=replace(segments, job=segments.job - first),
                    rejected=_within(self.rejected, first, end),
                    never_started=_within(self.never_started, first, end),
                    **{name: getattr(self, name)[first:end] for name in _OF_JOBS},
                ),
            )
            let_go(order, bounds[at], bounds[at + 1])
            self.let_go()

    def let_go(self) -> None:
        """
        Release the memory of columns that are stored in temporary files. They can still be read.
        """
        self.workload.let_go()
        self.segments.let_go(0, len(self.segments))
        for name in _OF_JOBS:
            let_go(getattr(self, name), 0, len(self.workload))

    def dependency_met(self) -> IntArray:
        """
        Return the second from which on the dependency of each job is met, shape ``(J,)``.

        For example, the end of the job that it waits for. ``MISSING`` for jobs without a
        dependency, and if it is not met by the end of the schedule.
        """
        workload = self.workload
        rows = np.flatnonzero(workload.dependency >= 0)
        if not len(rows):
            none: IntArray = constant(MISSING, (len(workload),))
            return none
        met = np.full(len(workload), MISSING, dtype=np.int64)
        needed, kind = workload.dependency[rows], workload.dependency_type[rows]
        when = self.end[needed]
        began = np.full(len(workload), MAX_TIME, dtype=np.int64)
        np.minimum.at(began, self.segments.job, self.segments.start)
        early = (kind == DependencyType.AFTER) & (began[needed] < MAX_TIME)
        when = np.where(early, began[needed], when)
        completed = (self.outcome[needed] == JobOutcome.COMPLETED) & np.isin(
            workload.status[needed], (Status.COMPLETED, Status.UNKNOWN)
        )
        never = (kind == DependencyType.AFTEROK) & ~completed
        never |= (kind == DependencyType.AFTERNOTOK) & completed
        met[rows] = np.where(never, MISSING, when)
        return met


def _within(reasons: Mapping[int, str], first: int, end: int) -> dict[int, str]:
    """Return the reasons of the rows in ``[first, end)``, counted from ``first``."""
    return {row - first: reason for row, reason in reasons.items() if first <= row < end}
