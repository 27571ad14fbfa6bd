"""
``lookahead``: follow a plan of the whole queue, made again at every decision.

For exact or nearly exact runtime estimates: there it has a quarter to an eighth of EASY's mean
bounded slowdown. With requested times no plan survives the next job that ends early. The cheapest
of several list plans on the machine as one pool gives the order in which jobs are planned on nodes.

Two things keep a plan from being myopic: the last arrivals are planned once more, as if they
arrived again from now on, after the waiting jobs, and very long waits cost extra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched import _core
from cpsched.cp import stats
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.arrivals import RecentArrivals
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.decision_state import DecisionState, highest_first
from cpsched.dispatch.passes import (
    ALL,
    decision_of,
    fits_now,
    frozen,
    plan_pass,
    start_in_order,
    with_plan,
)
from cpsched.errors import check_range
from cpsched.model.decision import NOTHING, Decision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.spec import Seconds
    from cpsched.util.types import BoolArray, IntArray


class Lookahead(Dispatcher):
    """
    A plan of the whole queue with predicted runtimes, made again at every decision and followed.

    Several list plans, which place jobs one after the other in different orders, are compared. The
    cheapest is followed.

    Parameters
    ----------
    aging
        Ageing threshold, seconds. The cost of a longer wait grows with its fourth power, see
        ``docs/background/list-plans.md``.
    arrivals
        Number of last arrivals that are planned once more, after the waiting jobs. They stand for
        jobs to come.
    allocator
        Name of the allocator, which chooses the nodes.
    """

    name = "lookahead"
    family = "plans"
    good_for = "known runtimes: the lowest slowdowns of all dispatchers"
    goes_wrong_when = "runtimes are estimates (it treats them as exact), or queues are long"
    allocator: Allocator

    def __init__(
        self, aging: Seconds = 64800, arrivals: int = 10, allocator: str = "first-fit"
    ) -> None:
        check_range("aging", aging, 1, 2**40)
        check_range("arrivals", arrivals, 0, 10_000)
        self.allocator = make_allocator(allocator)
        self.arrivals = RecentArrivals(arrivals)
        self._aging = aging
        #: Start that the last plan had for each job, by handle: its order is tried next.
        self._last: dict[int, int] = {}

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Clear all memory and prepare for a system, before a run starts."""
        self.allocator.reset(system)
        self.arrivals.forget()
        self._last = {}

    def decide(self, view: View) -> Decision:
        """
        Return the starts of the jobs that a new plan starts now, and the planned starts of others.
        """
        if not len(view.waiting):
            return NOTHING
        self.arrivals.note(view, self.allocator)
        fits = fits_now(view, view.waiting.rows, self.allocator)
        decision = without_choice(view, fits, self.allocator)
        if decision is not None:
            return decision
        return self._plan(DecisionState.of(view, self.allocator), ~fits)

    def _plan(self, state: DecisionState, unplaceable_now: BoolArray) -> Decision:
        """Follow the node by node plan in the order of the cheapest one."""
        orders = self._orders(state)
        costs = self._costs(state, unplaceable_now, orders)
        order = orders[int(np.argmin(costs))]
        view, rows = state.view, frozen(state.jobs.rows[order])
        result, start = plan_pass(view, rows, self.allocator, ALL, full=True)
        handles = state.jobs.handle[order].tolist()
        self._last = dict(zip(handles, start.tolist(), strict=True))
        numbers: dict[str, float] = {
            stats.PLANNED: 1,
            stats.PLANS: len(orders),
            stats.GAIN_OVER_FIRST: (costs[0] - min(costs)) / costs[0],
        }
        decision = with_plan(view, decision_of(view, result), rows, start)
        return decision._replace(stats=numbers)

    def _orders(self, state: DecisionState) -> list[IntArray]:
        """Return orders in which the waiting jobs may be planned, by slowdown first."""
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
        return orders

    def _costs(
        self, state: DecisionState, unplaceable_now: BoolArray, orders: list[IntArray]
    ) -> list[float]:
        """Return what the list plans on the pool in some orders cost, arrivals behind the jobs."""
        future = self.arrivals.again(state.now, state.demand.shape[1])
        later = int(state.times[1]) if len(state.times) > 1 else state.now + 1
        join = np.concatenate
        duration = join([state.estimate, future.estimate])
        demand = join([state.demand, future.demand])
        ready = join([np.where(unplaceable_now, later, state.now), future.ready])
        submit = join([state.submit, future.ready])
        behind = np.arange(len(state.jobs), len(duration), dtype=np.int64)
        costs = []
        for order in orders:
            start = _core.list_plan(
                join([order, behind]), duration, demand, ready, state.times, state.level
            )
            costs.append(_core.plan_cost(start, duration, submit, self._aging))
        return costs

    def state(self) -> Mapping[str, Any]:
        """Return the last plan and the last arrivals, for a checkpoint."""
        planned = np.array(sorted(self._last.items()), dtype=np.int64)
        return {"planned": planned.reshape(-1, 2), **self.arrivals.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        self._last = dict(np.asarray(state["planned"]).reshape(-1, 2).tolist())
        self.arrivals.restore(state)


def without_choice(view: View, fits: BoolArray, allocator: Allocator) -> Decision | None:
    """Return the decision where no waiting job fits, or all do together; None otherwise."""
    if not fits.any():
        return Decision(stats={stats.SKIPPED_NONE_FIT: 1})
    if fits.all():
        decision = start_in_order(view, view.waiting.rows, allocator, stop=True)
        if len(decision.actions) == len(view.waiting):
            return decision._replace(stats={stats.SKIPPED_ALL_FIT: 1})
    return None
