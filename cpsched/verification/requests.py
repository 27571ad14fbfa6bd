"""Rules about what a job asked for: units, bounds, split, contiguity, locality, amounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.util.types import MISSING, JobType, Split
from cpsched.verification.findings import Rule
from cpsched.verification.phases import inside, node_name

if TYPE_CHECKING:
    from cpsched.util.types import BoolArray, IntArray
    from cpsched.verification.checked import Checked

#: Amounts beyond this are wrong whatever they are: their products do not fit in 64 bits.
_MAX_AMOUNT = float(1 << 62)


def check_units(checked: Checked) -> None:
    """Check that jobs have as many units as they ask for."""
    schedule, phases = checked.schedule, checked.phases
    workload, segments, job = schedule.workload, schedule.segments, phases.job
    checked.add(
        Rule.UNITS,
        segments.units < 1,
        lambda at: f"has {segments.units[at]} tasks on a node, must have at least 1",
        segments.job,
    )
    total = phases.total(segments.units * segments.count)
    rigid = workload.job_type[job] == JobType.RIGID
    low = np.where(rigid, workload.units[job], workload.units_min[job])
    high = np.where(rigid, workload.units[job], workload.units_max[job])

    def say(at: int) -> str:
        asked = f"{low[at]}" if low[at] == high[at] else f"{low[at]} to {high[at]}"
        return f"has {total[at]} tasks, but asks for {asked}"

    checked.add(Rule.UNITS, (total < low) | (total > high), say, job)


def check_bounds(checked: Checked) -> None:
    """Check on how many nodes jobs are."""
    schedule, phases = checked.schedule, checked.phases
    workload, job = schedule.workload, phases.job
    touched = phases.total(schedule.segments.count)
    low, high = workload.nodes_min[job], workload.nodes_max[job]
    checked.add(
        Rule.BOUNDS,
        (touched < low) | (touched > high),
        lambda at: f"is on {touched[at]} nodes, but may use {low[at]} to {high[at]}",
        job,
    )


def check_shape(checked: Checked) -> None:
    """Check even splits and contiguity, segment against segment before."""
    schedule, phases = checked.schedule, checked.phases
    workload, segments = schedule.workload, schedule.segments
    job = segments.job[phases.order]
    units = segments.units[phases.order]
    node, beyond, follows = phases.neighbours(segments)
    changed = np.zeros(len(job), dtype=np.bool_)
    changed[1:] = units[1:] != units[:-1]
    checked.add(
        Rule.SPLIT,
        follows & changed & (workload.split[job] == Split.EVEN),
        lambda at: (
            f"has {units[at - 1]} tasks on one node and {units[at]} on another, but asks for equal"
            " numbers"
        ),
        job,
    )
    checked.add(
        Rule.CONTIGUOUS,
        follows & (node > beyond) & workload.contiguous[job],
        lambda at: (
            f"needs consecutive nodes, but {node_name(schedule, int(node[at]))} does not follow"
            f" {node_name(schedule, int(beyond[at]) - 1)}"
        ),
        job,
    )


def check_locality(checked: Checked) -> None:
    """Check segments and limits of switches against the topology."""
    schedule, phases = checked.schedule, checked.phases
    workload, segments, job = schedule.workload, schedule.segments, phases.job
    topology = schedule.system.topology
    end = np.append(phases.first[1:], len(phases.order))
    limit = np.where(_outwaited(checked), 0, workload.max_switches)
    good = inside(schedule)

    def misfit(at: int, **asked: int) -> str:
        own = phases.order[phases.first[at] : end[at]]
        own = own[good[own]]
        runs = zip(segments.node[own], segments.count[own], strict=True)
        nodes = [np.arange(first, first + count) for first, count in runs]
        return topology.misfit(np.unique(np.concatenate(nodes)), **asked) if nodes else ""

    for rule, column, name in (
        (Rule.SEGMENT, workload.segment, "segment"),
        (Rule.MAX_SWITCHES, limit, "max_switches"),
    ):
        complaints: dict[int, str] = {}
        for at in np.flatnonzero(column[job]).tolist():
            complaints[at] = misfit(at, **{name: int(column[job[at]])})
        wrong = np.zeros(len(job), dtype=np.bool_)
        wrong[[at for at, words in complaints.items() if words]] = True
        checked.add(rule, wrong, complaints.__getitem__, job)


def _outwaited(checked: Checked) -> BoolArray:
    """Tell which jobs have waited as long as their limit of switches counts, shape ``(J,)``."""
    workload = checked.workload
    eligible = np.maximum(workload.submit, workload.begin)
    eligible = np.maximum(eligible, checked.dependency_met)
    waits: BoolArray = (workload.switch_wait != MISSING) & (
        checked.schedule.start >= eligible + workload.switch_wait
    )
    return waits


def check_amount(checked: Checked) -> None:
    """Check what is taken of each node."""
    schedule, phases = checked.schedule, checked.phases
    workload, segments, system = schedule.workload, schedule.segments, schedule.system
    order = phases.order[inside(schedule)[phases.order]]
    job, node, count = segments.job[order], segments.node[order], segments.count[order]
    units, alone = segments.units[order], workload.exclusive[job]
    alike = _runs_of_alike(system.capacity)
    checked.add(
        Rule.AMOUNT,
        alone & (alike[node] != alike[node + count - 1]),
        lambda at: (
            f"takes equal amounts of {count[at]} nodes from {node_name(schedule, int(node[at]))}"
            " on, but is exclusive, and these nodes differ in size"
        ),
        job,
    )
    for kind, name in enumerate(system.resources):
        request, per_node = workload.request[job, kind], workload.per_node[job, kind]
        needed = units * request + per_node
        # A range: up to the most a job can use of each node.
        max_amount = needed + np.maximum(workload.per_node_max[job, kind] - per_node, 0)
        # The same in floating point, where products do not wrap around.
        huge = units.astype(np.float64) * request > _MAX_AMOUNT
        capacity, amount = system.capacity[node, kind], segments.amount[order, kind]
        wrong = huge | np.where(
            alone, amount != capacity, (amount < needed) | (amount > max_amount)
        )
        wrong |= alone & (needed > capacity)

        def say(
            at: int,
            name: str = name,
            columns: tuple[IntArray, ...] = (
                amount,
                units,
                request,
                per_node,
                capacity,
                max_amount,
            ),
        ) -> str:
            taken, each, of, besides, there, limit = (int(values[at]) for values in columns)
            own = f" to {limit}" if limit > each * of + besides else ""
            own = f", and an exclusive job takes all {there}" if alone[at] else own
            where = node_name(schedule, int(node[at]))
            need = each * of + besides
            return f"takes {taken} {name} of node {where}, but its tasks need {need}{own}"

        checked.add(Rule.AMOUNT, wrong, say, job)


def _runs_of_alike(capacity: IntArray) -> IntArray:
    """Number the maximal runs of neighbouring nodes with one capacity, shape ``(N,)``."""
    changes = (capacity[1:] != capacity[:-1]).any(axis=1)
    return np.concatenate([[0], np.cumsum(changes)]).astype(np.int64)
