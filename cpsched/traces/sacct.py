r"""
Slurm's accounting: ``sacct --parsable2`` (or ``--parsable``, ``--json``), plain or gzip.

``docs/slurm-logs.md`` has the command and says what becomes of each column; the forms in which it
may come are those of :mod:`cpsched.traces.sacct_lines` and :mod:`cpsched.traces.sacct_json`.

=================  ==============================================================================
``job_id``         ``JobID``, else ``JobIDRaw``. Tasks of arrays (``123_4``) and components of
                   heterogeneous jobs (``123+0``) are jobs of their own; ``123_[5-9]``, tasks that
                   never started, is as many. Further attempts of a job that was queued again
                   (``sacct --duplicates``) are ``123#2``, ``123#3``, each submitted when it was
                   queued again, for Slurm resets ``Submit`` then
``submit``         ``Submit``; recorded start: ``Start``
``begin``          ``Eligible``, where it is later than ``Submit`` and neither a dependency nor the
                   limit of an array explains that (:mod:`cpsched.traces.sacct_waits`)
``runtime``        ``ElapsedRaw``, ``Elapsed`` (both leave out suspended time), else End - Start
requested time     ``TimelimitRaw`` (minutes), else ``Timelimit``; ``UNLIMITED`` and
                   ``Partition_Limit`` are unknown
units and nodes    see :mod:`cpsched.traces.sacct_request`
queue, partition   ``Partition``; the queue of a job that named several is the list of
                   ``SubmitLine`` (``short,long``)
name, user, group  ``JobName``, ``User``, ``Account``
qos, reservation   ``QOS``, ``Reservation``, else ``SubmitLine``
licenses           ``Licenses``, else ``SubmitLine``, else ``license/...`` of the TRES
nice, dependency   ``SubmitLine``, as is the limit of an array (``--array=0-99%5``)
``status``         ``State``: COMPLETED, TIMEOUT, CANCELLED (by any user), PREEMPTED as they are;
                   REQUEUED counts as preempted; FAILED, NODE_FAIL, BOOT_FAIL, OUT_OF_MEMORY,
                   DEADLINE are failed
=================  ==============================================================================

A job that was cancelled before it started has ``cancel``, its ``End``, and no recorded start; its
runtime is unknown and taken as its requested time, or where that is unknown as long as it waited.

Set aside and counted: jobs that are ``still running`` or ``still waiting``, those that ``never
ran`` (they ended in another way before they started), ``repeated line`` (equal id, submit and
start). Steps (``123.batch``) are not jobs; they give their job the ``ReqMem`` its own line lacks.

Times without an offset are taken as UTC. Exported in local time, jobs around a change of the
clock can seem to start before their submit; export with ``TZ=UTC``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from cpsched.errors import TraceError
from cpsched.model.types import MISSING, Status
from cpsched.model.workload import MAX_NICE
from cpsched.quantities import duration, instant, seconds_within, whole
from cpsched.traces.checks import LogTooLargeError
from cpsched.traces.collect import Job, Jobs, NotAJobError
from cpsched.traces.sacct_command import options
from cpsched.traces.sacct_json import is_json, json_rows
from cpsched.traces.sacct_lines import JOB_ID, Lines, is_first_line
from cpsched.traces.sacct_request import Shapes
from cpsched.traces.sacct_waits import Waits, begin_of
from cpsched.traces.sacct_write import write

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from cpsched.model.workload import Workload
    from cpsched.traces.sacct_lines import Row
    from cpsched.traces.text import Place

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
_STARTERS = ("SchedSubmit", "SchedMain", "SchedBackfill")
_UNKNOWN = ("Unknown", "None", "N/A", "NONE")
_NO_LIMIT = ("UNLIMITED", "Partition_Limit")
#: By how much local times may be off between two of them where the clock was set back.
_CLOCK_CHANGE = 3600
#: ``--nice`` without a number.
_NICE = 100
_TASKS = re.compile(r"([0-9]+)_\[([^\]%]*)(?:%([0-9]+))?\]?")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?")
#: Slurm's own limit of MaxArraySize, and how many tasks of one log may be listed in brackets.
_MOST_TASKS = 4_000_001
_MOST_LISTED = 1_000_000
_LICENSE = re.compile(r"license/([^=,]+)=([0-9]+)")


class Sacct:
    """Output of Slurm's ``sacct``; see the module for what a line becomes."""

    name = "sacct"
    summary = "Slurm accounting: sacct --parsable2 or --json, plain or gzip"
    suffixes = (".sacct",)
    write = staticmethod(write)

    def matches(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Tell whether a file starts as sacct's output does, with its header or without."""
        return is_json(head) or is_first_line(head)

    def read(self, path: Path, *, skip_bad_lines: bool = False) -> Workload:
        """
        Read a log.

        Raises
        ------
        TraceError
            At the first invalid line (unless ``skip_bad_lines``), and if the header
            lacks a column, the file cannot be read, or no job in it is known to have ended.
        """
        return _Reading(Jobs(path, skip_bad_lines=skip_bad_lines), path).workload()


SACCT = Sacct()


@dataclass(slots=True)
class _Reading:
    """Makes jobs of rows."""

    jobs: Jobs
    path: Path
    shapes: Shapes = field(default_factory=Shapes)
    waits: Waits = field(default_factory=Waits)
    #: What is said in the header: how many jobs or lines, and what of them.
    notes: Counter[str] = field(default_factory=Counter)
    started_by: Counter[str] = field(default_factory=Counter)
    waited_for: Counter[str] = field(default_factory=Counter)
    listed: int = 0

    def workload(self) -> Workload:
        """Read the file."""
        rows, lines = self._rows()
        # sacct prints the steps of a job right after it.
        for _, group in groupby(rows, key=lambda row: row.job_id.partition(".")[0]):
            found = list(group)
            steps = [row for row in found if row.is_step]
            if len(steps) == len(found):
                self.jobs.set_aside("step without its job", steps[0].job_id)
            self._count_steps(steps)
            for row in found:
                if not row.is_step:
                    self._take(row, steps)
        columns = self.waits.columns(self.jobs)
        self.notes["jobs waited for jobs that are not in the log"] += self.waits.unknown
        counts = [f"{count} {what}" for what, count in self.notes.items() if count]
        counts += [f"{count} lines {what}" for what, count in lines.items()]
        for what, names in (("started by", self.started_by), ("waited for", self.waited_for)):
            known = [f"{name} {count}" for name, count in names.most_common() if name]
            counts += [f"jobs {what}: {', '.join(known)}"] if known else []
        return self.jobs.workload([("Note", text) for text in counts], **columns)

    def _rows(self) -> tuple[Iterator[Row], Mapping[str, int]]:
        """Return the rows of the file, and what will have been mended when they are read."""
        rows = json_rows(self.path)
        if rows is not None:
            return rows, {}
        lines = Lines(self.path, self.jobs.bad)
        return lines.rows(), lines.notes

    def _count_steps(self, steps: list[Row]) -> None:
        self.notes["steps"] += len(steps)
        if any(step.values.get("maxrss") for step in steps):
            self.notes["jobs have the memory of steps (MaxRSS), which is not used"] += 1

    def _take(self, row: Row, steps: list[Row]) -> None:
        """Take one line, as a job, as jobs, or as what else it is."""
        try:
            found = self._job(_with_steps(row, steps))
            for job_id in self._ids(row):
                self._add(found, job_id, row.place)
        except NotAJobError as why:
            self.jobs.set_aside(why.reason, row.job_id, why.core_seconds)
        except TraceError as error:
            self.jobs.bad(error)

    def _ids(self, row: Row) -> list[str]:
        """Return the ids of the jobs in a line: of one, or of the tasks Slurm keeps in one line."""
        match = _TASKS.fullmatch(row.job_id)
        if match is None:
            if not JOB_ID.fullmatch(row.job_id):
                raise row.place.error("is not the id of a job", "JobID", row.job_id)
            return [row.job_id]
        listed, dots, _ = match[2].partition("...")
        if dots:
            self.jobs.set_aside("tasks left out of JobID (SLURM_BITSTR_LEN)", row.job_id)
            listed = listed.rpartition(",")[0]
        ranges = row.place.parse(_tasks, "JobID", listed)
        self.listed += sum(map(len, ranges))
        if self.listed > _MOST_LISTED:
            raise LogTooLargeError(
                f"lists more than {_MOST_LISTED} tasks that never started; cut it into parts",
                file=self.path,
            )
        return [f"{match[1]}_{task}" for tasks in ranges for task in tasks]

    def _add(self, found: _Found, job_id: str, place: Place) -> None:
        """Add a job; under another id if it was queued again after an earlier attempt."""
        jobs, job, name, attempt = self.jobs, found.job, job_id, 1
        while (known := jobs.row_of(name)) is not None:
            if (jobs.value("submit", known), jobs.value("start", known)) == (job.submit, job.start):
                raise NotAJobError("repeated line", job.shape.units * job.runtime)
            attempt += 1
            name = f"{job_id}#{attempt}"
        if name != job.job_id:
            job = job._replace(job_id=name)
        row = len(jobs)
        if found.dependency and self.waits.add(row, found.dependency, job_id, found.eligible):
            job = job._replace(begin=found.asked_begin)
        jobs.add(job, place)
        self.started_by[found.started_by] += 1
        self.waited_for[found.waited_for] += 1
        self.waits.note(row, job.job_id)
        self.notes["attempts of jobs that were queued again"] += attempt > 1
        self.notes["components of heterogeneous jobs, each a job of its own"] += "+" in job_id

    def _core_seconds(self, row: Row, asked: Mapping[str, str]) -> int:
        """Return what a job that has not ended has held, or asks for; 0 if its line is wrong."""
        try:
            text = row.values.get("elapsedraw", "")
            elapsed = row.place.parse(whole, "ElapsedRaw", text) if text else 0
            units = self.shapes.of(row.values, asked, row.place).units
            return units * (elapsed or max(_time_limit(row), 0))
        except TraceError:
            return 0

    def _job(self, row: Row) -> _Found:
        values, place = row
        asked = options(values.get("submitline", ""), _component(row.job_id))
        status = _status(row)
        if isinstance(status, str):
            raise NotAJobError(status, self._core_seconds(row, asked))
        start, start_exact = _time(row, "Start")
        submit, submit_exact = _time(row, "Submit")
        shape = self.shapes.of(values, asked, place)
        limit = _time_limit(row)
        runtime = 0
        if start != MISSING or status in (Status.COMPLETED, Status.TIMEOUT):
            for name, time in (("Submit", submit), ("Start", start)):
                if time == MISSING:
                    raise place.error(
                        "must be a time for a job that ran", name, values[name.lower()]
                    )
            runtime = _runtime(row, start, exact=start_exact)
        cancel = MISSING
        if start == MISSING or (runtime == 0 and _held_nothing(values)):
            start = MISSING
            cancel = _cancelled(row, status, submit)
            runtime = limit if limit != MISSING else cancel - submit
        elif start < submit and not (start_exact and submit_exact):
            raise place.error(
                "is before Submit (local times around a clock change? export with TZ=UTC)",
                "Start",
                values["start"],
            )
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
            begin=asked_begin if array_limit and start != MISSING else eligible,
            cancel=cancel,
        )
        reason = values.get("reason", "")
        flags = values.get("flags", "")
        return _Found(
            job=job,
            eligible=eligible,
            asked_begin=asked_begin,
            dependency=asked.get("dependency", ""),
            started_by=next((flag for flag in flags.split(",") if flag in _STARTERS), ""),
            waited_for="" if reason in _UNKNOWN else reason,
        )


