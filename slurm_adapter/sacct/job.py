"""One line of ``sacct`` as a job: :mod:`slurm_adapter.sacct.format` says what columns become."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cpsched.api.errors import TraceError
from cpsched.api.fields import instant, seconds_within, whole
from cpsched.api.logs import MAX_NICE, Job, NotAJobError
from cpsched.api.model import MISSING, UNBOUNDED, Status
from slurm_adapter.quantities import elapsed
from slurm_adapter.sacct.command import may_be_requeued, options
from slurm_adapter.sacct.waits import begin_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.api.logs import Place
    from slurm_adapter.sacct.lines import Row
    from slurm_adapter.sacct.request import Shapes

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
_UNKNOWN = ("Unknown", "None", "N/A", "NONE")
_NO_LIMIT = ("UNLIMITED", "INFINITE", "Partition_Limit")
#: By how much local times may be off between two of them where the clock was set back.
_CLOCK_CHANGE = 3600
#: ``--nice`` without a number.
_NICE = 100
_TASKS_AT_ONCE = re.compile(r"%([0-9]+)\]?$")
_LICENSE = re.compile(r"license/([^=,]+)=([0-9]+)")


class Found(NamedTuple):
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
    """

    job: Job
    eligible: int
    asked_begin: int
    dependency: str
    preempted: bool


def job_of(row: Row, shapes: Shapes) -> Found:
    """
    Return the job of a line.

    Raises
    ------
    NotAJobError
        If it had not ended, or ended before it started in another way than by being cancelled.
    TraceError
        If a value cannot be read, or values contradict each other.
    """
    values, place = row
    # Components of heterogeneous jobs are counted from 0.
    component = row.job_id.partition("+")[2]
    number = int(component) if component.isascii() and component.isdigit() else 0
    asked = options(values.get("submitline", ""), number)
    status = _status(row)
    if isinstance(status, str):
        raise NotAJobError(status, _core_seconds(row, asked, shapes))
    submit = _time(row, "Submit")[0]
    shape = shapes.of(values, asked, place)
    limit = _time_limit(row)
    start, runtime, cancel = _ran(row, status, limit)
    partition = values.get("partition")
    queue = asked.get("partition")
    array, _, task = row.job_id.partition("_")
    array_limit = _array_limit(row, asked) if task else 0
    eligible = _eligible(row, submit, cancel)
    asked_begin = begin_of(asked["begin"], submit) if "begin" in asked else MISSING
    job = Job(
        job_id=row.job_id,
        submit=submit,
        start=start,
        runtime=runtime,
        requested_time=limit,
        status=status,
        shape=shape,
        queue=queue if queue and partition in queue.split(",") else partition,
        partition=partition,
        user=values.get("user"),
        name=values.get("jobname"),
        group=values.get("account"),
        qos=values.get("qos") or asked.get("qos"),
        reservation=values.get("reservation") or asked.get("reservation"),
        licenses=_licenses(values, asked),
        array=array if task else None,
        array_limit=array_limit,
        nice=_nice(asked, place),
        restartable=may_be_requeued(values.get("submitline", ""), asked),
        begin=asked_begin if array_limit and start != MISSING else eligible,
        cancel=cancel,
    )
    return Found(
        job=job,
        eligible=eligible,
        asked_begin=asked_begin,
        dependency=asked.get("dependency", ""),
        preempted=values.get("state", "").startswith("PREEMPTED"),
    )


def _ran(row: Row, status: Status, limit: int) -> tuple[int, int, int]:
    """Return start and runtime, or for a job cancelled before it started, when that was."""
    values, place = row
    start, start_exact = _time(row, "Start")
    submit, submit_exact = _time(row, "Submit")
    runtime = 0
    if start != MISSING or status in (Status.COMPLETED, Status.TIMEOUT):
        for name, time in (("Submit", submit), ("Start", start)):
            if time == MISSING:
                value = values[name.lower()]
                raise place.error("must be a time for a job that ran", name, value)
        runtime = _runtime(row, start, exact=start_exact)
    # Older Slurm gives jobs a start that were never allocated anything.
    nothing = values.get("alloctres") == "" or values.get("alloccpus") == "0"
    if start == MISSING or (runtime == 0 and nothing):
        cancel = _cancelled(row, status, submit)
        return MISSING, limit if limit != MISSING else cancel - submit, cancel
    if start < submit and not (start_exact and submit_exact):
        right = "is before Submit (local times around a clock change? export with TZ=UTC)"
        raise place.error(right, "Start", values["start"])
    return start, runtime, MISSING


