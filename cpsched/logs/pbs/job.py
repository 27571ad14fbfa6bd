"""
One ``E`` record as a job: :mod:`cpsched.logs.pbs.format` says what becomes of its keys.

Keys that say nothing of scheduling are listed here with the reason. Every other key that is not
read is not modelled, and a note of the log has the share of the jobs with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cpsched.logs.collect import CollectedJob, NotAJobError
from cpsched.logs.pbs.allocated import allocated_of
from cpsched.logs.pbs.request import request_of
from cpsched.util.quantities import duration as parse_duration
from cpsched.util.quantities import integer, seconds_within
from cpsched.util.types import MISSING, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cpsched.logs.text import FilePosition

RESOURCES = "Resource_List."

#: Keys that a job is made of; ``Resource_List`` has its own in :mod:`cpsched.logs.pbs.request`.
READ = frozenset(
    (
        *("ctime", "qtime", "etime", "start", "end", "resources_used.walltime", "Exit_status"),
        *("user", "group", "queue", "jobname", "run_count", "run_version"),
        *("exec_host", "exec_vnode", "exec_gpus"),
    )
)
#: Keys that say nothing of when a job may start, what it takes or how long, and why.
IRRELEVANT: Mapping[str, str] = {
    "session": "a number of the processes",
    "alt_id": "a number of the processes",
    "owner": "the user with the host of the submission",
    "requestor": "user who asked for it",
    "accounting_id": "a number for other accounting",
    "gridname": "the user's name in a grid",
    "array_id": "the id of the job's array, which its own id says",
    "array_index": "the number in the array, which its own id says",
    "array_indices": "the subjobs, which have records of their own",
    "unique_node_count": "the number of hosts in exec_host",
    "total_execution_slots": "the number of cores in exec_host",
    "eligible_time": "how long the job waited without a hold, which its times say",
}
#: The same for all keys that begin so.
_IRRELEVANT: Mapping[str, str] = {
    "resources_used.": "what was measured, not what was asked for",
    "resource_assigned.": "the sums of exec_vnode",
}
#: The value of a key that says nothing.
_USUAL = {"project": "_pbs_project_default", "account": ""}
#: Keys of parts are one key: ``req_information.lprocs.0``, ``.1``.
_PART = re.compile(r"(?:\.[0-9]+)+$")
_ARRAY_PARENT = re.compile(r"[0-9]+\[\]")
_SUBJOB = re.compile(r"([0-9]+)\[[0-9]+\]")
_KILLED_FOR_WALLTIME = -29
_SIGNALLED = 256
_CANCELLING_SIGNALS = (2, 9, 15)


class PbsJob(NamedTuple):
    """A job, and what it is counted for in the notes of the log."""

    job: CollectedJob
    notes: tuple[str, ...]


def pbs_job(job_id: str, values: Mapping[str, str], position: FilePosition) -> PbsJob:
    """
    Return the job of a record.

    Raises
    ------
    NotAJobError
        If it is the record of a whole array, never ran, or cannot be expressed.
    TraceError
        If a value cannot be read, or values contradict each other.
    """
    if _ARRAY_PARENT.match(job_id):
        raise NotAJobError("array parent")
    start = _time(values, "start", position)
    if start in (MISSING, 0):
        raise NotAJobError("never ran")
    submit = next(
        (time for key in ("ctime", "qtime", "etime") if (time := _time(values, key, position)) > 0),
        None,
    )
    if submit is None:
        raise position.error("has no ctime, qtime or etime, so its submit time is unknown")
    requested = _length(values, f"{RESOURCES}walltime", position)
    runtime = _runtime(values, start, position)
    time_is_over = requested != MISSING and runtime >= requested
    resources = {
        key.removeprefix(RESOURCES): value
        for key, value in values.items()
        if key.startswith(RESOURCES) and key != f"{RESOURCES}walltime"
    }
    allocated = allocated_of(values, position)
    try:
        request = request_of(resources, position, allocated)
    except NotAJobError as why:
        cores = 0 if allocated is None else allocated.cores
        raise NotAJobError(why.reason, cores * runtime) from None
    eligible = _time(values, "etime", position)
    subjob = _SUBJOB.match(job_id)
    job = CollectedJob(
        job_id=job_id,
        submit=submit,
        start=start,
        runtime=runtime,
        requested_time=requested,
        status=_status(values.get("Exit_status"), time_is_over, position),
        resources=request.resources,
        queue=values.get("queue"),
        user=values.get("user"),
        name=values.get("jobname"),
        group=values.get("group"),
        array=f"{subjob[1]}[]" if subjob else None,
        begin=eligible if submit < eligible <= start else MISSING,
    )
    unread = [*unread_of(values), *(f"{RESOURCES}{key}" for key in request.unread)]
    unread += [] if allocated is None else allocated.unread
    notes = [f"jobs that {what}" for what in request.notes]
    notes += [*(f"not modelled: {key}" for key in unread)]
    if _runs(values, position) > 1:
        notes.append("jobs that ran more than once; the last run is read")
    return PbsJob(job, tuple(notes))


def _runs(values: Mapping[str, str], position: FilePosition) -> int:
    text = values.get("run_count")
    return 1 if text is None else position.parse(integer, "run_count", text)


def _runtime(values: Mapping[str, str], start: int, position: FilePosition) -> int:
    end = _time(values, "end", position)
    if end == MISSING:
        used = _length(values, "resources_used.walltime", position)
        if used == MISSING:
            raise position.error("has neither end nor resources_used.walltime")
        return used
    if end < start:
        raise position.error(f"is before the start ({start})", "end", end)
    return end - start


def _status(text: str | None, time_is_over: bool, position: FilePosition) -> Status:
    if text is None:
        return Status.UNKNOWN
    code = position.parse(integer, "Exit_status", text)
    if code == 0:
        return Status.COMPLETED
    if code == _KILLED_FOR_WALLTIME or (code >= _SIGNALLED and time_is_over):
        return Status.TIMEOUT
    if code - _SIGNALLED in _CANCELLING_SIGNALS:
        return Status.CANCELLED
    return Status.FAILED


def _time(values: Mapping[str, str], key: str, position: FilePosition) -> int:
    text = values.get(key)
    return (
        MISSING if text is None else position.parse(lambda t: seconds_within(integer(t)), key, text)
    )


def _length(values: Mapping[str, str], key: str, position: FilePosition) -> int:
    text = values.get(key)
    return MISSING if text is None else position.parse(parse_duration, key, text)


def unread_of(record: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys of a record that are not modelled, but for those of its ``Resource_List``."""
    for key, value in record.items():
        known = key in READ or key in IRRELEVANT or key.startswith(RESOURCES)
        if known or _USUAL.get(key) == value or key.startswith(tuple(_IRRELEVANT)):
            continue
        yield _PART.sub("", key)
