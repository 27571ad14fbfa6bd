"""Building a workload from a log that is read one job at a time (PBS, Slurm)."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.logs.rejects import BAD_LINE, EXAMPLES, excluded_rows
from cpsched.logs.text import MAX_ID, MAX_KINDS, check_num_rows, title
from cpsched.model.workload import LABEL_COLUMNS, SET_ASIDE, Labels, Workload
from cpsched.util.types import MAX_AMOUNT, MAX_TIME, MISSING, UNBOUNDED, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from cpsched.logs.rejects import RejectedRows
    from cpsched.logs.text import FilePosition
    from cpsched.util.types import IntArray

#: Resource kinds every part of cpsched knows, in their order; others follow by name.
KINDS = ("core", "gpu", "mic", "mem")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRequest:
    """How a job lies on nodes; amounts by resource kind, see :class:`Workload`."""

    units: int
    request: Mapping[str, int]
    per_node: Mapping[str, int]
    nodes_min: int = 1
    nodes_max: int = UNBOUNDED
    contiguous: bool = False
    exclusive: bool = False
    segment: int = 0
    max_switches: int = 0
    switch_wait: int = MISSING
    constraint: str | None = None

    def __hash__(self) -> int:
        return hash((self.units, self.nodes_min, *self.request.items(), *self.per_node.items()))


class CollectedJob(NamedTuple):
    """One job as the log has it; times are unix seconds, ``MISSING`` where unknown."""

    job_id: str
    submit: int
    start: int
    runtime: int
    requested_time: int
    status: Status
    resources: ResourceRequest
    queue: str | None = None
    partition: str | None = None
    user: str | None = None
    name: str | None = None
    group: str | None = None
    qos: str | None = None
    reservation: str | None = None
    licenses: str | None = None
    array: str | None = None
    array_limit: int = 0
    nice: int = 0
    restartable: bool = False
    begin: int = MISSING
    cancel: int = MISSING


#: Columns of a workload by the fields of a job and of its request that they are made of.
_TIMES = ("submit", "start", "begin", "cancel")
_NUMBERS = ("runtime", "requested_time", "status", "array_limit", "nice", "restartable")
_LABELS = tuple(name for name in LABEL_COLUMNS if name != "constraint")
_OF_REQUEST = (
    *("units", "nodes_min", "nodes_max", "contiguous", "exclusive"),
    *("segment", "max_switches", "switch_wait"),
)


class NotAJobError(Exception):
    """
    Raised by a reader at a valid row that is not a job.

    Parameters
    ----------
    reason
        Why it is excluded.
    core_seconds
        What it held, or asks for if it waits; 0 where the log does not say. Of a row that stands
        for many jobs (tasks of an array), what each of them has.
    """

    def __init__(self, reason: str, core_seconds: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.core_seconds = core_seconds


@dataclass(slots=True)
class _Excluded:
    """Rows that are excluded for one reason."""

    count: int = 0
    jobs: int = 0
    core_seconds: int = 0
    examples: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return what they amount to, and the first of them, in words."""
        parts = []
        if self.jobs > self.count:
            parts.append(f"{self.jobs:,} jobs")
        if self.core_seconds:
            parts.append(f"{self.core_seconds / 3600:,.1f} core-hours")
        if self.examples:
            more = ", ..." if self.count > len(self.examples) else ""
            parts.append(", ".join(self.examples) + more)
        return "; ".join(parts)


class JobShares:
    """Counts what some jobs of a log have, for its notes: in jobs and in core-hours."""

    def __init__(self) -> None:
        self._jobs: Counter[str] = Counter()
        self._core_seconds: Counter[str] = Counter()

    def add(self, names: Iterable[str], core_seconds: int) -> None:
        """Count a job for all that it has."""
        for name in {"", *names}:
            self._jobs[name] += 1
            self._core_seconds[name] += core_seconds

    def texts(self) -> Iterator[str]:
        """Yield a line for each, those of most jobs first."""
        all_jobs, all_seconds = self._jobs.pop("", 0), max(self._core_seconds[""], 1)
        for name, jobs in sorted(self._jobs.items(), key=lambda item: (-item[1], item[0])):
            hours = 100 * self._core_seconds[name] / all_seconds
            share = 100 * jobs / all_jobs
            yield f"{name}: {share:.1f} % of the jobs, {hours:.1f} % of the core-hours"


