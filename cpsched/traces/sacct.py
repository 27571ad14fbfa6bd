r"""
Slurm accounting: ``sacct --parsable2`` (or ``--parsable``) with its header line, plain or gzip.

Columns may come in any order; those not named here are passed over. Good to have::

    TZ=UTC sacct -a -X -P -S 2024-01-01 -E 2024-02-01 -o JobID,JobName,User,Account,Partition,\
        State,Submit,Start,End,ElapsedRaw,TimelimitRaw,ReqTRES,AllocTRES,ReqMem,NNodes,Constraints

``SubmitLine`` besides tells segments and switches; a command with | in it cannot be read.

=================  ==============================================================================
``job_id``         ``JobID`` (array task ``123_4``, part of a heterogeneous job ``123+0``: each is
                   a job of its own), else ``JobIDRaw``
``submit``         ``Submit``; recorded start: ``Start``
``runtime``        ``ElapsedRaw``, ``Elapsed`` (both leave out suspended time), else End - Start
requested time     ``TimelimitRaw`` (minutes), else ``Timelimit``; ``UNLIMITED`` and
                   ``Partition_Limit`` are unknown
units and nodes    see :mod:`cpsched.traces.sacct_request`
queue, partition   ``Partition``; QOS is not used
name, user, group  ``JobName``, ``User``, ``Account``
``status``         ``State``: COMPLETED, TIMEOUT, CANCELLED (by any user) as they are; FAILED,
                   NODE_FAIL, BOOT_FAIL, OUT_OF_MEMORY, PREEMPTED, DEADLINE are failed
=================  ==============================================================================

Set aside and counted: jobs that are ``still running``, jobs that ``never ran`` (pending, or
cancelled before they started), jobs that were ``requeued``. Steps (``123.batch``) are not jobs;
they give their job the ``ReqMem`` its own line lacks.

Times without an offset are taken as UTC. Exported in local time, jobs around a change of the
clock can seem to start before their submit; export with ``TZ=UTC``.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from cpsched.errors import TraceError
from cpsched.model.types import MISSING, Status
from cpsched.quantities import duration, instant, seconds_within, whole
from cpsched.traces import sacct_request
from cpsched.traces.checks import check_header
from cpsched.traces.collect import Job, Jobs, NotAJobError
from cpsched.traces.text import Place, decode, lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cpsched.model.workload import Workload

_STATES = {
    "COMPLETED": Status.COMPLETED,
    "TIMEOUT": Status.TIMEOUT,
    "CANCELLED": Status.CANCELLED,
    "FAILED": Status.FAILED,
    "NODE_FAIL": Status.FAILED,
    "BOOT_FAIL": Status.FAILED,
    "OUT_OF_MEMORY": Status.FAILED,
    "PREEMPTED": Status.FAILED,
    "DEADLINE": Status.FAILED,
}
_NO_JOBS = {
    **dict.fromkeys(
        (
            *("RUNNING", "SUSPENDED", "STOPPED", "CONFIGURING", "COMPLETING", "RESIZING"),
            *("SIGNALING", "STAGE_OUT"),
        ),
        "still running",
    ),
    **dict.fromkeys(("PENDING", "REVOKED", "RESV_DEL_HOLD"), "never ran"),
    **dict.fromkeys(("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT"), "requeued"),
}
_UNKNOWN = ("Unknown", "None", "N/A", "NONE")
_NO_LIMIT = ("UNLIMITED", "Partition_Limit")
#: Without one of each line's columns there is not a job.
_NEEDED = ("JobID or JobIDRaw", "Submit", "Start", "ElapsedRaw or Elapsed or End")
#: By how much local times may be off between two of them where the clock was set back.
_CLOCK_CHANGE = 3600


class Row(NamedTuple):
    """One line: its columns by name in lower case."""

    values: dict[str, str]
    place: Place

    @property
    def job_id(self) -> str:
        """The id, with the step's name for a step."""
        return self.values.get("jobid") or self.values.get("jobidraw", "")

    @property
    def is_step(self) -> bool:
        """Whether the line is a step of a job."""
        return "." in self.job_id


