"""
``plan``: follow a plan of the whole queue, made again at every decision.

For exact or nearly exact runtime estimates: there it has a quarter to an eighth of EASY's mean
bounded slowdown. With requested times no plan survives the next job that ends early; ``rollout`` is
for these. The cheapest of several list plans on the machine as one pool, made better where asked
for, gives the order in which jobs are planned on nodes.

Two things keep a plan from being myopic: the last arrivals are planned once more, as if they
arrived again from now on, after the waiting jobs, and very long waits cost extra.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.cp import cpsat, stats
from cpsched.cp.whole_queue.neighbourhoods import first_model, improve
from cpsched.cp.whole_queue.tasks import Tasks
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.arrivals import RecentArrivals
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.decision_state import DecisionState, highest_first
from cpsched.dispatch.passes import decision_of, fits_now, frozen, plan_pass, start_in_order
from cpsched.errors import check_range
from cpsched.model.decision import NOTHING, Decision, PlannedStarts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.base.types import BoolArray
    from cpsched.cp.solve import BuiltModel
    from cpsched.cp.whole_queue.tasks import QueuePlan
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.system import System
    from cpsched.model.view import View

#: As many reservations as there are jobs.
_UNLIMITED = 2**62


class WholeQueue(Dispatcher):
    """
    Plans every waiting job as if predicted runtimes were true, and starts what the plan starts now.

    Parameters
    ----------
    patience
        Seconds of waiting after which a wait costs much more than it slows a job down, with the
        fourth power of the wait; see ``docs/background/rollout.md``.
    arrivals
        How many of the last arrivals are planned once more, after the waiting jobs.
    neighbourhoods
        How many groups of a dozen planned jobs CP-SAT replans in a decision. None by default:
        the plans get better by a few percent, the schedules do not (benchmarks/results/rollout.md).
    limit
        Deterministic time for each of them.
    wall
        Safety limit in seconds of wall time; a run that reaches it may not be repeatable.
    allocator
        Name of the allocator.
    """

    name = "plan"
    good_for = "runtimes that are known: the lowest slowdowns there are"
    goes_wrong_when = "runtimes are estimates, which it takes for the truth, or queues are long"
    allocator: Allocator

    def __init__(
        self,
        patience: int = 64800,
        arrivals: int = 10,
        neighbourhoods: int = 0,
        limit: float = 0.001,
        wall: float | None = None,
        allocator: str = "consolidate",
    ) -> None:
        check_range("patience", patience, 1, 2**40)
        check_range("arrivals", arrivals, 0, 10_000)
        check_range("neighbourhoods", neighbourhoods, 0, 10_000)
        self.limits = cpsat.Limits(deterministic=limit, wall=wall, presolve=False)
        self.allocator = make_allocator(allocator)
        self.arrivals = RecentArrivals(arrivals)
        self._patience = patience
        self._neighbourhoods = neighbourhoods
        #: Start that the last plan had for each job, by handle: its order is tried next.
        self._last: dict[int, int] = {}

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        self.allocator.reset(system)
        self.arrivals.forget()
        self._last = {}
        self.limits = replace(self.limits, seed=seed)

    def decide(self, view: View) -> Decision:
        """Make a plan and start what it starts now."""
        if not len(view.waiting):
            return NOTHING
        self.arrivals.note(view, self.allocator)
        fits = fits_now(view, view.waiting.rows, self.allocator)
        if not fits.any():
            return Decision(stats={stats.SKIPPED_NONE_FIT: 1})
        if fits.all():
            decision = start_in_order(view, view.waiting.rows, self.allocator, stop=True)
            if len(decision.actions) == len(view.waiting):
                return decision._replace(stats={stats.SKIPPED_ALL_FIT: 1})
        return self._plan(DecisionState.of(view, view, self.allocator), ~fits)

    def _plan(self, state: DecisionState, unplaceable_now: BoolArray) -> Decision:
        """Follow the node by node plan in the order of the cheapest one."""
        tasks, plans = self._plans(state, unplaceable_now)
        plan = min(plans, key=lambda plan: plan.cost)
        numbers: dict[str, float] = {stats.PLANNED: 1, stats.PLANS: len(plans)}
        if self._neighbourhoods:
            plan, found = improve(tasks, plan, self._neighbourhoods, self.limits)
            numbers.update(found)
        numbers[stats.GAIN_OVER_FIRST] = (plans[0].cost - plan.cost) / plans[0].cost
        view, rows = state.view, frozen(state.jobs.rows[plan.order])
        packed, planned = plan_pass(view, rows, self.allocator, _UNLIMITED, full=True)
        start = np.empty(len(plan.order), dtype=np.int64)
        start[plan.order] = planned
        handles = state.jobs.handle
        self._last = dict(zip(handles.tolist(), start.tolist(), strict=True))
        later = start > view.now
        return decision_of(view, packed)._replace(
            planned_starts=PlannedStarts(handles[later].tolist(), start[later].tolist()),
            stats=numbers,
        )

    def build(self, view: View) -> BuiltModel | None:
        """
        Return the model of a decision's first neighbourhood, for a look at it.

        None if there is no group of jobs to replan. It is built whether or not :meth:`decide`
        would need it, also without ``neighbourhoods``.
        """
        if not len(view.waiting):
            return None
        unplaceable_now = ~fits_now(view, view.waiting.rows, self.allocator)
        state = DecisionState.of(view, view, self.allocator)
        tasks, plans = self._plans(state, unplaceable_now)
        return first_model(tasks, min(plans, key=lambda plan: plan.cost))

    def _plans(
        self, state: DecisionState, unplaceable_now: BoolArray
    ) -> tuple[Tasks, list[QueuePlan]]:
        """Return what is to be planned, and list plans of it on the pool, by slowdown first."""
        coming = self.arrivals.again(state.now, state.demand.shape[1])
        tasks = Tasks.of(state, coming, unplaceable_now, self._patience)
        waited, estimate, share = state.waited(state.estimate), state.estimate, state.share
        orders = [
            highest_first(waited),
            np.argsort(estimate, kind="stable"),
            # WFP3 (Tang 2009).
            highest_first(waited**3 * share),
            np.argsort(estimate * share, kind="stable"),
            np.arange(len(state.jobs), dtype=np.int64),
        ]
        if self._last:
            # A job seen for the first time comes first: the plan says where it fits.
            before = [self._last.get(handle, -1) for handle in state.jobs.handle.tolist()]
            orders.append(np.argsort(before, kind="stable"))
        return tasks, [tasks.plan(order) for order in orders]

    def state(self) -> Mapping[str, Any]:
        """Return the last plan and the last arrivals."""
        planned = np.array(sorted(self._last.items()), dtype=np.int64)
        return {"planned": planned.reshape(-1, 2), **self.arrivals.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self._last = dict(np.asarray(state["planned"]).reshape(-1, 2).tolist())
        self.arrivals.restore(state)