class JobCollector:
    """
    Gathers jobs, counts rows that are not jobs, and makes the workload.

    Columns are kept as plain numbers and shared strings, so that a million jobs fit in memory.
    """

    def __init__(self, path: Path, rejected: RejectedRows) -> None:
        self._path = path
        self._rejected = rejected
        self._ids: dict[str, int] = {}
        self._columns: dict[str, Any] = {
            **{name: array("q") for name in (*_TIMES, *_NUMBERS)},
            **{name: _LabelColumn() for name in _LABELS},
        }
        self._values = attrgetter(*self._columns)
        self._appends = [column.append for column in self._columns.values()]
        self._requests: dict[ResourceRequest, int] = {}
        self._request_of = array("q")
        self._kinds: set[str] = set()
        self._excluded: dict[str, _Excluded] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def row_of(self, job_id: str) -> int | None:
        """Return which job this is, counted from 0, or None."""
        return self._ids.get(job_id)

    @property
    def ids(self) -> list[str]:
        """The ids of the jobs, in the order in which they were added."""
        return list(self._ids)

    def value(self, column: str, row: int) -> int:
        """Return a number of a job; times are unix seconds."""
        return int(self._columns[column][row])

    def codes(self, column: str) -> IntArray:
        """Return a column of strings as codes, equal where the strings are, -1 where unknown."""
        codes: IntArray = self._columns[column].labels().codes.copy()
        return codes

    def agrees(self, row: int, job: CollectedJob, columns: Iterable[str]) -> bool:
        """Tell whether a job has the same strings as one that was added."""
        return all(
            self._columns[name].code_of(getattr(job, name)) == self._columns[name].code_at(row)
            for name in columns
        )

    def set_value(self, column: str, row: int, value: int) -> None:
        """Change a number of a job."""
        self._columns[column][row] = value

    def add(self, job: CollectedJob, position: FilePosition) -> None:
        """
        Take a job.

        Raises
        ------
        TraceError
            If it is already there, or its id or its numbers are beyond the limits.
        """
        if job.job_id in self._ids:
            raise position.error(
                "is the id of an earlier job. Give every job its own id.", "job id", job.job_id
            )
        if len(job.job_id) > MAX_ID:
            raise position.error(f"must have at most {MAX_ID} characters", "job id", job.job_id)
        check_num_rows(len(self._ids) + 1, self._path)
        self._request_of.append(self._request_code(job, position))
        self._ids[job.job_id] = len(self._ids)
        for append, value in zip(self._appends, self._values(job), strict=True):
            append(value)

    def replace(self, row: int, job: CollectedJob, position: FilePosition) -> None:
        """
        Take a job instead of one that was added; its id stays.

        Raises
        ------
        TraceError
            If its numbers are beyond the limits.
        """
        self._request_of[row] = self._request_code(job, position)
        for name in (*_TIMES, *_NUMBERS):
            self._columns[name][row] = getattr(job, name)

    def _request_code(self, job: CollectedJob, position: FilePosition) -> int:
        """Check a job, and return the code of its request."""
        _check(job, position)
        code = self._requests.get(job.resources)
        if code is None:
            self._check_request(job.resources, position)
            code = self._requests[job.resources] = len(self._requests)
        return code

    def exclude(self, reason: str, example: str = "", core_seconds: int = 0, jobs: int = 1) -> None:
        """
        Count a row which is not a job; the first ones are named in the header.

        Parameters
        ----------
        core_seconds
            Of each job in the row.
        jobs
            How many jobs the row stands for.
        """
        excluded = self._excluded.setdefault(reason, _Excluded())
        excluded.count += 1
        excluded.jobs += jobs
        excluded.core_seconds += core_seconds * jobs
        if example and len(excluded.examples) < EXAMPLES:
            excluded.examples.append(example)

    def _check_request(self, request: ResourceRequest, position: FilePosition) -> None:
        """Raise for amounts that are wrong together, or one kind of resource too many."""
        if not 1 <= request.units < UNBOUNDED:
            raise position.error(f"must be from 1 to {UNBOUNDED - 1}", "units", request.units)
        for amounts_each, times in (
            (request.request, request.units),
            (request.per_node, request.nodes_min),
        ):
            for kind, amount in amounts_each.items():
                if not 0 <= amount * times <= MAX_AMOUNT:
                    raise position.error(
                        f"must be at most {MAX_AMOUNT} in all", kind, amount * times
                    )
        amounts = (*request.request.items(), *request.per_node.items())
        new = {kind for kind, amount in amounts if amount} - self._kinds
        if len(self._kinds) + len(new) > MAX_KINDS:
            right = f"a log may have at most {MAX_KINDS} resource types"
            raise position.error(right, "resource", min(new))
        self._kinds |= new

    def workload(self, header: Iterable[tuple[str, str]] = (), **columns: IntArray) -> Workload:
        """
        Return the workload; its epoch is the first submit.

        Parameters
        ----------
        header
            The log's metadata. The excluded rows follow it, with core-hours and examples.
        columns
            Columns of the workload that no job has, in the order in which jobs were added.

        Raises
        ------
        TraceError
            If there is not a job.
        """
        by_reason = dict(self._excluded)
        if count := self._rejected.count:
            by_reason[BAD_LINE] = _Excluded(count, count, 0, self._rejected.examples)
        counts = sorted((reason, excluded.count) for reason, excluded in by_reason.items())
        excluded_counts = excluded_rows(self._path, len(self), counts)
        details = [
            (SET_ASIDE, f"{reason}: {text}")
            for reason, excluded in sorted(by_reason.items())
            if (text := excluded.text())
        ]
        numbers = {name: np.frombuffer(self._columns[name], dtype=np.int64) for name in _NUMBERS}
        times = {name: np.frombuffer(self._columns[name], dtype=np.int64) for name in _TIMES}
        epoch = int(times["submit"].min())
        times = {
            name: np.where(time == MISSING, MISSING, time - epoch) for name, time in times.items()
        }
        requests = list(self._requests)
        request_of = np.frombuffer(self._request_of, dtype=np.int64)
        resources = ordered(self._kinds)
        constraints = Labels.encode(request.constraint for request in requests)
        return Workload.build(
            title=title(self._path),
            epoch=epoch,
            resources=resources,
            layout="units",
            job_id=list(self._ids),
            recorded_start=times.pop("start"),
            request=_matrix([request.request for request in requests], resources)[request_of],
            per_node=_matrix([request.per_node for request in requests], resources)[request_of],
            constraint=Labels(constraints.codes[request_of], constraints.values).take(
                np.arange(len(self))
            ),
            header=[*header, *details],
            set_aside=excluded_counts,
            **times,
            **numbers,
            **{name: self._columns[name].labels() for name in _LABELS},
            **{
                name: np.array([getattr(request, name) for request in requests])[request_of]
                for name in _OF_REQUEST
            },
            **columns,
        )


