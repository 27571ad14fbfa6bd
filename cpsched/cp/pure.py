"""
CP, pure constraint programming: when and where at once (Remediani 2017, section 4.3).

Exact over its window: every unit of a planned job has its node at every second of the plan
(:mod:`cpsched.cp.placement`), on as few places as that allows (:mod:`cpsched.cp.places`). A
cumulative per kind on the machine as one pool is implied, and added because it prunes well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched import cpsat
from cpsched.cp import stats
from cpsched.cp.bounds import Bounds, add_starts, bounds
from cpsched.cp.dispatcher import PlanningDispatcher, window_of
from cpsched.cp.nodes import NodePlan, Timeline
from cpsched.cp.placement import Placement
from cpsched.cp.places import Place, Requests, places_of, requests_of, units_in_pool
from cpsched.cp.pool import add_pool
from cpsched.cp.solve import BuiltModel, Candidate, add_objective, answer
from cpsched.dispatch.pooled import pooled_demand
from cpsched.model.decision import Decision, Plan, Start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.cp.objective import Objective
    from cpsched.model.jobtable import JobTable
    from cpsched.model.types import IntArray
    from cpsched.model.view import View

WINDOW = 20
LIMIT = 0.0005
#: Counts a model may have; a window whose jobs have more places to choose from is shortened.
MOST_COUNTS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeProblem:
    """
    The waiting jobs of a decision on the machine's nodes; n jobs, N nodes.

    Attributes
    ----------
    jobs
        In order of priority.
    duration
        Predicted seconds, at least 1, shape ``(n,)``.
    requests
        What they ask for.
    timeline
        What the running jobs leave.
    near
        What of it matters to the model.
    listed
        The list plan.
    bounds
        Of the starts.
    """

    jobs: JobTable
    duration: IntArray
    requests: Requests
    timeline: Timeline
    near: Timeline
    listed: NodePlan
    bounds: Bounds

    def list_plan_by_start(self, starts: Sequence[int]) -> Candidate:
        """Return the list plan in the order of some starts."""
        order = np.argsort(starts, kind="stable")
        again = self.timeline.listed(self.jobs.rows, self.duration, order)
        return Candidate(tuple(again.start.tolist()), again.takes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PureModel(BuiltModel):
    """A model whose ``other`` variables are the units of a job at a place, by ``keys``."""

    places: list[Place]
    keys: tuple[tuple[int, int], ...]


class Cp(PlanningDispatcher):
    """
    Pure constraint programming: plan starts and nodes together.

    Parameters
    ----------
    search
        ``default``: the solver's own search; ``expected-wait`` or ``slowdown``: branch on jobs in
        that order. The list plan is made in the same order, with ``default`` in that of the
        objective's priority.
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
        Name of the allocator: for the list plan.
    """

    name = "cp"

    def __init__(
        self,
        search: str = "default",
        objective: str | Objective = "expected-wait",
        window: int | None = WINDOW,
        limit: float = LIMIT,
        wall: float | None = None,
        presolve: bool = False,
        allocator: str = "first-fit",
    ) -> None:
        super().__init__(search, objective, window, limit, wall, presolve, allocator)

    def build(self, view: View) -> PureModel | None:
        """Return the model of a decision; None if no job of the window can ever start."""
        problem = self._problem(view, self._in_window(view))
        return self._model(view, *self._sized(view, problem)) if len(problem.jobs) else None

    def _sized(self, view: View, problem: NodeProblem) -> tuple[NodeProblem, list[Place]]:
        """Return the problem and its places, of half of the jobs as long as these are too many."""
        places = places_of(problem.near, problem.requests, problem.listed)
        half = len(problem.jobs) // 2
        if half and sum(len(place.jobs) for place in places) > MOST_COUNTS:
            # Of an odd number the larger part is for jobs that may fit now: one job alone does.
            kept = window_of(self._fits_now(view, problem.jobs), half, first=half // 2)
            return self._sized(view, self._problem(view, problem.jobs.take(kept)))
        return problem, places

    def _problem(self, view: View, jobs: JobTable) -> NodeProblem:
        timeline = Timeline.of(view, self.allocator)
        duration = np.maximum(jobs.plan, 1)
        earliest = timeline.alone(jobs.rows, duration)
        # With nodes down, a job may fit at no time that can be foreseen.
        able = earliest >= 0
        if not able.all():
            jobs, duration, earliest = jobs.take(able), duration[able], earliest[able]
        order = np.arange(len(jobs), dtype=np.int64)
        listed = timeline.listed(jobs.rows, duration, order)
        limits = bounds(
            self.objective.divisors(jobs),
            duration,
            earliest,
            listed.start,
            int(timeline.times[-1]),
        )
        near = timeline.until(limits.last)
        return NodeProblem(
            jobs=jobs,
            duration=duration,
            requests=requests_of(near, jobs, np.array(limits.latest, dtype=np.int64)),
            timeline=timeline,
            near=near,
            listed=listed,
            bounds=limits,
        )

    def _planned(self, view: View, jobs: JobTable) -> Decision:
        problem = self._problem(view, jobs)
        window = len(problem.jobs)
        places: list[Place] = []
        if problem.bounds.slack:
            problem, places = self._sized(view, problem)
        shortened = {stats.WINDOW_SHORTENED: 1} if len(problem.jobs) < window else {}
        listed = Candidate(problem.bounds.listed, problem.listed.takes)
        if not problem.bounds.slack:
            return self._decision(view, problem, listed, {stats.SKIPPED_BOUND: 1, **shortened})
        built = self._model(view, problem, places)
        found, numbers = answer(
            built,
            problem.bounds,
            self.limits,
            listed,
            read=lambda starts, units: _read(problem, built, starts, units),
            tighten=problem.list_plan_by_start,
        )
        return self._decision(view, problem, found, {**numbers, **shortened})

    def _model(self, view: View, problem: NodeProblem, places: list[Place]) -> PureModel:
        """Build the exact model."""
        limits, duration = problem.bounds, problem.duration.tolist()
        model = cpsat.new_model(self.name)
        start = add_starts(model, limits, problem.jobs.handle)
        placement = Placement(
            model, problem.requests, places, start, duration, problem.jobs.handle.tolist()
        )
        horizon = limits.end(duration)
        exact = placement.add(self.allocator.capacity, horizon)
        # Implied, but seen at once.
        exact &= add_pool(
            model,
            start,
            duration,
            pooled_demand(view, problem.jobs, self.allocator),
            problem.near.times,
            problem.near.levels.sum(axis=1),
            horizon,
        )
        add_objective(model, start, limits)
        hints = placement.hints(problem.listed.takes)
        cpsat.add_hints(
            model,
            [*start, *(variable for variable, _ in hints)],
            [*limits.listed, *(value for _, value in hints)],
        )
        if self.limits.fixed_search:
            _guide(model, start, placement)
        return PureModel(
            model=model,
            start=tuple(start),
            other=tuple(placement.count.values()),
            places=places,
            keys=tuple(placement.count),
            exact=exact,
        )

    def _decision(
        self, view: View, problem: NodeProblem, found: Candidate, numbers: dict[str, float]
    ) -> Decision:
        starts = np.asarray(found.starts, dtype=np.int64)
        jobs, takes = problem.jobs, found.takes
        if takes is None:
            raise AssertionError("a pure plan knows its nodes")
        handles = jobs.handle
        actions = [
            Start(
                int(handles[job]),
                self.allocator.allocation(view, int(jobs.rows[job]), takes[job]),
            )
            for job in np.flatnonzero(starts == 0).tolist()
        ]
        later = np.flatnonzero(starts)
        nodes = {int(handles[job]): np.flatnonzero(takes[job]) for job in later.tolist()}
        plan = Plan(
            handles[later].tolist(),
            (view.now + starts[later]).tolist(),
            nodes,
            {int(handles[job]): takes[job, nodes[int(handles[job])]] for job in later.tolist()},
        )
        return Decision(actions, plan, stats=numbers)


def _guide(model: cpsat.CpModel, start: Sequence[cpsat.IntVar], placement: Placement) -> None:
    """Branch on jobs in order: the earliest start, then as much as goes on the first places."""
    of_job: list[list[cpsat.IntVar]] = [[] for _ in start]
    for (job, _), count in placement.count.items():
        of_job[job].append(count)
    for variable, counts in zip(start, of_job, strict=True):
        cpsat.decide_in_order(model, [variable])
        cpsat.decide_in_order(model, counts, largest=True)


def _read(
    problem: NodeProblem, built: PureModel, starts: Sequence[int], units: Sequence[int]
) -> Candidate:
    """Return a solution with the nodes of every job."""
    takes = np.zeros_like(problem.listed.takes)
    pooled: dict[int, dict[int, int]] = {}
    for (job, position), count in zip(built.keys, units, strict=True):
        if not count:
            continue
        place = built.places[position]
        if place.pool:
            pooled.setdefault(position, {})[job] = count
        else:
            takes[job, place.nodes[0]] = count
    for position, counts in pooled.items():
        placed = units_in_pool(
            problem.requests,
            built.places[position],
            counts,
            starts,
            problem.duration,
            problem.timeline,
        )
        for job, node, count in placed:
            takes[job, node] += count
    return Candidate(tuple(starts), takes)
