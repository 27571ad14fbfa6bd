"""
CP, pure constraint programming: when and where at once (Remediani 2017, section 4.3).

Exact over its window: every unit of a planned job has its node at every second of the plan
(:mod:`cpsched.cp.placement`), on as few targets as that allows (:mod:`cpsched.cp.targets`). A
cumulative per kind on the machine as one pool is implied, and added because it prunes well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.cp import cpsat, stats
from cpsched.cp.dispatcher import PlanningDispatcher, window_of
from cpsched.cp.nodes import Timeline
from cpsched.cp.objective import add_starts, bounds, delay
from cpsched.cp.placement import Placement
from cpsched.cp.pool import add_pool
from cpsched.cp.solve import BuiltModel, Candidate, DecisionProblem
from cpsched.cp.targets import PlacementTarget, Requests, requests_of, targets_of, units_in_pool
from cpsched.dispatch.pooled import pooled_demand
from cpsched.model.decision import Decision, PlannedStarts, Start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View
    from cpsched.util.types import IntArray

#: Counts a model may have; a window whose jobs have more targets to choose from is shortened.
MAX_COUNTS = 20_000


class Near(NamedTuple):
    """
    What of a problem is in its model.

    Attributes
    ----------
    timeline
        What the running jobs leave until the last start.
    requests
        What the jobs ask for.
    targets
        Where units go.
    """

    timeline: Timeline
    requests: Requests
    targets: list[PlacementTarget]


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeProblem(DecisionProblem):
    """The waiting jobs of a decision on the machine's nodes; n jobs, N nodes."""

    timeline: Timeline
    shortened: bool

    def list_plan(self, order: IntArray) -> Candidate:
        """Return the list plan in an order."""
        return self.timeline.listed(self.jobs.rows, self.duration, order)

    @cached_property
    def near(self) -> Near:
        """What matters to plans within the built-in objective's bounds of the starts."""
        limits = self.delay.bounds
        timeline = self.timeline.until(limits.last)
        requests = requests_of(timeline, self.jobs, np.array(limits.latest, dtype=np.int64))
        return Near(timeline, requests, targets_of(timeline, requests, self.listed.takes))


