"""
CPH, the hybrid of constraint programming and list scheduling (Remediani 2017, section 4.2).

*When*: start variables on the machine as one pool, one cumulative constraint per resource kind
(eqs. 4.7, 4.8 and, aggregated, 4.11). *Where*: the jobs planned for now are mapped to nodes in
order of the search priority; those that find none are postponed to the next decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched import cpsat
from cpsched.cp import capacity, stats
from cpsched.cp.dispatcher import PlanningDispatcher
from cpsched.cp.problem import pool_of
from cpsched.cp.search import BuiltModel, Candidate, add_cumulative, add_objective, answer
from cpsched.dispatch.passes import frozen, start_in_order
from cpsched.model.decision import Decision, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.cp.problem import Pool
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View

WINDOW = 100
LIMIT = 0.0003


class Hybrid(PlanningDispatcher):
    """Plans on the pool, then maps to nodes; see the module."""

    def build(self, view: View) -> BuiltModel | None:
        """Return the model of a decision; None if no job of the window can ever start."""
        problem = self._problem(view, self._in_window(view))
        return self._model(problem) if len(problem.jobs) else None

    def _problem(self, view: View, jobs: JobTable) -> Pool:
        return pool_of(view, jobs, self.objective.divisors(jobs), self.allocator)

    def _planned(self, view: View, jobs: JobTable) -> Decision:
        problem = self._problem(view, jobs)
        bounds = problem.bounds
        if not bounds.slack:
            return self._mapped(view, problem, bounds.listed, {stats.SKIPPED_BOUND: 1})
        found, numbers = answer(
            self._model(problem),
            bounds,
            self.limits,
            Candidate(bounds.listed),
            read=lambda starts, _: Candidate(starts),
            tighten=problem.listed_as,
        )
        return self._mapped(view, problem, found.starts, numbers)

    def _model(self, problem: Pool) -> BuiltModel:
        """Build the relaxed model: s_i in [earliest, latest], one cumulative per binding kind."""
        bounds, duration = problem.bounds, problem.duration.tolist()
        model = cpsat.new_model(self.name)
        start = [
            model.new_int_var(low, high, f"start_{handle}")
            for low, high, handle in zip(
                bounds.earliest, bounds.latest, problem.jobs.handle.tolist(), strict=True
            )
        ]
        interval = [
            model.new_fixed_size_interval_var(variable, length, "")
            for variable, length in zip(start, duration, strict=True)
        ]
        horizon = bounds.end(duration)
        # Once nobody starts any more, what runs only gets less, and what is free only more.
        matters = problem.times <= bounds.last
        times, level = problem.times[matters].tolist(), problem.level[matters]
        ones = [1] * len(start)
        for kind in capacity.binding_kinds(capacity.Asked.of(problem.demand), level):
            demand = problem.demand[:, kind].tolist()
            steps = capacity.steps(demand, ones, times, level[:, kind], horizon)
            if steps:
                add_cumulative(model, interval, steps.demand, steps)
        add_objective(model, start, bounds)
        cpsat.add_hints(model, start, bounds.listed)
        if self.limits.fixed_search:
            cpsat.decide_in_order(model, start)
        return BuiltModel(model=model, start=tuple(start))

    def _mapped(
        self, view: View, problem: Pool, starts: Sequence[int], numbers: dict[str, float]
    ) -> Decision:
        """Map what starts now to nodes, in order of priority."""
        planned = np.asarray(starts, dtype=np.int64)
        jobs = problem.jobs
        rows = frozen(jobs.rows[planned == 0])
        decision = start_in_order(view, rows, self.allocator, stop=False)
        later = planned > 0
        return decision._replace(
            plan=Plan(jobs.handle[later].tolist(), (view.now + planned[later]).tolist()),
            stats={**numbers, stats.POSTPONED: len(rows) - len(decision.actions)},
        )


class Cph(Hybrid):
    """
    Hybrid constraint programming: plan on the machine as one pool, then map to nodes.

    Parameters
    ----------
    search
        Order in which the solver branches, the list plan is made and jobs are mapped:
        ``expected-wait`` or ``slowdown``; ``default``: the solver's own search.
    objective
        ``expected-wait`` or ``slowdown``.
    window
        How many jobs, first by priority, are planned; ``all``: every one that waits.
    limit
        Deterministic time a solve may take.
    wall
        Seconds of wall time as a net behind it; a solve that meets it may not be repeatable.
    presolve
        Whether the solver simplifies the model first.
    allocator
        Name of the allocator.
    """

    name = "cph"

    def __init__(
        self,
        search: str = "expected-wait",
        objective: str = "expected-wait",
        window: int | None = WINDOW,
        limit: float = LIMIT,
        wall: float | None = None,
        presolve: bool = False,
        allocator: str = "first-fit",
    ) -> None:
        super().__init__(
            search,
            objective,
            window=window,
            limit=limit,
            wall=wall,
            presolve=presolve,
            allocator=allocator,
        )


class _Variant(Hybrid):
    """One of the thesis's four; the options are those of ``cph`` but for the two it fixes."""

    searches: ClassVar[str]
    minimises: ClassVar[str]

    def __init__(
        self,
        window: int | None = WINDOW,
        limit: float = LIMIT,
        wall: float | None = None,
        presolve: bool = False,
        allocator: str = "first-fit",
    ) -> None:
        super().__init__(
            self.searches,
            self.minimises,
            window=window,
            limit=limit,
            wall=wall,
            presolve=presolve,
            allocator=allocator,
        )


class Cph0(_Variant):
    """CPH-0: searches by expected wait, minimises the weighted wait."""

    name = "cph-0"
    searches, minimises = "expected-wait", "expected-wait"


class Cph1(_Variant):
    """CPH-1: searches by slowdown, minimises the weighted wait."""

    name = "cph-1"
    searches, minimises = "slowdown", "expected-wait"


class Cph2(_Variant):
    """CPH-2: searches by expected wait, minimises the slowdown."""

    name = "cph-2"
    searches, minimises = "expected-wait", "slowdown"


class Cph3(_Variant):
    """CPH-3: searches by slowdown, minimises the slowdown."""

    name = "cph-3"
    searches, minimises = "slowdown", "slowdown"
