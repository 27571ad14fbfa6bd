"""Rules about where jobs are: cover, nodes, units, bounds, split, contiguity, amounts, eligibility."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.mapping.classes import classify
from cpsched.metrics.findings import Findings, Rule
from cpsched.metrics.window import ended, horizon
from cpsched.model.schedule import JobOutcome
from cpsched.model.types import MISSING, JobType, Split

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule, Segments
    from cpsched.model.types import BoolArray, IntArray

#: Amounts beyond this are compared as wrong: their products do not fit in 64 bits.
_MOST = float(1 << 62)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Phases:
    """
    What each job holds without a change; P phases, one a job unless it is resized.

    Attributes
    ----------
    order
        Positions of the segments by (job, start, end, node), without those of jobs that must not
        hold any, shape ``(M,)``.
    first
        Where each phase begins in ``order``, shape ``(P,)``.
    job, start, end
        Row of the workload, and seconds, of each phase, shape ``(P,)``.
    """

    order: IntArray
    first: IntArray
    job: IntArray
    start: IntArray
    end: IntArray

    @classmethod
    def of(cls, segments: Segments, holds: BoolArray) -> Phases:
        """Sort the segments into phases."""
        order = np.lexsort((segments.node, segments.end, segments.start, segments.job))
        order = order[holds[segments.job[order]]]
        keys = [column[order] for column in (segments.job, segments.start, segments.end)]
        changes = np.ones(len(order), dtype=np.bool_)
        changes[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
        first = np.flatnonzero(changes)
        job, start, end = (key[first] for key in keys)
        return cls(order=order, first=first, job=job, start=start, end=end)

    def total(self, values: IntArray) -> IntArray:
        """Return the sum over each phase of a value a segment, shape ``(P,)``."""
        return np.add.reduceat(values[self.order], self.first) if len(self.first) else self.first

    def follows(self) -> BoolArray:
        """Tell which entries of ``order`` follow another one of the same phase, shape ``(M,)``."""
        same = np.ones(len(self.order), dtype=np.bool_)
        same[self.first] = False
        return same


def holding(schedule: Schedule) -> BoolArray:
    """Tell which jobs must hold nodes: those that ran, or were running at the cut."""
    running = (schedule.outcome == JobOutcome.NOT_ENDED) & (schedule.start != MISSING)
    return ended(schedule) | running


def check_places(schedule: Schedule, findings: Findings) -> None:
    """Check every rule on a job's own segments but eligibility."""
    holds, segments = holding(schedule), schedule.segments
    phases = Phases.of(segments, holds)
    _check_allocation(schedule, findings, holds)
    _check_cover(schedule, findings, phases)
    _check_nodes(schedule, findings, phases)
    _check_units(schedule, findings, phases)
    _check_bounds(schedule, findings, phases)
    _check_shape(schedule, findings, phases)
    _check_amount(schedule, findings, phases)


def check_eligible(schedule: Schedule, findings: Findings) -> None:
    """Check that queue groups and constraints allow every node."""
    segments = schedule.segments
    classes = classify(schedule.workload, schedule.system)
    inside = np.flatnonzero(_inside(schedule) & holding(schedule)[segments.job])
    own = classes.of_job[segments.job[inside]]
    inside = inside[np.argsort(own, kind="stable")]
    ends = np.searchsorted(np.sort(own), np.arange(len(classes.nodes)), side="right")
    broken = np.zeros(len(segments.job), dtype=np.bool_)
    # Class by class: what all classes' sums need does not fit in memory on every machine.
    for index, rows in enumerate(np.split(inside, ends[:-1]) if len(ends) else []):
        barred = np.concatenate([[0], np.cumsum(~classes.nodes[index])])
        node, count = segments.node[rows], segments.count[rows]
        broken[rows] = barred[node + count] > barred[node]

    def say(position: int) -> str:
        first, count = segments.node[position], segments.count[position]
        allowed = classes.nodes[classes.of_job[segments.job[position]]]
        node = first + int(np.argmin(allowed[first : first + count]))
        return f"is on node {schedule.system.node_names[node]}, which it may not use"

    findings.add(Rule.ELIGIBLE, broken, say, segments.job)


def _check_allocation(schedule: Schedule, findings: Findings, holds: BoolArray) -> None:
    segments = schedule.segments
    has = np.zeros(len(holds), dtype=np.bool_)
    has[segments.job] = True
    findings.add(Rule.ALLOCATION, holds & ~has, lambda _: "ran, but holds no node")
    findings.add(Rule.ALLOCATION, has & ~holds, lambda _: "holds nodes, but never ran")


def _check_cover(schedule: Schedule, findings: Findings, phases: Phases) -> None:
    """Check that a job's phases follow each other from its start to its end."""
    job = phases.job
    start = schedule.start[job]
    end = schedule.end[job]
    end = np.where(end != MISSING, end, horizon(schedule))
    again = np.zeros(len(job), dtype=np.bool_)
    again[1:] = job[1:] == job[:-1]
    last = np.ones(len(job), dtype=np.bool_)
    last[:-1] = ~again[1:]
    right_start, right_end = start.copy(), phases.end.copy()
    right_start[1:] = np.where(again[1:], phases.end[:-1], start[1:])
    right_end[last] = end[last]
    known = start != MISSING
    broken = known & ((phases.start != right_start) | (phases.end != right_end))
    broken |= known & (phases.end < phases.start)
    findings.add(
        Rule.COVER,
        broken,
        lambda at: (
            f"holds nodes in [{phases.start[at]}, {phases.end[at]}), must hold some all along"
            f" [{start[at]}, {end[at]}), in one piece after the other"
        ),
        job,
    )
    fixed = np.isin(schedule.workload.job_type[job], [JobType.RIGID, JobType.MOLDABLE])
    findings.add(
        Rule.COVER,
        again & fixed & ~broken,
        lambda at: f"changes its nodes at {phases.start[at]}, it cannot be resized",
        job,
    )


