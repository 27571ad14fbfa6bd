"""
One line of ``sacct`` as a job.

A column that is read here is also listed in :mod:`cpsched.logs.sacct.gaps`, or it is
reported as not read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from cpsched.errors import TraceError
from cpsched.logs.collect import CollectedJob, NotAJobError
from cpsched.logs.sacct.dependencies import begin_of
from cpsched.logs.sacct.options import may_be_requeued, options_of
from cpsched.logs.sacct.request import NO_CORES
from cpsched.model.workload import MAX_NICE
from cpsched.util.quantities import instant, integer, seconds_within
from cpsched.util.slurm_quantities import elapsed
from cpsched.util.types import MAX_TIME, MISSING, UNBOUNDED, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.logs.collect import ResourceRequest
    from cpsched.logs.sacct.as_json import SacctRow
    from cpsched.logs.sacct.request import ResourceRequests
    from cpsched.logs.text import FilePosition

_ENDED = {
    "COMPLETED": Status.COMPLETED,
    "TIMEOUT": Status.TIMEOUT,
    "CANCELLED": Status.CANCELLED,
    "PREEMPTED": Status.PREEMPTED,
    **dict.fromkeys(
        ("FAILED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "DEADLINE", "LAUNCH_FAILED"),
        Status.FAILED,
    ),
}
_REQUEUED = frozenset(("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT"))
_UNENDED = {
    **dict.fromkeys(
        (
            *("RUNNING", "SUSPENDED", "STOPPED", "CONFIGURING", "COMPLETING", "RESIZING"),
            *("SIGNALING", "STAGE_OUT"),
        ),
        "still running",
    ),
    **dict.fromkeys(("PENDING", "RESV_DEL_HOLD"), "still waiting"),
    "REVOKED": "ran on another cluster",
}
#: What stands for a state that a row is not read with, beginning with what is known of it.
_STATES = (*_ENDED, *_REQUEUED, *_UNENDED)
_STATE = re.compile(r"([A-Z_]+(?:[,|+][A-Z_]+)*)(\+?)(?: by .*)?")
#: Why a row that Slurm wrote is no job.
NEVER_RAN = "never ran"
TIMES_UNKNOWN = "ran at an unknown time"
TIMES_WRONG = "times contradict each other (export with TZ=UTC)"
_INVALID = "INVALID"
_UNKNOWN = ("Unknown", "None", "N/A", "NONE")
_NO_LIMIT = ("UNLIMITED", "INFINITE", "Partition_Limit", _INVALID)

#: By how much local times may be off between two of them where the clock was set back.
_CLOCK_CHANGE = 3600
#: ``--nice`` without a number.
_NICE = 100
_TASKS_AT_ONCE = re.compile(r"%([0-9]+)\]?$")
_LICENSE = re.compile(r"license/([^=,]+)=([0-9]+)")


class SacctJob(NamedTuple):
    """
    A job and what else its line says.

    Attributes
    ----------
    job
        The job; its begin is right unless it waits for another one.
    eligible, asked_begin
        When it could start, and when its user would have it start, ``MISSING`` where at once.
    dependency
        ``--dependency``.
    preempted
        Whether it was preempted.
    suspended
        Seconds for which it was suspended.
    options
        Of the command that submitted it.
    notes
        What is unusual about the line, as the header counts it.
    """

    job: CollectedJob
    eligible: int
    asked_begin: int
    dependency: str
    preempted: bool
    suspended: int
    options: Mapping[str, str]
    notes: tuple[str, ...]


def job_of(row: SacctRow, requests: ResourceRequests) -> SacctJob:
    """
    Return the job of a line.

    Raises
    ------
    NotAJobError
        If it had not ended, ended before it started in another way than by being cancelled, or if
        Slurm wrote values that leave open what the job was: unknown states, times that contradict
        each other, no cores.
    TraceError
        If a value is none that Slurm writes.
    """
    values, position = row.values, row.position
    # Components of heterogeneous jobs are counted from 0.
    component = row.job_id.partition("+")[2]
    number = int(component) if component.isascii() and component.isdigit() else 0
    options = options_of(values, number)
    status, notes = _status(row)
    if isinstance(status, str):
        raise NotAJobError(status, _core_seconds(row, options, requests))
    submit = _time(row, "Submit")[0]
    resources = _resources(row, options, requests)
    limit = _time_limit(row)
    if _INVALID in (values.get("timelimitraw"), values.get("timelimit")):
        notes += ("requested times that are INVALID",)
    start, runtime, cancel = _ran(row, status, limit)
    partition = values.get("partition")
    queue = options.get("partition")
    array, _, task = row.job_id.partition("_")
    array_limit = _array_limit(row, options) if task else 0
    eligible = _eligible(row, submit, cancel)
    asked_begin = begin_of(options["begin"], submit) if "begin" in options else MISSING
    job = CollectedJob(
        job_id=row.job_id,
        submit=submit,
        start=start,
        runtime=runtime,
        requested_time=limit,
        status=status,
        resources=resources,
        queue=queue if queue and partition in queue.split(",") else partition,
        partition=partition,
        user=values.get("user"),
        name=values.get("jobname"),
        group=values.get("account"),
        qos=values.get("qos") or options.get("qos"),
        reservation=values.get("reservation") or options.get("reservation"),
        licenses=_licenses(values, options),
        array=array if task else None,
        array_limit=array_limit,
        nice=_nice(options, position),
        restartable=may_be_requeued(values.get("submitline", ""), options),
        begin=asked_begin if array_limit and start != MISSING else eligible,
        cancel=cancel,
    )
    return SacctJob(
        job=job,
        eligible=eligible,
        asked_begin=asked_begin,
        dependency=options.get("dependency", ""),
        preempted=values.get("state", "").startswith("PREEMPTED"),
        suspended=_suspended(row),
        options=options,
        notes=notes,
    )


def _ran(row: SacctRow, status: Status, limit: int) -> tuple[int, int, int]:
    """Return start and runtime, or for a job cancelled before it started, when that was."""
    values = row.values
    start, start_exact = _time(row, "Start")
    submit, submit_exact = _time(row, "Submit")
    runtime = 0
    if start != MISSING or status in (Status.COMPLETED, Status.TIMEOUT):
        for time in (submit, start):
            if time == MISSING:
                raise NotAJobError(TIMES_UNKNOWN)
        runtime = _runtime(row, start, exact=start_exact)
    # Older Slurm gives jobs a start that were never allocated anything.
    nothing = values.get("alloctres") == "" or values.get("alloccpus") == "0"
    if start == MISSING or (runtime == 0 and nothing):
        cancel = _cancelled(row, status, submit)
        return MISSING, limit if limit != MISSING else cancel - submit, cancel
    if start < submit and not (start_exact and submit_exact):
        raise NotAJobError(TIMES_WRONG)
    return start, runtime, MISSING


def _core_seconds(row: SacctRow, options: Mapping[str, str], requests: ResourceRequests) -> int:
    """Return what a job that has not ended has held, or asks for; 0 if its line is wrong."""
    try:
        text = row.values.get("elapsedraw", "")
        ran = row.position.parse(integer, "ElapsedRaw", text) if text else 0
        return requests.of(row.values, options, row.position).units * (
            ran or max(_time_limit(row), 0)
        )
    except (TraceError, NotAJobError):
        return 0


def _resources(
    row: SacctRow, options: Mapping[str, str], requests: ResourceRequests
) -> ResourceRequest:
    """Return what a job asks for; one that had no cores for no time has not run."""
    try:
        return requests.of(row.values, options, row.position)
    except NotAJobError:
        ran = row.values.get("elapsedraw") or row.values.get("elapsed") or ""
        raise NotAJobError(NO_CORES if re.search("[1-9]", ran) else NEVER_RAN) from None


def _suspended(row: SacctRow) -> int:
    """Return for how many seconds a job was suspended; 0 where the log does not say."""
    text = row.values.get("suspended", "")
    if not text or text in _UNKNOWN or text == _INVALID:
        return 0
    return row.position.parse(elapsed, "Suspended", text)


def _status(row: SacctRow) -> tuple[Status | str, tuple[str, ...]]:
    """
    Return how a job ended, or if it has not, why it is excluded; and notes.

    ``CANCELLED by 1234`` names who did it, a ``+`` ends a word that was cut off. Flags of a state
    follow it, as in ``COMPLETED,EXPEDITING``.
    """
    text = row.values.get("state", "").strip()
    if not text:
        return Status.UNKNOWN, ()
    names = _states_in(text)
    if names is None:
        raise row.position.error("is not a state of a Slurm job", "State", text)
    if any(name in _REQUEUED for name in names):
        # Queued again: with a start this is an attempt, without one it waits for the next.
        started = _time(row, "Start")[0] != MISSING
        return (Status.PREEMPTED if started else "still waiting"), ()
    flags = tuple(f"states with the flag {name}" for name in names if name not in _STATES)
    for name in names:
        if name in _ENDED:
            return _ENDED[name], flags
    for name in names:
        if name in _UNENDED:
            return _UNENDED[name], ()
    return f"state {names[0]}", ()


@lru_cache(maxsize=2**10)
def _states_in(text: str) -> tuple[str, ...] | None:
    """Return the state and its flags; None if the text is not such as Slurm writes."""
    match = _STATE.fullmatch(text.upper() if " " not in text else text)
    if match is None:
        return None
    *names, last = re.split(r"[,|+]", match[1])
    if match[2]:
        fits = [state for state in _STATES if state.startswith(last)]
        last = fits[0] if len(fits) == 1 else last
    return (*names, last)


def _cancelled(row: SacctRow, status: Status, submit: int) -> int:
    """Return when a job that never started was cancelled."""
    end = _time(row, "End")[0]
    if status != Status.CANCELLED or end == MISSING or submit == MISSING:
        raise NotAJobError(NEVER_RAN)
    if end < submit:
        raise NotAJobError(TIMES_WRONG)
    return end


def _eligible(row: SacctRow, submit: int, cancel: int) -> int:
    """Return when a job could first start if that is later than its submit, else ``MISSING``."""
    eligible = _time(row, "Eligible")[0]
    if eligible == MISSING and cancel != MISSING and "eligible" in row.values:
        return cancel  # held as long as it was there
    return eligible if eligible > submit else MISSING


def _array_limit(row: SacctRow, options: Mapping[str, str]) -> int:
    """Return how many tasks of an array may run at once, 0 for any number."""
    match = _TASKS_AT_ONCE.search(row.job_id)
    text = match[1] if match else options.get("array", "").partition("%")[2]
    text = row.values.get("arraytasklimit") or text
    limit = row.position.parse(integer, "SubmitLine --array", text) if text else 0
    return max(0, min(limit, UNBOUNDED))


def _licenses(values: Mapping[str, str], options: Mapping[str, str]) -> str | None:
    licenses = values.get("licenses") or options.get("licenses")
    if licenses:
        return licenses
    for column in ("alloctres", "reqtres"):
        if "license/" in (text := values.get(column, "")):
            return ",".join(f"{name}:{count}" for name, count in _LICENSE.findall(text))
    return None


def _nice(options: Mapping[str, str], position: FilePosition) -> int:
    if "nice" not in options:
        return 0
    nice = position.parse(integer, "SubmitLine --nice", options["nice"] or str(_NICE))
    return max(-MAX_NICE, min(nice, MAX_NICE))


def _runtime(row: SacctRow, start: int, *, exact: bool) -> int:
    """Return the seconds a job ran, checked against its start and end where all are known."""
    values, position = row.values, row.position
    end, end_exact = _time(row, "End")
    if (text := values.get("elapsedraw")) and text != _INVALID:
        ran = position.parse(lambda t: seconds_within(integer(t), -MAX_TIME), "ElapsedRaw", text)
    elif (text := values.get("elapsed")) and text != _INVALID:
        ran = position.parse(elapsed, "Elapsed", text)
    elif end == MISSING:
        raise NotAJobError(TIMES_UNKNOWN)
    else:
        ran = end - start
    slack = 0 if exact and end_exact else _CLOCK_CHANGE
    if ran < 0 or (end != MISSING and ran > end - start + slack):
        raise NotAJobError(TIMES_WRONG)
    return ran


def _time_limit(row: SacctRow) -> int:
    """Return the requested time; ``MISSING`` where there is none: 0 too asks for no limit."""
    values, position = row.values, row.position
    if (text := values.get("timelimitraw")) and text not in _NO_LIMIT:
        return (
            60 * position.parse(lambda t: seconds_within(integer(t)), "TimelimitRaw", text)
            or MISSING
        )
    if (text := values.get("timelimit")) and text not in _NO_LIMIT:
        return position.parse(elapsed, "Timelimit", text) or MISSING
    return MISSING


def _time(row: SacctRow, column: str) -> tuple[int, bool]:
    """Return a time column as unix seconds, ``MISSING`` if unknown, and if it is surely UTC."""
    text = row.values.get(column.lower(), "")
    if not text or text in _UNKNOWN:
        return MISSING, False
    try:
        return instant(text)
    except ValueError as error:
        raise row.position.error(str(error), column, text) from None
