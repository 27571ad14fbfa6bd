"""What a decision about the whole queue is made from: all waiting jobs, the machine as one pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from cpsched.dispatch.pooled import free_now, free_over_time, given_back, pooled_demand

if TYPE_CHECKING:
    from cpsched.base.types import FloatArray, IntArray
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View

#: Seconds; a longer time counts as this (35,000 years), so that sums stay in range.
_LONGEST = 2**40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecisionState:
    """
    The queue and the pool at a decision; n waiting jobs, B running ones, R kinds, S segments.

    Attributes
    ----------
    reserving
        The view used for reservations, see
        :class:`~cpsched.dispatch.shadow.ReservationView`.
    jobs
        All that wait, in queue order.
    submit, estimate, limit, reserved
        Second of submission, predicted runtime (at least 1), requested time, and the runtime used
        for reservations; shape ``(n,)``.
    demand, share
        The least amounts that each job takes, shape ``(n, R)``, and the largest share of the
        machine among them.
    whole
        Capacity of the machine, shape ``(R,)``.
    back
        What each running job releases when it ends, shape ``(B, R)``.
    times, level
        What the running jobs leave free, with the runtimes of reservations, see
        :func:`~cpsched.dispatch.pooled.free_over_time`.
    """

    view: View
    reserving: View
    jobs: JobTable
    submit: IntArray
    estimate: IntArray
    limit: IntArray
    reserved: IntArray
    demand: IntArray
    share: FloatArray
    whole: IntArray
    back: IntArray
    times: IntArray
    level: IntArray

    @classmethod
    def of(cls, view: View, reserving: View, allocator: Allocator) -> Self:
        """Return the state of a view whose reservations are made in ``reserving``."""
        jobs = view.waiting
        demand = pooled_demand(view, jobs, allocator)
        whole = allocator.capacity.sum(axis=0)
        by_reserved_end = given_back(reserving)
        times, level = free_over_time(reserving, by_reserved_end, free_now(view))
        return cls(
            view=view,
            reserving=reserving,
            jobs=jobs,
            submit=jobs.submit,
            estimate=_seconds(jobs.runtime_estimate),
            limit=_seconds(jobs.requested_time),
            reserved=_seconds(reserving.waiting.runtime_estimate),
            demand=demand,
            share=share_of(demand, whole),
            whole=whole,
            back=by_reserved_end if reserving is view else given_back(view),
            # In the range of durations: later ends are not distinguished.
            times=np.minimum(times, view.now + _LONGEST),
            level=level,
        )

    @property
    def now(self) -> int:
        """The second of the decision."""
        return self.view.now

    def waited(self, runtime: IntArray) -> FloatArray:
        """Return how long jobs have waited, in runtimes: their slowdown less one."""
        waited: FloatArray = (self.now - self.submit) / runtime
        return waited


def share_of(demand: IntArray, whole: IntArray) -> FloatArray:
    """Return the largest share of a machine that each demand is, shape ``(n,)``."""
    share: FloatArray = (demand / np.maximum(whole, 1)).max(axis=1, initial=0.0)
    return share


def highest_first(values: FloatArray) -> IntArray:
    """Return the positions of values, the highest first; of equals the first."""
    order: IntArray = np.argsort(-values, kind="stable")
    return order


def _seconds(values: IntArray) -> IntArray:
    found: IntArray = np.clip(values, 1, _LONGEST)
    return found
