"""
The cheapest of several list plans of the whole queue, and made better where asked for.

Two things keep a plan from being myopic: the last arrivals are planned once more, as if they came
again from now on, behind the jobs that wait, and very long waits cost extra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import stats
from cpsched.dispatch.decision_state import highest_first
from cpsched.whole_queue.neighbourhoods import first_model, improve
from cpsched.whole_queue.tasks import Tasks

if TYPE_CHECKING:
    from cpsched import cpsat
    from cpsched.cp.solve import BuiltModel
    from cpsched.dispatch.arrivals import RecentArrivals
    from cpsched.dispatch.decision_state import DecisionState
    from cpsched.model.types import BoolArray, IntArray
    from cpsched.whole_queue.tasks import QueuePlan


class Planner:
    """
    Plans the queue, and remembers the last plan: its order is one of those tried next.

    Parameters
    ----------
    arrivals
        The last ones.
    patience
        Seconds; see :func:`cpsched.kernels.scenarios.job_cost`.
    neighbourhoods
        How many groups of jobs CP-SAT plans anew.

    Attributes
    ----------
    last
        Start that the last plan had for each job, by handle.
    """

    def __init__(self, arrivals: RecentArrivals, patience: int, neighbourhoods: int) -> None:
        self._arrivals = arrivals
        self._patience = patience
        self._neighbourhoods = neighbourhoods
        self.last: dict[int, int] = {}

    def cheapest(
        self, state: DecisionState, unplaceable_now: BoolArray, limits: cpsat.Limits
    ) -> tuple[QueuePlan, dict[str, float]]:
        """
        Return the best plan found on the pool, and statistics.

        Parameters
        ----------
        unplaceable_now
            Which jobs find no nodes now.
        limits
            Of the solve of each neighbourhood.
        """
        tasks = self._tasks(state, unplaceable_now)
        plans = [tasks.plan(order) for order in self._orders(state)]
        plan = min(plans, key=lambda plan: plan.cost)
        numbers: dict[str, float] = {stats.PLANS: len(plans)}
        if self._neighbourhoods:
            plan, found = improve(tasks, plan, self._neighbourhoods, limits)
            numbers.update(found)
        numbers[stats.GAIN_OVER_FIRST] = (plans[0].cost - plan.cost) / plans[0].cost
        return plan, numbers

    def first_model(self, state: DecisionState, unplaceable_now: BoolArray) -> BuiltModel | None:
        """Return the model of the first neighbourhood of the best plan, None if there is none."""
        tasks = self._tasks(state, unplaceable_now)
        plans = [tasks.plan(order) for order in self._orders(state)]
        return first_model(tasks, min(plans, key=lambda plan: plan.cost))

    def _tasks(self, state: DecisionState, unplaceable_now: BoolArray) -> Tasks:
        coming = self._arrivals.again(state.now, state.demand.shape[1])
        return Tasks.of(state, coming, unplaceable_now, self._patience)

    def _orders(self, state: DecisionState) -> list[IntArray]:
        """Return the orders plans are made in, as positions of jobs: by slowdown first."""
        waited, estimate, share = state.waited(state.estimate), state.estimate, state.share
        orders = [
            highest_first(waited),
            np.argsort(estimate, kind="stable"),
            # WFP3 (Tang 2009).
            highest_first(waited**3 * share),
            np.argsort(estimate * share, kind="stable"),
            np.arange(len(state.jobs), dtype=np.int64),
        ]
        if self.last:
            # A job seen for the first time comes first: the plan says where it fits.
            before = [self.last.get(handle, -1) for handle in state.jobs.handle.tolist()]
            orders.append(np.argsort(before, kind="stable"))
        return orders
