"""
The workload: every job of a log as columns, with its request and its outcome.

Rows are in order of submit; jobs of one second in order of their ids, for the order of a log's
lines may tell what became of them (accounting writes a job when it ends).

The outcome columns (``runtime``, ``status``, ``recorded_start``) are the truth: only the simulator
and the scoring may look at a workload. Dispatchers and predictors see
:class:`~cpsched.model.jobtable.JobTable` instead, which holds copies of what is known at submit.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from cpsched.base.types import (
    MISSING,
    UNBOUNDED,
    AnyArray,
    BoolArray,
    IntArray,
    JobType,
    Split,
    Status,
    StrArray,
)
from cpsched.base.words import brief, counted, duration
from cpsched.model.distinct import by_appearance
from cpsched.model.speedup import MILLION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Layout = Literal["processors", "units"]

#: Key of the header's lines that say more of what was set aside: ``reason: text``.
SET_ASIDE = "Set aside"


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """
    A column of strings with few distinct values, as codes into a list.

    Codes count up in order of first appearance, so a job's code says nothing about later jobs.

    Attributes
    ----------
    codes
        Shape ``(J,)``; -1 where the log has no value.
    values
        The distinct strings, in order of first appearance.
    """

    codes: IntArray
    values: tuple[str, ...]

    @classmethod
    def encode(cls, strings: Iterable[str | None]) -> Self:
        """Build the column from one string a job; None and '' mean unknown."""
        seen: dict[str, int] = {}
        codes = [seen.setdefault(text, len(seen)) if text else -1 for text in strings]
        return cls(np.asarray(codes, dtype=np.int64), tuple(seen))

    @classmethod
    def unknown(cls, num_jobs: int) -> Self:
        """Build a column in which nothing is known."""
        return cls(np.full(num_jobs, -1, dtype=np.int64), ())

    def __len__(self) -> int:
        return len(self.codes)

    def decode(self) -> list[str | None]:
        """Return one string a job, None where unknown."""
        table: list[str | None] = [*self.values, None]
        return [table[code] for code in self.codes]

    def take(self, rows: IntArray) -> Self:
        """Return the column of the given rows, recoded by first appearance among them."""
        codes = self.codes[rows]
        known = np.flatnonzero(codes >= 0)
        new = np.full(len(codes), -1, dtype=np.int64)
        new[known], first = by_appearance(codes[known])
        return type(self)(new, tuple(self.values[code] for code in codes[known[first]]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """
    Jobs as columns; J jobs, R resource kinds.

    Attributes
    ----------
    title
        What the workload is called in tables, usually the file's stem.
    epoch
        Unix time of second 0, or None where the log does not say.
    resources
        Names of the R resource kinds, as in ``request``; memory is in KB, the rest are counts.
    layout
        ``units``: units, request and node bounds say how the job lies on nodes. ``processors``:
        the log only counts processors (SWF); a system's mapping turns them into units.
    job_id
        As in the log, shape ``(J,)``.
    submit
        Seconds since ``epoch``, non-decreasing.
    requested_time
        The user's limit in seconds; ``MISSING`` where the log has none and no system has filled
        it in yet.
    requested_time_assumed
        True where ``requested_time`` is a queue's or system's default, not the user's.
    units, request
        Number of identical units ``(J,)`` and what one needs ``(J, R)``. Units may share a node,
        a unit never spans nodes.
    per_node, per_node_max
        What the job needs besides on every node it touches, and the most it can use, ``(J, R)``.
    nodes_min, nodes_max
        Bounds on the number of nodes touched.
    split, contiguous, exclusive
        :class:`~cpsched.base.types.Split`; consecutive nodes only; nobody else on its nodes.
    segment
        Nodes in one segment of the job: each segment lies inside one group of the topology's lowest
        level, and the job's nodes are a multiple of it. 0: no segments.
    max_switches, switch_wait
        Most groups of the topology's lowest level that the job may touch, 0 for any number, and for
        how many seconds from when it may first start that counts, ``MISSING`` for as long as it
        waits (Slurm's ``--switches=N@time``).
    constraint, queue, partition, user, name, group
        Strings as :class:`Labels`. A job that may run in several queues has them all, with commas
        between.
    qos, reservation, licenses, array
        Labels of Slurm's: quality of service; the reservation the job runs in; the licences it
        holds (``matlab:2,ansys``); the array that it is a task of.
    array_limit, nice
        Most tasks of its array that may run at once, 0 for any number; and what the user takes off
        the job's priority.
    job_type, units_min, units_max
        :class:`~cpsched.base.types.JobType`: who may change the number of units, and within which
        bounds; ``units`` is what the user would choose, and what runtime and requested time are of.
    serial, resize_cost
        Millionths of the job's work that its units cannot share (Amdahl; 0: linear speedup), and
        the seconds without progress after each change of size.
    evolve_after, evolve_to
        Seconds of its runtime after which an evolving job asks for so many units; 0: for none.
    urgent, deadline, begin
        To be started at once; when it should have ended; not before this second. ``MISSING``:
        none.
    restartable, checkpoint, restart_cost
        Whether the job may be taken off its nodes and started again; after every how many seconds
        of its run it saves what it has done, 0: never, so that it begins anew; and the seconds that
        each start but the first takes longer.
    cancel
        Second at which the job is cancelled, ``MISSING``: never.
    dependency, dependency_type
        Row of the job that this one waits for, or -1; and for what
        (:class:`~cpsched.base.types.DependencyType`).
    runtime, status, recorded_start
        What really happened: seconds, :class:`~cpsched.base.types.Status`, second or ``MISSING``.
    header
        The log's own metadata, in file order.
    set_aside
        Rows of the log that are no jobs here, by reason. Every summary shows them.
    """

    title: str
    epoch: int | None
    resources: tuple[str, ...]
    layout: Layout
    job_id: StrArray
    submit: IntArray
    requested_time: IntArray
    requested_time_assumed: BoolArray
    units: IntArray
    request: IntArray
    per_node: IntArray
    per_node_max: IntArray
    nodes_min: IntArray
    nodes_max: IntArray
    split: IntArray
    contiguous: BoolArray
    exclusive: BoolArray
    segment: IntArray
    max_switches: IntArray
    switch_wait: IntArray
    constraint: Labels
    queue: Labels
    partition: Labels
    user: Labels
    name: Labels
    group: Labels
    qos: Labels
    reservation: Labels
    licenses: Labels
    array: Labels
    array_limit: IntArray
    nice: IntArray
    job_type: IntArray
    units_min: IntArray
    units_max: IntArray
    serial: IntArray
    resize_cost: IntArray
    evolve_after: IntArray
    evolve_to: IntArray
    urgent: BoolArray
    deadline: IntArray
    begin: IntArray
    restartable: BoolArray
    checkpoint: IntArray
    restart_cost: IntArray
    cancel: IntArray
    dependency: IntArray
    dependency_type: IntArray
    runtime: IntArray
    status: IntArray
    recorded_start: IntArray
    header: tuple[tuple[str, str], ...] = ()
    set_aside: tuple[tuple[str, int], ...] = field(default=())

    @classmethod
    def build(
        cls,
        *,
        title: str,
        job_id: Sequence[str] | AnyArray,
        submit: AnyArray,
        runtime: AnyArray,
        units: AnyArray,
        request: AnyArray,
        resources: Sequence[str],
        layout: Layout = "units",
        epoch: int | None = None,
        header: Iterable[tuple[str, str]] = (),
        set_aside: Iterable[tuple[str, int]] = (),
        **columns: Any,
    ) -> Self:
        """
        Build a workload from columns in any order; rows are sorted by submit, then by job id.

        Numbers in ids count as numbers: ``7[2]`` comes before ``7[10]`` and ``12``.

        Parameters
        ----------
        job_id, submit, runtime, units, request
            The columns no workload can be without; ``request`` has shape ``(J, R)``.
        resources
            Names of the R resource kinds.
        columns
            Any other column of the class. :class:`Labels` columns may be given as lists of
            strings; what is left out gets its neutral value (requested time ``MISSING``).

        Raises
        ------
        ValueError
            If columns differ in length, an unknown column is named, or a value is impossible
            (a time or amount below zero, no units, ``nodes_min`` above ``nodes_max``).
        """
        num_jobs = len(job_id)
        defaults = _neutral_columns(num_jobs, len(resources), np.asarray(units, dtype=np.int64))
        unknown = sorted(set(columns) - set(defaults))
        if unknown:
            raise ValueError(f"a workload has no column {unknown[0]!r}")
        given: dict[str, Any] = {
            "job_id": np.asarray(job_id, dtype=np.str_),
            "submit": submit,
            "runtime": runtime,
            "units": units,
            "request": np.asarray(request).reshape(num_jobs, len(resources)),
            **columns,
        }
        data: dict[str, Any] = {}
        for column, neutral in {**dict.fromkeys(_REQUIRED), **defaults}.items():
            value = given.get(column)
            data[column] = neutral if value is None else _as_column(column, value, neutral)
        workload = cls(
            title=title,
            epoch=epoch,
            resources=tuple(resources),
            layout=layout,
            header=tuple(header),
            set_aside=tuple(set_aside),
            **data,
        )
        workload._check()
        order = _submit_order(workload.submit, workload.job_id)
        if np.array_equal(order, np.arange(num_jobs)):
            return workload
        return workload.take(order)

    def __len__(self) -> int:
        return len(self.submit)

    def __repr__(self) -> str:
        when = ""
        if len(self):
            first, last = self.submit[[0, -1]].tolist()
            when = f" submitted within {duration(last - first)}"
            if self.epoch is not None:
                days = np.array([first, last]) + self.epoch
                when = " submitted from {} to {}".format(
                    *days.astype("datetime64[s]").astype("M8[D]")
                )
        return f"<Workload {brief(self.title)}: {counted(len(self), 'job')}{when}>"

    @property
    def num_jobs(self) -> int:
        """Number of jobs J."""
        return len(self.submit)

    def take(self, rows: IntArray) -> Self:
        """Return the workload of the given rows (in that order); dependencies follow their rows."""
        rows = np.asarray(rows, dtype=np.int64)
        new: dict[str, Any] = {}
        for column in COLUMNS:
            value = getattr(self, column)
            new[column] = value.take(rows) if isinstance(value, Labels) else value[rows]
        position = np.full(self.num_jobs + 1, -1, dtype=np.int64)
        position[rows] = np.arange(len(rows))
        new["dependency"] = position[new["dependency"]]
        return replace(self, **new)

    def select(
        self, *, first: int | None = None, start: int | None = None, end: int | None = None
    ) -> Self:
        """
        Return the jobs submitted in ``[start, end)`` (seconds since the epoch), at most ``first``.

        A job whose dependency is cut off loses it.
        """
        keep = np.ones(self.num_jobs, dtype=np.bool_)
        if start is not None:
            keep &= self.submit >= start
        if end is not None:
            keep &= self.submit < end
        rows = np.flatnonzero(keep).astype(np.int64)[:first]
        return self if len(rows) == self.num_jobs else self.take(rows)

    def with_columns(self, **columns: Any) -> Self:
        """Return a copy with some fields replaced; shapes and values are checked again."""
        new = replace(self, **columns)
        new._check()
        new.check_order()
        return new

    def check_order(self) -> None:
        """
        Check that submits do not decrease.

        Raises
        ------
        ValueError
            If one does; names the job.
        """
        back = np.flatnonzero(np.diff(self.submit) < 0)
        if len(back):
            row = int(back[0]) + 1
            raise ValueError(
                f"job {self.job_id[row]}: submit is {self.submit[row]}, must be at least"
                f" {self.submit[row - 1]}, that of the job before it"
            )

    def digest(self) -> str:
        """Return the SHA-256 of all columns (hex), the workload's identity in run directories."""
        sha = hashlib.sha256()
        sha.update(repr((self.epoch, self.resources, self.layout, self.set_aside)).encode())
        for column in COLUMNS:
            value = getattr(self, column)
            if column in _LATER_COLUMNS and (value == _LATER_COLUMNS[column]).all():
                continue
            if column in _LATER_LABELS and (value.codes == -1).all():
                continue
            codes = value.codes if isinstance(value, Labels) else value
            sha.update(f"{column} {codes.dtype.kind} {codes.shape}".encode())
            sha.update("\0".join(codes).encode() if codes.dtype.kind == "U" else codes.tobytes())
            if isinstance(value, Labels):
                sha.update(repr(value.values).encode())
        return sha.hexdigest()

    def _check(self) -> None:
        for column in COLUMNS:
            value = getattr(self, column)
            if len(value) != self.num_jobs:
                raise ValueError(f"{column} has {len(value)} rows, submit has {self.num_jobs}")
        for column in ("request", "per_node", "per_node_max"):
            if getattr(self, column).shape != (self.num_jobs, len(self.resources)):
                raise ValueError(f"{column} must have one column for each resource kind")
        for column, bad, right in _RULES:
            rows = np.flatnonzero(bad(self))
            if len(rows):
                row = int(rows[0])
                raise ValueError(
                    f"job {self.job_id[row]}: {column} is {getattr(self, column)[row]},"
                    f" must be {right}"
                )


#: No user takes more off a priority, or adds more to it.
MAX_NICE = 2**31 - 3

#: Columns without values below 0, and those without values below 1.
_NOT_NEGATIVE = (
    *("request", "per_node", "runtime", "segment", "max_switches", "array_limit", "checkpoint"),
    *("restart_cost", "resize_cost", "evolve_after"),
)
_AT_LEAST_ONE = ("units", "nodes_min")


def _below(column: str, least: int) -> Callable[[Workload], BoolArray]:
    """Return what finds the jobs with a value below the least of a column."""

    def bad(workload: Workload) -> BoolArray:
        values = getattr(workload, column)
        return np.asarray((values < least).any(axis=tuple(range(1, values.ndim))))

    return bad


#: What a column may not be: which jobs break the rule, and what is right.
_RULES: tuple[tuple[str, Callable[[Workload], BoolArray], str], ...] = (
    *((column, _below(column, 1), "at least one") for column in _AT_LEAST_ONE),
    *((column, _below(column, 0), "non-negative") for column in _NOT_NEGATIVE),
    (
        "per_node_max",
        lambda w: ((w.per_node_max != 0) & (w.per_node_max < w.per_node)).any(axis=1),
        "at least per_node, or 0 for no range",
    ),
    (
        "requested_time",
        lambda w: (w.requested_time < 1) & (w.requested_time != MISSING),
        "at least one second",
    ),
    ("nodes_max", lambda w: w.nodes_max < w.nodes_min, "at least nodes_min"),
    ("switch_wait", lambda w: (w.switch_wait < 0) & (w.switch_wait != MISSING), "non-negative"),
    ("nice", lambda w: np.abs(w.nice) > MAX_NICE, f"within {MAX_NICE} of 0"),
    ("cancel", lambda w: (w.cancel < w.submit) & (w.cancel != MISSING), "at least submit"),
    ("serial", lambda w: (w.serial < 0) | (w.serial > MILLION), "0 to 1000000"),
    (
        "evolve_to",
        lambda w: (w.evolve_to != 0) & ((w.evolve_to < w.units_min) | (w.evolve_to > w.units_max)),
        "units_min to units_max, or 0 for none",
    ),
    ("units_min", lambda w: (w.units_min < 1) | (w.units_min > w.units), "1 to units"),
    ("units_max", lambda w: w.units_max < w.units, "at least units"),
)

_REQUIRED = ("job_id", "submit", "runtime", "units", "request")

#: Every column of a workload, in a fixed order.
COLUMNS: tuple[str, ...] = tuple(
    item.name
    for item in fields(Workload)
    if item.name not in ("title", "epoch", "resources", "layout", "header", "set_aside")
)

#: Seconds without progress after a change of size, where a log does not say.
RESIZE_COST = 10

#: What every job has in columns that came later. A column of nothing else is not part of the
#: digest, so that digests stay what they were.
_LATER_COLUMNS = {
    **dict.fromkeys(("restartable", "checkpoint", "restart_cost", "segment", "max_switches"), 0),
    **dict.fromkeys(("serial", "evolve_after", "evolve_to", "array_limit", "nice"), 0),
    "dependency_type": 0,
    "resize_cost": RESIZE_COST,
    "switch_wait": MISSING,
    "cancel": MISSING,
}
_LATER_LABELS = ("qos", "reservation", "licenses", "array")

#: The columns of strings, and those that are true or false.
LABEL_COLUMNS = ("constraint", "queue", "partition", "user", "name", "group", *_LATER_LABELS)
FLAG_COLUMNS = ("contiguous", "exclusive", "urgent", "restartable", "requested_time_assumed")


def _submit_order(submit: IntArray, job_id: StrArray) -> IntArray:
    """Return the rows by submit, then by job id; equal ids in the order given."""
    order = np.argsort(submit, kind="stable")
    same = np.diff(submit[order]) == 0
    tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    rows = order[tied]
    ids = job_id[rows]
    if len(rows) and ids.dtype.itemsize <= 4 * _MOST_DIGITS and np.char.isdecimal(ids).all():
        rows = rows[np.lexsort((ids.astype(np.int64), submit[rows]))]
    else:
        keys = [_natural(text) for text in ids.tolist()]
        by_id = sorted(range(len(rows)), key=keys.__getitem__)
        rows = rows[by_id]
        rows = rows[np.argsort(submit[rows], kind="stable")]
    order[tied] = rows
    return order.astype(np.int64)


def _natural(text: str) -> list[str | tuple[int, str]]:
    """Return a sort key: texts and numbers in turn, longer numbers being larger."""
    parts: list[Any] = _NUMBER.split(text)
    for at in range(1, len(parts), 2):
        digits = parts[at].lstrip("0")
        parts[at] = (len(digits), digits)
    return parts


_NUMBER = re.compile(r"([0-9]+)")
#: Of an id that is a number and fits an int64.
_MOST_DIGITS = 18


def _neutral_columns(num_jobs: int, num_resources: int, units: IntArray) -> dict[str, Any]:
    """Give every optional column the value that asks for nothing special."""
    numbers: dict[str, int] = {
        **dict.fromkeys(("requested_time", "deadline", "begin", "recorded_start"), MISSING),
        "nodes_min": 1,
        "nodes_max": UNBOUNDED,
        "split": Split.ANY,
        "job_type": JobType.RIGID,
        "dependency": -1,
        "status": Status.UNKNOWN,
        **_LATER_COLUMNS,
    }
    return {
        **{name: np.full(num_jobs, value, dtype=np.int64) for name, value in numbers.items()},
        **{name: np.zeros(num_jobs, dtype=np.bool_) for name in FLAG_COLUMNS},
        **{label: Labels.unknown(num_jobs) for label in LABEL_COLUMNS},
        "per_node": np.zeros((num_jobs, num_resources), dtype=np.int64),
        "per_node_max": np.zeros((num_jobs, num_resources), dtype=np.int64),
        "units_min": units.copy(),
        "units_max": units.copy(),
    }


def _as_column(column: str, value: Any, neutral: Any) -> Any:
    """Bring one given column to its type."""
    if column == "job_id":
        return value
    if isinstance(neutral, Labels):
        return value if isinstance(value, Labels) else Labels.encode(value)
    dtype = np.int64 if neutral is None else neutral.dtype
    return np.ascontiguousarray(np.asarray(value), dtype=dtype)