class Sacct:
    """Output of Slurm's ``sacct``; see the module for what a line becomes."""

    name = "sacct"
    summary = "Slurm accounting: sacct --parsable2 with its header line, plain or gzip"
    suffixes = (".sacct",)
    write = None

    def matches(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Tell whether a file starts with a header that has a JobID."""
        names = head.lstrip().split(b"\n", 1)[0].strip().lower().split(b"|")
        return len(names) > 1 and (b"jobid" in names or b"jobidraw" in names)

    def read(self, path: Path, *, skip_bad_lines: bool = False) -> Workload:
        """
        Read a log.

        Raises
        ------
        TraceError
            At the first invalid line (unless ``skip_bad_lines``), and if the header
            lacks a column, the file cannot be read, or no job in it has run.
        """
        jobs = Jobs(path, skip_bad_lines=skip_bad_lines)
        # sacct prints the steps of a job right after it.
        for _, group in groupby(_rows(path, jobs), key=lambda row: row.job_id.partition(".")[0]):
            rows = list(group)
            steps = [row for row in rows if row.is_step]
            if len(steps) == len(rows):
                jobs.set_aside("step without its job")
            for row in rows:
                if not row.is_step:
                    _take(row, steps, jobs)
        return jobs.workload()


SACCT = Sacct()


def _rows(path: Path, jobs: Jobs) -> Iterator[Row]:
    """Yield the lines after the header; wrong ones go to ``jobs.bad``."""
    names: list[str] = []
    for number, raw in lines(path):
        place = Place(path, number)
        if not names:
            names = _header(decode(raw, place), place)
            continue
        try:
            values = [value.strip() for value in decode(raw, place).split("|")]
            if len(values) != len(names):
                raise place.error(
                    f"the header has {len(names)} columns, here are {len(values)}"
                    " (a name with a | in it?)"
                )
            row = Row(dict(zip(names, values, strict=True)), place)
            if not row.job_id:
                raise place.error("must not be empty", "JobID")
        except TraceError as error:
            jobs.bad(error)
        else:
            yield row


def _header(line: str, place: Place) -> list[str]:
    """Return the names of the columns in lower case, '' after the last | of ``--parsable``."""
    names = [name.strip().lower() for name in line.split("|")]
    check_header(names, place)
    for needed in _NEEDED:
        if not any(name in names for name in needed.lower().split(" or ")):
            raise place.error(f"the header has no column {needed}; is it sacct --parsable2 output?")
    return names


def _take(row: Row, steps: list[Row], jobs: Jobs) -> None:
    """Give one job to ``jobs``, as a job or as what else it is."""
    try:
        jobs.add(_job(_with_steps(row, steps)), row.place)
    except NotAJobError as reason:
        jobs.set_aside(str(reason))
    except TraceError as error:
        jobs.bad(error)


def _with_steps(row: Row, steps: list[Row]) -> Row:
    """Fill in what only the steps say (some Slurm versions leave a job's own ReqMem empty)."""
    if row.values.get("reqmem") != "":
        return row
    asked = next((step.values["reqmem"] for step in steps if step.values["reqmem"]), "")
    return row._replace(values={**row.values, "reqmem": asked})


def _job(row: Row) -> Job:
    values, place = row
    status = _status(row)
    start, start_exact = _time(row, "Start")
    submit, submit_exact = _time(row, "Submit")
    if start == MISSING and status not in (Status.COMPLETED, Status.TIMEOUT):
        raise NotAJobError("never ran")
    for name, time in (("Submit", submit), ("Start", start)):
        if time == MISSING:
            raise place.error("must be a time for a job that ran", name, values[name.lower()])
    runtime = _runtime(row, start, exact=start_exact)
    if status == Status.CANCELLED and runtime == 0 and _held_nothing(values):
        raise NotAJobError("never ran")
    if start < submit and not (start_exact and submit_exact):
        raise place.error(
            "is before Submit (local times around a clock change? export with TZ=UTC)",
            "Start",
            values["start"],
        )
    return Job(
        job_id=row.job_id,
        submit=submit,
        start=start,
        runtime=runtime,
        requested_time=_time_limit(row),
        status=status,
        shape=sacct_request.shape(values, place),
        queue=values.get("partition"),
        partition=values.get("partition"),
        user=values.get("user"),
        name=values.get("jobname"),
        group=values.get("account"),
    )


def _status(row: Row) -> Status:
    """Return how a job ended; raise :class:`NotAJobError` if it has not."""
    text = row.values.get("state")
    if not text:
        return Status.UNKNOWN
    # "CANCELLED by 1234" names who did it.
    state = text.split()[0].upper()
    if state in _NO_JOBS:
        raise NotAJobError(_NO_JOBS[state])
    if state not in _STATES:
        raise row.place.error("is not a state of a Slurm job", "State", text)
    return _STATES[state]


def _held_nothing(values: dict[str, str]) -> bool:
    """Tell whether no resource was ever allocated (older Slurm gives such jobs a start)."""
    return values.get("alloctres") == "" or values.get("alloccpus") == "0"


def _runtime(row: Row, start: int, *, exact: bool) -> int:
    """Return the seconds a job ran, checked against its start and end where all are known."""
    values, place = row
    end, end_exact = _time(row, "End")
    if values.get("elapsedraw"):
        elapsed = place.parse(
            lambda t: seconds_within(whole(t)), "ElapsedRaw", values["elapsedraw"]
        )
    elif values.get("elapsed"):
        elapsed = place.parse(duration, "Elapsed", values["elapsed"])
    elif end == MISSING:
        raise place.error("has no Elapsed, and no End to tell how long it ran")
    else:
        elapsed = end - start
        if elapsed < 0:
            raise place.error("is before Start", "End", values["end"])
    slack = 0 if exact and end_exact else _CLOCK_CHANGE
    if end != MISSING and elapsed > end - start + slack:
        raise place.error(f"is too early for {elapsed} s since Start", "End", values["end"])
    return elapsed


def _time_limit(row: Row) -> int:
    values, place = row
    if (text := values.get("timelimitraw")) and text not in _NO_LIMIT:
        minutes = place.parse(lambda t: seconds_within(whole(t), 1), "TimelimitRaw", text)
        return 60 * minutes
    if (text := values.get("timelimit")) and text not in _NO_LIMIT:
        return place.parse(duration, "Timelimit", text)
    return MISSING


def _time(row: Row, column: str) -> tuple[int, bool]:
    """Return a time column as unix seconds, ``MISSING`` if unknown, and if it is surely UTC."""
    text = row.values.get(column.lower(), "")
    if not text or text in _UNKNOWN:
        return MISSING, False
    return row.place.parse(instant, column, text)
