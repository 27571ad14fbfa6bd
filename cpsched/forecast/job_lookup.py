"""Which job of a log is asked about, and what is known of it at submit."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.errors import ConfigError
from cpsched.forecast.explanation import JobRequest
from cpsched.util.types import MISSING, UNBOUNDED, Split
from cpsched.util.words import brief, counted, duration

if TYPE_CHECKING:
    from cpsched.model.workload import Labels, Workload
    from cpsched.systems.mapping import Fitted

#: An id that is not in the log is compared with this many ids: comparing is slow.
_MOST_COMPARED = 2000
#: How many tasks of an array are named.
_MOST_TASKS = 5


class LoggedJob(NamedTuple):
    """
    A job that is asked about.

    Attributes
    ----------
    row
        Of the workload.
    handle
        In a simulation.
    same_id
        How many jobs have its id.
    rejected
        Why it can never run; None if it can.
    """

    row: int
    handle: int
    same_id: int
    rejected: str | None


def find_job(fitted: Fitted, job_id: str, time: int) -> LoggedJob:
    """
    Return the job with an id, the last one submitted by a second if there are several.

    Raises
    ------
    ConfigError
        If there is none, or none is submitted by then.
    """
    workload = fitted.workload
    rows = np.flatnonzero(workload.job_id == job_id)
    if not len(rows):
        raise ConfigError(_missing(workload, job_id), key="--job")
    known = rows[workload.submit[rows] <= time]
    if not len(known):
        raise ConfigError(
            f"job {brief(job_id)} is not submitted until second {workload.submit[rows[0]]}. Ask"
            " about that second or a later one",
            key="--at",
        )
    row, rejected = int(known[-1]), dict(fitted.rejected)
    handle = row - sum(other < row for other in rejected)
    return LoggedJob(row, handle, len(rows), rejected.get(row))


def _missing(workload: Workload, job_id: str) -> str:
    """Return that no job has an id, with the nearest ids."""
    if job_id in workload.array.values:
        tasks = np.flatnonzero(workload.array.codes == workload.array.values.index(job_id))
        names = ", ".join(map(brief, workload.job_id[tasks[:_MOST_TASKS]].tolist()))
        return (
            f"{brief(job_id)} is an array of {counted(len(tasks), 'task')}. Ask about one of them:"
            f" {names}{', ...' if len(tasks) > _MOST_TASKS else ''}"
        )
    names_of_all = workload.job_id
    alike = names_of_all[np.char.startswith(names_of_all, job_id[: max(1, len(job_id) - 2)])]
    candidates = (alike if len(alike) else names_of_all)[:_MOST_COMPARED].tolist()
    near = ", ".join(map(brief, get_close_matches(job_id, dict.fromkeys(candidates), n=3)))
    hint = f" Near it: {near}." if near else ""
    return f"none of the {len(workload):,} jobs read has the id {brief(job_id)}.{hint}"


def job_request(workload: Workload, row: int, predicted: int | None) -> JobRequest:
    """Return the request of a job as known at submit."""

    def nonzero(values: Any) -> dict[str, int]:
        pairs = zip(workload.resources, values.tolist(), strict=True)
        return {kind: number for kind, number in pairs if number}

    rules = {
        "even": workload.split[row] == Split.EVEN,
        "contiguous": workload.contiguous[row],
        "exclusive": workload.exclusive[row],
    }
    nodes_max = int(workload.nodes_max[row])
    return JobRequest(
        job_id=str(workload.job_id[row]),
        queue=label(workload.queue, row),
        user=label(workload.user, row),
        submit=int(workload.submit[row]),
        units=int(workload.units[row]),
        request=nonzero(workload.request[row]),
        per_node=nonzero(workload.per_node[row]),
        nodes_min=int(workload.nodes_min[row]),
        nodes_max=None if nodes_max >= UNBOUNDED else nodes_max,
        rules=(*(rule for rule, holds in rules.items() if holds), *_locality(workload, row)),
        requested_time=int(workload.requested_time[row]),
        predicted=predicted,
    )


def label(labels: Labels, row: int) -> str | None:
    """Return a job's string of a column; None where it is unknown."""
    code = int(labels.codes[row])
    return labels.values[code] if code >= 0 else None


def _locality(workload: Workload, row: int) -> list[str]:
    """Return the node placement that a job asks for, in words."""
    segment, switches, wait = (
        int(getattr(workload, name)[row]) for name in ("segment", "max_switches", "switch_wait")
    )
    words = [f"in segments of {counted(segment, 'node')}"] if segment else []
    if switches:
        limit = f"in at most {counted(switches, 'group')} of the lowest level"
        words.append(limit if wait == MISSING else f"{limit} for the first {duration(wait)}")
    return words
