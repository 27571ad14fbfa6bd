"""
AccaSim's ``sched-`` file of a run of ours, line by line as AccaSim writes it by default.

Times are dates in UTC. AccaSim writes the local time of its process, in which an hour is missing or
doubled when clocks change; with ``TZ=UTC`` both are the same.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import RunError
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.model.schedule import Schedule
    from cpsched.util.types import IntArray

#: Characters that AccaSim's own parser accepts as text.
_NO_TEXT = re.compile(r"[^0-9a-zA-Z_\-.@]")


def write(schedule: Schedule, folder: Path, log: str) -> None:
    """
    Write a schedule in AccaSim's format to the file ``sched-LOG``.

    Jobs are in the order of their ends, as in AccaSim. Jobs that never ran or have not ended are
    left out. Node numbers begin at 1.

    Parameters
    ----------
    folder
        Folder of the file.
    log
        Name of the log's file.

    Raises
    ------
    RunError
        If a job had other amounts than its tasks need, or changed its nodes. The format cannot
        express that.
    """
    segments = schedule.segments
    by_job = np.lexsort((segments.node, segments.start, segments.job)).astype(np.int64)
    jobs = np.arange(len(schedule.workload) + 1)
    first = np.searchsorted(segments.job, jobs, sorter=by_job)
    rows = np.flatnonzero((schedule.start != MISSING) & (schedule.end != MISSING))
    order = rows[np.lexsort((rows, schedule.start[rows], schedule.end[rows]))]
    with (folder / f"sched-{log}").open("w", encoding="utf-8") as file:
        for row in order.tolist():
            file.write(_line(schedule, row, by_job[first[row] : first[row + 1]]))


def _line(schedule: Schedule, row: int, parts: IntArray) -> str:
    """Return the line of a job; ``parts`` are its segments."""
    jobs, segments = schedule.workload, schedule.segments
    wanted = segments.units[parts, None] * jobs.request[row]
    moved = (segments.start[parts] != schedule.start[row]).any()
    if moved or (segments.amount[parts] != wanted).any():
        raise RunError(
            f"job {jobs.job_id[row]} changed its nodes, or held more or less than its tasks need,"
            " which AccaSim's files cannot express"
        )
    units, request = int(jobs.units[row]), jobs.request[row].tolist()
    memory = dict(zip(jobs.resources, request, strict=True)).get("mem")
    user = int(jobs.user.codes[row])
    each = "".join(f";{amount}" for amount in request)
    nodes_text = "".join(
        f"{node + 1}{each}#" * segments.units[part]
        for part in parts.tolist()
        for node in range(segments.node[part], segments.node[part] + segments.count[part])
    )
    submit, start, end = (
        date(int(column[row])) for column in (jobs.submit, schedule.start, schedule.end)
    )
    return (
        f"{name(jobs.job_id[row])};{name(jobs.user.values[user] if user >= 0 else None)};"
        f"{submit}__{nodes_text}__{start};{end};{units};{units * request[0]};"
        f"{'NA' if memory is None else units * memory};{jobs.requested_time[row]};\n"
    )


@lru_cache(maxsize=1 << 16)
def date(second: int) -> str:
    """Return a Unix time as AccaSim shows it."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S")


def name(text: object) -> str:
    """Return a name with every mark that would end a field replaced by ``_``; -1 for none."""
    return "-1" if text is None or text == "" else _NO_TEXT.sub("_", str(text))
