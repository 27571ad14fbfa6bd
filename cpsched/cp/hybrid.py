"""
CPH, the hybrid of constraint programming and list scheduling (Remediani 2017, section 4.2).

*When*: start variables on the machine as one pool, one cumulative constraint per resource kind
(eqs. 4.7, 4.8 and, aggregated, 4.11). *Where*: the jobs planned for now are mapped to nodes in
order of the search priority; those that find none are postponed to the next decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import cpsat, stats
from cpsched.cp.dispatcher import PlanningDispatcher
from cpsched.cp.objective import add_starts
from cpsched.cp.pool import Pool, add_pool, pool_of
from cpsched.cp.solve import BuiltModel
from cpsched.dispatch.passes import frozen, start_in_order
from cpsched.model.decision import Decision, PlannedStarts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.base.types import BoolArray
    from cpsched.cp.objective import Objective
    from cpsched.cp.pool import Limit
    from cpsched.cp.solve import Candidate
    from cpsched.dispatch.contract import Reservation
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View

WINDOW = 100
LIMIT = 0.0003


class Cph(PlanningDispatcher[Pool]):
    """
    Hybrid constraint programming: plan on the machine as one pool, then map to nodes.

    Parameters
    ----------
    search, objective, window, limit, wall, allocator
        As for :class:`~cpsched.cp.dispatcher.PlanningDispatcher`. Jobs are mapped to nodes in
        order of the search, too.
    """

    name = "cph"
    good_for = "the thesis's models; low slowdowns where runtimes are known (cph-1, cph-3)"
    goes_wrong_when = (
        "runtimes are requested times: little better than easy, for many times the computing"
    )

    def __init__(
        self,
        search: str = "expected-wait",
        objective: str | Objective = "expected-wait",
        window: int | None = WINDOW,
        limit: float = LIMIT,
        wall: float | None = None,
        allocator: str = "first-fit",
    ) -> None:
        super().__init__(search, objective, window, limit, wall, allocator)

    def own_limits(self, view: View, jobs: JobTable) -> Sequence[Limit]:  # noqa: ARG002
        """Return limits on waiting jobs other than resources; for subclasses."""
        return ()

    def reservations(self, view: View, decision: Decision) -> Sequence[Reservation]:
        """Return the jobs planned for later; jobs postponed for lack of nodes reserve nothing."""
        planned = super().reservations(view, decision)
        return [reservation for reservation in planned if reservation.start > view.now]

    def _fits_now(self, view: View, jobs: JobTable) -> BoolArray:
        fits = super()._fits_now(view, jobs)
        for limit in self.own_limits(view, jobs):
            fits &= limit.demand <= limit.free
        return fits

    def _may_start_together(self, view: View, jobs: JobTable) -> bool:
        return all(limit.demand.sum() <= limit.free for limit in self.own_limits(view, jobs))

    def problem(self, view: View, jobs: JobTable) -> Pool:
        """Return the jobs and the machine as one pool."""
        return pool_of(
            view, jobs, self.objective.divisors(jobs), self.allocator, self.own_limits(view, jobs)
        )

    def model(self, problem: Pool) -> BuiltModel:
        """Build the relaxed model: s_i in [earliest, latest], one cumulative per binding kind."""
        bounds, duration = problem.delay.bounds, problem.duration.tolist()
        model = cpsat.new_model(self.name)
        start = add_starts(model, bounds, problem.jobs.handle)
        # Once no job starts any more, free capacity only grows.
        near = problem.times <= bounds.last
        exact = add_pool(
            model,
            start,
            duration,
            problem.demand,
            problem.times[near],
            problem.level[near],
            bounds.end(duration),
        )
        value = problem.delay.add(model, start)
        cpsat.add_hints(model, start, problem.listed.starts.tolist())
        if self.limits.fixed_search:
            cpsat.decide_in_order(model, start)
        return BuiltModel(model=model, value=value, start=tuple(start), exact=exact)

    def decision(
        self, view: View, problem: Pool, found: Candidate, numbers: dict[str, float]
    ) -> Decision:
        """Map what starts now to nodes, in order of priority; postpone what finds none."""
        planned, jobs = found.starts, problem.jobs
        rows = frozen(jobs.rows[planned == 0])
        decision = start_in_order(view, rows, self.allocator, stop=False)
        started = [action.handle for action in decision.actions]
        waits = ~np.isin(jobs.handle, started)
        return decision._replace(
            planned_starts=PlannedStarts(
                jobs.handle[waits].tolist(), (view.now + planned[waits]).tolist()
            ),
            stats={**numbers, stats.POSTPONED: len(rows) - len(started)},
        )
