"""
One decision on the machine as one pool: an amount of each resource kind, whatever the node.

The relaxation of CPH, and the part of every model that says what all jobs together may take. Times
are seconds from now on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from cpsched import _core
from cpsched.cp import capacity
from cpsched.cp.objective import bounds, delay
from cpsched.cp.solve import Candidate, DecisionProblem
from cpsched.dispatch.pooled import free_now, free_over_time, given_back, pooled_demand
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.cp import cpsat
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, IntArray


#: Later than any job starts.
_NEVER = 2**62


class Limit(NamedTuple):
    """
    A site rule for a planner: the largest total of some demand over all jobs that run at once.

    For example, at most 64 cores of user anna: ``demand`` and ``allocated`` have the cores of the
    jobs of anna and 0 for others, and ``capacity`` is 64.

    Attributes
    ----------
    demand
        Demand of each of n waiting jobs, at least 0, int64, shape ``(n,)``.
    allocated
        Demand of each of B running jobs, in the order of ``view.running``, int64, shape ``(B,)``.
    capacity
        Largest total. Running jobs that exceed it continue.
    name
        Name in messages, such as ``cores of anna``. By default number and class: ``limit 1 of
        mine:CappedUsers``.
    """

    demand: IntArray
    allocated: IntArray
    capacity: int
    name: str = ""

    @property
    def free(self) -> int:
        """Difference between the largest total and the demand of the running jobs, at least 0."""
        return max(self.capacity - int(self.allocated.sum()), 0)

    def check(self, jobs: JobTable) -> None:
        """
        Raise an error if one of the waiting jobs alone exceeds the largest total.

        Raises
        ------
        ConfigError
            If there is such a job. It could never start.
        """
        if len(jobs) and self.demand.max() > self.capacity:
            at = int(self.demand.argmax())
            raise ConfigError(
                f"{self.name}: the job submitted at second {jobs.submit[at]} asks for"
                f" {self.demand[at]}, more than {self.capacity}, and would wait forever. Exclude"
                " such jobs, or raise the limit."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class PoolProblem(DecisionProblem):
    """
    Planning problem of n waiting jobs on the sum of all nodes' resources.

    There are R resource types, including each :class:`Limit` as one more. Times are seconds from
    now.

    Attributes
    ----------
    demand
        Smallest amounts that each job takes, shape ``(n, R)``.
    times, level
        Amounts that running jobs leave free: ``level[k]`` from ``times[k]`` on, shapes ``(S,)`` and
        ``(S, R)``. Levels never decrease, because running jobs only end.
    """

    demand: IntArray
    times: IntArray
    level: IntArray

    def list_plan(self, order: IntArray) -> Candidate:
        """
        Return the list plan in an order: each job at its earliest start, one after the other.

        Parameters
        ----------
        order
            Positions of the jobs.
        """
        return Candidate(_starts(order, self.duration, self.demand, self.times, self.level))

    @cached_property
    def alike(self) -> IntArray:
        """
        Number of the group of each job, shape ``(n,)``. Jobs of a group are interchangeable in
        plans.
        """
        weight, earliest = self.delay.weight, self.bounds.earliest
        distinguishing = np.column_stack([self.demand, self.duration, weight, earliest])
        groups: IntArray = np.unique(distinguishing, axis=0, return_inverse=True)[1]
        return groups

    def improved(self, last: Mapping[int, int]) -> Self:
        """
        Return the problem with a list plan in the order of an earlier plan, if that plan is better.

        Parameters
        ----------
        last
            Starts in the earlier plan by handle, seconds. Jobs without one come last. Among
            interchangeable jobs, the first by priority starts first.
        """
        key = np.array([last.get(handle, _NEVER) for handle in self.jobs.handle.tolist()])
        key[np.argsort(self.alike, kind="stable")] = key[np.lexsort((key, self.alike))]
        other = self.list_plan(np.argsort(key, kind="stable"))
        if other.starts.min() < 0 or self.delay.value(other.starts) >= self.delay.slack:
            return self
        return replace(self, listed=other, delay=self.delay.against(self.bounds, other.starts))


def pool_of(
    view: View,
    jobs: JobTable,
    divisors: IntArray,
    duration: IntArray,
    allocator: Allocator,
    limits: Sequence[Limit] = (),
) -> PoolProblem:
    """
    Return the planning problem of waiting jobs, with the resources of the system as one pool.

    Jobs that could not start even on the empty nodes that are up are left out.

    Parameters
    ----------
    jobs
        The jobs, in order of priority.
    divisors, duration
        As returned by :class:`~cpsched.cp.objective.Objective`.
    limits
        Site rules, see :class:`Limit`.
    """
    back = np.column_stack([given_back(view), *(limit.allocated for limit in limits)])
    free = np.array([*free_now(view), *(limit.free for limit in limits)], dtype=np.int64)
    times, level = free_over_time(view, back, free)
    times -= view.now
    demand = pooled_demand(view, jobs, allocator)
    demand = np.column_stack([demand, *(limit.demand for limit in limits)])
    earliest = _alone(demand, times, level)
    possible = earliest >= 0
    if not view.node_up.all():
        possible &= _fits_on_nodes_up(view, jobs, allocator)
    if not possible.all():
        jobs, divisors, duration, demand, earliest = (
            jobs.take(possible), divisors[possible], duration[possible], demand[possible],
            earliest[possible],
        )  # fmt: skip
    listed = _starts(np.arange(len(jobs)), duration, demand, times, level)
    within = bounds(duration, earliest, int(times[-1]))
    return PoolProblem(
        jobs=jobs,
        duration=duration,
        demand=demand,
        times=times,
        level=level,
        listed=Candidate(listed),
        bounds=within,
        delay=delay(divisors, duration, within, listed),
    )


def add_pool(
    model: cpsat.CpModel,
    start: Sequence[cpsat.IntVar],
    duration: Sequence[int],
    demand: IntArray,
    times: IntArray,
    level: IntArray,
    horizon: int,
) -> bool:
    """
    Add constraints to a model, so that jobs never take more than is free over time.

    Parameters
    ----------
    start, duration
        Start variable and duration of each of n jobs, seconds from now, and seconds.
    demand
        Amounts of each job, shape ``(n, R)`` for R resource types.
    times, level
        Free amounts: ``level[k]`` from ``times[k]`` on, shapes ``(S,)`` and ``(S, R)``.
    horizon
        A second by which all jobs have ended in every useful plan.

    Returns
    -------
    bool
        Whether the constraints are exact. Otherwise large amounts were rounded, and the model may
        exclude plans that are possible.
    """
    interval = [
        model.new_fixed_size_interval_var(variable, length, "")
        for variable, length in zip(start, duration, strict=True)
    ]
    seconds, exact = times.tolist(), True
    for kind in capacity.binding_kinds(capacity.TotalDemand.of(demand), level):
        tasks = [
            capacity.CumulativeTask(task_interval, need)
            for task_interval, need in zip(interval, demand[:, kind].tolist(), strict=True)
        ]
        exact &= capacity.add_kind(model, tasks, seconds, level[:, kind], horizon)
    return exact


def _starts(
    order: IntArray, duration: IntArray, demand: IntArray, times: IntArray, level: IntArray
) -> IntArray:
    """Return the starts of the list plan of jobs that may all start now."""
    ready = np.zeros(len(duration), dtype=np.int64)
    start: IntArray = _core.list_plan(order, duration, demand, ready, times, level)
    return start


def _alone(demand: IntArray, times: IntArray, level: IntArray) -> IntArray:
    """Return when each job could start with only the running ones beside it, -1 for never."""
    # Levels never decrease, so the first segment with enough of a kind is where enough begins.
    first = np.zeros(len(demand), dtype=np.int64)
    for kind in range(level.shape[1]):
        first = np.maximum(first, np.searchsorted(level[:, kind], demand[:, kind]))
    return np.where(first < len(times), times[np.minimum(first, len(times) - 1)], -1)


def _fits_on_nodes_up(view: View, jobs: JobTable, allocator: Allocator) -> BoolArray:
    """Return which jobs some choice of the nodes that are up could hold, were they empty."""
    empty = allocator.capacity * view.node_up[:, None]
    request, first = jobs.distinct()
    rows = jobs.rows[first].tolist()
    fits = [allocator.place(view, row, empty) is not None for row in rows]
    return np.array(fits, dtype=np.bool_)[request]
