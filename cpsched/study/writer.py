"""Write a finished simulation to a folder."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cpsched import arrow, traces
from cpsched.metrics.predictions import not_a_forecast
from cpsched.metrics.steps import StepFunction, distinct, used, waiting
from cpsched.metrics.summary import summarize
from cpsched.model.schedule import JobOutcome, Leaving
from cpsched.model.types import MISSING
from cpsched.simulation.identity import versions_here
from cpsched.study.allocators import allocator_of
from cpsched.study.folder import MARK, appearing, digests_of
from cpsched.study.nodes import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cpsched.model.schedule import Schedule
    from cpsched.model.system import System
    from cpsched.model.types import IntArray
    from cpsched.simulation.simulate import Run

#: When nodes were down; only where some were.
OUTAGES = "outages.parquet"
#: Of a run of nodes: its first node and how many there are.
_RUN_BYTES = 2 * np.dtype(np.int64).itemsize
#: Of the layout of run folders; a reader refuses others.
FORMAT = 2


def save_run(
    run: Run,
    folder: str | Path,
    *,
    overwrite: bool = False,
    arguments: Mapping[str, Any] | None = None,
    formats: Sequence[Callable[[Run, Path], object]] = (),
) -> dict[str, Any]:
    """
    Write a run to a folder, whole or not at all.

    Parameters
    ----------
    arguments
        What the caller was asked to do, for the record.
    formats
        Who writes files of their own into the folder besides, see registry group ``formats``.

    Returns
    -------
    dict
        The summary in ``metrics.json``.

    Raises
    ------
    RunError
        If the folder exists and ``overwrite`` is off, or is not a run.
    """
    schedule = run.schedule
    summary = summarize(schedule)
    with appearing(Path(folder), overwrite=overwrite) as target:
        traces.write(schedule.workload, target / "workload.parquet", format="table")
        _write_json(target / "system.json", schedule.system.to_dict())
        _write_table(target / "jobs.parquet", job_columns(schedule))
        _write_table(target / "allocations.parquet", allocation_columns(schedule))
        _write_table(target / "queue.parquet", queue_columns(schedule))
        if len(schedule.outages):
            _write_table(target / OUTAGES, outage_columns(schedule))
        _write_json(target / "metrics.json", summary)
        _write_json(target / "timing.json", dict(run.timing))
        for write in formats:
            write(run, target)
        # Last: the file that makes the folder a run.
        about = description(run, summary, arguments or {}) | {"files": digests_of(target)}
        _write_json(target / MARK, about)
    return summary


def description(
    run: Run, summary: Mapping[str, Any], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what ``run.json`` says of a run, but for its files."""
    schedule = run.schedule
    return {
        "format": FORMAT,
        "versions": versions_here(),
        "arguments": dict(arguments),
        "dispatcher": run.dispatcher,
        # One pool leaves nothing to choose.
        "allocator": allocator_of(run.dispatcher) if schedule.system.num_nodes > 1 else None,
        "predictor": run.predictor,
        "settings": vars(run.settings),
        "workload": {
            "title": schedule.workload.title,
            "jobs": len(schedule.workload),
            "digest": schedule.workload.digest(),
        },
        "system": {"name": schedule.system.name, "digest": schedule.system.digest()},
        "counts": summary["counts"],
        "decisions": dict(run.decisions),
        "predictions": dict(run.predictions),
        "provenance": dict(run.provenance),
        "deterministic": run.deterministic,
        "not_a_forecast": not_a_forecast(run.provenance, schedule.workload),
    }


def job_columns(schedule: Schedule) -> dict[str, Any]:
    """Return the table of jobs, in workload order; times are seconds since the epoch."""
    workload = schedule.workload
    started = schedule.start != MISSING
    num_nodes, nodes = job_places(schedule)
    return {
        "job_id": arrow.strings(workload.job_id.tolist()),
        "submit": arrow.numbers(workload.submit),
        "start": _optional(schedule.start),
        "end": _optional(schedule.end),
        "wait": arrow.numbers(np.where(started, schedule.start - workload.submit, 0), started),
        "num_nodes": arrow.numbers(num_nodes),
        "nodes": nodes,
        "units": arrow.numbers(workload.units),
        "requested_time": arrow.numbers(workload.requested_time),
        "runtime": arrow.numbers(workload.runtime),
        "predicted": _optional(schedule.runtime_estimate),
        "predicted_priority": _optional(schedule.ranking_estimate),
        "predicted_bound": _optional(schedule.runtime_bound),
        "outcome": arrow.coded(
            schedule.outcome - min(JobOutcome),
            [outcome.name.lower() for outcome in sorted(JobOutcome)],
        ),
        "reason": _reasons(schedule),
    }


