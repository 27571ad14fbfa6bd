"""
The workload: every job of a log as columns, with its request and its outcome.

Rows are in order of submit; jobs of one second in order of their ids, for the order of a log's
lines may tell what became of them (accounting writes a job when it ends).

The outcome columns (``runtime``, ``status``, ``recorded_start``) are the truth: only the simulator
and the scoring may look at a workload. Dispatchers and predictors see
:class:`~cpsched.model.jobtable.JobTable` instead, which holds copies of what is known at submit.
"""

# ruff: noqa: RUF009 -- columns are declared by fields with metadata, which have no defaults.
from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from cpsched.model.arrays import constant, is_constant, let_go, rows_of
from cpsched.model.distinct import by_appearance
from cpsched.model.speedup import MILLION
from cpsched.util.node_lists import natural
from cpsched.util.types import (
    MAX_AMOUNT,
    MAX_TIME,
    MISSING,
    UNBOUNDED,
    AnyArray,
    BoolArray,
    DependencyType,
    IntArray,
    JobType,
    Split,
    Status,
    StrArray,
)
from cpsched.util.words import brief, counted, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from enum import IntEnum

    import pandas as pd

Layout = Literal["processors", "units"]

#: Key of the header's lines that say more of the excluded rows: ``reason: text``.
SET_ASIDE = "Excluded"
#: Columns that are moments, of the log's clock.
_MOMENTS = ("submit", "begin", "deadline", "cancel", "recorded_start")
#: No user takes more off a priority, or adds more to it.
MAX_NICE = 2**31 - 3
#: Seconds without progress after a change of size, where a log does not say.
RESIZE_COST = 10


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
        return cls(constant(-1, (num_jobs,)), ())

    def __len__(self) -> int:
        return len(self.codes)

    def decode(self) -> list[str | None]:
        """Return one string a job, None where unknown."""
        table: list[str | None] = [*self.values, None]
        return [table[code] for code in self.codes]

    def in_order(self) -> Self:
        """Return the column with codes by first appearance and no others, whatever it has here."""
        highest = np.maximum.accumulate(self.codes)
        complete = highest.max(initial=-1) == len(self.values) - 1
        in_order = complete and (np.diff(highest, prepend=-1) <= 1).all()
        return self if in_order else self.take(np.arange(len(self)))

    def take(self, rows: IntArray) -> Self:
        """Return the column of the given rows, recoded by first appearance among them."""
        codes = rows_of(self.codes, rows)
        if not self.values:
            return type(self)(codes, ())
        known = np.flatnonzero(codes >= 0)
        new = np.full(len(codes), -1, dtype=np.int64)
        new[known], first = by_appearance(codes[known])
        return type(self)(new, tuple(self.values[code] for code in codes[known[first]]))


def _part(column: Any, rows: slice) -> Any:
    if isinstance(column, Labels):
        return Labels(column.codes[rows], column.values)
    return column[rows]


def taken(columns: Mapping[str, Any], rows: IntArray) -> dict[str, Any]:
    """Return the given rows of columns."""
    return {
        name: column.take(rows) if isinstance(column, Labels) else rows_of(column, rows)
        for name, column in columns.items()
    }


class WorkloadColumn(NamedTuple):
    """
    What a column of a workload holds, besides what it means.

    Attributes
    ----------
    neutral
        The value that asks for nothing special; None where a workload must be given the column,
        or where that is another column.
    least, limit
        Bounds of its numbers; a neutral ``MISSING`` is beyond them.
    choices
        The enumeration that its numbers are of.
    later
        Whether it came later than the first digests. A column of nothing else than its neutral
        value is not part of the digest then, so that digests stay what they were.
    kind
        The type of the column, as annotated.
    """

    neutral: int | None = None
    least: int = 0
    limit: int = UNBOUNDED
    choices: type[IntEnum] | None = None
    later: bool = False
    kind: str = ""


def _column(*about: Any, **more: Any) -> Any:
    """Declare a column of a workload, by the attributes of :class:`WorkloadColumn`."""
    return field(metadata={"column": WorkloadColumn(*about, **more)})


