"""What the hybrid and the pure dispatcher have in common: options, window, shortcuts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched import cpsat
from cpsched.cp import stats
from cpsched.cp.objective import Objective
from cpsched.cp.search import check_search
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.passes import fits_now, frozen, start_in_order
from cpsched.errors import ConfigError
from cpsched.model.decision import NOTHING, Decision
from cpsched.priority import make_priority

if TYPE_CHECKING:
    from cpsched.cp.search import BuiltModel
    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.model.types import BoolArray, IntArray
    from cpsched.model.view import View


class PlanningDispatcher(Dispatcher):
    """
    Plans a window of the queue with CP-SAT and starts what the plan starts now.

    Parameters
    ----------
    search
        ``expected-wait`` or ``slowdown``: branch on jobs in that order, earliest start first;
        ``default``: the solver's own search. The queue is looked at, and the list plan made, in
        the same order; with ``default`` in the order of the objective's priority.
    objective
        ``expected-wait`` or ``slowdown``.
    window
        How many jobs are planned: the first half by priority, then those that may fit now; None:
        all that wait.
    limit
        Deterministic time a decision's solve may take.
    wall
        Seconds of wall time as a net behind it; None: no net.
    presolve
        Whether the solver simplifies the model first.
    allocator
        Name of the allocator.
    """

    def __init__(
        self,
        search: str,
        objective: str,
        *,
        window: int | None,
        limit: float,
        wall: float | None,
        presolve: bool,
        allocator: str,
    ) -> None:
        if window is not None and window < 1:
            raise ConfigError(f"window is {window}, must be 1 or more, or 'all'")
        self.search = check_search(search)
        self.objective = Objective(objective)
        self.priority = make_priority(objective if search == "default" else search)
        self.window = window
        self.limits = cpsat.Limits(
            deterministic=limit,
            wall=wall,
            presolve=presolve,
            fixed_search=search != "default",
        )
        self.allocator = make_allocator(allocator)

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        self.priority.reset(system)
        self.objective.reset(system)
        self.allocator.reset(system)
        self.limits = replace(self.limits, seed=seed)

    def decide(self, view: View) -> Decision:
        """Answer one view: without the solver where that cannot change what starts now."""
        waiting = view.waiting
        if not len(waiting):
            return NOTHING
        fits = self._fits_now(view)
        if not fits.any():
            return _skipped(stats.SKIPPED_NONE_FIT)
        order = self.priority.order(waiting, view.now)
        if fits.all():
            decision = start_in_order(view, frozen(waiting.rows[order]), self.allocator, stop=True)
            if len(decision.actions) == len(waiting):
                return decision._replace(stats={stats.SKIPPED_ALL_FIT: 1})
        first = self._window_of(order, fits)
        if not fits[first].any():
            return _skipped(stats.SKIPPED_NONE_FIT)
        decision = self._planned(view, waiting.take(first))
        waits = decision.plan is not None and len(decision.plan.handle)
        if not waits and 0 < len(decision.actions) < len(waiting) and not _postponed(decision):
            # Everybody who was planned has started, which says nothing of those who were not.
            return decision._replace(again_at=view.now + 1)
        return decision

    def ranking(self, view: View) -> IntArray:
        """Return the queue in the order of the search priority."""
        return self.priority.rows(view)

    def considered(self, view: View) -> IntArray:
        """Return the window."""
        return self._in_window(view).rows

    @abstractmethod
    def build(self, view: View) -> BuiltModel | None:
        """
        Return the model of a decision, for a look at it; None if no waiting job can ever start.

        It is built whether or not :meth:`decide` would need it.
        """

    @abstractmethod
    def _planned(self, view: View, jobs: JobTable) -> Decision:
        """Plan jobs, given in order of priority, of which at least one may fit now."""

    def _in_window(self, view: View) -> JobTable:
        order = self.priority.order(view.waiting, view.now)
        return view.waiting.take(self._window_of(order, self._fits_now(view)))

    def _window_of(self, order: IntArray, fits: BoolArray) -> IntArray:
        """
        Return the first half by priority, and then the first that may fit now, in their order.

        The first alone would leave the machine empty while a few large ones wait for it.
        """
        if self.window is None or len(order) <= self.window:
            return order
        ahead = np.zeros(len(order), dtype=np.bool_)
        ahead[: self.window - self.window // 2] = True
        able = np.flatnonzero(fits[order] & ~ahead)
        ahead[able[: self.window // 2]] = True
        left = self.window - np.count_nonzero(ahead)
        ahead[np.flatnonzero(~ahead)[:left]] = True
        return order[ahead]

    def _fits_now(self, view: View) -> BoolArray:
        """Return which waiting jobs could start now on their own; never False for one that can."""
        waiting = view.waiting
        # The sum over all nodes rules most jobs out at a cost that does not grow with the queue.
        asked = waiting.units[:, None] * waiting.request
        fits: BoolArray = (asked <= np.maximum(view.free, 0).sum(axis=0)).all(axis=1)
        if fits.any():
            fits[fits] = fits_now(view, frozen(waiting.rows[fits]), self.allocator)
        return fits


def _postponed(decision: Decision) -> bool:
    return bool(decision.stats.get(stats.POSTPONED))


def _skipped(reason: str) -> Decision:
    return Decision(stats={reason: 1})
