"""What a plan of the whole queue is about, and list plans of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.kernels import pool, scenarios

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray, IntArray
    from cpsched.dispatch.arrivals import Arrivals
    from cpsched.dispatch.decision_state import DecisionState


class QueuePlan(NamedTuple):
    """
    A plan of the n waiting jobs and the jobs that may come.

    Attributes
    ----------
    order
        Positions of the waiting jobs in the order it was made in.
    start
        Of waiting jobs, then of those that may come.
    cost
        See :func:`cpsched.kernels.scenarios.plan_cost`.
    """

    order: IntArray
    start: IntArray
    cost: float


class Tasks(NamedTuple):
    """
    Waiting jobs and behind them those that may come, as arrays; ``num_waiting`` wait.

    ``handle`` is of these alone.
    """

    num_waiting: int
    handle: IntArray
    duration: IntArray
    demand: IntArray
    ready: IntArray
    submit: IntArray
    times: IntArray
    level: IntArray
    patience: float

    @classmethod
    def of(
        cls, state: DecisionState, coming: Arrivals, unplaceable_now: BoolArray, patience: float
    ) -> Tasks:
        """Put together what is to be planned."""
        later = int(state.times[1]) if len(state.times) > 1 else state.now + 1
        join = np.concatenate
        return cls(
            len(state.jobs),
            state.jobs.handle,
            join([state.estimate, coming.estimate]),
            join([state.demand, coming.demand]),
            join([np.where(unplaceable_now, later, state.now), coming.ready]),
            join([state.submit, coming.ready]),
            state.times,
            state.level,
            patience,
        )

    def plan(self, order: IntArray) -> QueuePlan:
        """Return the list plan in an order of the waiting jobs."""
        whole = np.concatenate(
            [order, np.arange(self.num_waiting, len(self.duration), dtype=np.int64)]
        )
        start = pool.list_plan(
            whole, self.duration, self.demand, self.ready, self.times, self.level
        )
        cost = float(scenarios.plan_cost(start, self.duration, self.submit, self.patience))
        return QueuePlan(order, start, cost)
