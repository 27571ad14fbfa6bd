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
    """
    One job of a :class:`JobTable`. Its attributes are the columns of the table.

    For example, ``view.waiting[0].submit`` is the submit time of the first waiting job.

    Attributes
    ----------
    table
        The table of the job.
    index
        Position of the job in the table, from 0.
    """

    table: JobTable
    index: int

    def __getattr__(self, column: str) -> Any:
        values = getattr(self.table, column)
        value = None if values is None else values[self.index]
        return value.item() if isinstance(value, np.generic) else value


class _Column:
    """
    Column of a job table: an integer for each of its n jobs, int64, shape ``(n,)``.

    The array is a copy.
    """

    def __init__(self, position: int) -> None:
        self.position = position

    def __get__(self, table: JobTable, owner: object) -> IntArray:
        return table.column(self.position)


class _OfShape(_Column):
    """
    Property of the jobs' requests as a column of a job table: int64, shape ``(n,)`` for n jobs.

    Jobs with equal requests share one stored value. The array is a copy.
    """

    def __get__(self, table: JobTable, owner: object) -> IntArray:
        values: IntArray = table.store.shapes[table.shape, self.position]
        return values


class _Amounts(_Column):
    """
    Amounts of R resource types for each of the n jobs of a table: int64, shape ``(n, R)``.

    The array is a copy. ``mem`` is in KB, all other types are counts.
    """

    def __get__(self, table: JobTable, owner: object) -> IntArray:
        num = len(table.store.resources)
        first = c.SHAPE_REQUEST + self.position * num
        values: IntArray = table.store.shapes[table.shape, first : first + num]
        return values


class JobTable:
    """
    Table of jobs with the data known now, in queue order: n jobs, R resource types.

    Queue order is submit time, then order in the log. Each attribute is a column, for example
    ``jobs.requested_time`` with shape ``(n,)``. The table selects rows of a job store, which has
    one row for every submitted job.

    Parameters
    ----------
    store
        The job store.
    rows
        Row of each job in the store, in table order. int64, shape ``(n,)``.
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
        """
        Return the table of the jobs at some positions, or of those where a boolean mask is True.
        """
        return type(self)(self.store, self.rows[indices])

    def distinct(self) -> tuple[IntArray, IntArray]:
        """
        Return numbers for the distinct requests of the jobs, in order of first appearance.

        Two requests are equal if tasks, node bounds, resources, constraints and all other
        conditions on the nodes are equal. For example, requests A, B, A give ``code=[0, 1, 0]`` and
        ``first=[0, 1]``.

        Returns
        -------
        code
            Number of each job's request, shape ``(n,)``.
        first
            Position of the first job with each request.
        """
        columns = (c.SHAPE, c.UNITS, c.NODES_MIN, c.NODES_MAX)
        return renumbered(*distinct(map(self.column, columns), len(self)))

    def column(self, position: int) -> IntArray:
        """
        Return a copy of one column of the job store for the jobs of this table, shape ``(n,)``.

        Parameters
        ----------
        position
            Position of the column, a constant of :mod:`cpsched.model.columns` such as ``SUBMIT``.
        """
        values: IntArray = self.store.columns[:, position][self.rows]
        return values

    def strings(self, label: str) -> list[str | None]:
        """
        Return a text property of each job, None where it is unknown.

        Parameters
        ----------
        label
            ``queue``, ``user``, ``name``, ``group``, ``qos``, ``reservation``, ``licenses`` or
            ``array``.
        """
        table: list[str | None] = [*self.store.labels[label], None]
        return [table[code] for code in self.column(SUBMIT_COLUMNS[label])]

    @property
    def resources(self) -> tuple[str, ...]:
        """Names of the R resource types, in the order of the columns of ``request``."""
        return self.store.resources

    handle = _Column(c.HANDLE)
    """Handle of each job: the number that identifies it throughout a simulation."""
    submit = _Column(c.SUBMIT)
    """The second of submission."""
    requested_time = _Column(c.REQUESTED_TIME)
    """The user's time limit, seconds."""
    units = _Column(c.UNITS)
    """Number of identical tasks. For jobs that may change size, the preferred number."""
    nodes_min = _Column(c.NODES_MIN)
    """Smallest number of nodes that the job may use."""
    nodes_max = _Column(c.NODES_MAX)
    """Largest number of nodes that the job may use."""
    expected_wait = _Column(c.EXPECTED_WAIT)
    """Expected wait of the job's queue in seconds, -1 if the system defines none."""
    ranking_estimate = _Column(c.RANKING_ESTIMATE)
    """Predicted runtime for queue orders, seconds."""
    runtime_estimate = _Column(c.RUNTIME_ESTIMATE)
    """Predicted runtime for reservations, seconds."""
    runtime_bound = _Column(c.RUNTIME_BOUND)
    """Predicted runtime that few jobs exceed, seconds."""
    attempts = _Column(c.ATTEMPTS)
    """Number of starts so far that failed or ended with the job back in the queue."""
    restartable = _Column(c.RESTARTABLE)
    """1 for jobs that may be requeued and started again, else 0."""
    job_type = _Column(c.JOB_TYPE)
    """:class:`~cpsched.util.types.JobType` code: rigid, moldable, malleable or evolving."""
    units_min = _Column(c.UNITS_MIN)
    """Smallest allowed number of tasks. Equal to ``units`` for rigid jobs."""
    units_max = _Column(c.UNITS_MAX)
    """Largest allowed number of tasks. Equal to ``units`` for rigid jobs."""
    serial = _Column(c.SERIAL)
    """Serial share of the job's work (Amdahl's law), in millionths."""
    resize_cost = _Column(c.RESIZE_COST)
    """Seconds without progress after each change of size."""
    urgent = _Column(c.URGENT)
    """1 for jobs that should start at once, else 0."""
    deadline = _Column(c.DEADLINE)
    """The second by which the job should have ended. ``MISSING``: none."""
    array_limit = _Column(c.ARRAY_LIMIT)
    """Largest number of jobs of the same job array that may run at once. 0: no limit."""
    nice = _Column(c.NICE)
    """Slurm's nice value: the amount by which the user lowers the job's priority."""
    ran = _Column(c.RAN)
    """Longest run of the job so far, seconds, in a start that ended with a requeue."""
    not_before = _Column(c.NOT_BEFORE)
    """The second before which the job may not start. ``MISSING``: none."""
    switch_wait = _Column(c.SWITCH_WAIT)
    """Seconds for which ``max_switches`` applies. ``MISSING``: as long as the job waits."""
    shape = _Column(c.SHAPE)
    """Row of ``store.shapes`` with the job's request. Equal requests share a row."""
    eligible_class = _OfShape(c.SHAPE_CLASS)
    """Row of ``View.eligible`` with the nodes that the job may use."""
    split = _OfShape(c.SHAPE_SPLIT)
    """:class:`~cpsched.util.types.Split` code: tasks per node arbitrary, or all equal."""
    contiguous = _OfShape(c.SHAPE_CONTIGUOUS)
    """1 for jobs that need consecutive nodes, else 0."""
    exclusive = _OfShape(c.SHAPE_EXCLUSIVE)
    """1 for jobs that share no node with other jobs, else 0."""
    segment = _OfShape(c.SHAPE_SEGMENT)
    """Nodes in each segment of a job (Slurm's ``--segment``). 0: no segments."""
    max_switches = _OfShape(c.SHAPE_SWITCHES)
    """Largest number of lowest-level groups, such as leaf switches, of a job. 0: no limit."""
    request = _Amounts(0)
    """Amounts that one task needs, shape ``(n, R)``."""
    per_node = _Amounts(1)
    """Amounts that the job needs on each of its nodes in addition, shape ``(n, R)``."""
    per_node_max = _Amounts(2)
    """Largest useful amounts on each node, if above ``per_node``, shape ``(n, R)``."""

    @property
    def runtime_quantiles(self) -> IntArray | None:
        """
        Quantiles of the predicted runtime of each job, seconds, shape ``(n, 9)``.

        The columns are the levels 0.1, 0.2, ..., 0.9 (:data:`cpsched.model.prediction.LEVELS`). A
        job without quantiles has a row of -1. None if the predictor has given no quantiles at all.
        """
        known = self.store.quantiles
        return None if known is None else known[self.rows]

    @property
    def ends_within(self) -> FloatArray | None:
        """
        Predicted probability that each job runs for at most 1, 10 and 60 minutes, shape ``(n, 3)``.

        :data:`cpsched.model.prediction.HORIZONS` has these times in seconds. A job without
        probabilities has a row of NaN. None if the predictor has given no probabilities at all.
        """
        known = self.store.ends_within
        return None if known is None else known[self.rows]

    @property
    def cores(self) -> IntArray:
        """Cores of all tasks of each job, shape ``(n,)``. Per-node requests are not included."""
        return self.units * self.request[:, 0]


