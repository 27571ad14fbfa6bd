"""
Jobs as dispatchers and predictors see them: what is known at submit, and nothing later.

A :class:`JobTable` is a job store (:mod:`cpsched.model.jobstore`) and the rows of it that matter
now, in queue order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cpsched.model import columns as c
from cpsched.model.distinct import distinct, renumbered
from cpsched.model.jobstore import SUBMIT_COLUMNS, JobStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.model.allocation import Allocation, AllocationArena
    from cpsched.util.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Job:
    """One row of a job table."""

    table: JobTable
    index: int

    def __getattr__(self, column: str) -> Any:
        values = getattr(self.table, column)
        value = None if values is None else values[self.index]
        return value.item() if isinstance(value, np.generic) else value


class _Column:
    """An attribute of a table: a column of the store, copied for the jobs of the table."""

    def __init__(self, position: int) -> None:
        self.position = position

    def __get__(self, table: JobTable, owner: object) -> IntArray:
        return table.column(self.position)


class _OfShape(_Column):
    """The same for a column of the jobs' distinct requests."""

    def __get__(self, table: JobTable, owner: object) -> IntArray:
        values: IntArray = table.store.shapes[table.shape, self.position]
        return values


class _Amounts(_Column):
    """The same for amounts of each resource kind: those of a unit, of a node, or the most."""

    def __get__(self, table: JobTable, owner: object) -> IntArray:
        num = len(table.store.resources)
        first = c.SHAPE_REQUEST + self.position * num
        values: IntArray = table.store.shapes[table.shape, first : first + num]
        return values


class JobTable:
    """
    Jobs known now, in queue order (submit, then log order): n jobs, R resource types.

    Columns are copies of ``n`` values of the store. The native core reads the store itself.

    Parameters
    ----------
    store
        Store of the columns.
    rows
        Rows of the store that are in the table, in table order. int64, shape ``(n,)``.
    """

    __slots__ = ("rows", "store")

    def __init__(self, store: JobStore, rows: IntArray) -> None:
        self.store = store
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Job:
        return Job(self, range(len(self.rows))[index])

    def __iter__(self) -> Iterator[Job]:
        return (Job(self, index) for index in range(len(self.rows)))

    def take(self, indices: AnyArray) -> Self:
        """Return the table of some positions (or a boolean mask) of this one."""
        return type(self)(self.store, self.rows[indices])

    def distinct(self) -> tuple[IntArray, IntArray]:
        """
        Number the distinct requests in the order of their first jobs.

        Returns
        -------
        code, first
            The number of each job's request, and the first job of each request.
        """
        columns = (c.SHAPE, c.UNITS, c.NODES_MIN, c.NODES_MAX)
        return renumbered(*distinct(map(self.column, columns), len(self)))

    def column(self, position: int) -> IntArray:
        """Return a copy of one store column, shape ``(n,)``."""
        values: IntArray = self.store.columns[:, position][self.rows]
        return values

    def strings(self, label: str) -> list[str | None]:
        """Return a label (:data:`~cpsched.model.jobstore.LABELS`) as strings, None if unknown."""
        table: list[str | None] = [*self.store.labels[label], None]
        return [table[code] for code in self.column(SUBMIT_COLUMNS[label])]

    @property
    def resources(self) -> tuple[str, ...]:
        """Names of the R resource types."""
        return self.store.resources

    handle = _Column(c.HANDLE)
    """Stable number of each job."""
    submit = _Column(c.SUBMIT)
    """Second of submission."""
    requested_time = _Column(c.REQUESTED_TIME)
    """The user's limit, seconds."""
    units = _Column(c.UNITS)
    """Number of identical units; of jobs whose size may change, the preferred one."""
    nodes_min = _Column(c.NODES_MIN)
    """Fewest nodes the job may touch."""
    nodes_max = _Column(c.NODES_MAX)
    """Most nodes the job may touch."""
    expected_wait = _Column(c.EXPECTED_WAIT)
    """Expected wait of the job's queue in seconds, -1 where the system names none."""
    ranking_estimate = _Column(c.RANKING_ESTIMATE)
    """Predicted runtime to rank jobs by, seconds."""
    runtime_estimate = _Column(c.RUNTIME_ESTIMATE)
    """Predicted runtime to plan reservations with, seconds."""
    runtime_bound = _Column(c.RUNTIME_BOUND)
    """Predicted upper bound of the runtime, seconds."""
    attempts = _Column(c.ATTEMPTS)
    """Starts so far that failed, or after which the job was queued again."""
    restartable = _Column(c.RESTARTABLE)
    """1 for jobs that may be taken off their nodes and started again."""
    job_type = _Column(c.JOB_TYPE)
    """:class:`~cpsched.util.types.JobType`: who may change each job's size, and when."""
    units_min = _Column(c.UNITS_MIN)
    """Fewest units the job may have; ``units`` for rigid jobs."""
    units_max = _Column(c.UNITS_MAX)
    """Most units the job may have; ``units`` for rigid jobs."""
    serial = _Column(c.SERIAL)
    """Millionths of the job's work that are not shared among its units (Amdahl)."""
    resize_cost = _Column(c.RESIZE_COST)
    """Seconds without progress after each change of size."""
    urgent = _Column(c.URGENT)
    """1 for jobs that are to start at once."""
    deadline = _Column(c.DEADLINE)
    """Second by which the job should have ended, or ``MISSING``."""
    array_limit = _Column(c.ARRAY_LIMIT)
    """Most tasks of the job's array that may run at once, 0 for any number."""
    nice = _Column(c.NICE)
    """What the user takes off the job's priority."""
    ran = _Column(c.RAN)
    """The most seconds the job has run at a stretch without coming to its end."""
    not_before = _Column(c.NOT_BEFORE)
    """Second before which the job may not start, or ``MISSING``."""
    switch_wait = _Column(c.SWITCH_WAIT)
    """Seconds for which ``max_switches`` counts, or ``MISSING``: as long as the job waits."""
    shape = _Column(c.SHAPE)
    """Row of ``store.shapes`` that holds the job's request."""
    eligible_class = _OfShape(c.SHAPE_CLASS)
    """Row of ``View.eligible`` that says which nodes the job may use."""
    split = _OfShape(c.SHAPE_SPLIT)
    """:class:`~cpsched.util.types.Split` of each job."""
    contiguous = _OfShape(c.SHAPE_CONTIGUOUS)
    """1 for jobs that need consecutive nodes."""
    exclusive = _OfShape(c.SHAPE_EXCLUSIVE)
    """1 for jobs that share no node."""
    segment = _OfShape(c.SHAPE_SEGMENT)
    """Nodes in each segment of a job, 0 for jobs without segments."""
    max_switches = _OfShape(c.SHAPE_SWITCHES)
    """Most groups of the lowest level that a job may touch, 0 for any number."""
    request = _Amounts(0)
    """What one unit needs, shape ``(n, R)``."""
    per_node = _Amounts(1)
    """What is needed in addition on every node used, shape ``(n, R)``."""
    per_node_max = _Amounts(2)
    """The most that can be used on a node, shape ``(n, R)``."""

    @property
    def runtime_quantiles(self) -> IntArray | None:
        """
        Quantiles of each runtime at the levels of :data:`cpsched.model.prediction.LEVELS`.

        Seconds, shape ``(n, L)``. A row of -1 for a job without quantiles. None if no predictor has
        given any.
        """
        known = self.store.quantiles
        return None if known is None else known[self.rows]

    @property
    def ends_within(self) -> FloatArray | None:
        """
        Probability that each job ends within :data:`cpsched.model.prediction.HORIZONS`.

        Shape ``(n, H)``. A row of NaN for a job without probabilities. None if no predictor has
        given any.
        """
        known = self.store.ends_within
        return None if known is None else known[self.rows]

    @property
    def cores(self) -> IntArray:
        """Cores of all tasks of each job (the first resource type)."""
        return self.units * self.request[:, 0]


