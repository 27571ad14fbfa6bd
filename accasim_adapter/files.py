"""AccaSim's ``sched-``, ``pprint-`` and ``stats-`` files of a run of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accasim_adapter import text
from cpsched.api.errors import RunError
from cpsched.api.model import MISSING

if TYPE_CHECKING:
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
    jobs, segments = schedule.workload, schedule.segments
    by_job = np.lexsort((segments.node, segments.start, segments.job)).astype(np.int64)
    first = np.searchsorted(segments.job, np.arange(len(jobs) + 1), sorter=by_job)
    with (
        (folder / f"{text.SCHEDULE_PREFIX}{log}").open("w", encoding="utf-8") as plain,
        (folder / f"{text.PRETTY_PREFIX}{log}").open("w", encoding="utf-8") as pretty,
    ):
        pretty.write(text.pretty_header())
        for number, row in enumerate(_order(schedule).tolist(), start=1):
            line = _line(schedule, row, by_job[first[row] : first[row + 1]], start_time)
            user = int(jobs.user.codes[row])
            plain.write(
                line.schedule(
                    user=jobs.user.values[user] if user >= 0 else None,
                    resources=jobs.request[row].tolist(),
                    requested_time=int(jobs.requested_time[row]),
                )
            )
            pretty.write(line.pretty(number))
    stats = folder / f"{text.STATISTICS_PREFIX}{log}"
    stats.write_text(_statistics(run), encoding="utf-8")


def _statistics(run: Run) -> str:
    schedule = run.schedule
    ran = _order(schedule)
    start, end = schedule.start[ran], schedule.end[ran]
    waits = (start - schedule.workload.submit[ran]).tolist()
    runtimes = (end - start).tolist()
    return text.statistics(
        seconds=run.timing.get("loop_s", 0.0),
        dispatcher=run.dispatcher,
        jobs=len(schedule.workload),
        makespan=int(end.max() - start.min()) if len(ran) else None,
        waits=waits,
        slowdowns=[text.slowdown(*pair) for pair in zip(waits, runtimes, strict=True)],
    )


def _order(schedule: Schedule) -> IntArray:
    """Return the jobs that ran and ended, by end, then as they were started."""
    rows = np.flatnonzero((schedule.start != MISSING) & (schedule.end != MISSING))
    order = np.lexsort((rows, schedule.start[rows], schedule.end[rows]))
    found: IntArray = rows[order].astype(np.int64)
    return found


def _line(schedule: Schedule, row: int, parts: IntArray, start_time: int) -> text.JobLine:
    """Return the line of a job; ``parts`` are its segments."""
    _check(schedule, row, parts)
    jobs, segments = schedule.workload, schedule.segments
    units, request = int(jobs.units[row]), jobs.request[row].tolist()
    memory = dict(zip(jobs.resources, request, strict=True)).get("mem")
    return text.JobLine(
        job_id=jobs.job_id[row],
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
        memory=text.UNKNOWN if memory is None else units * memory,
    )


def _check(schedule: Schedule, row: int, parts: IntArray) -> None:
    """Raise RunError if a job held what AccaSim's files cannot express."""
    segments = schedule.segments
    held = segments.amount[parts]
    wanted = segments.units[parts, None] * schedule.workload.request[row]
    if (segments.start[parts] != schedule.start[row]).any() or (held != wanted).any():
        job = schedule.workload.job_id[row]
        raise RunError(
            f"job {job} held other amounts than its units need, or changed its nodes, which"
            " AccaSim's files cannot express"
        )
