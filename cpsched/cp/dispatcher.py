"""What the hybrid and the pure dispatcher have in common: options, window, shortcuts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from cpsched.cp import cpsat, stats
from cpsched.cp.objective import OBJECTIVES, make_objective
from cpsched.cp.solve import DecisionProblem, answer
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.orders import make_priority
from cpsched.dispatch.passes import fits_now, frozen, start_in_order
from cpsched.dispatch.pooled import free_now
from cpsched.dispatch.shadow import PREDICTED
from cpsched.errors import check_choice, check_least
from cpsched.model.decision import NOTHING, Decision

if TYPE_CHECKING:
    from cpsched.cp.objective import Objective
    from cpsched.cp.solve import BuiltModel, Candidate
    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, IntArray


#: How the solver searches: by its own rules, or jobs in order of a priority, earliest start first.
DEFAULT = "default"
SEARCHES = (DEFAULT, *OBJECTIVES)
WINDOW = 20
LIMIT = 0.0005

#: Modules whose models have every list plan as a solution.
_OWN_PACKAGE = "cpsched."

P = TypeVar("P", bound=DecisionProblem)


class PlanningDispatcher(LearningDispatcher, Generic[P]):
    """
    Base class of dispatchers that plan some jobs of the queue (the window) with CP-SAT.

    A list plan, which places jobs one after the other at their earliest starts, is the first
    solution.

    Parameters
    ----------
    search
        ``expected-wait``, ``slowdown`` or ``wsept``: branch on jobs in that order, earliest start
        first. ``default``: the solver's own search. The window and the list plan follow the same
        order, or that of the objective with ``default``.
    objective
        ``expected-wait``, ``slowdown``, ``wsept`` (expected cost of waiting by the runtimes of
        similar ended jobs), or an object of your own, which needs a search.
    window
        Number of planned jobs: the first half by priority, then those that may fit now. None: all.
    limit
        Limit of a solver call in CP-SAT's deterministic time, the same on every computer. None: the
        list plan is followed without a solver.
    allocator
        Name of the allocator, which chooses the nodes.
    estimate
        The runtimes used for reservations, if there are any: ``predicted``, ``upper`` or
        ``requested``.
    """

    #: Whether jobs outside the window may start, too.
    fills = False

    def __init__(
        self,
        search: str = DEFAULT,
        objective: str | Objective = "expected-wait",
        window: int | None = WINDOW,
        limit: float | None = LIMIT,
        allocator: str = "first-fit",
        estimate: str = PREDICTED,
    ) -> None:
        check_least("window", window, 1, "all")
        check_choice("search", search, SEARCHES)
        self.search = search
        self.objective = make_objective(objective)
        self.priority = make_priority(self.objective.name if search == DEFAULT else search)
        super().__init__(
            self.priority, learns=self.objective.learns, allocator=allocator, estimate=estimate
        )
        self.objective.history = self.history
        self.window = window
        self.solves = limit is not None
        self.limits = cpsat.SolverLimits(
            deterministic=LIMIT if limit is None else limit,
            presolve=False,
            fixed_search=search != DEFAULT,
        )

    def reset(self, system: System, seed: int) -> None:
        """Clear all memory and prepare for a system, before a run starts."""
        super().reset(system, seed)
        self.objective.reset(system)
        self.limits = replace(self.limits, seed=seed)

    def choose(self, view: View) -> Decision:
        """Return the jobs to start now. The solver is not called if it cannot change them."""
        waiting = view.waiting
        if not len(waiting):
            return NOTHING
        fits = self._fits_now(view, waiting)
        if not fits.any():
            return _skipped(stats.SKIPPED_NONE_FIT)
        order = self.priority.order(waiting, view.now)
        if fits.all() and self._may_start_together(view, waiting):
            decision = start_in_order(view, frozen(waiting.rows[order]), self.allocator, stop=True)
            if len(decision.actions) == len(waiting):
                return decision._replace(stats={stats.SKIPPED_ALL_FIT: 1})
        first = order if self.window is None else order[window_of(fits[order], self.window)]
        if not (self.fills or fits[first].any()):
            return _skipped(stats.SKIPPED_NONE_FIT)
        decision = self._planned(view, waiting.take(first))
        waits = decision.planned_starts is not None and len(decision.planned_starts.handle)
        if not (waits or self.fills) and 0 < len(decision.actions) < len(waiting):
            # All planned jobs have started, which says nothing about the others.
            return decision._replace(again_at=view.now + 1)
        return decision

    def considered(self, view: View) -> IntArray | None:
        """
        Return the jobs of the window, as rows of the job store. None if other jobs may start too.
        """
        return None if self.fills else self._in_window(view).rows

    def not_considered(self, view: View, decision: Decision, row: int) -> str:  # noqa: ARG002
        """Return the reason that a job is outside the window."""
        considered = self.considered(view)
        if considered is None or row in considered:
            return ""
        return (
            f"only {len(considered):,} of {len(view.waiting):,} waiting jobs are planned, and it is"
            f" not among them (window={self.window})"
        )

    def build(self, view: View) -> BuiltModel | None:
        """
        Return the model of a decision for inspection. None if no waiting job can ever start.

        The model is built even if :meth:`decide` would not need it.
        """
        problem = self.problem(view, self._in_window(view))
        return self.model(self.sized(problem)) if len(problem.jobs) else None

    @abstractmethod
    def problem(self, view: View, jobs: JobTable) -> P:
        """
        Return the planning problem of some jobs, given in order of priority.

        Jobs that can never start are left out.
        """

    def sized(self, problem: P) -> P:
        """Return a problem whose model is not too large, with fewer jobs if necessary."""
        return problem

    @abstractmethod
    def model(self, problem: P) -> BuiltModel:
        """Return the CP-SAT model of a planning problem."""

    @abstractmethod
    def decision(
        self, view: View, problem: P, solution: Candidate, numbers: dict[str, float]
    ) -> Decision:
        """
        Return the decision that follows a plan.

        Parameters
        ----------
        solution
            The plan.
        numbers
            Statistics of the decision so far.
        """

    def _planned(self, view: View, jobs: JobTable) -> Decision:
        """Plan jobs, given in order of priority."""
        problem = self.problem(view, jobs)
        if not problem.all_first:
            problem = self.sized(problem)
        if problem.all_first:
            return self.decision(view, problem, problem.listed, {stats.SKIPPED_BOUND: 1})
        solution, numbers = self.answer(view, problem)
        return self.decision(view, problem, solution, numbers)

    def answer(self, view: View, problem: P) -> tuple[Candidate, dict[str, float]]:  # noqa: ARG002
        """Return the plan to follow and statistics of finding it."""
        if not self.solves:
            return problem.listed, {}
        plan, numbers = answer(problem, self.model(problem), self.limits)
        if not type(self).model.__module__.startswith(_OWN_PACKAGE):
            numbers = {
                stats.NO_LIST_PLAN if name == stats.WRONGLY_INFEASIBLE else name: number
                for name, number in numbers.items()
            }
        return plan, numbers

    def _in_window(self, view: View) -> JobTable:
        order = self.priority.order(view.waiting, view.now)
        if self.window is not None:
            order = order[window_of(self._fits_now(view, view.waiting)[order], self.window)]
        return view.waiting.take(order)

    def _may_start_together(self, view: View, jobs: JobTable) -> bool:  # noqa: ARG002
        """Return whether jobs that find nodes together may all start now."""
        return True

    def _fits_now(self, view: View, jobs: JobTable) -> BoolArray:
        """Return which waiting jobs could start now on their own; never False for one that can."""
        # The sum over all nodes rules most jobs out at a cost that does not grow with the queue.
        demand = jobs.units[:, None] * jobs.request
        fits: BoolArray = np.all(demand <= free_now(view), axis=1)
        if fits.any():
            fits[fits] = fits_now(view, frozen(jobs.rows[fits]), self.allocator)
        return fits


def window_of(fits: BoolArray, size: int, first: int | None = None) -> IntArray:
    """
    Return the positions of the window's jobs, given in order of priority.

    The first half by priority, and then the first that may fit now: a window only by priority would
    leave the machine empty while a few large jobs wait. If that is not enough, the next ones.

    Parameters
    ----------
    fits
        Which jobs may fit now.
    first
        How many are chosen by priority; by default half, rounded up.
    """
    if len(fits) <= size:
        return np.arange(len(fits))
    first = size - size // 2 if first is None else first
    taken = np.zeros(len(fits), dtype=np.bool_)
    taken[:first] = True
    taken[np.flatnonzero(fits & ~taken)[: size - first]] = True
    taken[np.flatnonzero(~taken)[: size - np.count_nonzero(taken)]] = True
    return np.flatnonzero(taken)


def _skipped(reason: str) -> Decision:
    return Decision(stats={reason: 1})