def job_places(schedule: Schedule) -> tuple[IntArray, pa.Array]:
    """Return how many nodes each job had at its start, and which, as text; shape ``(J,)``."""
    segments = schedule.segments
    num_jobs = len(schedule.workload)
    rows = np.flatnonzero(segments.start == schedule.start[segments.job])
    rows = rows[np.lexsort((segments.node[rows], segments.job[rows]))]
    job, node, count = (values[rows] for values in (segments.job, segments.node, segments.count))
    num_nodes = np.bincount(job, weights=count, minlength=num_jobs).astype(np.int64)
    # Few jobs of a log lie on a set of nodes no other job has: each set is written out once.
    firsts = np.flatnonzero(np.diff(job, prepend=-1))
    runs = np.stack([node, count], axis=1)
    content, bounds = runs.tobytes(), [*firsts.tolist(), len(job)]
    known: dict[bytes, int] = {}
    texts: list[str] = []
    indices: list[int] = []
    for first, last in pairwise(bounds):
        index = known.setdefault(content[first * _RUN_BYTES : last * _RUN_BYTES], len(texts))
        if index == len(texts):
            texts.append(fold(schedule.system.node_names, runs[first:last].tolist()))
        indices.append(index)
    which = np.full(num_jobs, -1, dtype=np.int64)
    which[job[firsts]] = indices
    return num_nodes, arrow.coded(which, texts)


def _reasons(schedule: Schedule) -> pa.Array:
    """Return why each job was rejected; a few reasons serve for many jobs."""
    texts = list(dict.fromkeys(schedule.rejected.values()))
    code = {text: index for index, text in enumerate(texts)}
    which = np.full(len(schedule.workload), -1, dtype=np.int64)
    which[list(schedule.rejected)] = [code[text] for text in schedule.rejected.values()]
    return arrow.coded(which, texts)


def allocation_columns(schedule: Schedule) -> dict[str, Any]:
    """Return the table of allocations, a run of nodes a row."""
    segments = schedule.segments
    table: dict[str, Any] = {
        "job": arrow.numbers(segments.job.astype(np.int32)),
        "from": arrow.numbers(segments.start),
        "to": arrow.numbers(segments.end),
        "node": arrow.numbers(segments.node.astype(np.int32)),
        "count": arrow.numbers(segments.count.astype(np.int32)),
        "units": arrow.numbers(segments.units.astype(np.int32)),
    }
    if segments.leaving.any():
        table["leaving"] = arrow.coded(segments.leaving, [why.name.lower() for why in Leaving])
    return table | _by_resource("amount", schedule.system, segments.amount)


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


def queue_columns(schedule: Schedule) -> dict[str, Any]:
    """Return queue length, running jobs and used resources wherever one of them changes."""
    segments = schedule.segments
    kinds = [used(schedule, kind) for kind in range(len(schedule.system.resources))]
    alive = schedule.start != MISSING
    ends = np.where(schedule.end == MISSING, segments.end.max(initial=0), schedule.end)
    running = StepFunction.over(schedule.start[alive], ends[alive])
    queue = waiting(schedule)
    times = distinct(*(step.times for step in (queue, running, *kinds)))
    table: dict[str, Any] = {
        "time": arrow.numbers(times),
        "waiting": arrow.numbers(queue.at(times)),
        "running": arrow.numbers(running.at(times)),
    }
    use = np.stack([step.at(times) for step in kinds], axis=1)
    return table | _by_resource("used", schedule.system, use)


def _by_resource(name: str, system: System, amounts: IntArray) -> dict[str, Any]:
    return {
        f"{name}.{resource}": arrow.numbers(amounts[:, kind])
        for kind, resource in enumerate(system.resources)
    }


def _optional(values: IntArray) -> pa.Array:
    return arrow.numbers(values, values != MISSING)


def _write_table(path: Path, columns: Mapping[str, Any]) -> None:
    table = pa.Table.from_arrays(list(columns.values()), names=list(columns))
    pq.write_table(table, path, compression="zstd", use_dictionary=arrow.repeating(table))


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
