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
Keys that are not read are counted in notes, see :mod:`cpsched.logs.pbs.job`.

Times are unix seconds; the date at the start of a line is local and not used.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpsched.errors import TraceError
from cpsched.logs.collect import JobCollector, JobShares, NotAJobError
from cpsched.logs.pbs.job import pbs_job
from cpsched.logs.text import FilePosition, decode, lines

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.logs.pbs.job import PbsJob
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
#: Cobalt writes the same form of record: ids without a server, and these keys.
_COBALT = re.compile(rb";[SE];[0-9]+;(?=[^\n]*\bcwd=)(?=[^\n]*\bexe=)")


class Pbs:
    """PBS accounting logs; see the module for what a record becomes."""

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
            ended_job = pbs_job(job_id, _values(text, position), position)
            self._add(ended_job, position)
        except NotAJobError as why:
            self.jobs.exclude(why.reason, job_id, why.core_seconds)
        except TraceError as error:
            # Too large a log, or one that is too large to be read, ends the reading.
            if error.line is None:
                raise
            self.jobs.exclude("unreadable record", _located(error))
            self.rejected.note(error)

    def _add(self, ended_job: PbsJob, position: FilePosition) -> None:
        job, notes = ended_job
        times = job.submit, job.start
        before = self.ended.get(job.job_id)
        if before == times:
            raise NotAJobError("repeated record")
        if before is not None and before[0] != job.submit:
            notes += ("jobs that have the number of an earlier job, and are named id#2, id#3",)
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


def _located(error: TraceError) -> str:
    """Return where an error is and what, in one line without the file."""
    value = "" if error.field is None else f"{error.field} = {error.value!r}: "
    return f"line {error.line}: {value}{error.reason}"


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
            raise position.error("key=value is expected", "message", more)
    values: dict[str, str] = {}
    for key, words in pairs:
        value = " ".join(words)
        if values.setdefault(key, value) != value:
            raise position.error("the key is given twice with different values", key, value)
    return values
