"""Rules about what is cut short: starts before the last one, and nodes that go down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.schedule import Leaving
from cpsched.util.types import MISSING, JobType
from cpsched.verification.findings import Rule

if TYPE_CHECKING:
    from cpsched.verification.checked import Checked


def check_outages(checked: Checked) -> None:
    """Check that no job is on a node that is down, or has run into an outage that was known."""
    schedule, segments, outages = checked.schedule, checked.segments, checked.schedule.outages
    # A job of runtime 0 needs its nodes at its second.
    last = np.maximum(segments.end, segments.start + 1)
    rigid = schedule.workload.job_type[segments.job] == JobType.RIGID
    limit = segments.start + schedule.workload.requested_time[segments.job]

    def check(node: int, start: int, end: int, known: int) -> None:
        on = (segments.node <= node) & (node < segments.node + segments.count)
        name = schedule.system.node_names[node]
        checked.add(
            Rule.OUTAGE,
            on & (segments.start < end) & (last > start),
            lambda _: f"is on node {name}, which is down from {start} to {end}",
            segments.job,
        )
        before = (known <= segments.start) & (segments.start < start) & (start < limit)
        checked.add(
            Rule.PLANNED_OUTAGE,
            on & rigid & before,
            lambda row: (
                f"starts at {segments.start[row]} on node {name}, which is known to go down at"
                f" {start}, within its requested time"
            ),
            segments.job,
        )

    columns = (getattr(outages, name).tolist() for name in ("node", "start", "end", "known"))
    for outage in zip(*columns, strict=True):
        check(*outage)


def check_restarts(checked: Checked) -> None:
    """Check that phases before the last are in sequence, and could not continue."""
    schedule, phases, restarts = checked.schedule, checked.phases, checked.restarts
    workload = schedule.workload
    at = np.flatnonzero(restarts.cut)
    job, start, end = phases.job[at], phases.start[at], phases.end[at]
    follows = np.zeros(len(at), dtype=np.bool_)
    follows[1:] = job[1:] == job[:-1]
    resized = follows.copy()
    resized[1:] &= phases.leaving[at][:-1] == Leaving.RESIZED
    earliest = np.maximum(workload.submit, workload.begin)[job]
    before = np.where(follows, np.roll(end, 1), earliest)
    last = np.append(~follows[1:], True)[: len(at)]
    next_start = np.where(last & (schedule.start[job] != MISSING), schedule.start[job], end)

    def say(position: int) -> str:
        return (
            f"runs from {start[position]} to {end[position]} before it is cut short. It must start"
            f" at {before[position]} or later, run for 1 s or more, and end before its next start"
        )

    broken = (start < before) | (end <= start) | (end > next_start)
    broken |= resized & (start != before)
    checked.add(Rule.RESTART, broken, say, job)
    if checked.recorded:
        early = np.flatnonzero(restarts.cut | (phases.leaving == Leaving.RESIZED))
        ran = (phases.end - phases.start)[early]
        checked.add(
            Rule.RUNTIME,
            ran >= restarts.due[early],
            lambda position: (
                f"is cut short after {ran[position]} s, but its work was done after"
                f" {restarts.due[early][position]} s"
            ),
            phases.job[early],
        )