class RunningTable(JobTable):
    """
    Running jobs in order of expected end (then row).

    Parameters
    ----------
    arena
        Store of the allocations.
    """

    __slots__ = ("arena",)

    def __init__(self, store: JobStore, rows: IntArray, arena: AllocationArena) -> None:
        self.store = store
        self.rows = rows
        self.arena = arena

    def take(self, indices: AnyArray) -> Self:
        """Return the table of some positions (or a boolean mask) of this one."""
        return type(self)(self.store, self.rows[indices], self.arena)

    start = _Column(c.START)
    """Second of start."""
    expected_end = _Column(c.EXPECTED_END)
    """Second at which the job is expected to end, never in the past."""
    held_units = _Column(c.HELD_UNITS)
    """Number of units the job has now."""
    wanted_units = _Column(c.WANTED_UNITS)
    """Number of units that an evolving job has asked for while it runs, 0 for none."""
    since = _Column(c.SINCE)
    """Second from which on the job has held its present nodes."""
    state = _Column(c.STATE)
    """``STARTING``, ``RUNNING`` or ``COMPLETING`` of :mod:`cpsched.model.columns`."""

    @property
    def num_nodes(self) -> IntArray:
        """Present number of nodes of each job."""
        columns = self.store.columns
        first, num_ranges = columns[self.rows][:, [c.ALLOC_FIRST, c.ALLOC_COUNT]].T
        end = first + num_ranges
        before = np.concatenate([[0], np.cumsum(self.arena.count[: end.max(initial=0)])])
        nodes: IntArray = before[end] - before[first]
        return nodes

    def allocation(self, index: int) -> Allocation:
        """Return the allocation of the job at a position of the table."""
        row = self.rows[index]
        first = int(self.store.columns[row, c.ALLOC_FIRST])
        return self.arena.get(first, int(self.store.columns[row, c.ALLOC_COUNT]))
