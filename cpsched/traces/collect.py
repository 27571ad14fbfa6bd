"""Building a workload from a log that is read one job at a time (PBS, Slurm)."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.model.types import MAX_AMOUNT, MAX_TIME, MISSING, UNBOUNDED, Status
from cpsched.model.workload import LABEL_COLUMNS, Labels, Workload
from cpsched.traces.checks import LogTooLargeError, no_jobs, too_many_rows
from cpsched.traces.limits import MAX_ID, MAX_KINDS, MAX_ROWS
from cpsched.traces.text import title

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from cpsched.errors import TraceError
    from cpsched.model.types import IntArray
    from cpsched.traces.text import Place

#: Resource kinds every part of cpsched knows, in their order; others follow by name.
KINDS = ("core", "gpu", "mic", "mem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a job lies on nodes; amounts by resource kind, see :class:`Workload`."""

    units: int
    request: Mapping[str, int]
    per_node: Mapping[str, int]
    nodes_min: int = 1
    nodes_max: int = UNBOUNDED
    exclusive: bool = False
    segment: int = 0
    max_switches: int = 0
    switch_wait: int = MISSING
    constraint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job as the log has it; times are unix seconds, ``MISSING`` where unknown."""

    job_id: str
    submit: int
    start: int
    runtime: int
    requested_time: int
    status: Status
    shape: Shape
    queue: str | None = None
    partition: str | None = None
    user: str | None = None
    name: str | None = None
    group: str | None = None
    qos: str | None = None
    reservation: str | None = None
    licenses: str | None = None
    array: str | None = None


#: Columns of a workload by the fields of a job and of its shape that they are made of.
_OF_JOB = ("submit", "start", "runtime", "requested_time", "status", *LABEL_COLUMNS[1:])
_OF_SHAPE = (
    *("units", "nodes_min", "nodes_max", "exclusive"),
    *("segment", "max_switches", "switch_wait", "constraint"),
)


class NotAJobError(Exception):
    """Raised by a reader at a valid row that is not a job; the message is the reason."""


class Jobs:
    """
    Gathers jobs, counts rows that are not jobs, and makes the workload.

    Columns are kept as plain numbers and shared strings, so that a million jobs fit in memory.
    """

    def __init__(self, path: Path, *, skip_bad_lines: bool) -> None:
        self._path = path
        self._skip = skip_bad_lines
        self._ids: dict[str, None] = {}
        self._columns: dict[str, Any] = {
            name: _LabelColumn() if name in LABEL_COLUMNS else array("q")
            for name in (*_OF_JOB, *_OF_SHAPE)
        }
        self._amounts: dict[tuple[tuple[str, int], ...], int] = {}
        self._request, self._per_node = array("q"), array("q")
        self._kinds: set[str] = set()
        self._set_aside: dict[str, int] = {}

    def add(self, job: Job, place: Place) -> None:
        """
        Take a job.

        Raises
        ------
        TraceError
            If it is there already, or its id or its numbers are beyond the limits.
        """
        if job.job_id in self._ids:
            raise place.error("is in the log already", "job id", job.job_id)
        if len(job.job_id) > MAX_ID:
            raise place.error(f"must have at most {MAX_ID} characters", "job id", job.job_id)
        if len(self._ids) >= MAX_ROWS:
            raise too_many_rows(self._path)
        _check(job, place)
        shape = job.shape
        self._check_kinds(shape, place)
        self._ids[job.job_id] = None
        for holder, columns in ((job, _OF_JOB), (shape, _OF_SHAPE)):
            for name in columns:
                self._columns[name].append(getattr(holder, name))
        for column, amounts in ((self._request, shape.request), (self._per_node, shape.per_node)):
            key = tuple(sorted(amounts.items()))
            column.append(self._amounts.setdefault(key, len(self._amounts)))

    def set_aside(self, reason: str) -> None:
        """Count a row which is not a job."""
        self._set_aside[reason] = self._set_aside.get(reason, 0) + 1

    def bad(self, error: TraceError) -> None:
        """Count an invalid row, or raise its error; too large a log is always an error."""
        if not self._skip or isinstance(error, LogTooLargeError):
            raise error
        self.set_aside("bad line")

    def _check_kinds(self, shape: Shape, place: Place) -> None:
        """Raise if a job brings in one kind of resource too many."""
        amounts = (*shape.request.items(), *shape.per_node.items())
        new = {kind for kind, amount in amounts if amount} - self._kinds
        if len(self._kinds) + len(new) > MAX_KINDS:
            right = f"a log may have at most {MAX_KINDS} kinds of resources"
            raise place.error(right, "resource", min(new))
        self._kinds |= new

    def workload(self, header: Iterable[tuple[str, str]] = ()) -> Workload:
        """
        Return the workload; its epoch is the first submit.

        Raises
        ------
        TraceError
            If there is not a job.
        """
        set_aside = tuple(sorted(self._set_aside.items()))
        if not self._ids:
            raise no_jobs(self._path, set_aside)
        columns: dict[str, Any] = {
            name: values.labels()
            if isinstance(values, _LabelColumn)
            else np.frombuffer(values, dtype=np.int64)
            for name, values in self._columns.items()
        }
        epoch = int(columns["submit"].min())
        start = columns.pop("start")
        resources = ordered(self._kinds)
        return Workload.build(
            title=title(self._path),
            epoch=epoch,
            resources=resources,
            layout="units",
            job_id=list(self._ids),
            submit=columns.pop("submit") - epoch,
            recorded_start=np.where(start == MISSING, MISSING, start - epoch),
            request=self._matrix(self._request, resources),
            per_node=self._matrix(self._per_node, resources),
            header=header,
            set_aside=set_aside,
            **columns,
        )

    def _matrix(self, codes: array[int], resources: tuple[str, ...]) -> IntArray:
        """Return the amounts of every job, shape ``(J, R)``."""
        rows = np.zeros((len(self._amounts), len(resources)), dtype=np.int64)
        for amounts, row in self._amounts.items():
            for kind, amount in amounts:
                if amount:
                    rows[row, resources.index(kind)] = amount
        matrix: IntArray = rows[np.frombuffer(codes, dtype=np.int64)]
        return matrix


class _LabelColumn:
    """Strings as codes by first appearance, growing."""

    def __init__(self) -> None:
        self._codes = array("q")
        self._seen: dict[str, int] = {}

    def append(self, text: str | None) -> None:
        self._codes.append(self._seen.setdefault(text, len(self._seen)) if text else -1)

    def labels(self) -> Labels:
        return Labels(np.frombuffer(self._codes, dtype=np.int64), tuple(self._seen))


def ordered(kinds: Iterable[str]) -> tuple[str, ...]:
    """Return resource kinds in cpsched's order: core (always), gpu, mic, mem, others by name."""
    present = {"core", *kinds}
    known = tuple(kind for kind in KINDS if kind in present)
    return known + tuple(sorted(present - set(KINDS)))


def _check(job: Job, place: Place) -> None:
    """Raise for numbers that are wrong together."""
    shape = job.shape
    if not 0 <= job.runtime <= MAX_TIME:
        raise place.error(f"must be from 0 to {MAX_TIME} seconds", "run time", job.runtime)
    if job.requested_time != MISSING and job.requested_time < 1:
        raise place.error("must be at least one second", "requested time", job.requested_time)
    if job.start != MISSING and job.start < job.submit:
        raise place.error("is before the job was submitted", "start", job.start)
    if not 1 <= shape.units < UNBOUNDED:
        raise place.error(f"must be from 1 to {UNBOUNDED - 1}", "units", shape.units)
    for amounts, times in ((shape.request, shape.units), (shape.per_node, shape.nodes_min)):
        for kind, amount in amounts.items():
            if not 0 <= amount * times <= MAX_AMOUNT:
                raise place.error(f"must be at most {MAX_AMOUNT} in all", kind, amount * times)