class _Found(NamedTuple):
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
    started_by, waited_for
        Which of Slurm's schedulers started it; the last reason to wait that is not its turn.
    """

    job: Job
    eligible: int
    asked_begin: int
    dependency: str
    started_by: str
    waited_for: str


def _component(job_id: str) -> int:
    """Return which component of a heterogeneous job this is."""
    number = job_id.partition("+")[2]
    return int(number) if number.isascii() and number.isdigit() else 0


def _tasks(text: str) -> list[range]:
    """Read ``1-5,8,10-20:2``."""
    found = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise ValueError("is not a list of tasks such as 1-5,8,10-20:2")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if not step or last >= _MOST_TASKS:
            raise ValueError(f"must have tasks below {_MOST_TASKS}, and steps of at least 1")
        found.append(range(first, last + 1, step))
    return found


def _with_steps(row: Row, steps: list[Row]) -> Row:
    """Fill in what only the steps say (some Slurm versions leave a job's own ReqMem empty)."""
    if not steps or row.values.get("reqmem") != "":
        return row
    asked = next((step.values["reqmem"] for step in steps if step.values["reqmem"]), "")
    return row._replace(values={**row.values, "reqmem": asked})


def _status(row: Row) -> Status | str:
    """Return how a job ended, or if it has not, why it is set aside."""
    text = row.values.get("state")
    if not text:
        return Status.UNKNOWN
    # "CANCELLED by 1234" names who did it; a + ends a word that was cut off.
    state = text.split()[0].upper().removesuffix("+")
    if state in _ENDED:
        return _ENDED[state]
    if state in _REQUEUED:
        # Queued again: with a start this is an attempt, without one it waits for the next.
        return Status.PREEMPTED if _time(row, "Start")[0] != MISSING else "still waiting"
    if state in _UNENDED:
        return _UNENDED[state]
    raise row.place.error("is not a state of a Slurm job", "State", text)


def _held_nothing(values: Mapping[str, str]) -> bool:
    """Tell whether no resource was ever allocated (older Slurm gives such jobs a start)."""
    return values.get("alloctres") == "" or values.get("alloccpus") == "0"


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
    match = _TASKS.fullmatch(row.job_id)
    text = (match[3] if match else None) or asked.get("array", "").partition("%")[2]
    text = row.values.get("arraytasklimit") or text
    return row.place.parse(whole, "SubmitLine --array", text) if text else 0


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
    try:
        return instant(text)
    except ValueError as error:
        raise row.place.error(str(error), column, text) from None
