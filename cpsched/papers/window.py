"""
Dispatchers that select a set of jobs from a window of the queue, and the priorities they use.

IPSCHED and AUCSCHED take the first ``MAX_JOB_COUNT`` jobs in order of priority. If the solver
misses its limit, nothing starts and the next decision considers half as many (thesis, 3.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cpsched.cp import cpsat
from cpsched.dispatch.contract import WaitReason
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.orders import FifoOrder, make_priority
from cpsched.dispatch.passes import frozen
from cpsched.errors import check_least
from cpsched.model.decision import Decision
from cpsched.papers.priorities import Multifactor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.dispatch.orders import Priority
    from cpsched.model.decision import Start
    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import FloatArray, IntArray

#: ``MAX_JOB_COUNT`` of the papers.
SIZE = 200
_MAX_POINTS = 2**31
#: Statistic: decisions that missed their limit, so that nothing starts and the window is halved.
WINDOW_HALVED = "window_halved"


@dataclass(kw_only=True, eq=False)
class WindowDispatcher(LearningDispatcher):
    """
    Base class of dispatchers that select jobs to start now from the head of the queue.

    An integer program selects them among the first jobs of the queue (the window). If the solver
    misses its limit, nothing starts and the next decision considers half as many jobs. The papers
    do not define when a halved window grows again. Here it is full again after the next decision
    that met the limit.

    Parameters
    ----------
    order
        ``basic`` (first come, first served), ``multifactor``, or any other order.
    window
        Number of jobs that a decision considers, the first ones in the order.
    interval
        Seconds between decisions. ``none``: a decision at every event.
    limit
        Work limit of the solver for a decision, in CP-SAT's deterministic time (the same on every
        computer, some seconds a unit).

    Attributes
    ----------
    size
        Number of jobs that the next decision considers.
    """

    selects_sets = True
    keeps_places = False
    #: Which allocator's order of nodes lists follow.
    allocates: ClassVar[str]

    order: str = "basic"
    window: int = SIZE
    interval: int | None = 3
    limit: float = 0.8

    def __post_init__(self) -> None:
        """Check the options."""
        check_least("window", self.window, 1)
        check_least("interval", self.interval, 1, "none")
        self.priority_rule: Priority = make_priority(self.order)
        super().__init__(self.priority_rule, allocator=self.allocates)
        self.limits = cpsat.SolverLimits(deterministic=self.limit)
        #: How many jobs the next and the last decision consider.
        self.size = self.last_size = self.window

    def reset(self, system: System, seed: int) -> None:
        """Clear all memory and prepare for a system, before a run starts."""
        super().reset(system, seed)
        self.limits = replace(self.limits, seed=seed)
        self.size = self.last_size = self.window

    def state(self) -> Mapping[str, Any]:
        """Return the size of the window and the history of runtimes, for a checkpoint."""
        return {**super().state(), "window": self.size}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        super().restore(state)
        self.size = self.last_size = int(state["window"])

    def considered(self, view: View) -> IntArray:
        """Return the window of the last decision, as rows of the job store."""
        return self._in_window(view, self.last_size)[0]

    def not_considered(self, view: View, decision: Decision, row: int) -> str:  # noqa: ARG002
        """
        Return the reason that a job is outside the window, which is smaller after missed limits.
        """
        considered = self.considered(view)
        if row in considered:
            return ""
        halved = "" if self.last_size == self.window else ", halved after the solver's limit"
        return (
            f"only the first {len(considered):,} of {len(view.waiting):,} waiting jobs are"
            f" considered (window={self.window}{halved})"
        )

    def wait_reason(
        self,
        view: View,  # noqa: ARG002
        decision: Decision,
        row: int,  # noqa: ARG002
        derived: WaitReason,
    ) -> WaitReason:
        """Say that nothing starts if the limit passed before there was an answer."""
        return WaitReason.UNDECIDED if decision.stats.get(WINDOW_HALVED) else derived

    def candidates(self, view: View) -> JobTable:
        """Return the jobs among which the window is chosen."""
        return view.waiting

    def in_window(self, view: View) -> tuple[IntArray, IntArray]:
        """
        Return the jobs of the window and their integer priorities.

        Returns
        -------
        rows, priorities
            Rows of the job store, highest priority first, read-only; and
            positive integers. Ties keep queue order: earlier submit first, then log order.
        """
        self.last_size = self.size
        return self._in_window(view, self.size)

    def _in_window(self, view: View, size: int) -> tuple[IntArray, IntArray]:
        jobs = self.candidates(view)
        values = priority_values(self.priority_rule, jobs, view.now)
        first = np.argsort(-values, kind="stable")[:size]
        points = isinstance(self.priority_rule, Multifactor)
        integers = point_priorities if points else rank_priorities
        return frozen(jobs.rows[first]), integers(values[first])

    def missed(self, view: View, considered: int, stats: Mapping[str, float]) -> Decision:
        """Return the decision after a missed limit: nothing starts, and half of the jobs remain."""
        self.size = max(1, min(self.size, considered) // 2)
        return Decision(again_at=self._next(view), stats={**stats, WINDOW_HALVED: 1})

    def met(
        self, view: View, starts: Sequence[Start], stats: Mapping[str, float], *, more: bool
    ) -> Decision:
        """
        Return a decision that met the limit; the next one considers a full window.

        Parameters
        ----------
        more
            Whether other jobs might start too. Then the next decision comes after the interval,
            whether or not anything happens until then; likewise if the window was halved.
        """
        again = more or self.size < self.window
        self.size = self.window
        return Decision(starts, again_at=self._next(view) if again else None, stats=stats)

    def _next(self, view: View) -> int:
        return view.now + (self.interval or 1)


def priority_values(priority: Priority, jobs: JobTable, now: int) -> FloatArray:
    """
    Return values that order jobs as a priority does: higher first, equal where it is a tie.

    First come, first served counts down from 0 without ties, as Slurm's basic priorities do, even
    for jobs submitted in the same second. A priority with one key gives that key, negated; one
    with several keys gives negated ranks.
    """
    if isinstance(priority, FifoOrder):
        return -np.arange(len(jobs), dtype=np.float64)
    keys = [np.asarray(key, dtype=np.float64) for key in priority.keys(jobs, now)]
    if len(keys) == 1:
        return -keys[0]
    _, place = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    return -place.reshape(-1).astype(np.float64)


def rank_priorities(values: FloatArray) -> IntArray:
    """
    Return positive integer priorities that keep order and ties: ranks plus an offset.

    Slurm's basic priorities count down from a large number, so that k + 1 jobs always weigh more
    than k; times cores times twice the nodes they exceed 64 bits. With n jobs, the ranks 1, 2, ...
    plus an offset of n * n keep all of that and stay small.
    """
    _, rank = np.unique(values, return_inverse=True)
    num = len(values)
    ranks: IntArray = rank.reshape(-1).astype(np.int64) + (num * num + 1)
    return ranks


def point_priorities(values: FloatArray) -> IntArray:
    """
    Return priorities in points, as Slurm's multifactor has them: integers of 1 or more.

    If the smallest is below 1, all are raised until it is 1, so that different values stay
    different; differences above ``2^31`` are cut to that.
    """
    raised = values + max(1.0 - float(values.min(initial=1.0)), 0.0)
    points: IntArray = np.clip(np.rint(raised), 1, _MAX_POINTS).astype(np.int64)
    return points