class CpNodes(PlanningDispatcher[NodeProblem]):
    """
    Constraint programming that plans starts and nodes together.

    Parameters
    ----------
    search, objective, window, limit, allocator
        As for :class:`~cpsched.cp.dispatcher.PlanningDispatcher`. The allocator places the jobs of
        the list plan.
    """

    name = "cp-nodes"
    family = "constraint programming, after Remediani 2017"
    keeps_places = False
    good_for = "the thesis's models on nodes, and low slowdowns with known runtimes (cp-1 to cp-3)"
    goes_wrong_when = "many nodes or waiting jobs: decisions are slow, and plans have 20 jobs"

    def problem(self, view: View, jobs: JobTable, *, shortened: bool = False) -> NodeProblem:
        """Return the planning problem of some waiting jobs on the nodes of the system."""
        timeline = Timeline.of(view, self.allocator)
        duration = self.objective.durations(jobs)
        earliest = timeline.alone(jobs.rows, duration)
        # With nodes down, a job may fit at no time that can be foreseen.
        possible = earliest >= 0
        if not possible.all():
            jobs, duration, earliest = jobs.take(possible), duration[possible], earliest[possible]
        listed = timeline.listed(jobs.rows, duration, np.arange(len(jobs)))
        limits = bounds(duration, earliest, int(timeline.times[-1]))
        return NodeProblem(
            jobs=jobs,
            duration=duration,
            timeline=timeline,
            listed=listed,
            bounds=limits,
            delay=delay(self.objective.divisors(jobs, view.now), duration, limits, listed.starts),
            shortened=shortened,
        )

    def sized(self, problem: NodeProblem) -> NodeProblem:
        """Return the problem with half of its jobs, repeatedly, until its model is small enough."""
        half = len(problem.jobs) // 2
        if half and sum(len(target.jobs) for target in problem.near.targets) > MAX_COUNTS:
            # Of an odd number the larger part is for jobs that may fit now: one job alone does.
            view = problem.timeline.view
            chosen = window_of(self._fits_now(view, problem.jobs), half, first=half // 2)
            return self.sized(self.problem(view, problem.jobs.take(chosen), shortened=True))
        return problem

    def model(self, problem: NodeProblem) -> BuiltModel:
        """
        Return the CP-SAT model of a problem, with the start of each job and its tasks on nodes.

        Equal nodes may be one target of the model. ``other`` of the result has the number of tasks
        of each job on each target.
        """
        limits, duration = problem.delay.bounds, problem.duration.tolist()
        near = problem.near
        model = cpsat.new_model(self.name)
        start = add_starts(model, limits, problem.jobs.handle)
        placement = Placement(
            model, near.requests, near.targets, start, duration, problem.jobs.handle.tolist()
        )
        horizon = limits.end(duration)
        exact = placement.add(self.allocator.capacity, horizon)
        # Implied, but seen at once.
        exact &= add_pool(
            model,
            start,
            duration,
            pooled_demand(problem.timeline.view, problem.jobs, self.allocator),
            near.timeline.times,
            near.timeline.levels.sum(axis=1),
            horizon,
        )
        value = problem.delay.add(model, start)
        hints = placement.hints(problem.listed.takes)
        cpsat.add_hints(
            model,
            [*start, *(variable for variable, _ in hints)],
            [*problem.listed.starts.tolist(), *(value for _, value in hints)],
        )
        if self.limits.fixed_search:
            _guide(model, start, placement)
        return BuiltModel(
            model=model,
            value=value,
            start=tuple(start),
            other=tuple(placement.count.values()),
            read=partial(_read, problem, near, tuple(placement.count)),
            exact=exact,
        )

    def decision(
        self, view: View, problem: NodeProblem, solution: Candidate, numbers: dict[str, float]
    ) -> Decision:
        """Return the starts of the jobs planned for now, on the nodes of the plan."""
        starts, takes, jobs = solution.starts, solution.takes, problem.jobs
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
        plan = PlannedStarts(
            handles[later].tolist(),
            (view.now + starts[later]).tolist(),
            nodes,
            {int(handles[job]): takes[job, nodes[int(handles[job])]] for job in later.tolist()},
        )
        shortened = {stats.WINDOW_SHORTENED: 1} if problem.shortened else {}
        return Decision(actions, plan, stats={**numbers, **shortened})


def _guide(model: cpsat.CpModel, start: Sequence[cpsat.IntVar], placement: Placement) -> None:
    """
    Branch on jobs in order: the earliest start, then as many units as fit on the first targets.
    """
    of_job: list[list[cpsat.IntVar]] = [[] for _ in start]
    for (job, _), count in placement.count.items():
        of_job[job].append(count)
    for variable, counts in zip(start, of_job, strict=True):
        cpsat.decide_in_order(model, [variable])
        cpsat.decide_in_order(model, counts, largest=True)


def _read(
    problem: NodeProblem,
    near: Near,
    keys: Sequence[tuple[int, int]],
    starts: IntArray,
    units: Sequence[int],
) -> Candidate:
    """Return a solution with the nodes of every job; ``units`` are by job and target."""
    takes = np.zeros_like(problem.listed.takes)
    pooled: dict[int, dict[int, int]] = {}
    for (job, position), count in zip(keys, units, strict=True):
        target = near.targets[position]
        if count and target.pool:
            pooled.setdefault(position, {})[job] = count
        elif count:
            takes[job, target.nodes[0]] = count
    for position, counts in pooled.items():
        placed = units_in_pool(
            near.requests,
            near.targets[position],
            counts,
            starts.tolist(),
            problem.duration,
            problem.timeline,
        )
        for job, node, count in placed:
            takes[job, node] += count
    return Candidate(starts, takes)
