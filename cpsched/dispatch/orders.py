"""
In which order waiting jobs are looked at.

Notation as in the papers: ``q`` waiting time, ``d`` predicted runtime (the prediction's
*priority* value), ``n`` cores, ``s`` submit time, ``ewt`` expected wait of the job's queue, ``E``
the largest ``ewt`` of the system.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.dispatch.answers import check_own_priority
from cpsched.dispatch.backlog import OVERDUE
from cpsched.errors import ConfigError, check_range
from cpsched.model.distinct import distinct_rows
from cpsched.model.jobtable import JobTable
from cpsched.util.spec import Seconds, build
from cpsched.util.types import UNBOUNDED

#: Exponent of a job's share of the system in WSEPT: with 1 (Smith's rule) wide jobs wait too long.
WIDTH_EXPONENT = 0.5
#: Seconds of waiting from which on a wait costs much more than it slows a job down.
AGING = 43200

if TYPE_CHECKING:
    from cpsched.dispatch.runtime_distribution import RuntimeHistory
    from cpsched.model.jobstore import JobStore
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import AnyArray, BoolArray, FloatArray, IntArray


def make_priority(spec: str) -> Priority:
    """
    Return a new queue order by its registered name.

    Parameters
    ----------
    spec
        A name of ``cpsched list orders``, if necessary with options: ``wsept:aging=24h``.
    """
    priority: Priority = build("priorities", spec)
    return priority


class Priority(ABC):
    """
    Base class of queue orders. Ties keep the order of submission, then that of the log.

    A subclass needs a ``name`` and :meth:`keys`. Jobs are n rows of a
    :class:`~cpsched.model.jobtable.JobTable`. Orders use their ``ranking_estimate`` as runtime.

    Attributes
    ----------
    name
        Name in ``cpsched list orders``.
    static
        Whether the keys of a job never change while it waits.
    learns
        Whether the order needs ``history``.
    history
        Runtimes of ended jobs. A :class:`~cpsched.dispatch.learning.LearningDispatcher` sets it.
    overdue
        Multiple of the backlog beyond which a waiting job is overdue (:meth:`late`). The backlog is
        the time that the system needs for all waiting and running jobs. An order that uses it needs
        ``learns``. None: no job is overdue.
    by_age
        Whether the order never puts a job before an equal job that was submitted earlier. Equal
        jobs have the same request, predictions and expected wait. True lets cpsched sort a queue
        with many equal jobs faster. False is always correct.
    """

    name: ClassVar[str] = ""
    static: ClassVar[bool] = False
    learns: ClassVar[bool] = False
    history: RuntimeHistory | None = None
    overdue: float | None = None
    by_age: bool = False

    def __init_subclass__(cls) -> None:
        """Have what a user's own class returns checked."""
        super().__init_subclass__()
        check_own_priority(cls)

    def reset(self, system: System) -> None:
        """
        Prepare for a system, before a run starts.

        Raises
        ------
        ConfigError
            If the order needs a history of runtimes and has none.
        """
        if self.learns and self.history is None:
            raise ConfigError(
                f"the priority '{self.name}' learns runtimes. Its dispatcher must be a"
                " LearningDispatcher (cpsched.dispatch.learning)."
            )
        self.system = system
        self._capacity = np.maximum(system.total, 1)
        self._nodes: IntArray = distinct_rows(system.capacity)[0]
        self._store: JobStore | None = None
        self._forget()

    def _forget(self) -> None:
        #: What the first so many rows of the store take; a cache.
        self._known = 0
        self._taken: IntArray = np.zeros((0, self._nodes.shape[1]), dtype=np.int64)
        self._reordered = 0

    def taken(self, jobs: JobTable) -> IntArray:
        """
        Return the smallest amounts of resources that each job can use, shape ``(n, R)``.

        They are the amounts of all tasks, plus the per-node amounts on as few nodes as possible. A
        job that shares no node (``exclusive``) uses at least that many whole nodes.
        """
        store = jobs.store
        if store is not self._store or store.reordered != self._reordered:
            self._forget()
            self._store, self._reordered = store, store.reordered
        if store.size > self._known:
            if store.size > len(self._taken):
                grown = np.zeros((len(store.columns), self._taken.shape[1]), dtype=np.int64)
                grown[: self._known] = self._taken[: self._known]
                self._taken = grown
            new = np.arange(self._known, store.size, dtype=np.int64)
            self._taken[new] = least_taken(JobTable(store, new), self._nodes)
            self._known = store.size
        taken: IntArray = self._taken[jobs.rows]
        return taken

    def cores(self, jobs: JobTable) -> IntArray:
        """Return the smallest number of cores that each job can use, shape ``(n,)``."""
        return self.taken(jobs)[:, 0]

    def late(self, jobs: JobTable) -> BoolArray:
        """
        Return whether each job is overdue, shape ``(n,)``.

        A job is overdue if it has waited longer than ``overdue`` times its backlog. An order uses
        it in :meth:`keys`, for example ``(~self.late(jobs), jobs.ranking_estimate)``.
        """
        if self.overdue is None or self.history is None:
            return np.zeros(len(jobs), dtype=np.bool_)
        return self.history.backlog.overdue(jobs.handle, self.overdue)

    @abstractmethod
    def keys(self, jobs: JobTable, now: int) -> tuple[AnyArray, ...]:
        """
        Return a tuple of sort keys, each an array of numbers of shape ``(n,)``.

        The first key is the most significant, and later ones break ties. Jobs with smaller values
        go first. A boolean array is allowed: False goes before True. NaN is an error. For example,
        ``(jobs.units > 64, jobs.submit)`` puts jobs of up to 64 tasks first.
        """

    def order(self, jobs: JobTable, now: int) -> IntArray:
        """
        Return the positions of the jobs in this order: the first entry is the first job to
        consider.
        """
        keys = self.keys(jobs, now)
        if len(keys) == 1:
            return np.argsort(keys[0], kind="stable")
        return np.lexsort(keys[::-1])

    def rows(self, view: View) -> IntArray:
        """Return the waiting jobs in this order, as rows of the job store."""
        rows: IntArray = view.waiting.rows[self.order(view.waiting, view.now)]
        return rows


