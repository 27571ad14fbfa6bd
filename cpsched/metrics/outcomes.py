"""Outcomes of the jobs and rows of a log: numbers, and shares of its work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics.rejections import core_time
from cpsched.model.distinct import has_character
from cpsched.model.schedule import JobOutcome, Leaving
from cpsched.util.words import counted

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule
    from cpsched.model.workload import Workload
    from cpsched.util.types import BoolArray

#: Key of the rows of a log that are no jobs; a colon and the reason follow.
EXCLUDED = "set_aside"
#: What became of jobs, in words; an outcome without words is called by its name.
WORDS = {
    "timeout": "killed at the requested time",
    "killed": "killed while running",
    "cancelled": "cancelled while waiting",
    "rejected": "rejected",
    "not_ended": "not ended when the simulation was cut",
    "requeued": "queued again after a start that was cut short",
    "suspended": "suspended and resumed",
    "attempts": "further attempts of jobs that were queued again in the log",
    EXCLUDED: "excluded",
}


def outcomes(schedule: Schedule) -> dict[str, dict[str, Any]]:
    """
    Return what became of the jobs of a log, and of its rows that are no jobs.

    Returns
    -------
    dict
        By name, what has happened at least once: every :class:`~cpsched.model.schedule.JobOutcome`
        in lower case, together all jobs; ``requeued`` and ``suspended``, of jobs that ended in
        whatever way; ``attempts``, rows that are further attempts of another row's job;
        ``set_aside: REASON``, of rows of the log that are no jobs. Each has ``jobs``;
        ``of_jobs``, their share of the jobs; and ``of_core_hours``, their share of the cores that
        all jobs ask for times the seconds that they ran in the log (None for ``set_aside``, and
        where no job ran). Excluded rows are those of the whole log, and their ``of_jobs`` is the
        share of these jobs and rows: if the jobs are a part of the log, it is too high.
    """
    workload, segments = schedule.workload, schedule.segments
    time = core_time(workload)
    # In floats, whose sum cannot overflow.
    total = float(time.sum(dtype=np.float64))

    def of(rows: BoolArray) -> dict[str, Any]:
        number = int(rows.sum())
        work = float(time[rows].sum(dtype=np.float64)) / total if total else None
        return {"jobs": number, "of_jobs": number / max(len(workload), 1), "of_core_hours": work}

    by_outcome = {item.name.lower(): of(schedule.outcome == item) for item in JobOutcome}
    for leaving in (Leaving.REQUEUED, Leaving.SUSPENDED):
        rows = np.full(len(workload), False)
        rows[segments.job[segments.leaving == leaving]] = True
        by_outcome[leaving.name.lower()] = of(rows)
    by_outcome["attempts"] = of(is_attempt(workload))
    excluded = sorted(workload.set_aside)
    in_log = len(workload) + sum(int(number) for _, number in excluded)
    for reason, number in excluded:
        share = int(number) / in_log
        by_outcome[f"{EXCLUDED}: {reason}"] = {
            "jobs": int(number), "of_jobs": share, "of_core_hours": None,
        }  # fmt: skip
    return {name: item for name, item in by_outcome.items() if item["jobs"]}


def is_attempt(workload: Workload) -> BoolArray:
    """
    Tell which rows are further attempts of a job that was queued again, shape ``(J,)``.

    The attempts of a job are rows with its id, and with ``#2``, ``#3``, ... behind it, of the same
    user, group and name. All but the first are further ones.
    """
    again = np.full(len(workload), False)
    if not has_character(workload.job_id, "#"):
        return again
    ids = workload.job_id.tolist()
    bases = {name: base for name in ids if "#" in name and (base := _attempt_of(name))}
    if not bases:
        return again
    repeated = set(bases.values())
    whose = (workload.user.codes, workload.group.codes, workload.name.codes)
    seen = set()
    for row, name in enumerate(ids):
        base = bases.get(name, name)
        if base in repeated:
            job = (base, *(codes[row] for codes in whose))
            again[row] = job in seen
            seen.add(job)
    return again


def counted_jobs(workload: Workload) -> str:
    """Return the number of distinct jobs, with that of their attempts where it is another."""
    rows = len(workload)
    jobs = rows - int(is_attempt(workload).sum())
    return counted(jobs, "job") + (f" ({rows:,} attempts)" if rows > jobs else "")


def _attempt_of(name: str) -> str:
    """Return the id of the job whose further attempt an id may be, else an empty text."""
    base, _, number = name.rpartition("#")
    return base if number.isdigit() and int(number) > 1 else ""


def in_words(name: str) -> str:
    """Return an outcome's name for people."""
    kind, _, reason = name.partition(": ")
    return WORDS.get(kind, kind.replace("_", " ")) + (f" ({reason})" if reason else "")
