"""
CPH, the hybrid of constraint programming and list scheduling (Remediani 2017, section 4.2).

*When*: start variables on the machine as one pool, one cumulative constraint per resource kind
(eqs. 4.7, 4.8 and, aggregated, 4.11). *Where*: the jobs planned for now are mapped to nodes in
order of the search priority; those that find none are postponed to the next decision.

The thesis starts what is planned for now and nothing else, so what the plan keeps free for later is
idle until then. ``fill`` says what may use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.cp import cpsat, stats
from cpsched.cp.constraint import caps_of
from cpsched.cp.dispatcher import PlanningDispatcher
from cpsched.cp.objective import add_starts
from cpsched.cp.pool import PoolProblem, add_pool, pool_of
from cpsched.cp.solve import BuiltModel
from cpsched.dispatch.backlog import OVERDUE
from cpsched.dispatch.orders import Wsept, check_overdue
from cpsched.dispatch.passes import decision_of, easy_pass, frozen, start_in_order
from cpsched.dispatch.shadow import PREDICTED, REQUESTED
from cpsched.errors import DispatchError, check_choice
from cpsched.model.decision import Decision, PlannedStarts, Start
from cpsched.model.jobtable import JobTable
from cpsched.util.own_code import title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.cp.objective import Objective
    from cpsched.cp.pool import Limit
    from cpsched.cp.solve import Candidate
    from cpsched.dispatch.contract import Reservation
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, IntArray

WINDOW = 100
LIMIT = 0.0003
#: What starts besides what is planned for now: nothing; by priority, all that finds nodes; or, in
#: that order, what EASY lets start.
NOTHING_ELSE, ANY, EASY = FILLS = ("none", "any", "easy")


class CpPool(PlanningDispatcher[PoolProblem]):
    """
    Constraint programming on the sum of all nodes' resources, then placement of the jobs on nodes.

    The plan treats the system as one pool, with one amount of each resource type. The jobs planned
    for now are then placed on nodes, in the order of ``search``.

    Parameters
    ----------
    search, objective, window, limit, allocator
        As for :class:`~cpsched.cp.dispatcher.PlanningDispatcher`.
    fill
        The jobs that start in addition to the plan. ``none``: no others, as in the thesis. ``any``:
        every job that fits, by priority. ``easy``: the jobs that EASY starts in that order, with a
        reservation for the first job that does not fit.
    estimate
        The runtimes used for that reservation: ``predicted``, ``upper`` (bound of the prediction)
        or ``requested``.
    constraint
        Site rules that every decision keeps, joined by ``and``. For example ``core per user at most
        64 and jobs of queue debug at most 4``.
    overdue
        With ``search=wsept``, as for :class:`~cpsched.dispatch.orders.Wsept`. Overdue jobs come
        before the planned ones.
    """

    name = "cp-pool"
    family = "constraint programming, after Remediani 2017"
    good_for = "rules of a site (constraint) with short waits (cph-0 to cph-3: as in the thesis)"
    goes_wrong_when = (
        "computing time is limited (easy-plan has nearly all of the gain without the solver)"
    )

    def __init__(
        self,
        search: str = Wsept.name,
        objective: str | Objective = Wsept.name,
        window: int | None = WINDOW,
        limit: float | None = LIMIT,
        allocator: str = "first-fit",
        fill: str = EASY,
        estimate: str = REQUESTED,
        constraint: str | None = None,
        overdue: float | None = OVERDUE,
    ) -> None:
        check_choice("fill", fill, FILLS)
        check_overdue(overdue)
        estimate = estimate if fill == EASY else PREDICTED
        super().__init__(search, objective, window, limit, allocator, estimate)
        if isinstance(self.priority, Wsept):
            self.priority.overdue = overdue
        self.fill = fill
        self.fills = fill != NOTHING_ELSE
        #: The second for which the last plan had each job, by handle.
        self._last: dict[int, int] = {}
        self._caps = caps_of(constraint)
        #: What the last decision was about, and the decision.
        self._decided: tuple[View, Decision] | None = None
        #: Jobs that filling left out for a limit: its name, the amount taken, and theirs, by row.
        self._left_out: dict[int, tuple[str, int, int]] = {}

    def reset(self, system: System, seed: int) -> None:
        """Clear all memory and prepare for a system, before a run starts."""
        super().reset(system, seed)
        self._last = {}
        for cap in self._caps:
            cap.check(system.resources, system.queues)

    def state(self) -> Mapping[str, Any]:
        """Return the history of runtimes and the last plan, for a checkpoint."""
        planned = np.array(list(self._last.items()), dtype=np.int64).reshape(-1, 2)
        return {**super().state(), "planned": planned}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        super().restore(state)
        self._last = dict(np.asarray(state["planned"]).tolist())

    def choose(self, view: View) -> Decision:
        """Return the jobs to start now and the planned starts of the others."""
        self._left_out = {}
        decision = super().choose(view)
        self._decided = view, decision
        return decision

    def wait_note(self, row: int) -> str:
        """
        Return the limit of :meth:`own_limits` that stops a job, with the amounts in use.

        For example ``rule 'core per user at most 64': 60 of 64 in use, it asks for 8``.

        Parameters
        ----------
        row
            Row of the job in the job store.
        """
        return self._limit_notes().get(row, "")

    def barring(self, view: View, row: int) -> IntArray:  # noqa: ARG002
        """Return the waiting jobs that no limit stops, as rows of the job store."""
        rows = view.waiting.rows
        return rows[~np.isin(rows, list(self._limit_notes()))]

    def _limit_notes(self) -> dict[int, str]:
        """Return the notes of the waiting jobs that limits stop, by row of the job store."""
        if self._decided is None:
            return {}
        view, decision = self._decided
        waiting, notes = view.waiting, dict[int, str]()
        handles = [action.handle for action in decision.actions if isinstance(action, Start)]
        starting = np.isin(waiting.handle, handles)
        for limit in self._limits(view, waiting):
            used = int(limit.allocated.sum() + limit.demand[starting].sum())
            stopped = ~starting & (limit.demand > max(limit.capacity - used, 0))
            for at in np.flatnonzero(stopped).tolist():
                asks = f"it asks for {int(limit.demand[at]):,}"
                note = f"{limit.name}: {used:,} of {limit.capacity:,} in use, {asks}"
                notes.setdefault(int(waiting.rows[at]), note)
        for row, (name, used, requested) in self._left_out.items():
            note = f"{name}: {used:,} in use or for jobs before it, it asks for {requested:,}"
            notes.setdefault(row, note)
        return notes

    def own_limits(self, view: View, jobs: JobTable) -> Sequence[Limit]:
        """
        Return the limits that waiting jobs must keep besides the resources of the system.

        By default they are the rules of the option ``constraint``. Override this method for other
        rules.

        Parameters
        ----------
        view
            State of the system.
        jobs
            The waiting jobs that the limits are for, n rows. Each ``Limit.demand`` has n values.
        """
        return [limit for cap in self._caps for limit in cap.limits(view, jobs, self.allocator)]

    def _limits(self, view: View, jobs: JobTable) -> Sequence[Limit]:
        """
        Return the limits of :meth:`own_limits`, each with a name and a number for each job.

        Raises
        ------
        DispatchError
            If an array has another length.
        ConfigError
            If a job alone exceeds a limit, so that it could never start.
        """
        limits = [
            limit if limit.name else limit._replace(name=f"limit {number} of {title(self)}")
            for number, limit in enumerate(self.own_limits(view, jobs), 1)
        ]
        for limit in limits:
            check = ("demand", "waiting", len(jobs)), ("allocated", "running", len(view.running))
            for name, of, number in check:
                shape = np.shape(getattr(limit, name))
                if shape != (number,):
                    raise DispatchError(
                        f"{type(self).__name__}.own_limits: {name} of a Limit has shape {shape}."
                        f" It needs {(number,)}, one number for each {of} job."
                    )
            limit.check(jobs)
        return limits

    def reservations(self, view: View, decision: Decision) -> Sequence[Reservation]:
        """Return the planned starts of waiting jobs. With filling, only EASY's reservation."""
        planned = super().reservations(view, decision)
        if self.fills:
            return [reservation for reservation in planned if reservation.nodes is not None]
        return [reservation for reservation in planned if reservation.start > view.now]

    def _fits_now(self, view: View, jobs: JobTable) -> BoolArray:
        fits = super()._fits_now(view, jobs)
        for limit in self._limits(view, jobs):
            fits &= limit.demand <= limit.free
        return fits

    def _may_start_together(self, view: View, jobs: JobTable) -> bool:
        return all(limit.demand.sum() <= limit.free for limit in self._limits(view, jobs))

    def problem(self, view: View, jobs: JobTable) -> PoolProblem:
        """
        Return the planning problem of some waiting jobs, with the system as one pool of resources.
        """
        objective = self.objective
        return pool_of(
            view,
            jobs,
            objective.divisors(jobs, view.now),
            objective.durations(jobs),
            self.allocator,
            self._limits(view, jobs),
        )

    def model(self, problem: PoolProblem) -> BuiltModel:
        """
        Return the CP-SAT model of a problem, which the solver minimizes.

        Each job i has a start ``s_i`` in ``[earliest, latest]``. For each resource type that can be
        exhausted, a cumulative constraint limits the total demand.
        """
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
        if self.fills:
            cpsat.add_ascending(model, start, problem.alike.tolist())
        value = problem.delay.add(model, start)
        cpsat.add_hints(model, start, problem.listed.starts.tolist())
        if self.limits.fixed_search:
            cpsat.decide_in_order(model, start)
        return BuiltModel(model=model, value=value, start=tuple(start), exact=exact)

    def answer(self, view: View, problem: PoolProblem) -> tuple[Candidate, dict[str, float]]:
        """
        Return the plan to follow and statistics of finding it.

        With filling, the order of the last plan is tried too. The thesis makes each plan anew.
        """
        if not self.fills:
            return super().answer(view, problem)
        begun = problem.improved(self._last)
        solution, numbers = super().answer(view, begun)
        starts = (view.now + solution.starts).tolist()
        self._last = dict(zip(problem.jobs.handle.tolist(), starts, strict=True))
        return solution, {**numbers, stats.LAST_ORDER_KEPT: int(begun is not problem)}

    def decision(
        self, view: View, problem: PoolProblem, solution: Candidate, numbers: dict[str, float]
    ) -> Decision:
        """
        Return the decision that places the jobs planned for now on nodes, and fills what is left.
        """
        planned, jobs = solution.starts, problem.jobs
        if self.fill == NOTHING_ELSE:
            rows = frozen(jobs.rows[planned == 0])
            decision = start_in_order(view, rows, self.allocator, stop=False)
        else:
            decision = self._filled(view, jobs, planned)
        started = [action.handle for action in decision.actions]
        waits = ~np.isin(jobs.handle, started)
        later = (view.now + planned[waits]).tolist()
        starts = dict(zip(jobs.handle[waits].tolist(), later, strict=True))
        head = decision.planned_starts
        if head is not None:
            starts.update(zip(head.handle, head.start, strict=True))
        return decision._replace(
            planned_starts=PlannedStarts(
                list(starts), list(starts.values()), {} if head is None else head.nodes
            ),
            stats={
                **numbers,
                stats.POSTPONED: int((waits & (planned == 0)).sum()),
                stats.FILLED: len(started) - int((~waits & (planned == 0)).sum()),
            },
        )

    def _filled(self, view: View, jobs: JobTable, planned: IntArray) -> Decision:
        """
        Start overdue jobs, those planned for now, and others by priority.

        Not by their planned starts: then the reservation is of the job that waits the shortest by
        the plan, and the urgent ones that are planned for later wait for longer still.
        """
        ranked = view.waiting.rows[self.priority.order(view.waiting, view.now)]
        late = self.priority.late(JobTable(view.waiting.store, ranked))
        after = np.where(late, 0, 1 + ~np.isin(ranked, jobs.rows[planned == 0]))
        rows = ranked[np.argsort(after, kind="stable")]
        rows = frozen(rows[self._within_limits(view, rows)])
        if self.fill == ANY:
            return start_in_order(view, rows, self.allocator, stop=False)
        result = easy_pass(self.reserving.view(view), rows, rows, self.allocator)
        return decision_of(view, result)

    def _within_limits(self, view: View, rows: IntArray) -> BoolArray:
        """Return which jobs keep to all limits of one's own if those before them start, too."""
        within = np.ones(len(rows), dtype=np.bool_)
        for limit in self._limits(view, JobTable(view.waiting.store, rows)):
            left = limit.free
            for at in np.flatnonzero(within):
                requested = int(limit.demand[at])
                if requested > left:
                    within[at] = False
                    self._left_out[int(rows[at])] = limit.name, limit.capacity - left, requested
                else:
                    left -= requested
        return within


class EasyPlan(CpPool):
    """
    EASY in WSEPT order that first starts the jobs of a list plan. Needs no solver.

    A list plan places jobs one after the other at their earliest possible starts. It reserves
    capacity for all jobs by the runtimes of similar ended jobs. EASY alone reserves only for the
    first job, for its requested time.

    Parameters
    ----------
    window, allocator, fill, estimate, constraint, overdue
        As for :class:`CpPool`.
    """

    name = "easy-plan"
    good_for = (
        "only requested times are known: short waits at two to three times the cost of easy-wsept"
    )
    goes_wrong_when = "runtimes are known (use lookahead), or the longest waits matter most"

    def __init__(
        self,
        window: int | None = WINDOW,
        allocator: str = "first-fit",
        fill: str = EASY,
        estimate: str = REQUESTED,
        constraint: str | None = None,
        overdue: float | None = OVERDUE,
    ) -> None:
        super().__init__(
            window=window,
            limit=None,
            allocator=allocator,
            fill=fill,
            estimate=estimate,
            constraint=constraint,
            overdue=overdue,
        )