class FifoOrder(Priority):
    """Earlier submit first, then log order."""

    name = "fifo"
    static = True
    by_age = True

    def keys(self, jobs: JobTable, now: int) -> tuple[AnyArray, ...]:  # noqa: ARG002
        """Return the submit times, seconds."""
        return (jobs.submit,)

    def order(self, jobs: JobTable, now: int) -> IntArray:  # noqa: ARG002
        """Return ``0, 1, ..., n - 1``: tables are already in order of submission."""
        return np.arange(len(jobs), dtype=np.int64)


class SjfOrder(Priority):
    """Shortest predicted runtime first."""

    name = "sjf"
    static = True
    by_age = True

    def keys(self, jobs: JobTable, now: int) -> tuple[AnyArray, ...]:  # noqa: ARG002
        """Return the predicted runtimes, seconds."""
        return (jobs.ranking_estimate,)


class LjfOrder(Priority):
    """Longest predicted runtime first."""

    name = "ljf"
    static = True
    by_age = True

    def keys(self, jobs: JobTable, now: int) -> tuple[AnyArray, ...]:  # noqa: ARG002
        """Return the negative predicted runtimes, seconds."""
        return (-jobs.ranking_estimate,)


class WithDemand(Priority):
    """A priority whose ties go to the job with the smaller demand (Remediani 2017, eq. 4.2)."""

    def demand(self, jobs: JobTable) -> FloatArray:
        """
        Return ``d * units * sum(request)``.

        Eq. 4.2 adds unlike units; each resource is taken as its share of the system's capacity.
        It has neither whole nodes nor amounts per node: what a job takes at least counts.
        """
        # Products first: jobs that ask for the same in other pieces must come out equal.
        asked = jobs.ranking_estimate.astype(np.float64)[:, None] * self.taken(jobs)
        demand: FloatArray = (asked / self._capacity).sum(axis=1)
        return demand


class ExpectedWait(WithDemand):
    """
    Longest wait first, relative to the expected wait of the job's queue: ``E * q / ewt``.

    ``q`` is the wait so far, ``ewt`` the expected wait of the queue in the system file, and ``E``
    the largest ``ewt``, all in seconds (Remediani 2017, eq. 4.1). Ties: smaller predicted resource
    use.
    """

    name = "expected-wait"
    by_age = True

    def reset(self, system: System) -> None:
        """
        Prepare for a system, before a run starts.

        Raises
        ------
        ConfigError
            If a queue has no expected wait and the system has no default.
        """
        super().reset(system)
        default = system.default_expected_wait
        waits = {name: queue.expected_wait or default for name, queue in system.queues.items()}
        lacking = [name for name, wait in waits.items() if not wait]
        if lacking or not (waits or default):
            what = f"queue '{lacking[0]}' has" if lacking else "jobs have"
            raise ConfigError(
                f"{what} no expected wait, which priority 'expected-wait' needs. Set"
                " default_expected_wait, or expected_wait of the queue.",
                where=f"system {system.name}",
            )
        #: Of the system's expected waits.
        self.largest = max([wait for wait in waits.values() if wait] + [default or 0])

    def keys(self, jobs: JobTable, now: int) -> tuple[AnyArray, ...]:
        """
        Return the negative relative wait, and the predicted resource use for ties.

        Raises
        ------
        ConfigError
            If a job names no queue and the system has no default expected wait.
        """
        expected = jobs.expected_wait
        if len(expected) and expected.min() < 1:
            raise ConfigError(
                "a job has no queue, but priority 'expected-wait' needs an expected wait for"
                " it. Set default_expected_wait.",
                where=f"system {self.system.name}",
            )
        waited = now - jobs.submit
        return (-(self.largest * waited / expected), self.demand(jobs))