def _matrix(amounts: Sequence[Mapping[str, int]], resources: Sequence[str]) -> IntArray:
    """Return amounts by resource kind as rows, shape ``(len(amounts), R)``."""
    rows = np.zeros((len(amounts), len(resources)), dtype=np.int64)
    for row, known in enumerate(amounts):
        for kind, amount in known.items():
            if amount:
                rows[row, resources.index(kind)] = amount
    return rows


class _LabelColumn:
    """Strings as codes by first appearance, growing."""

    def __init__(self) -> None:
        self._codes = array("q")
        self._seen: dict[str, int] = {}

    def append(self, text: str | None) -> None:
        self._codes.append(self._seen.setdefault(text, len(self._seen)) if text else -1)

    def code_of(self, text: str | None) -> int:
        """Return the code of a string, -1 for none, -2 for one that is not in the column."""
        return self._seen.get(text, -2) if text else -1

    def code_at(self, row: int) -> int:
        return self._codes[row]

    def labels(self) -> Labels:
        return Labels(np.frombuffer(self._codes, dtype=np.int64), tuple(self._seen))


def ordered(kinds: Iterable[str]) -> tuple[str, ...]:
    """Return resource kinds in cpsched's order: core (always), gpu, mic, mem, others by name."""
    present = {"core", *kinds}
    known = tuple(kind for kind in KINDS if kind in present)
    return known + tuple(sorted(present - set(KINDS)))


def _check(job: CollectedJob, position: FilePosition) -> None:
    """Raise for numbers of a job that are wrong together."""
    if not 0 <= job.runtime <= MAX_TIME:
        raise position.error(f"must be from 0 to {MAX_TIME} seconds", "run time", job.runtime)
    if job.requested_time != MISSING and not 1 <= job.requested_time <= MAX_TIME:
        right = f"must be from 1 to {MAX_TIME} seconds"
        raise position.error(right, "requested time", job.requested_time)
    if job.start != MISSING and job.start < job.submit:
        raise position.error("is before the job was submitted", "start", job.start)
    if job.cancel != MISSING and job.cancel < job.submit:
        raise position.error("is before the job was submitted", "cancel", job.cancel)
