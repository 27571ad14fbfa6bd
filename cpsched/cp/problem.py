"""
One decision as numbers: who is planned, for how long, how much of what, and within which bounds.

Times are seconds from now on, so that "start now" is 0. A :class:`Pool` sees the machine as one
amount of each resource kind (the relaxation of CPH); :mod:`cpsched.cp.places` sees nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp.objective import whole_weights
from cpsched.cp.search import Candidate
from cpsched.dispatch.pooled import free_over_time, given_back, pooled_demand
from cpsched.kernels import pool
from cpsched.model import columns as c

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobtable import JobTable
    from cpsched.model.types import BoolArray, IntArray
    from cpsched.model.view import View


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounds:
    """
    Between what the starts of n jobs lie, and what the list plan makes of them.

    Attributes
    ----------
    weight
        Of each job's start in the objective.
    earliest
        When each job could start were it alone with the running ones.
    latest
        No plan as good as the list plan, with no job that could start earlier beside the others,
        starts a job later.
    listed
        The list plan's starts.
    slack
        By how much the list plan is worse than the lower bound: 0 where it is proven best.
    """

    weight: tuple[int, ...]
    earliest: tuple[int, ...]
    latest: tuple[int, ...]
    listed: tuple[int, ...]
    slack: int

    @property
    def last(self) -> int:
        """The second by which every job has started in any plan worth considering."""
        return max(self.latest, default=0)

    def end(self, duration: Sequence[int]) -> int:
        """Return the second at which every job has ended in any plan worth considering."""
        return max(late + length for late, length in zip(self.latest, duration, strict=True))

    def delay(self, starts: Sequence[int]) -> int:
        """Return the weighted delay beyond the earliest starts: the objective less its bound."""
        return sum(
            weight * (start - earliest)
            for weight, start, earliest in zip(self.weight, starts, self.earliest, strict=True)
        )


def bounds(
    divisors: IntArray, duration: IntArray, earliest: IntArray, listed: IntArray, last_change: int
) -> Bounds:
    """
    Return weights and start bounds.

    A plan in which no job could start earlier starts each one now, when a running job ends, or
    when another planned one does; so none starts later than the last running job's end plus all
    other durations. And a job that starts ``slack / weight`` after its earliest start makes even
    the best of all other starts no better than the list plan.

    Parameters
    ----------
    divisors
        See :meth:`cpsched.cp.objective.Objective.divisors`.
    last_change
        When the last running job is expected to end.
    """
    lengths = duration.tolist()
    horizon = last_change + sum(lengths)
    weight = whole_weights(divisors, horizon)
    first, plan = earliest.tolist(), listed.tolist()
    slack = sum(w * (s - e) for w, s, e in zip(weight, plan, first, strict=True))
    latest = tuple(
        min(e + slack // w, horizon - d) for w, e, d in zip(weight, first, lengths, strict=True)
    )
    return Bounds(
        weight=tuple(weight),
        earliest=tuple(first),
        latest=latest,
        listed=tuple(plan),
        slack=slack,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """
    The waiting jobs of a decision on the machine as one pool; n jobs, R kinds, S segments.

    Attributes
    ----------
    jobs
        In order of priority.
    duration, demand
        Predicted seconds (at least 1) and amounts, shapes ``(n,)`` and ``(n, R)``.
    times, level
        What the running jobs leave: from ``times[k]`` on, ``level[k]`` is free; shapes ``(S,)``
        and ``(S, R)``. Never decreasing, because running jobs only end.
    bounds
        Of the starts.
    """

    jobs: JobTable
    duration: IntArray
    demand: IntArray
    times: IntArray
    level: IntArray
    bounds: Bounds

    def listed_as(self, starts: Sequence[int]) -> Candidate:
        """
        Return the list plan in the order of some starts.

        No job of it starts later than in those starts, if they are a plan.
        """
        order = np.argsort(starts, kind="stable")
        again = _listed(order, self.duration, self.demand, self.times, self.level)
        return Candidate(tuple(again.tolist()))


def pool_of(view: View, jobs: JobTable, divisors: IntArray, allocator: Allocator) -> Pool:
    """
    Return the pool problem of some waiting jobs, in order of priority.

    Jobs that could not start even on all that is up, with nothing running, are left out.
    """
    times, level = free_over_time(view, given_back(view))
    times -= view.now
    duration = np.maximum(jobs.plan, 1)
    demand = pooled_demand(view, jobs, allocator)
    earliest = _alone(demand, times, level)
    able = earliest >= 0
    if not view.node_up.all():
        able &= _fits_on_nodes_up(view, jobs, allocator)
    if not able.all():
        jobs, divisors, duration, demand, earliest = (
            jobs.take(able), divisors[able], duration[able], demand[able], earliest[able]
        )  # fmt: skip
    order = np.arange(len(jobs), dtype=np.int64)
    listed = _listed(order, duration, demand, times, level)
    return Pool(
        jobs=jobs,
        duration=duration,
        demand=demand,
        times=times,
        level=level,
        bounds=bounds(divisors, duration, earliest, listed, int(times[-1])),
    )


def _listed(
    order: IntArray, duration: IntArray, demand: IntArray, times: IntArray, level: IntArray
) -> IntArray:
    """Return the list plan of jobs that may all start now."""
    ready = np.zeros(len(duration), dtype=np.int64)
    start: IntArray = pool.list_plan(order, duration, demand, ready, times, level)
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
    columns = view.waiting.store.columns
    known: dict[tuple[int, ...], bool] = {}
    fits = np.zeros(len(jobs), dtype=np.bool_)
    for position, row in enumerate(jobs.rows.tolist()):
        key = tuple(
            columns[row, column].item() for column in (c.SHAPE, c.UNITS, c.NODES_MIN, c.NODES_MAX)
        )
        if key not in known:
            known[key] = allocator.place(view, row, empty) is not None
        fits[position] = known[key]
    return fits
