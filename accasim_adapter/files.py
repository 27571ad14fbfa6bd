"""AccaSim's ``sched-``, ``pprint-`` and ``stats-`` files of a run of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accasim_adapter.text import PRETTY_HEADER, UNKNOWN, JobLine, slowdown
from cpsched.api.errors import RunError
from cpsched.api.model import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.api.model import IntArray
    from cpsched.api.simulation import Run, Schedule


def write(run: Run, folder: Path, log: str, *, start_time: int = 0) -> None:
    """
    Write AccaSim's files of a run.

    Jobs are in the order of their ends, as in AccaSim; jobs that never ran or have not ended are
    left out. The machine's nodes count from 1.

    Parameters
    ----------
    folder
        Where they go.
    log
        Name of the log's file; theirs are ``sched-LOG``, ``pprint-LOG`` and ``stats-LOG``.
    start_time
        Unix time of the log's second 0, as ``start_time`` of AccaSim's system configuration.

    Raises
    ------
    RunError
        If a job held other amounts than its units need, or changed its nodes: AccaSim's files
        cannot express that.
    """
    schedule = run.schedule
    segments = schedule.segments
    by_job = np.lexsort((segments.node, segments.start, segments.job)).astype(np.int64)
    jobs = np.arange(len(schedule.workload) + 1)
    first = np.searchsorted(segments.job, jobs, sorter=by_job)
    rows = np.flatnonzero((schedule.start != MISSING) & (schedule.end != MISSING))
    order = rows[np.lexsort((rows, schedule.start[rows], schedule.end[rows]))]
    with (
        (folder / f"sched-{log}").open("w", encoding="utf-8") as plain,
        (folder / f"pprint-{log}").open("w", encoding="utf-8") as pretty,
    ):
        pretty.write(PRETTY_HEADER)
        for number, row in enumerate(order.tolist(), start=1):
            line = _line(schedule, row, by_job[first[row] : first[row + 1]], start_time)
            plain.write(line.schedule())
            pretty.write(line.pretty(number))
    (folder / f"stats-{log}").write_text(_statistics(run, order), encoding="utf-8")


def _line(schedule: Schedule, row: int, parts: IntArray, start_time: int) -> JobLine:
    """Return the line of a job; ``parts`` are its segments."""
    jobs, segments = schedule.workload, schedule.segments
    wanted = segments.units[parts, None] * jobs.request[row]
    moved = (segments.start[parts] != schedule.start[row]).any()
    if moved or (segments.amount[parts] != wanted).any():
        raise RunError(
            f"job {jobs.job_id[row]} held other amounts than its units need, or changed its nodes,"
            " which AccaSim's files cannot express"
        )
    units, request = int(jobs.units[row]), jobs.request[row].tolist()
    memory = dict(zip(jobs.resources, request, strict=True)).get("mem")
    user = int(jobs.user.codes[row])
    return JobLine(
        job_id=jobs.job_id[row],
        user=jobs.user.values[user] if user >= 0 else None,
        queued=start_time + int(jobs.submit[row]),
        start=start_time + int(schedule.start[row]),
        end=start_time + int(schedule.end[row]),
        nodes=[
            node + 1
            for part in parts.tolist()
            for node in range(segments.node[part], segments.node[part] + segments.count[part])
            for _ in range(segments.units[part])
        ],
        units=units,
        cores=units * request[0],
        memory=UNKNOWN if memory is None else units * memory,
        request=request,
        requested_time=int(jobs.requested_time[row]),
    )


def _statistics(run: Run, rows: IntArray) -> str:
    """Return the text of a ``stats-`` file, of the jobs that ran."""
    schedule = run.schedule
    start, end = schedule.start[rows], schedule.end[rows]
    waits = (start - schedule.workload.submit[rows]).tolist()
    slowdowns = list(map(slowdown, waits, (end - start).tolist()))
    makespan = int(end.max() - start.min()) if len(rows) else UNKNOWN
    # "Dispathing" is how AccaSim spells it, and what scripts look for.
    return (
        f"Simulation time: {run.timing.get('loop_s', 0.0):.2f} secs\n"
        f"Dispathing method: {run.dispatcher}\n"
        f"Total jobs: {len(run.schedule.workload)}\n"
        f"Makespan: {makespan}\n"
        f"Avg. waiting times: {_mean(waits)}\n"
        f"Avg. slowdown: {_mean(slowdowns)}\n"
    )


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.2f}" if values else UNKNOWN