def _time(neutral: int | None = MISSING, least: int = -MAX_TIME, *, later: bool = False) -> Any:
    return _column(neutral, least, MAX_TIME, later=later)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """
    The jobs of a log as columns: J jobs in submit order, R resource types.

    Attributes
    ----------
    title
        Name of the workload in tables, usually the file's stem.
    epoch
        Unix time of second 0, or None if the log does not state it.
    resources
        Names of the R resource types, as in ``request``. Memory is in KB, all others are counts.
    layout
        ``units``: tasks, request and node bounds state how the job is placed on nodes.
        ``processors``: the log only counts processors (SWF), and a system's mapping turns them into
        tasks.
    job_id
        Id in the log.
    submit
        Second of its submission, from ``epoch`` on.
    requested_time
        The user's time limit in seconds. ``MISSING`` if the log has none and no system has filled
        it in yet.
    requested_time_assumed
        Whether ``requested_time`` is the default of a queue or system, not the user's.
    units
        Number of identical tasks. A task never spans nodes. Tasks may share one.
    request
        Amount of each resource that a task needs, shape ``(J, R)``.
    per_node
        Amount of each resource that the job needs on each of its nodes, in addition, ``(J, R)``.
    per_node_max
        The largest such amount that it can use, ``(J, R)``.
    nodes_min
        Smallest number of nodes that it may use.
    nodes_max
        Largest number of nodes that it may use.
    split
        ``any`` number of tasks on each node, or ``even``: the same on each
        (:class:`~cpsched.util.types.Split`).
    contiguous
        Whether its nodes must be consecutive.
    exclusive
        Whether it shares no node.
    segment
        Number of nodes in a segment. Each segment lies inside one group of the topology's lowest
        level, and the job's nodes are a multiple of it. 0: no segments.
    max_switches
        Most groups of the topology's lowest level that it may use. 0: any number.
    switch_wait
        Seconds for which ``max_switches`` applies, from when the job may first start. ``MISSING``:
        as long as it waits. Slurm's ``--switches=N@time``.
    constraint
        Expression for features or names of its nodes, such as ``a&b``. Empty: any nodes.
    queue
        Name of its queue. A job that may run in several has them all, with commas between.
    partition
        Name of its partition.
    user
        Name of its user.
    name
        Name of the job.
    group
        Group of its user, the account in Slurm.
    qos
        Slurm's quality of service.
    reservation
        The reservation in which it runs.
    licenses
        The licences that it holds, such as ``matlab:2,ansys``.
    array
        The job array that it is a task of.
    array_limit
        Most tasks of its array that may run at once. 0: any number.
    nice
        Amount by which the user lowers its priority.
    job_type
        Whether it is ``rigid``, ``moldable``, ``malleable`` or ``evolving``
        (:class:`~cpsched.util.types.JobType`).
    units_min
        Fewest tasks, if its size may change. ``units`` is the user's choice, for which runtime and
        requested time are given.
    units_max
        Most tasks, if its size may change.
    serial
        Millionths of its work that its tasks cannot share (Amdahl). 0: linear speedup.
    resize_cost
        Seconds without progress after each change of size.
    evolve_after
        Seconds of its runtime after which an evolving job asks for another size.
    evolve_to
        Number of tasks that it asks for then. 0: no change.
    urgent
        Whether it must start at once.
    deadline
        Second at which it should have ended. ``MISSING``: none.
    begin
        Second before which it does not start. ``MISSING``: none.
    restartable
        Whether it may be stopped and started again.
    checkpoint
        Seconds of its run between two checkpoints. 0: none, so that it begins anew.
    restart_cost
        Seconds that each start but the first takes longer.
    cancel
        Second at which it is cancelled. ``MISSING``: never.
    dependency
        The job that it waits for: its row or -1 here, its id in a file.
    dependency_type
        ``afterany``, ``afterok``, ``afternotok`` or ``after``
        (:class:`~cpsched.util.types.DependencyType`).
    runtime
        Seconds that it ran in the log.
    status
        How it ended in the log (:class:`~cpsched.util.types.Status`).
    recorded_start
        Second of its start in the log. ``MISSING``: not recorded.
    header
        The log's own metadata, in file order.
    set_aside
        Excluded rows of the log, by reason. Every summary shows them. A part of a log has those of
        the whole log.
    """

    title: str
    epoch: int | None
    resources: tuple[str, ...]
    layout: Layout
    job_id: StrArray = _column()
    submit: IntArray = _time(None)
    requested_time: IntArray = _time(least=1)
    requested_time_assumed: BoolArray = _column(0)
    units: IntArray = _column(least=1, limit=MAX_AMOUNT)
    request: IntArray = _column(limit=MAX_AMOUNT)
    per_node: IntArray = _column(0, limit=MAX_AMOUNT)
    per_node_max: IntArray = _column(0, limit=MAX_AMOUNT)
    nodes_min: IntArray = _column(1, 1)
    nodes_max: IntArray = _column(UNBOUNDED, 1)
    split: IntArray = _column(Split.ANY, choices=Split)
    contiguous: BoolArray = _column(0)
    exclusive: BoolArray = _column(0)
    segment: IntArray = _column(0, later=True)
    max_switches: IntArray = _column(0, later=True)
    switch_wait: IntArray = _time(least=0, later=True)
    constraint: Labels = _column(-1)
    queue: Labels = _column(-1)
    partition: Labels = _column(-1)
    user: Labels = _column(-1)
    name: Labels = _column(-1)
    group: Labels = _column(-1)
    qos: Labels = _column(-1, later=True)
    reservation: Labels = _column(-1, later=True)
    licenses: Labels = _column(-1, later=True)
    array: Labels = _column(-1, later=True)
    array_limit: IntArray = _column(0, later=True)
    nice: IntArray = _column(0, -MAX_NICE, MAX_NICE, later=True)
    job_type: IntArray = _column(JobType.RIGID, choices=JobType)
    units_min: IntArray = _column(least=1, limit=MAX_AMOUNT)
    units_max: IntArray = _column(least=1, limit=MAX_AMOUNT)
    serial: IntArray = _column(0, 0, MILLION, later=True)
    resize_cost: IntArray = _time(RESIZE_COST, 0, later=True)
    evolve_after: IntArray = _time(0, 0, later=True)
    evolve_to: IntArray = _column(0, later=True)
    urgent: BoolArray = _column(0)
    deadline: IntArray = _time()
    begin: IntArray = _time()
    restartable: BoolArray = _column(0, later=True)
    checkpoint: IntArray = _time(0, 0, later=True)
    restart_cost: IntArray = _time(0, 0, later=True)
    cancel: IntArray = _time(later=True)
    dependency: IntArray = _column(-1, -1)
    dependency_type: IntArray = _column(DependencyType.AFTERANY, choices=DependencyType, later=True)
    runtime: IntArray = _time(None, 0)
    status: IntArray = _column(Status.UNKNOWN, -1, choices=Status)
    recorded_start: IntArray = _time()
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
        Build a workload from columns in any order. Rows are sorted by submit, then by job id.

        Numbers in ids are compared as numbers: ``7[2]`` comes before ``7[10]`` and ``12``.

        Parameters
        ----------
        job_id, submit, runtime, units, request
            The required columns. ``request`` has shape ``(J, R)``.
        resources
            Names of the R resource types.
        columns
            Any other columns of the class. :class:`Labels` columns may be lists of strings. Missing
            columns get their neutral value (requested time ``MISSING``).

        Raises
        ------
        ValueError
            If columns differ in length, a column is unknown, or a value is impossible (a negative
            time or amount, no tasks, ``nodes_min`` above ``nodes_max``).
        """
        num_jobs = len(job_id)
        unknown = sorted(set(columns) - set(COLUMNS))
        if unknown:
            raise ValueError(f"unknown column {unknown[0]!r}")
        data: dict[str, Any] = {
            "job_id": np.asarray(job_id, dtype=np.str_),
            "submit": submit,
            "runtime": runtime,
            "units": units,
            "request": np.asarray(request).reshape(num_jobs, len(resources)),
            **columns,
        }
        sizes = num_jobs, len(resources), np.asarray(units, dtype=np.int64)
        for name in COLUMNS:
            data[name] = _column_of(name, data.get(name), *sizes)
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
        return workload._in_submit_order()

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

    def let_go(self, first: int = 0, end: int | None = None) -> None:
        """
        Release the memory of jobs ``[first, end)`` in columns that are stored in temporary files.

        They can still be read.
        """
        for name in COLUMNS:
            value = getattr(self, name)
            let_go(value.codes if isinstance(value, Labels) else value, first, end or len(self))

    def between(self, first: int, end: int) -> Self:
        """
        Return jobs ``[first, end)`` for reading, with dependencies by the rows of this workload.
        """
        rows = slice(first, end)
        return replace(self, **{name: _part(getattr(self, name), rows) for name in COLUMNS})

    def take(self, rows: IntArray) -> Self:
        """
        Return the workload of some rows, in the given order.

        Dependencies between these jobs are kept. Others are dropped.
        """
        rows = np.asarray(rows, dtype=np.int64)
        new = taken({name: getattr(self, name) for name in COLUMNS}, rows)
        if not is_constant(new["dependency"]):
            position = np.full(self.num_jobs + 1, -1, dtype=np.int64)
            position[rows] = np.arange(len(rows))
            new["dependency"] = position[new["dependency"]]
        return replace(self, **new)

    def select(
        self, *, first: int | None = None, start: int | None = None, end: int | None = None
    ) -> Self:
        """
        Return the jobs submitted in ``[start, end)``, and of these at most the ``first`` ones.

        ``start`` and ``end`` are seconds of the log's clock, as ``submit``: Unix seconds minus
        ``epoch``. A job whose dependency is not among the jobs loses it.
        """
        keep = np.ones(self.num_jobs, dtype=np.bool_)
        if start is not None:
            keep &= self.submit >= start
        if end is not None:
            keep &= self.submit < end
        rows = np.flatnonzero(keep).astype(np.int64)[:first]
        return self if len(rows) == self.num_jobs else self.take(rows)

    def with_columns(self, **columns: Any) -> Self:
        """Return a copy with some fields replaced. Shapes and values are checked again."""
        new = replace(self, **columns)
        new._check()
        new.check_order()
        return new

    def resubmitted(self, submit: IntArray, **columns: Any) -> Self:
        """Return the jobs with other submit times, sorted by these. Ties are sorted by job id."""
        new = replace(self, submit=submit, **columns)
        new._check()
        return new._in_submit_order()

    def _in_submit_order(self) -> Self:
        order = _submit_order(self.submit, self.job_id)
        return self if order is None else self.take(order)

    def to_pandas(self) -> pd.DataFrame:
        """
        Return the jobs as a data frame, one row per job in submit order.

        Returns
        -------
        pandas.DataFrame
            The columns of this class. ``submit``, ``begin``, ``deadline``, ``cancel`` and
            ``recorded_start`` are timestamps (UTC), or time deltas since second 0 if the log does
            not have its date. All other times are seconds. Amounts have a column for each resource
            (``request.core``: cores of one task, ``request.mem``: KB of one task). ``dependency``
            is the id of the job on which this one depends. Values that the log does not have or
            does not limit are missing (NaN, NaT or None).

        Raises
        ------
        ConfigError
            If pandas is not installed.
        """
        from cpsched.util import arrow

        columns: dict[str, Any] = {}
        for name, column in COLUMNS.items():
            value = getattr(self, name)
            if isinstance(value, Labels):
                columns[name] = arrow.coded(value.codes, value.values)
            elif name in AMOUNTS:
                kinds = zip(self.resources, value.T, strict=True)
                columns |= {f"{name}.{kind}": arrow.numbers(amount) for kind, amount in kinds}
            elif name == "job_id":
                columns[name] = arrow.texts(value)
            elif name == "dependency":
                columns[name] = arrow.coded(value, self.job_id.tolist())
            elif column.choices is not None:
                among = sorted(column.choices)
                columns[name] = arrow.coded(
                    np.searchsorted(among, value), [member.name.lower() for member in among]
                )
            else:
                given = value != column.neutral
                unsaid = column.neutral in (MISSING, UNBOUNDED)
                columns[name] = arrow.numbers(value, given if unsaid else None)
        return arrow.data_frame(columns, times=_MOMENTS, epoch=self.epoch)

    def check_order(self) -> None:
        """
        Check that submit times do not decrease.

        Raises
        ------
        ValueError
            If one does. The message names the job.
        """
        back = np.flatnonzero(np.diff(self.submit) < 0)
        if len(back):
            row = int(back[0]) + 1
            raise ValueError(
                f"job {self.job_id[row]}: submit is {self.submit[row]}, must be at least"
                f" {self.submit[row - 1]}, that of the job before it"
            )

    def is_neutral(self, name: str) -> bool:
        """
        Return whether a column has its neutral value (such as 0 or ``MISSING``) for every job.
        """
        value = getattr(self, name)
        if isinstance(value, Labels):
            return bool((value.codes == -1).all())
        neutral = self.units if name in _UNITS else COLUMNS[name].neutral
        return neutral is not None and bool((value == neutral).all())

    def digest(self) -> str:
        """Return the SHA-256 (hex) of all columns, the identity of the workload in run folders."""
        sha = hashlib.sha256()
        sha.update(repr((self.epoch, self.resources, self.layout, self.set_aside)).encode())
        for name, column in COLUMNS.items():
            if column.later and self.is_neutral(name):
                continue
            value = getattr(self, name)
            codes = value.codes if isinstance(value, Labels) else value
            sha.update(f"{name} {codes.dtype.kind} {codes.shape}".encode())
            for first in range(0, len(codes), _PIECE):
                piece = codes[first : first + _PIECE]
                if piece.dtype.kind == "U":
                    sha.update(("\0" * (first > 0) + "\0".join(piece.tolist())).encode())
                else:
                    sha.update(piece.tobytes())
            let_go(codes, 0, len(codes))
            if isinstance(value, Labels):
                sha.update(repr(value.values).encode())
        return sha.hexdigest()

    def _check(self) -> None:
        for column in COLUMNS:
            value = getattr(self, column)
            if len(value) != self.num_jobs:
                raise ValueError(f"{column} has {len(value)} rows, submit has {self.num_jobs}")
        for column in AMOUNTS:
            if getattr(self, column).shape != (self.num_jobs, len(self.resources)):
                raise ValueError(f"{column} must have one column for each resource type")
        for column, bad, right in _RULES:
            rows = np.flatnonzero(bad(self))
            self.let_go()
            if len(rows):
                row = int(rows[0])
                raise ValueError(
                    f"job {self.job_id[row]}: {column} is {getattr(self, column)[row]},"
                    f" must be {right}"
                )


#: Every column of a workload, in a fixed order.
COLUMNS: Mapping[str, WorkloadColumn] = {
    item.name: item.metadata["column"]._replace(kind=item.type)
    for item in fields(Workload)
    if "column" in item.metadata
}
#: The columns of strings; those with an amount of each resource kind; and those of numbers of
#: units which are ``units`` where nothing is said.
LABEL_COLUMNS = tuple(name for name, column in COLUMNS.items() if column.kind == "Labels")
AMOUNTS = ("request", "per_node", "per_node_max")
_UNITS = ("units_min", "units_max")


def _within(name: str, column: WorkloadColumn) -> Callable[[Workload], BoolArray]:
    """Return what finds the jobs with a number beyond the bounds of a column."""

    def bad(workload: Workload) -> BoolArray:
        values = getattr(workload, name)
        if is_constant(values):
            values = values[:1]
        beyond = (values < column.least) | (values > column.limit)
        if column.neutral == MISSING:
            beyond &= values != MISSING
        return np.asarray(beyond.any(axis=tuple(range(1, values.ndim))))

    return bad


#: What columns may not be beside others: which jobs break the rule, and what is right.
RELATIONS: tuple[tuple[str, Callable[[Workload], BoolArray], str], ...] = (
    ("nodes_max", lambda w: w.nodes_max < w.nodes_min, "at least nodes_min"),
    ("units_min", lambda w: (w.units_min < 1) | (w.units_min > w.units), "from 1 to units"),
    ("units_max", lambda w: w.units_max < w.units, "at least units"),
    ("cancel", lambda w: (w.cancel < w.submit) & (w.cancel != MISSING), "at least submit"),
    (
        "evolve_to",
        lambda w: (w.evolve_to != 0) & ((w.evolve_to < w.units_min) | (w.evolve_to > w.units_max)),
        "units_min to units_max, or 0 for none",
    ),
)
#: The same for each number by itself, and for amounts.
_RULES = (
    *(
        (name, _within(name, column), f"from {column.least} to {column.limit}")
        for name, column in COLUMNS.items()
        # Moments may be any, such as the sum of two that a log may have.
        if column.kind == "IntArray" and column.least > -MAX_TIME
    ),
    (
        "per_node_max",
        lambda w: ((w.per_node_max != 0) & (w.per_node_max < w.per_node)).any(axis=1),
        "at least per_node, or 0 for no range",
    ),
    *RELATIONS,
)


def _submit_order(submit: IntArray, job_id: StrArray) -> IntArray | None:
    """Return the rows by submit, then by job id; equal ids in the order given. None: all as is."""
    if (submit[1:] < submit[:-1]).any():
        by_submit = np.argsort(submit, kind="stable")
        tied = _submit_order(submit[by_submit], job_id[by_submit])
        return by_submit if tied is None else by_submit[tied]
    order: IntArray | None = None
    first, num = 0, len(submit)
    while first < num:
        # Whole seconds, some at a time: ids take room.
        end = int(np.searchsorted(submit, submit[min(first + _PIECE, num) - 1], side="right"))
        rows = _order_of_ids(submit[first:end], job_id[first:end])
        if rows is not None:
            order = np.arange(num) if order is None else order
            order[first:end] = rows + first
        first = end
    return order


def _order_of_ids(submit: IntArray, job_id: StrArray) -> IntArray | None:
    """Return the order of jobs by (submit, id), whose submits are in order; None if all are."""
    same = submit[1:] == submit[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    if not len(tied):
        return None
    ids = job_id[tied]
    if (numbers := _numbers_of(ids)) is not None:
        rows = tied[np.lexsort((*reversed(numbers), submit[tied]))]
    else:
        keys = [natural(text) for text in ids.tolist()]
        rows = tied[sorted(range(len(tied)), key=keys.__getitem__)]
        rows = rows[np.argsort(submit[rows], kind="stable")]
    if (rows == tied).all():
        return None
    order = np.arange(len(submit))
    order[tied] = rows
    return order


def _numbers_of(ids: StrArray) -> tuple[IntArray, IntArray] | None:
    """Return the numbers of ids such as 17 and 17_4 (-1: no second one); None for others."""
    if ids.dtype.itemsize > 4 * _MOST_DIGITS:
        return None
    first, bar, second = np.strings.partition(ids, "_")
    has_second = bar != ""
    if not (np.strings.isdecimal(first) & (np.strings.isdecimal(second) | ~has_second)).all():
        return None
    return first.astype(np.int64), np.where(has_second, second, "-1").astype(np.int64)


#: Rows that are put into order at once, and more to the end of a second.
_PIECE = 1 << 18
#: Of an id that is a number and fits an int64.
_MOST_DIGITS = 18


def _column_of(name: str, value: Any, num_jobs: int, num_resources: int, units: IntArray) -> Any:
    """Bring a given column to its type; make one that asks for nothing special of None."""
    column = COLUMNS[name]
    if column.kind == "Labels":
        value = Labels.unknown(num_jobs) if value is None else value
        return value if isinstance(value, Labels) else Labels.encode(value)
    if value is None and name in _UNITS:
        return units
    if value is None:
        shape = (num_jobs, num_resources) if name in AMOUNTS else (num_jobs,)
        return constant(column.neutral or 0, shape, _DTYPES[column.kind])
    dtype, value = _DTYPES[column.kind], np.asarray(value)
    if is_constant(value) and value.dtype == dtype:
        return value
    return np.ascontiguousarray(value, dtype=dtype)


_DTYPES = {"IntArray": np.int64, "BoolArray": np.bool_, "StrArray": np.str_}


def names_of(header: Iterable[tuple[str, str]], key: str) -> dict[str, str]:
    """
    Return the names that a header gives to numbers: ``Queue: 2 long`` calls 2 ``long``.

    Left out are names of several numbers, and names that are numbers themselves.

    Parameters
    ----------
    key
        ``Queue`` or ``Partition``.
    """
    name_of: dict[str, str] = {}
    for number, _, name in (
        text.partition(" ") for header_key, text in header if header_key == key
    ):
        digits = number.isascii() and number.isdecimal()
        if digits and name.strip() and not name.strip().lstrip("-").isdecimal():
            # As text: a number in a comment may have thousands of digits.
            name_of[number.lstrip("0") or "0"] = name.strip()
    names = list(name_of.values())
    return {number: name for number, name in name_of.items() if names.count(name) == 1}
