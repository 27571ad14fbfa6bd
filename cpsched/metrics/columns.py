"""A schedule as tables: its jobs, what they held, when nodes were down, and the queue over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched import _core
from cpsched.metrics.jobs import bounded_slowdown
from cpsched.metrics.nominal import nominal
from cpsched.metrics.steps import Counted, IntervalLoad, changes, waits
from cpsched.metrics.waits import began, recorded_wait
from cpsched.metrics.window import finished
from cpsched.model.schedule import JobOutcome, Leaving
from cpsched.util import arrow
from cpsched.util.node_lists import NodeNames
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from cpsched.model.schedule import Schedule, Segments
    from cpsched.model.system import System
    from cpsched.model.workload import Labels
    from cpsched.util.types import IntArray


def jobs_in_parts(schedule: Schedule) -> Iterator[dict[str, Any]]:
    """Yield the table of jobs, some rows at a time."""
    for _, part in schedule.parts():
        yield job_columns(part)


def job_columns(schedule: Schedule) -> dict[str, Any]:
    """
    Return the table of jobs, in workload order; times are seconds since the epoch.

    ``nominal_runtime`` and ``cores`` as in :class:`~cpsched.metrics.nominal.Nominal`.
    """
    workload = schedule.workload
    started = schedule.start != MISSING
    num_nodes, nodes = job_placements(schedule)
    runtime, width = nominal(schedule)
    done = finished(schedule)
    return {
        "job_id": arrow.texts(workload.job_id),
        "submit": arrow.numbers(workload.submit),
        "start": _optional(schedule.start),
        "end": _optional(schedule.end),
        "wait": arrow.numbers(np.where(started, began(schedule) - workload.submit, 0), started),
        "num_nodes": arrow.numbers(num_nodes),
        "nodes": nodes,
        "units": arrow.numbers(workload.units),
        "requested_time": arrow.numbers(workload.requested_time),
        "runtime": arrow.numbers(workload.runtime),
        "nominal_runtime": arrow.numbers(np.where(done, runtime, 0), done),
        "cores": arrow.numbers(width),
        "predicted": _optional(schedule.runtime_estimate),
        "predicted_priority": _optional(schedule.ranking_estimate),
        "predicted_bound": _optional(schedule.runtime_bound),
        "outcome": arrow.coded(
            schedule.outcome - min(JobOutcome),
            [outcome.name.lower() for outcome in sorted(JobOutcome)],
        ),
        "reason": _reasons(schedule),
    }


def job_measures(schedule: Schedule) -> dict[str, Any]:
    """
    Return additional columns of each job: its user, and its measures.

    ``recorded_wait`` is what the log says. Jobs that did not run to an end have no measures.
    """
    workload, done = schedule.workload, finished(schedule)
    runtime = nominal(schedule).runtime
    turnaround = np.where(done, schedule.end - workload.submit, 0)
    slowdown = bounded_slowdown(turnaround, np.where(done, runtime, 0))
    recorded = recorded_wait(workload)
    labels = ("user", "group", "queue", "name")
    return {
        **{name: _labels(getattr(workload, name)) for name in labels},
        "turnaround": arrow.numbers(turnaround, done),
        "bounded_slowdown": arrow.numbers(slowdown, done),
        "recorded_wait": _optional(recorded),
    }


def _labels(column: Labels) -> pa.Array:
    return arrow.coded(column.codes, column.values)


def job_placements(schedule: Schedule) -> tuple[IntArray, pa.Array]:
    """Return number and names of the nodes of each job at its start, shape ``(J,)``."""
    segments = schedule.segments
    num_jobs = len(schedule.workload)
    rows = np.flatnonzero(segments.start == schedule.start[segments.job])
    rows = rows[np.lexsort((segments.node[rows], segments.job[rows]))]
    job, node, count = (values[rows] for values in (segments.job, segments.node, segments.count))
    num_nodes = np.bincount(job, weights=count, minlength=num_jobs).astype(np.int64)
    # Few jobs of a log lie on a set of nodes no other job has: each set is written out once.
    firsts = np.flatnonzero(np.diff(job, prepend=-1))
    runs = np.stack([node, count], axis=1)
    bounds = np.append(firsts, len(job))
    indices, samples = _core.numbered_sequences(runs, bounds)
    names = NodeNames(schedule.system.node_names)
    texts = [
        names.folded(runs[first:last].tolist())
        for first, last in zip(bounds[samples].tolist(), bounds[samples + 1].tolist(), strict=True)
    ]
    which = np.full(num_jobs, -1, dtype=np.int64)
    which[job[firsts]] = indices
    return num_nodes, arrow.coded(which, texts)


def _reasons(schedule: Schedule) -> pa.Array:
    """Return why each job was rejected or never started; a few reasons serve for many jobs."""
    reasons = {**schedule.rejected, **schedule.never_started}
    texts = list(dict.fromkeys(reasons.values()))
    code = {text: index for index, text in enumerate(texts)}
    which = np.full(len(schedule.workload), -1, dtype=np.int64)
    which[list(reasons)] = [code[text] for text in reasons.values()]
    return arrow.coded(which, texts)


def allocation_columns(schedule: Schedule) -> Iterator[dict[str, Any]]:
    """Yield the table of allocations, a run of nodes a row, some rows at a time."""
    segments = schedule.segments
    left = bool(segments.leaving.any())
    for batch in segments.batches():
        yield _allocations(batch, schedule.system, left=left)


def _allocations(segments: Segments, system: System, *, left: bool) -> dict[str, Any]:
    table: dict[str, Any] = {
        "job": arrow.numbers(segments.job.astype(np.int32)),
        "from": arrow.numbers(segments.start),
        "to": arrow.numbers(segments.end),
        "node": arrow.numbers(segments.node.astype(np.int32)),
        "count": arrow.numbers(segments.count.astype(np.int32)),
        "units": arrow.numbers(segments.units.astype(np.int32)),
    }
    if left:
        table["leaving"] = arrow.coded(segments.leaving, [why.name.lower() for why in Leaving])
    return table | _by_resource("amount", system, segments.amount)


def outage_columns(schedule: Schedule) -> dict[str, Any]:
    """Return the table of outages, one of a node a row."""
    outages = schedule.outages
    table: dict[str, Any] = {
        "node": arrow.numbers(outages.node.astype(np.int32)),
        "from": arrow.numbers(outages.start),
        "to": arrow.numbers(outages.end),
    }
    planned = outages.known < outages.start
    return table | ({"known": arrow.numbers(outages.known)} if planned.any() else {})


def queue_columns(schedule: Schedule) -> Iterator[dict[str, Any]]:
    """Yield queue length, running jobs and used resources wherever one of them changes."""
    segments, system = schedule.segments, schedule.system
    alive = schedule.start != MISSING
    ends = np.where(schedule.end == MISSING, segments.end.max(initial=0), schedule.end)
    loads = [
        IntervalLoad(*map(Counted.of, waits(schedule))),
        IntervalLoad(Counted.of(schedule.start[alive]), Counted.of(ends[alive])),
    ]
    schedule.let_go()
    sides = (
        Counted.each(times, (segments.count * amount for amount in segments.amount.T))
        for times in (segments.start, segments.end)
    )
    loads += [IntervalLoad(*each) for each in zip(*sides, strict=True)]
    schedule.let_go()
    for times, values in changes(loads):
        table: dict[str, Any] = {
            "time": arrow.numbers(times),
            "waiting": arrow.numbers(values[:, 0]),
            "running": arrow.numbers(values[:, 1]),
        }
        yield table | _by_resource("used", system, values[:, 2:])


def _by_resource(name: str, system: System, amounts: IntArray) -> dict[str, Any]:
    return {
        f"{name}.{resource}": arrow.numbers(amounts[:, kind])
        for kind, resource in enumerate(system.resources)
    }


def _optional(values: IntArray) -> pa.Array:
    return arrow.numbers(values, values != MISSING)
