"""
Accounting logs of PBS (PBS Pro, OpenPBS, Torque): one record a line, plain or gzip.

A record is ``date time;type;id;key=value key=value ...``. The ``E`` records (a job has ended)
are the jobs; the other types are counted in the header and otherwise not used. A day's file holds
the jobs that ended that day; join the files of several days for a longer log.

=================  ==============================================================================
``submit``         ``ctime`` (created), else ``qtime`` (queued), else ``etime`` (eligible)
recorded start     ``start``; a job without one ``never ran`` and is set aside
``runtime``        ``end`` - ``start``; without ``end``, ``resources_used.walltime``
requested time     ``Resource_List.walltime``
units and nodes    see :mod:`pbs_logs.request`; jobs with several kinds of chunk cannot
                   be expressed and are set aside as ``heterogeneous chunks``
name, user, ...    ``jobname``, ``user``, ``group``, ``queue``
=================  ==============================================================================

``status`` from ``Exit_status``: 0 is completed. -29 (PBS killed it for its wall time), or a signal
(256 and more) once the wall time is over, is a timeout. 256 plus SIGKILL, SIGTERM or SIGINT (265,
271, 258) before that is cancelled (``qdel``). Everything else is failed.

The record of a whole array job (``123[].server``) repeats its subjobs and is set aside as
``array parent``. Times are unix seconds; the date at the start of a line is local and not used.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from cpsched.api.errors import TraceError
from cpsched.api.fields import parse_duration, seconds_within, whole
from cpsched.api.logs import Job, Jobs, NotAJobError, Place, decode, lines
from cpsched.api.model import MISSING, Status
from pbs_logs.request import shape

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.api.logs import Workload

_RECORD = re.compile(
    r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?;([A-Za-z]);([^;]+);(.*)",
    re.DOTALL,
)
_FIRST_LINE = re.compile(rb"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9:.]{8,15};[A-Za-z];")
#: A key and its value (quoted where it holds blanks), or a word that continues the last value.
_PAIR = re.compile(
    r"""(?<!\S)(?:([A-Za-z_][\w.]*)=("[^"]*"(?!\S)|'[^']*'(?!\S)|\S*)|(\S+))""",
)
_ARRAY_PARENT = re.compile(r"[0-9]+\[\]")
_KILLED_FOR_WALLTIME = -29
_SIGNALLED = 256
_CANCELLING_SIGNALS = (2, 9, 15)


class Pbs:
    """PBS accounting logs; see the module for what a record becomes."""

    name = "pbs"
    summary = "PBS Pro, OpenPBS or Torque accounting log, plain or gzip"
    suffixes = (".pbs", ".acct")
    write = None

    def matches(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Tell whether a file starts with a record."""
        return bool(_FIRST_LINE.match(head.lstrip()))

    def read(self, path: Path, *, skip_bad_lines: bool = False) -> Workload:
        """
        Read a log.

        Raises
        ------
        TraceError
            At the first invalid record (unless ``skip_bad_lines``), and if the file
            cannot be read or no job ended in it.
        """
        jobs = Jobs(path, skip_bad_lines=skip_bad_lines)
        types: Counter[str] = Counter()
        for number, raw in lines(path):
            place = Place(path, number)
            try:
                kind, job_id, text = _record(decode(raw, place), place)
                types[kind] += 1
                if kind == "E":
                    jobs.add(_job(job_id, _values(text, place), place), place)
            except NotAJobError as why:
                jobs.set_aside(why.reason, job_id)
            except TraceError as error:
                jobs.bad(error)
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(types.items()))
        return jobs.workload(header=[("Records", counts)])


PBS = Pbs()


def _record(line: str, place: Place) -> tuple[str, str, str]:
    """Return type, id and message of a record."""
    match = _RECORD.fullmatch(line.strip())
    if not match:
        raise place.error("is not an accounting record (MM/DD/YYYY hh:mm:ss;type;id;key=value ...)")
    return match[1], match[2], match[3]


def _values(text: str, place: Place) -> dict[str, str]:
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
            raise place.error("key=value is expected", "message", more)
    values: dict[str, str] = {}
    for key, words in pairs:
        value = " ".join(words)
        if values.setdefault(key, value) != value:
            raise place.error("the key is given twice with different values", key, value)
    return values


def _job(job_id: str, values: dict[str, str], place: Place) -> Job:
    if _ARRAY_PARENT.match(job_id):
        raise NotAJobError("array parent")
    start = _time(values, "start", place)
    if start in (MISSING, 0):
        raise NotAJobError("never ran")
    submit = next(
        (time for key in ("ctime", "qtime", "etime") if (time := _time(values, key, place)) > 0),
        None,
    )
    if submit is None:
        raise place.error("has no ctime, qtime or etime, so its submit time is unknown")
    requested = _length(values, "Resource_List.walltime", place)
    runtime = _runtime(values, start, place)
    time_is_over = requested != MISSING and runtime >= requested
    resources = {
        key.removeprefix("Resource_List."): value
        for key, value in values.items()
        if key.startswith("Resource_List.")
    }
    return Job(
        job_id=job_id,
        submit=submit,
        start=start,
        runtime=runtime,
        requested_time=requested,
        status=_status(values.get("Exit_status"), time_is_over, place),
        shape=shape(resources, place),
        queue=values.get("queue"),
        user=values.get("user"),
        name=values.get("jobname"),
        group=values.get("group"),
    )


def _runtime(values: dict[str, str], start: int, place: Place) -> int:
    end = _time(values, "end", place)
    if end == MISSING:
        used = _length(values, "resources_used.walltime", place)
        if used == MISSING:
            raise place.error("has neither end nor resources_used.walltime")
        return used
    if end < start:
        raise place.error(f"is before the start ({start})", "end", end)
    return end - start


def _status(text: str | None, time_is_over: bool, place: Place) -> Status:
    if text is None:
        return Status.UNKNOWN
    code = place.parse(whole, "Exit_status", text)
    if code == 0:
        return Status.COMPLETED
    if code == _KILLED_FOR_WALLTIME or (code >= _SIGNALLED and time_is_over):
        return Status.TIMEOUT
    if code - _SIGNALLED in _CANCELLING_SIGNALS:
        return Status.CANCELLED
    return Status.FAILED


def _time(values: dict[str, str], key: str, place: Place) -> int:
    text = values.get(key)
    return MISSING if text is None else place.parse(lambda t: seconds_within(whole(t)), key, text)


def _length(values: dict[str, str], key: str, place: Place) -> int:
    text = values.get(key)
    return MISSING if text is None else place.parse(parse_duration, key, text)
