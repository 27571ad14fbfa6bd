"""Rules about where a job is: allocation, cover, nodes and eligibility."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.schedule import JobOutcome, Leaving
from cpsched.systems.mapping.classes import classify
from cpsched.util.types import MISSING, JobType
from cpsched.verification.findings import Rule
from cpsched.verification.phases import holding, inside, may_restart, node_name

if TYPE_CHECKING:
    from cpsched.verification.checked import Checked


def check_allocation(checked: Checked) -> None:
    """Check that the jobs that ran hold nodes, and no others."""
    schedule = checked.schedule
    holds = holding(schedule)
    has = np.zeros(len(holds), dtype=np.bool_)
    has[schedule.segments.job] = True
    # An unknown outcome has no meaning.
    known = np.isin(schedule.outcome, list(JobOutcome))
    checked.add(Rule.ALLOCATION, holds & ~has, lambda _: "ran, but no nodes are recorded for it")
    never = known & ~holds & ~may_restart(schedule)
    checked.add(Rule.ALLOCATION, never & has, lambda _: "never ran, but nodes are recorded for it")


def check_cover(checked: Checked) -> None:
    """Check that the phases of a job's last start follow each other from its start to its end."""
    schedule, phases, restarts = checked.schedule, checked.phases, checked.restarts
    phases = phases.take(~restarts.cut)
    job = phases.job
    start, end = schedule.start[job], schedule.end[job]
    end = np.where(schedule.outcome[job] == JobOutcome.NOT_ENDED, checked.horizon, end)
    again = np.zeros(len(job), dtype=np.bool_)
    again[1:] = job[1:] == job[:-1]
    last = np.append(~again[1:], True)[: len(job)]
    right_start = start.copy()
    right_start[again] = phases.end[np.flatnonzero(again) - 1]
    right_end = np.where(last, end, phases.end)
    broken = (phases.start != right_start) | (phases.end != right_end) | (right_end < right_start)
    broken |= (phases.leaving == Leaving.RESIZED) == last
    broken &= (start != MISSING) & (end != MISSING)
    checked.add(
        Rule.COVER,
        broken,
        lambda at: (
            f"has nodes from {phases.start[at]} to {phases.end[at]}, and must have nodes without a"
            f" gap from its start {start[at]} to its end {end[at]}"
        ),
        job,
    )
    fixed = np.isin(schedule.workload.job_type[job], [JobType.RIGID, JobType.MOLDABLE])
    checked.add(
        Rule.COVER,
        again & fixed & ~broken,
        lambda at: (
            f"changes its nodes at {phases.start[at]}, but jobs of its type keep their nodes"
        ),
        job,
    )


def check_nodes(checked: Checked) -> None:
    """Check that nodes exist, and a job holds each at most once."""
    schedule, phases = checked.schedule, checked.phases
    segments = schedule.segments
    checked.add(
        Rule.NODES,
        ~inside(schedule),
        lambda at: (
            f"is on {segments.count[at]} nodes from node {segments.node[at]} on, and the system has"
            f" the nodes 0 to {schedule.system.num_nodes - 1}"
        ),
        segments.job,
    )
    node, beyond, follows = phases.neighbours(segments)
    checked.add(
        Rule.NODES,
        follows & (node < beyond),
        lambda at: f"has node {node_name(schedule, int(node[at]))} twice at the same time",
        segments.job[phases.order],
    )


def check_eligible(checked: Checked) -> None:
    """Check that queue groups and constraints allow every node."""
    schedule = checked.schedule
    segments = schedule.segments
    classes = classify(schedule.workload, schedule.system)
    rows = np.flatnonzero(inside(schedule) & holding(schedule)[segments.job])
    own = classes.of_job[segments.job[rows]]
    order = np.argsort(own, kind="stable")
    bounds = np.searchsorted(own[order], np.arange(len(classes.nodes) + 1))
    broken = np.zeros(len(segments.job), dtype=np.bool_)
    # Class by class: the sums of all classes at once would not fit in memory on every machine.
    for index, allowed in enumerate(classes.nodes):
        part = rows[order[bounds[index] : bounds[index + 1]]]
        barred = np.concatenate([[0], np.cumsum(~allowed)])
        node = segments.node[part]
        broken[part] = barred[node + segments.count[part]] > barred[node]

    def say(position: int) -> str:
        first, count = segments.node[position], segments.count[position]
        allowed = classes.nodes[classes.of_job[segments.job[position]]]
        node = first + int(np.argmin(allowed[first : first + count]))
        return (
            f"is on node {schedule.system.node_names[node]}, which its queue or constraint excludes"
        )

    checked.add(Rule.ELIGIBLE, broken, say, segments.job)
