"""Goodput: which of the machine's core seconds did work that counts, and why others did not."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics.steps import exact_dot
from cpsched.metrics.window import busy_window
from cpsched.model.schedule import JobOutcome, Leaving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.model.schedule import Schedule


class Reason(StrEnum):
    """Why a job held cores for nothing."""

    REQUEUED = "requeued"
    """It was queued again, and no checkpoint had saved what it did."""
    KILLED = "killed"
    """The dispatcher killed it in the end: all that it did."""
    RESTARTING = "restarting"
    """It had been taken off its nodes, and was starting again (``restart_cost``)."""
    RESIZING = "resizing"
    """It was adapting to another allocation (``resize_cost``)."""


def goodput(schedule: Schedule) -> dict[str, Any]:
    """
    Return what became of the core seconds, as plain JSON types.

    Returns
    -------
    dict
        ``goodput``: the share of all core seconds (of the first resource kind, from first submit to
        last end) in which work was done that counts; ``lost``: the shares that jobs held for
        nothing, by :class:`Reason`. Together they are the utilization. None where the machine has
        no cores, or no job ran. ``restarts``: ``jobs`` that were taken off their nodes,
        ``starts_cut_short``, and ``lost_share`` of the held core seconds: the work of such starts
        that was not saved, and the time that starting again took.
    """
    window, segments = busy_window(schedule), schedule.segments
    seconds = int(schedule.system.total[0]) * window.length if window else 0
    allocated = sum(
        exact_dot(batch.count * batch.amount[:, 0], batch.end - batch.start)
        for batch in segments.batches()
    )
    lost = lost_core_seconds(schedule)
    again = lost[Reason.REQUEUED] + lost[Reason.RESTARTING]
    off = np.isin(segments.leaving, [Leaving.REQUEUED, Leaving.SUSPENDED])
    cut = np.unique(np.stack([segments.job[off], segments.start[off]]), axis=1)[0]
    return {
        "goodput": (allocated - sum(lost.values())) / seconds if seconds else None,
        "lost": {str(why): seconds_lost / seconds for why, seconds_lost in lost.items()}
        if seconds
        else None,
        "restarts": {
            "jobs": len(np.unique(cut)),
            "starts_cut_short": len(cut),
            "lost_share": again / allocated if allocated else 0.0,
        },
    }


def lost_core_seconds(schedule: Schedule) -> dict[Reason, int]:
    """
    Return the core seconds that jobs held for nothing, by reason.

    What a job that was queued again has done since its last checkpoint is lost; a suspended job
    loses nothing of it. Each start but the first begins with the job's ``restart_cost``, each
    resize with its ``resize_cost``, once earlier pauses are over.
    """
    total = dict.fromkeys(Reason, 0)
    killed = schedule.outcome == JobOutcome.KILLED
    for job, allocations in _of_changed_jobs(schedule):
        workload = schedule.workload
        account = _JobAccount(
            restart_cost=int(workload.restart_cost[job]),
            resize_cost=int(workload.resize_cost[job]),
            checkpoint=int(workload.checkpoint[job]),
        )
        for start, end, cores, leaving in allocations:
            account.hold(start, end, cores, leaving)
        for why, seconds in account.lost(killed=bool(killed[job])).items():
            total[why] += seconds
    return total


@dataclass(slots=True)
class _JobAccount:
    """Use of the core seconds of one job, allocation after allocation."""

    restart_cost: int
    resize_cost: int
    checkpoint: int
    #: From which second on the present start makes progress; None: the job is off its nodes.
    begun: int | None = None
    #: When it has adapted to its present allocation.
    ready: int = 0
    starts: int = 0
    #: Of the present start: from when to when it worked, on how many cores.
    worked: list[tuple[int, int, int]] = field(default_factory=list)
    #: Core seconds of work that was saved, or not lost so far.
    done: int = 0
    _lost: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(Reason, 0))

    def hold(self, start: int, end: int, cores: int, leaving: int) -> None:
        """Note an allocation, and why it was left."""
        if self.begun is None:
            self.begun = self.ready = start + (self.restart_cost if self.starts else 0)
            self.starts += 1
        else:
            self.ready = max(self.ready, start) + self.resize_cost
        restarting, paused = (max(min(at, end) - start, 0) for at in (self.begun, self.ready))
        self._lost[Reason.RESTARTING] += cores * restarting
        self._lost[Reason.RESIZING] += cores * (paused - restarting)
        self.worked.append((start + paused, end, cores))
        if leaving != Leaving.RESIZED:
            self._leave(end, self.begun, leaving)

    def _leave(self, end: int, begun: int, leaving: int) -> None:
        """Note how much of the present start was saved."""
        saved = end
        if leaving == Leaving.REQUEUED:
            every = self.checkpoint
            saved = begun + (max(end - begun, 0) // every * every if every else 0)
        for since, until, cores in self.worked:
            saved_seconds = max(min(until, saved) - since, 0)
            self.done += cores * saved_seconds
            self._lost[Reason.REQUEUED] += cores * (until - since - saved_seconds)
        self.begun, self.worked = None, []

    def lost(self, *, killed: bool) -> dict[Reason, int]:
        """Return the lost core seconds."""
        return self._lost | ({Reason.KILLED: self.done} if killed else {})


def _of_changed_jobs(schedule: Schedule) -> Iterator[tuple[int, list[tuple[int, int, int, int]]]]:
    """Yield start, end, cores and leaving of each allocation of the jobs that may have lost any."""
    segments = schedule.segments
    changed = schedule.outcome == JobOutcome.KILLED
    changed[segments.job[segments.leaving != Leaving.END]] = True
    own = np.flatnonzero(changed[segments.job])
    job, start, end, leaving = (
        values[own] for values in (segments.job, segments.start, segments.end, segments.leaving)
    )
    cores = segments.count[own] * segments.amount[own, 0]
    order = np.lexsort((start, job))
    rows = np.stack([job, start, end, leaving, cores], axis=1)[order].tolist()
    for which, of_job in groupby(rows, key=lambda row: row[0]):
        allocations = []
        for (begin, until, why), nodes in groupby(of_job, key=lambda row: tuple(row[1:4])):
            allocations.append((begin, until, sum(row[4] for row in nodes), why))
        yield which, allocations