class RunningTable(JobTable):
    """
    Table of running jobs, in order of expected end (ties: order of submission).

    The expected end of a job is its start plus its predicted runtime, or later if that has passed.

    Parameters
    ----------
    arena
        Store of the nodes allocated to running jobs.
    """

    __slots__ = ("arena",)

    def __init__(self, store: JobStore, rows: IntArray, arena: AllocationArena) -> None:
        self.store = store
        self.rows = rows
        self.arena = arena

    def take(self, indices: AnyArray) -> Self:
        """
        Return the table of the jobs at some positions, or of those where a boolean mask is True.
        """
        return type(self)(self.store, self.rows[indices], self.arena)

    start = _Column(c.START)
    """The second of the start."""
    expected_end = _Column(c.EXPECTED_END)
    """The second at which the job is expected to end, never in the past."""
    held_units = _Column(c.HELD_UNITS)
    """Number of tasks that the job has now."""
    wanted_units = _Column(c.WANTED_UNITS)
    """Number of tasks that a running evolving job has requested. 0: no request."""
    since = _Column(c.SINCE)
    """The second since which the job has had its present nodes."""
    state = _Column(c.STATE)
    """``STARTING``, ``RUNNING`` or ``COMPLETING``, codes of :mod:`cpsched.model.columns`."""

    @property
    def num_nodes(self) -> IntArray:
        """Number of nodes allocated to each job now, shape ``(n,)``."""
        columns = self.store.columns
        first, num_ranges = columns[self.rows][:, [c.ALLOC_FIRST, c.ALLOC_COUNT]].T
        end = first + num_ranges
        before = np.concatenate([[0], np.cumsum(self.arena.count[: end.max(initial=0)])])
        nodes: IntArray = before[end] - before[first]
        return nodes

    def allocation(self, index: int) -> Allocation:
        """Return the nodes allocated now to the job at a position of the table."""
        row = self.rows[index]
        first = int(self.store.columns[row, c.ALLOC_FIRST])
        return self.arena.get(first, int(self.store.columns[row, c.ALLOC_COUNT]))