def _core_seconds(row: Row, asked: Mapping[str, str], shapes: Shapes) -> int:
    """Return what a job that has not ended has held, or asks for; 0 if its line is wrong."""
    try:
        text = row.values.get("elapsedraw", "")
        ran = row.place.parse(whole, "ElapsedRaw", text) if text else 0
        return shapes.of(row.values, asked, row.place).units * (ran or max(_time_limit(row), 0))
    except TraceError:
        return 0


def _status(row: Row) -> Status | str:
    """Return how a job ended, or if it has not, why it is set aside."""
    words = row.values.get("state", "").split()
    if not words:
        return Status.UNKNOWN
    # "CANCELLED by 1234" names who did it; a + ends a word that was cut off.
    state = words[0].upper().removesuffix("+")
    if state in _ENDED:
        return _ENDED[state]
    if state in _REQUEUED:
        # Queued again: with a start this is an attempt, without one it waits for the next.
        return Status.PREEMPTED if _time(row, "Start")[0] != MISSING else "still waiting"
    if state in _UNENDED:
        return _UNENDED[state]
    raise row.place.error("is not a state of a Slurm job", "State", row.values["state"])


def _cancelled(row: Row, status: Status, submit: int) -> int:
    """Return when a job that never started was cancelled."""
    end = _time(row, "End")[0]
    if status != Status.CANCELLED or end == MISSING or submit == MISSING:
        raise NotAJobError("never ran")
    if end < submit:
        raise row.place.error("is before Submit", "End", row.values["end"])
    return end


def _eligible(row: Row, submit: int, cancel: int) -> int:
    """Return when a job could first start if that is later than its submit, else ``MISSING``."""
    eligible = _time(row, "Eligible")[0]
    if eligible == MISSING and cancel != MISSING and "eligible" in row.values:
        return cancel  # held as long as it was there
    return eligible if eligible > submit else MISSING


def _array_limit(row: Row, asked: Mapping[str, str]) -> int:
    """Return how many tasks of an array may run at once, 0 for any number."""
    match = _TASKS_AT_ONCE.search(row.job_id)
    text = match[1] if match else asked.get("array", "").partition("%")[2]
    text = row.values.get("arraytasklimit") or text
    limit = row.place.parse(whole, "SubmitLine --array", text) if text else 0
    return max(0, min(limit, UNBOUNDED))


def _licenses(values: Mapping[str, str], asked: Mapping[str, str]) -> str | None:
    found = values.get("licenses") or asked.get("licenses")
    if found:
        return found
    for column in ("alloctres", "reqtres"):
        if "license/" in (text := values.get(column, "")):
            return ",".join(f"{name}:{count}" for name, count in _LICENSE.findall(text))
    return None


def _nice(asked: Mapping[str, str], place: Place) -> int:
    if "nice" not in asked:
        return 0
    nice = place.parse(whole, "SubmitLine --nice", asked["nice"] or str(_NICE))
    return max(-MAX_NICE, min(nice, MAX_NICE))


def _runtime(row: Row, start: int, *, exact: bool) -> int:
    """Return the seconds a job ran, checked against its start and end where all are known."""
    values, place = row
    end, end_exact = _time(row, "End")
    if values.get("elapsedraw"):
        ran = place.parse(lambda t: seconds_within(whole(t)), "ElapsedRaw", values["elapsedraw"])
    elif values.get("elapsed"):
        ran = place.parse(elapsed, "Elapsed", values["elapsed"])
    elif end == MISSING:
        raise place.error("has no Elapsed, and no End to tell how long it ran")
    else:
        ran = end - start
        if ran < 0:
            raise place.error("is before Start", "End", values["end"])
    slack = 0 if exact and end_exact else _CLOCK_CHANGE
    if end != MISSING and ran > end - start + slack:
        raise place.error(f"is too early for {ran} s since Start", "End", values["end"])
    return ran


def _time_limit(row: Row) -> int:
    values, place = row
    if (text := values.get("timelimitraw")) and text not in _NO_LIMIT:
        minutes = place.parse(lambda t: seconds_within(whole(t), 1), "TimelimitRaw", text)
        return 60 * minutes
    if (text := values.get("timelimit")) and text not in _NO_LIMIT:
        return place.parse(elapsed, "Timelimit", text)
    return MISSING


def _time(row: Row, column: str) -> tuple[int, bool]:
    """Return a time column as unix seconds, ``MISSING`` if unknown, and if it is surely UTC."""
    text = row.values.get(column.lower(), "")
    if not text or text in _UNKNOWN:
        return MISSING, False
    try:
        return instant(text)
    except ValueError as error:
        raise row.place.error(str(error), column, text) from None
