"""Starts that were cut short: when they may be, and what they leave of a job's work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.types import MISSING
from cpsched.verification.findings import Findings, Rule

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule
    from cpsched.model.types import BoolArray, IntArray
    from cpsched.verification.phases import Phases


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Restarts:
    """
    Which phases were cut short, and what their jobs had still to do afterwards; P phases, J jobs.

    Attributes
    ----------
    cut
        Whether a phase ended before its job did and the job was queued again, shape ``(P,)``.
    due
        Seconds after which each phase would have come to its end, if jobs run as long as the log
        says, shape ``(P,)``; of those cut short alone.
    left
        Seconds of the log's runtime that were left to the last start, shape ``(J,)``.
    extra
        Seconds that the last start takes longer than a first one, shape ``(J,)``.
    """

    cut: BoolArray
    due: IntArray
    left: IntArray
    extra: IntArray

    @classmethod
    def of(cls, schedule: Schedule, phases: Phases) -> Restarts:
        """Find the starts before the last, and what checkpoints have kept of them."""
        workload = schedule.workload
        last = schedule.start[phases.job]
        cut = (last == MISSING) | (phases.start < last)
        cut &= workload.restartable[phases.job] | _failed(schedule, phases, cut)
        left, extra = workload.runtime.copy(), np.zeros(len(workload), dtype=np.int64)
        due = np.zeros(len(cut), dtype=np.int64)
        for at in np.flatnonzero(cut).tolist():
            job = phases.job[at]
            due[at] = left[job] + extra[job]
            ran = max(phases.end[at] - phases.start[at] - extra[job], 0)
            every = workload.checkpoint[job]
            if every:
                left[job] -= min(ran // every * every, left[job])
            extra[job] = workload.restart_cost[job]
        return cls(cut=cut, due=due, left=left, extra=extra)


def _failed(schedule: Schedule, phases: Phases, some: BoolArray) -> BoolArray:
    """Tell which of some phases end as one of their nodes goes down."""
    segments, outages = schedule.segments, schedule.outages
    failed = np.zeros(len(phases.job), dtype=np.bool_)
    bounds = np.append(phases.first, len(phases.order))
    for at in np.flatnonzero(some & np.isin(phases.end, outages.start)).tolist():
        down = outages.node[outages.start == phases.end[at]][:, None]
        own = phases.order[bounds[at] : bounds[at + 1]]
        first, count = segments.node[own], segments.count[own]
        failed[at] = ((first <= down) & (down < first + count)).any()
    return failed


def check_outages(schedule: Schedule, findings: Findings) -> None:
    """Check that no job is on a node while that is down."""
    segments, outages = schedule.segments, schedule.outages
    # A job of runtime 0 needs its nodes at its second.
    last = np.maximum(segments.end, segments.start + 1)
    for at in range(len(outages)):
        node, start, end = outages.node[at], outages.start[at], outages.end[at]
        broken = (segments.start < end) & (last > start)
        broken &= (segments.node <= node) & (node < segments.node + segments.count)
        if broken.any():
            name = schedule.system.node_names[node]
            findings.add(
                Rule.OUTAGE,
                broken,
                lambda _, name=name, start=start, end=end: (  # type: ignore[misc]
                    f"is on node {name}, which is down in [{start}, {end})"
                ),
                segments.job,
            )


def check_restarts(
    schedule: Schedule, findings: Findings, phases: Phases, restarts: Restarts, *, recorded: bool
) -> None:
    """Check that starts which were cut short come one after the other, and could not go on."""
    workload = schedule.workload
    at = np.flatnonzero(restarts.cut)
    job, start, end = phases.job[at], phases.start[at], phases.end[at]
    follows = np.zeros(len(at), dtype=np.bool_)
    follows[1:] = job[1:] == job[:-1]
    earliest = np.maximum(workload.submit, workload.begin)[job]
    before = np.where(follows, np.roll(end, 1), earliest)
    last = np.append(~follows[1:], True)[: len(at)]
    next_start = np.where(last & (schedule.start[job] != MISSING), schedule.start[job], end)

    def say(position: int) -> str:
        return (
            f"is cut short in [{start[position]}, {end[position]}); it may start from"
            f" {before[position]} on, must run for a second and have left when it starts again"
        )

    findings.add(Rule.RESTART, (start < before) | (end <= start) | (end > next_start), say, job)
    if recorded:
        late = end - start >= restarts.due[at]
        findings.add(
            Rule.RUNTIME,
            late,
            lambda position: (
                f"is cut short after {end[position] - start[position]} s, but would have ended"
                f" after {restarts.due[at][position]} s"
            ),
            job,
        )