class Slowdown(WithDemand):
    """
    Highest slowdown so far first: ``(q + d) / d`` for wait so far ``q`` and predicted runtime
    ``d``.

    Both are in seconds. A job with ``d = 0`` has the value ``q`` (Remediani 2017, eq. 4.3). Ties:
    smaller predicted resource use.
    """

    name = "slowdown"
    by_age = True

    def keys(self, jobs: JobTable, now: int) -> tuple[AnyArray, ...]:
        """Return the negative slowdown, and the predicted resource use for ties."""
        waited = now - jobs.submit
        runtime = jobs.ranking_estimate
        slowdown = np.where(runtime > 0, (waited + runtime) / np.maximum(runtime, 1), waited)
        return (-slowdown, self.demand(jobs))


class Wsept(Priority):
    """
    Weighted shortest expected processing time (WSEPT) with ageing, highest first.

    The priority is the expected cost of one more second of waiting divided by the expected resource
    use of the job (Smith 1956, Rothkopf 1966). Expectations are over the runtimes of similar ended
    jobs, see :meth:`cpsched.dispatch.runtime_distribution.RuntimeHistory.delay_costs`.

    Parameters
    ----------
    aging
        Ageing threshold, seconds. The cost of a longer wait grows with its fourth power, see
        ``docs/background/list-plans.md``.
    width_exponent
        Exponent of the share of the system in the resource use. 1: a job uses its share times its
        runtime (Smith's rule). Lower values favour wide jobs, and 0 ignores the width.
    overdue
        Multiple of the backlog beyond which a waiting job goes first, the widest job before others.
        The backlog is the time that the system needs for all waiting and running jobs. The largest
        one since the job's submit counts, or two thirds of the largest of four weeks if that is
        more. For example 1.5: after a backlog of 10 h, a job goes first from a wait of 15 h on.
        none: no job goes first.
    """

    name = "wsept"
    learns = True
    history: RuntimeHistory

    def __init__(
        self,
        aging: Seconds = AGING,
        width_exponent: float = WIDTH_EXPONENT,
        overdue: float | None = OVERDUE,
    ) -> None:
        check_range("aging", aging, 1, 2**40)
        check_range("width_exponent", width_exponent, 0, 1)
        check_overdue(overdue)
        self.aging = aging
        self.width_exponent = width_exponent
        self.overdue = overdue

    def keys(self, jobs: JobTable, now: int) -> tuple[AnyArray, ...]:
        """
        Return the negative priority, and for overdue jobs minus infinity and the negative width.

        The width is the largest share of the system's capacity that the job takes of any resource.
        The widest overdue job is first: the nodes drain once for several overdue jobs.
        """
        share = (self.taken(jobs) / self._capacity).max(axis=1, initial=0.0)
        waited, facts = now - jobs.submit, self.history.facts(jobs)
        costs = self.history.delay_costs(facts, share, waited, self.aging, self.width_exponent)
        late = self.late(jobs)
        return (np.where(late, -np.inf, -costs.value), np.where(late, -share, 0.0))


def check_overdue(factor: float | None) -> None:
    """Refuse a factor of the backlog that is neither none nor from 0 to 1,000,000."""
    if factor is not None:
        check_range("overdue", factor, 0, 10**6)


def least_taken(jobs: JobTable, nodes: IntArray) -> IntArray:
    """Return what jobs take at least; ``nodes`` are the different ones of the system."""
    amounts = jobs.units[:, None] * jobs.request
    per_node, exclusive = jobs.per_node, jobs.exclusive
    if not (per_node.any() or exclusive.any()):
        return amounts
    max_units = max_units_on_node(jobs, nodes)
    fewest = np.maximum(jobs.nodes_min, -(-jobs.units // max_units))[:, None]
    amounts += fewest * per_node
    node_amounts = np.maximum(amounts, fewest * nodes.min(axis=0))
    return np.where(exclusive[:, None] > 0, node_amounts, amounts)


def max_units_on_node(jobs: JobTable, nodes: IntArray) -> IntArray:
    """
    Return how many units of each job the node holds that holds most of them, at least 1.

    Parameters
    ----------
    nodes
        What the different nodes have, shape ``(K, R)``.
    """
    request, per_node = jobs.request, jobs.per_node
    max_units = np.ones(len(jobs), dtype=np.int64)
    for node in nodes:
        fit = np.where(request > 0, (node - per_node) // np.maximum(request, 1), UNBOUNDED)
        max_units = np.maximum(max_units, fit.min(axis=1))
    return max_units
