"""Starts that were cut short and changes of size: what they leave of a job's work."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.schedule import Leaving
from cpsched.util.types import MISSING, JobType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.model.schedule import Schedule
    from cpsched.model.workload import Workload
    from cpsched.util.types import BoolArray, IntArray
    from cpsched.verification.phases import Phases


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Restarts:
    """
    Which phases were cut short, and what their jobs had still to do; P phases, J jobs.

    Attributes
    ----------
    cut
        Whether a phase belongs to a start after which the job was queued again, shape ``(P,)``.
    due
        Seconds after which each phase would have brought its job to its end, if jobs have as much
        to do as the log says, shape ``(P,)``; 0 for jobs of one phase on the units they prefer.
    left
        Seconds of the log's runtime that were left to the last start, shape ``(J,)``.
    extra
        Seconds that the last start takes longer than a first one, shape ``(J,)``.
    right
        Seconds from the last start to the job's end, shape ``(J,)``.
    timed_out
        Whether these are up at the requested time, shape ``(J,)``.
    sized
        Whether a job had other units than it prefers, or was resized, shape ``(J,)``.
    """

    cut: BoolArray
    due: IntArray
    left: IntArray
    extra: IntArray
    right: IntArray
    timed_out: BoolArray
    sized: BoolArray

    @classmethod
    def of(cls, schedule: Schedule, phases: Phases) -> Restarts:
        """Find the starts before the last, and what checkpoints have kept of them."""
        workload, (num_jobs, num) = schedule.workload, (len(schedule.workload), len(phases.job))
        kills = schedule.overrun == "kill"
        cut = _before_last(schedule, phases)
        sizes = phases.total(schedule.segments.units * schedule.segments.count)
        resizable = workload.job_type != JobType.RIGID
        sized = np.zeros(num_jobs, dtype=np.bool_)
        sized[phases.job[resizable[phases.job] & (sizes != workload.units[phases.job])]] = True
        sized[phases.job[phases.leaving == Leaving.RESIZED]] = True
        left, extra = workload.runtime.copy(), np.zeros(num_jobs, dtype=np.int64)
        due = np.zeros(num, dtype=np.int64)
        limited = np.bool_(kills) & (workload.requested_time != MISSING)
        timed_out = limited & (workload.runtime > workload.requested_time)
        right = np.where(timed_out, workload.requested_time, workload.runtime)
        special = sized.copy()
        special[phases.job[cut]] = True
        for first, end in _ranges_of(phases.job, special):
            job = int(phases.job[first])
            account = _JobWork.of(workload, job, kills=bool(limited[job]))
            for at in range(first, end):
                due[at] = account.enter(int(phases.start[at]), int(sizes[at]))
                account.leave(int(phases.end[at]), int(phases.leaving[at]))
            if not cut[end - 1]:
                right[job] = phases.start[end - 1] + due[end - 1] - account.start
            timed_out[job] = account.will_time_out
            left[job], extra[job] = account.seconds_left, account.begun - account.start
        return cls(
            cut=cut,
            due=due,
            left=left,
            extra=extra,
            right=right,
            timed_out=timed_out,
            sized=sized,
        )


@dataclass(slots=True)
class _JobWork:
    """The work of one job, phase after phase."""

    units: int
    serial: Fraction | None
    limit: Fraction | None
    left: Fraction
    restart_cost: int
    resize_cost: int
    checkpoint: int
    start: int = 0
    begun: int = 0
    runs: bool = False
    starts: int = 0
    #: Of the present start: from when to when how fast, the last one without an end.
    steps: list[tuple[int, int, Fraction]] = field(default_factory=list)

    @classmethod
    def of(cls, workload: Workload, job: int, *, kills: bool) -> _JobWork:
        """Return the account of a job that has not started; work counts in seconds."""
        rigid = workload.job_type[job] == JobType.RIGID
        return cls(
            units=int(workload.units[job]),
            serial=None if rigid else Fraction(int(workload.serial[job]), 10**6),
            limit=Fraction(int(workload.requested_time[job])) if kills else None,
            left=Fraction(int(workload.runtime[job])),
            restart_cost=int(workload.restart_cost[job]),
            resize_cost=int(workload.resize_cost[job]),
            checkpoint=int(workload.checkpoint[job]),
        )

    def enter(self, start: int, units: int) -> int:
        """Begin a phase; return after how many seconds it would bring the job to its end."""
        if self.runs:
            begin = max(start, self.steps[-1][0]) + self.resize_cost
        else:
            self.steps, self.runs, self.start = [], True, start
            begin = self.begun = start + (self.restart_cost if self.starts else 0)
            self.starts += 1
        speed = self._speed(units)
        work = self.left if self.limit is None else min(self.left, self.limit)
        seconds = max(work - self._done(start), Fraction(0)) / speed
        self.steps.append((begin, begin, speed))
        return begin - start - (-seconds.numerator // seconds.denominator)

    def leave(self, end: int, why: int) -> None:
        """End a phase."""
        begin, _, speed = self.steps[-1]
        self.steps[-1] = (begin, max(end, begin), speed)
        if why == Leaving.RESIZED or why == Leaving.END:
            return
        self.runs = False
        saved = end
        if why == Leaving.REQUEUED:
            passed = max(end - self.begun, 0)
            saved = self.begun + (
                passed // self.checkpoint * self.checkpoint if self.checkpoint else 0
            )
        self.left -= self._done(saved)

    @property
    def will_time_out(self) -> bool:
        """Whether more is left than may be done from one start."""
        return self.limit is not None and self.left > self.limit

    @property
    def seconds_left(self) -> int:
        """What is left, on the units that the job prefers, rounded up."""
        return -(-self.left.numerator // self.left.denominator)

    def _done(self, second: int) -> Fraction:
        done = [speed * max(min(end, second) - begin, 0) for begin, end, speed in self.steps]
        return min(sum(done, Fraction(0)), self.left)

    def _speed(self, units: int) -> Fraction:
        """Return the seconds of work done in one, in whole parts where jobs are counted in such."""
        if self.serial is None:
            return Fraction(1)
        f = self.serial
        if f == 0:
            return Fraction(units, self.units)
        speed = (f + (1 - f) / self.units) / (f + (1 - f) / units)
        return Fraction(max(int(speed * 10**6), 1), 10**6)


def _ranges_of(job: IntArray, chosen: BoolArray) -> Iterator[tuple[int, int]]:
    """Yield where the phases of some jobs begin and end."""
    edges = np.flatnonzero(np.diff(job, prepend=-1, append=-1))
    for first, end in pairwise(edges.tolist()):
        if chosen[job[first]]:
            yield first, end


def _before_last(schedule: Schedule, phases: Phases) -> BoolArray:
    """Tell which phases belong to a start after which the job was queued again and might be."""
    job, leaving = phases.job, phases.leaving
    off = np.isin(leaving, [Leaving.REQUEUED, Leaving.SUSPENDED])
    cut = off & (schedule.workload.restartable[job] | _failed(schedule, phases, off))
    # A resize before belongs to the same start.
    for at in np.flatnonzero(leaving == Leaving.RESIZED)[::-1].tolist():
        cut[at] = at + 1 < len(job) and job[at + 1] == job[at] and cut[at + 1]
    return cut


def _failed(schedule: Schedule, phases: Phases, chosen: BoolArray) -> BoolArray:
    """Tell which of some phases end as one of their nodes goes down."""
    segments, outages = schedule.segments, schedule.outages
    failed = np.zeros(len(phases.job), dtype=np.bool_)
    bounds = np.append(phases.first, len(phases.order))
    for at in np.flatnonzero(chosen & np.isin(phases.end, outages.start)).tolist():
        down = outages.node[outages.start == phases.end[at]][:, None]
        own = phases.order[bounds[at] : bounds[at + 1]]
        first, count = segments.node[own], segments.count[own]
        failed[at] = ((first <= down) & (down < first + count)).any()
    return failed
