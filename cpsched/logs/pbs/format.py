"""
Accounting logs of PBS (PBS Pro, OpenPBS, Torque): one record a line, plain or gzip.

A record is ``date time;type;id;key=value key=value ...``. The ``E`` records (a job has ended)
are the jobs; the other types are counted in the header. A day's file holds the jobs that ended that
day; join the files of several days for a longer log.

=================  ==============================================================================
``submit``         ``ctime`` (created), else ``qtime`` (queued), else ``etime`` (eligible)
``begin``          ``etime``, where it is later than the submit and not after the start
recorded start     ``start``; a job without one ``never ran`` and is excluded
``runtime``        ``end`` - ``start``; without ``end``, ``resources_used.walltime``
requested time     ``Resource_List.walltime``
units and nodes    see :mod:`cpsched.logs.pbs.request`; jobs with several kinds of chunk cannot
                   be expressed and are excluded as ``heterogeneous chunks``
name, user, ...    ``jobname``, ``user``, ``group``, ``queue``; ``array`` of ``123[4]`` is ``123[]``
=================  ==============================================================================

``status`` from ``Exit_status``: 0 is completed. -29 (PBS killed it for its wall time), or a signal
(256 and more) once the wall time is over, is a timeout. 256 plus SIGKILL, SIGTERM or SIGINT (265,
271, 258) before that is cancelled (``qdel``). Everything else is failed.

The record of a whole array job (``123[].server``) repeats its subjobs and is excluded as
``array parent``. A second record of an id with another ``ctime`` is another job, ``id#2``, for
numbers are used again; with the same ``ctime`` and ``start`` it is a ``repeated record``. A record
whose values cannot be read or contradict each other is excluded as ``unreadable record``, with
line, key and value. Jobs that have no ``E`` record are excluded by the last record that they have.
Keys that say nothing of scheduling are listed here with the reason. Every other key that is not
read is not modelled, and a note of the log has the share of the jobs with it.

Times are unix seconds; the date at the start of a line is local and not used.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpsched.errors import TraceError
from cpsched.logs.collect import CollectedJob, JobCollector, JobShares, NotAJobError
from cpsched.logs.pbs.request import allocated_of, request_of
from cpsched.logs.text import FilePosition, decode, lines
from cpsched.util.quantities import duration as parse_duration
from cpsched.util.quantities import integer, seconds_within
from cpsched.util.types import MISSING, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from cpsched.logs.rejects import RejectedRows
    from cpsched.model.workload import Workload

_RECORD = re.compile(
    r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?;([A-Za-z]);([^;]+);(.*)",
    re.DOTALL,
)
_FIRST_LINE = re.compile(rb"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9:.]{8,15};[A-Za-z];")
#: A key and its value (quoted where it holds blanks), or a word that continues the last value.
_PAIR = re.compile(
    r"""(?<!\S)(?:([A-Za-z_][\w.]*)=("[^"]*"(?!\S)|'[^']*'(?!\S)|\S*)|(\S+))""",
)
#: What a job without an ``E`` record is excluded as, by its last record of these.
_UNENDED = {
    **dict.fromkeys("QRH", "still waiting"),
    **dict.fromkeys("STC", "still running"),
    **dict.fromkeys("DA", "deleted, without a record of its end"),
}
_RESOURCES = "Resource_List."