def _inside(schedule: Schedule) -> BoolArray:
    """Tell which segments lie on nodes of the machine, shape ``(M,)``."""
    node, count = schedule.segments.node, schedule.segments.count
    num_nodes = schedule.system.num_nodes
    # Count is compared by itself first: the sum of two wild numbers may wrap around.
    return (node >= 0) & (node < num_nodes) & (count >= 1) & (count <= num_nodes - node)


def _check_nodes(schedule: Schedule, findings: Findings, phases: Phases) -> None:
    segments = schedule.segments
    findings.add(
        Rule.NODES,
        ~_inside(schedule),
        lambda at: (
            f"is on {segments.count[at]} nodes from {segments.node[at]} on, nodes are within"
            f" [0, {schedule.system.num_nodes})"
        ),
        segments.job,
    )
    node, beyond, follows = _neighbours(segments, phases)
    findings.add(
        Rule.NODES,
        follows & (node < beyond),
        lambda at: f"holds node {_node_name(schedule, int(node[at]))} twice",
        segments.job[phases.order],
    )


def _neighbours(segments: Segments, phases: Phases) -> tuple[IntArray, IntArray, BoolArray]:
    """Return in phase order: first node, the node after the segment before, is there one."""
    node = segments.node[phases.order]
    beyond = np.zeros(len(node), dtype=np.int64)
    beyond[1:] = (node + segments.count[phases.order])[:-1]
    return node, beyond, phases.follows()


def _check_units(schedule: Schedule, findings: Findings, phases: Phases) -> None:
    workload, segments, job = schedule.workload, schedule.segments, phases.job
    findings.add(
        Rule.UNITS,
        segments.units < 1,
        lambda at: f"has {segments.units[at]} units on a node, must be at least one",
        segments.job,
    )
    total = phases.total(segments.units * segments.count)
    rigid = workload.job_type[job] == JobType.RIGID
    low = np.where(rigid, workload.units[job], workload.units_min[job])
    high = np.where(rigid, workload.units[job], workload.units_max[job])

    def say(at: int) -> str:
        asked = f"{low[at]}" if low[at] == high[at] else f"{low[at]} to {high[at]}"
        return f"has {total[at]} units, asks for {asked}"

    findings.add(Rule.UNITS, (total < low) | (total > high), say, job)


def _check_bounds(schedule: Schedule, findings: Findings, phases: Phases) -> None:
    workload, job = schedule.workload, phases.job
    touched = phases.total(schedule.segments.count)
    low, high = workload.nodes_min[job], workload.nodes_max[job]
    findings.add(
        Rule.BOUNDS,
        (touched < low) | (touched > high),
        lambda at: f"is on {touched[at]} nodes, may touch {low[at]} to {high[at]}",
        job,
    )


def _check_shape(schedule: Schedule, findings: Findings, phases: Phases) -> None:
    """Check even splits and contiguity, segment against segment before."""
    workload, segments = schedule.workload, schedule.segments
    job = segments.job[phases.order]
    units = segments.units[phases.order]
    node, beyond, follows = _neighbours(segments, phases)
    changed = np.zeros(len(job), dtype=np.bool_)
    changed[1:] = units[1:] != units[:-1]
    findings.add(
        Rule.SPLIT,
        follows & changed & (workload.split[job] == Split.EVEN),
        lambda at: f"has {units[at - 1]} units on one node and {units[at]} on another",
        job,
    )
    findings.add(
        Rule.CONTIGUOUS,
        follows & (node > beyond) & workload.contiguous[job],
        lambda at: (
            f"needs consecutive nodes; {_node_name(schedule, int(node[at]))} does not follow"
            f" {_node_name(schedule, int(beyond[at]) - 1)}"
        ),
        job,
    )


def _check_amount(schedule: Schedule, findings: Findings, phases: Phases) -> None:
    workload, segments, system = schedule.workload, schedule.segments, schedule.system
    order = phases.order[_inside(schedule)[phases.order]]
    job, node, count = segments.job[order], segments.node[order], segments.count[order]
    units, alone = segments.units[order], workload.exclusive[job]
    alike = _runs_of_alike(system.capacity)
    # A run of nodes of a job alone there has one amount, so its nodes must have one capacity.
    uneven = alone & (alike[node] != alike[node + count - 1])
    for kind, name in enumerate(system.resources):
        request, per_node = workload.request[job, kind], workload.per_node[job, kind]
        need = units * request + per_node
        huge = units.astype(np.float64) * request + per_node > _MOST
        capacity = system.capacity[node, kind]
        right = np.where(alone, capacity, need)
        amount = segments.amount[order, kind]

        def say(at: int, name: str = name, amount: IntArray = amount, need: IntArray = need) -> str:
            own = " and the whole node" if alone[at] else ""
            where = _node_name(schedule, int(node[at]))
            return f"takes {amount[at]} {name} of node {where}, asks for {need[at]}{own}"

        wrong = huge | (amount != right) | (alone & (need > capacity))
        if kind == 0:
            wrong |= uneven
        findings.add(Rule.AMOUNT, wrong, say, job)


def _runs_of_alike(capacity: IntArray) -> IntArray:
    """Number the maximal runs of neighbouring nodes with one capacity, shape ``(N,)``."""
    changes = (capacity[1:] != capacity[:-1]).any(axis=1)
    return np.concatenate([[0], np.cumsum(changes)]).astype(np.int64)


def _node_name(schedule: Schedule, node: int) -> str:
    """Return a node's name, or its number where there is no such node."""
    names = schedule.system.node_names
    return names[node] if 0 <= node < len(names) else str(node)
