"""What a decision about the whole queue is made from: all waiting jobs, the machine as one pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from cpsched.dispatch.pooled import free_now, free_over_time, given_back, pooled_demand

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View
    from cpsched.util.types import FloatArray, IntArray

#: Seconds; a longer time counts as this (35,000 years), so that sums stay in range.
_LONGEST = 2**40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecisionState:
    """
    The queue and the pool at a decision; n waiting jobs, R kinds, S segments.

    Attributes
    ----------
    jobs
        All that wait, in queue order.
    submit, estimate
        Second of submission, and predicted runtime (at least 1); shape ``(n,)``.
    demand, share
        The least amounts that each job takes, shape ``(n, R)``, and the largest share of the
        machine among them.
    times, level
        What the running jobs leave free, see
        :func:`~cpsched.dispatch.pooled.free_over_time`.
    """

    view: View
    jobs: JobTable
    submit: IntArray
    estimate: IntArray
    demand: IntArray
    share: FloatArray
    times: IntArray
    level: IntArray

    @classmethod
    def of(cls, view: View, allocator: Allocator) -> Self:
        """Return the state of a view."""
        jobs = view.waiting
        demand = pooled_demand(view, jobs, allocator)
        capacity = np.maximum(allocator.capacity.sum(axis=0), 1)
        times, level = free_over_time(view, given_back(view), free_now(view))
        return cls(
            view=view,
            jobs=jobs,
            submit=jobs.submit,
            estimate=np.clip(jobs.runtime_estimate, 1, _LONGEST),
            demand=demand,
            share=(demand / capacity).max(axis=1, initial=0.0),
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


def highest_first(values: FloatArray) -> IntArray:
    """Return the positions of values, the highest first; of equals the first."""
    order: IntArray = np.argsort(-values, kind="stable")
    return order