#: Keys that a job is made of; ``Resource_List`` has its own in :mod:`cpsched.logs.pbs.request`.
_READ = frozenset(
    (
        *("ctime", "qtime", "etime", "start", "end", "resources_used.walltime", "Exit_status"),
        *("user", "group", "queue", "jobname", "run_count", "run_version"),
        *("exec_host", "exec_vnode", "exec_gpus"),
    )
)
#: Keys that say nothing of when a job may start, what it takes or how long, and why.
_IRRELEVANT_KEYS: Mapping[str, str] = {
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
#: Cobalt writes the same form of record: ids without a server, and these keys.
_COBALT = re.compile(rb";[SE];[0-9]+;(?=[^\n]*\bcwd=)(?=[^\n]*\bexe=)")


class Pbs:
    """
    Accounting logs of PBS Pro, OpenPBS and Torque, plain or gzip.

    The docstring of :mod:`cpsched.logs.pbs.format` describes the use of each record.
    """

    name = "pbs"
    summary = "PBS Pro, OpenPBS or Torque accounting log, plain or gzip"
    suffixes = (".pbs", ".acct")
    write = None

    def matches(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Tell whether a file starts with a record."""
        return bool(_FIRST_LINE.match(head.lstrip())) and not _COBALT.search(head)

    def read(self, path: Path, rejected: RejectedRows) -> Workload:
        """
        Read a log.

        Raises
        ------
        TraceError
            If the file cannot be read or no job ended in it.
        """
        reading = _Reading(JobCollector(path, rejected), rejected)
        for number, raw in lines(path):
            position = FilePosition(path, number)
            try:
                record = _record(decode(raw, position), position)
            except TraceError as error:
                rejected.add(error)
            else:
                reading.take(*record, position)
        return reading.workload()


PBS = Pbs()


@dataclass(slots=True)
class _Reading:
    """Makes jobs of records."""

    jobs: JobCollector
    rejected: RejectedRows
    types: Counter[str] = field(default_factory=Counter)
    shares: JobShares = field(default_factory=JobShares)
    #: The last record of jobs by id, if it is one of :data:`_UNENDED`.
    last: dict[str, str] = field(default_factory=dict)
    #: ``ctime`` and ``start`` of the first record of each id that has ended; None if excluded.
    ended: dict[str, tuple[int, int] | None] = field(default_factory=dict)

    def take(self, kind: str, job_id: str, text: str, position: FilePosition) -> None:
        """Take a record."""
        self.types[kind] += 1
        if kind in _UNENDED:
            self.last[job_id] = kind
        if kind != "E":
            return
        self.ended.setdefault(job_id, None)
        try:
            self._add(*_job(job_id, _values(text, position), position), position)
        except NotAJobError as why:
            self.jobs.exclude(why.reason, job_id, why.core_seconds)
        except TraceError as error:
            # Too large a log, or one that is too large to be read, ends the reading.
            if error.line is None:
                raise
            self.jobs.exclude("unreadable record", f"line {error}".replace(f"{error.file}:", "", 1))
            self.rejected.note(error)

    def _add(self, job: CollectedJob, notes: tuple[str, ...], position: FilePosition) -> None:
        times = job.submit, job.start
        before = self.ended.get(job.job_id)
        if before == times:
            raise NotAJobError("repeated record")
        if before is not None and before[0] != job.submit:
            notes += ("jobs with the number of an earlier job (named id#2, id#3)",)
            job = job._replace(job_id=self._free(job.job_id))
        self.jobs.add(job, position)
        self.ended[job.job_id] = times
        self.shares.add(notes, job.resources.units * job.resources.request["core"] * job.runtime)

    def _free(self, job_id: str) -> str:
        """Return an id for another job of the same number."""
        number = 2
        while f"{job_id}#{number}" in self.ended:
            number += 1
        return f"{job_id}#{number}"

    def workload(self) -> Workload:
        """Return the workload, with what is to be said of the log in its header."""
        for job_id, kind in self.last.items():
            if job_id not in self.ended:
                self.jobs.exclude(_UNENDED[kind], job_id)
        types = ", ".join(f"{kind} {count}" for kind, count in sorted(self.types.items()))
        notes = [("Note", text) for text in self.shares.texts()]
        return self.jobs.workload(header=[("Records", types), *notes])


def _record(line: str, position: FilePosition) -> tuple[str, str, str]:
    """Return type, id and message of a record."""
    match = _RECORD.fullmatch(line.strip())
    if not match:
        raise position.error(
            "is not an accounting record (MM/DD/YYYY hh:mm:ss;type;id;key=value ...)"
        )
    return match[1], match[2], match[3]


def _values(text: str, position: FilePosition) -> dict[str, str]:
    """Split a message into its keys and values."""
    pairs: list[tuple[str, list[str]]] = []
    for key, value, more in _PAIR.findall(text):
        if not more:
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            pairs.append((key, [value[1:-1] if quoted else value]))
        elif pairs:
            # A job name with blanks is not always quoted.
            pairs[-1][1].append(more)
        else:
            raise position.error("must be key=value", "message", more)
    values: dict[str, str] = {}
    for key, words in pairs:
        value = " ".join(words)
        if values.setdefault(key, value) != value:
            raise position.error("the key is given twice with different values", key, value)
    return values


def _job(
    job_id: str, values: Mapping[str, str], position: FilePosition
) -> tuple[CollectedJob, tuple[str, ...]]:
    """
    Return the job of a record, and what it is counted for in the notes of the log.

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
        raise position.error("has no ctime, qtime or etime, which give the submit time")
    requested = _length(values, f"{_RESOURCES}walltime", position)
    runtime = _runtime(values, start, position)
    time_is_over = requested != MISSING and runtime >= requested
    resources = {
        key.removeprefix(_RESOURCES): value
        for key, value in values.items()
        if key.startswith(_RESOURCES) and key != f"{_RESOURCES}walltime"
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
    unread = [*_unread(values), *(f"{_RESOURCES}{key}" for key in request.unread)]
    unread += [] if allocated is None else allocated.unread
    notes = [f"jobs that {what}" for what in request.notes]
    notes += [*(f"not modelled: {key}" for key in unread)]
    if _runs(values, position) > 1:
        notes.append("jobs that ran more than once (the last run is read)")
    return job, tuple(notes)


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


def _unread(record: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys of a record that are not modelled, but for those of its ``Resource_List``."""
    for key, value in record.items():
        known = key in _READ or key in _IRRELEVANT_KEYS or key.startswith(_RESOURCES)
        if known or _USUAL.get(key) == value or key.startswith(tuple(_IRRELEVANT)):
            continue
        yield _PART.sub("", key)
