"""One decision as the better dispatchers see it: the whole queue on the machine as one pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from cpsched.cp.problem import pooled_demand
from cpsched.cp.search import DEFAULT
from cpsched.kernels import pool

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobtable import JobTable
    from cpsched.model.types import BoolArray, FloatArray, IntArray
    from cpsched.model.view import View
    from cpsched.rollout.history import Experience
    from cpsched.rollout.likely import Likely

#: Seconds; a longer time counts as this (35,000 years), so that sums stay in range.
_LONGEST = 2**40
#: A job that takes less of the machine, or nothing, counts as if it took this much.
_LEAST_SHARE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Situation:
    """
    The queue and the pool at a decision; n jobs, R kinds, S segments.

    Attributes
    ----------
    jobs
        All that wait, in queue order.
    promised
        The view as reservations are made in it, see
        :class:`~cpsched.dispatch.reservation_view.ReservationView`.
    submit, plan, limit, reserved
        Second of submission, predicted runtime (at least 1), requested time, and how long
        reservations take the job to run; shape ``(n,)``.
    user
        Our number for each job's user.
    demand, share
        What each job takes, shape ``(n, R)``, and the largest share of the machine that is.
    back
        What each running job gives back when it ends, shape ``(B, R)``.
    times, level
        What the running jobs leave, as reservations take it, see :mod:`cpsched.kernels.pool`.
    """

    view: View
    promised: View
    jobs: JobTable
    submit: IntArray
    plan: IntArray
    limit: IntArray
    reserved: IntArray
    user: IntArray
    demand: IntArray
    share: FloatArray
    back: IntArray
    times: IntArray
    level: IntArray

    @classmethod
    def of(
        cls,
        view: View,
        promised: View,
        allocator: Allocator,
        experience: Experience,
        whole: IntArray,
    ) -> Self:
        """
        Look at a view of a machine that has ``whole`` of each kind, shape ``(R,)``.

        The allocator's last pass must have been over this view.
        """
        jobs = view.waiting
        demand = pooled_demand(view, jobs, allocator)
        plan, limit = _seconds(jobs.plan), _seconds(jobs.requested_time)
        now_free = pool.sum_of(view.free, allocator.memory.open_nodes)
        running = promised.running
        by_end = _given_back(promised)
        times, level = pool.pool_profile(
            view.now, running.store.columns, running.rows, by_end, now_free
        )
        # In range as durations are: nothing that ends later is told apart.
        times = np.minimum(times, view.now + _LONGEST)
        return cls(
            view=view,
            promised=promised,
            jobs=jobs,
            submit=jobs.submit,
            plan=plan,
            limit=limit,
            reserved=_seconds(promised.waiting.plan),
            user=experience.users(jobs),
            demand=demand,
            share=(demand / np.maximum(whole, 1)).max(axis=1, initial=0.0),
            back=by_end if promised is view else _given_back(view),
            times=times,
            level=level,
        )

    @property
    def now(self) -> int:
        """The second of the decision."""
        return self.view.now

    def orders(self, search: str = DEFAULT) -> dict[str, IntArray]:
        """
        Return the orders plans are made in, as positions of jobs: who comes first is first.

        Parameters
        ----------
        search
            The one order to go by; ``default``: all of them.
        """
        if search != DEFAULT:
            return {search: self._searched(search)}
        waited = self._waited(self.plan)
        return {
            "slowdown": _highest_first(waited),
            "sjf": np.argsort(self.plan, kind="stable"),
            "wfp3": _highest_first(waited**3 * self.share),
            "smallest": np.argsort(self.plan * self.share, kind="stable"),
            "fifo": np.arange(len(self.jobs), dtype=np.int64),
        }

    def rule_orders(
        self, likely: Likely, patience: float, search: str = DEFAULT
    ) -> dict[str, IntArray]:
        """Return the orders that rules of :mod:`cpsched.rollout.rules` name, in the same way."""
        share = np.maximum(self.share, _LEAST_SHARE)
        urgency = likely.urgency(self.now - self.submit, share, patience)
        return {
            "slowdown": self._searched(search),
            "typical": _highest_first(self._waited(likely.typical())),
            "urgency": _highest_first(urgency),
            "fifo": np.arange(len(self.jobs), dtype=np.int64),
        }

    def _searched(self, search: str) -> IntArray:
        """Return the order of a search of :mod:`cpsched.cp.search`; by default by slowdown."""
        if search == "expected-wait":
            waited = (self.now - self.submit) / np.maximum(self.jobs.expected_wait, 1)
            return _highest_first(waited)
        return _highest_first(self._waited(self.plan))

    def _waited(self, runtime: IntArray) -> FloatArray:
        """Return how long jobs have waited, in runtimes: their slowdown less one."""
        waited: FloatArray = (self.now - self.submit) / runtime
        return waited

    def is_misled(self, barred: BoolArray) -> bool:
        """Return whether the pool has room for a job that fits on no nodes now."""
        return bool((barred & (self.demand <= self.level[0]).all(axis=1)).any())

    def ready(self, barred: BoolArray) -> IntArray:
        """Return from when on each job may start: not now where it found no nodes."""
        later = int(self.times[1]) if len(self.times) > 1 else self.now + 1
        return np.where(barred, later, self.now)


def _given_back(view: View) -> IntArray:
    running = view.running
    back: IntArray = pool.given_back(running.rows, running.store.columns, running.arena.amount)
    return back


def _seconds(values: IntArray) -> IntArray:
    found: IntArray = np.clip(values, 1, _LONGEST)
    return found


def _highest_first(values: FloatArray) -> IntArray:
    order: IntArray = np.argsort(-values, kind="stable")
    return order
