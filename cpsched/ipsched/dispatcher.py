"""
IPSCHED: a window of jobs is matched to nodes at once (Soner and Ozturan 2012; thesis, chapter 3).

Every few seconds the first jobs in order of priority enter an integer program that chooses who
starts, and on how many nodes of which kind. What the papers print wrongly or leave open is settled
in ``docs/ipsched.md``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched import cpsat
from cpsched.cp import stats
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher, WaitReason
from cpsched.dispatch.passes import decision_of, fits_now, frozen, list_pass
from cpsched.dispatch.window import (
    SCALES,
    SIZE,
    Window,
    priority_values,
    program_priorities,
    window_rows,
)
from cpsched.errors import ConfigError
from cpsched.ipsched.layout import Layout, layout_of
from cpsched.ipsched.match import Matcher, density_order
from cpsched.ipsched.problem import Problem
from cpsched.ipsched.program import build
from cpsched.model import columns as c
from cpsched.model.decision import NOTHING, Decision, Start
from cpsched.model.jobtable import JobTable
from cpsched.priority import make_priority

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.ipsched.program import Program
    from cpsched.model.system import System
    from cpsched.model.types import FloatArray, IntArray
    from cpsched.model.view import View

#: Of 3.1: what a job is worth, ``P_j`` or ``P_j R_j``.
OBJECTIVES = ("priority", "priority-cores")
#: Of 3.6: for jobs that are selected, or as it is printed.
NODE_BOUNDS = ("selected", "printed")
#: One to three seconds on one core.
LIMIT = 0.8


class Ipsched(Dispatcher):
    """
    Integer programming: who of a window starts, and on how few nodes.

    Parameters
    ----------
    objective
        ``priority``: ``sum P_j (s_j - c_j)``; ``priority-cores``: ``sum P_j R_j (s_j - c_j)``.
    priority
        ``basic`` (first come, first served), ``multifactor``, or any other priority.
    scale
        How priorities become whole numbers: ``ranks`` plus an offset, ``points`` as they are, or
        ``auto``: points for multifactor, ranks for the rest.
    window
        How many jobs, first by priority, enter the program; halved after a missed limit.
    interval
        Seconds between decisions; ``none``: a decision at every event.
    limit
        Deterministic time a decision's solves may take together.
    wall
        Seconds of wall time as a net behind it; a solve that meets it may not be repeatable.
    node_bounds
        ``selected``: 3.6 with both bounds multiplied by ``s_j``; ``printed``: as it stands, which
        no solution satisfies unless every job of the window starts.
    """

    name = "ipsched"
    selects_sets = True

    def __init__(
        self,
        objective: str = "priority",
        priority: str = "basic",
        scale: str = "auto",
        window: int = SIZE,
        interval: int | None = 3,
        limit: float = LIMIT,
        wall: float | None = None,
        node_bounds: str = "selected",
    ) -> None:
        for name, value, known in (
            ("objective", objective, OBJECTIVES),
            ("scale", scale, SCALES),
            ("node_bounds", node_bounds, NODE_BOUNDS),
        ):
            if value not in known:
                raise ConfigError(f"{name} is '{value}', must be one of {', '.join(known)}")
        if interval is not None and interval < 1:
            raise ConfigError(f"interval is {interval}, must be 1 or more, or 'none'")
        self.by_cores = objective == "priority-cores"
        self.priority = make_priority(priority)
        self.scale = scale
        self.window = Window(window)
        self.interval = interval
        self.limits = cpsat.Limits(deterministic=limit, wall=wall, presolve=False, relax=True)
        self.printed = node_bounds == "printed"
        self.allocator = make_allocator("best-fit")

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        self.priority.reset(system)
        self.allocator.reset(system)
        self.window.met()
        self.limits = replace(self.limits, seed=seed)

    def state(self) -> Mapping[str, Any]:
        """Return the window."""
        return self.window.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a window."""
        self.window.restore(state)

    def decide(self, view: View) -> Decision:
        """Match the window to the nodes; nothing starts where the limit passes before the proof."""
        if not len(view.waiting):
            return NOTHING
        problem = self._problem(view)
        if problem is None:
            return self._met(view, (), {stats.SKIPPED_NONE_FIT: 1})
        layout, numbers = Matcher(
            problem, view.free, view.system.capacity, self.limits, all_selected=self.printed
        ).match(partial(self._listed, view, problem, order) for order in _orders(problem))
        if layout is None:
            self.window.missed(len(view.waiting))
            return Decision(again_at=self._next(view), stats={**numbers, stats.WINDOW_HALVED: 1})
        rows = problem.rows.tolist()
        handle = view.waiting.store.columns[:, c.HANDLE]
        starts = [
            Start(int(handle[rows[job]]), self.allocator.allocation(view, rows[job], takes))
            for job, takes in sorted(layout.takes.items())
        ]
        return self._met(view, starts, numbers)

    def considered(self, view: View) -> IntArray:
        """Return the window, as rows of the job store."""
        return self._window(view)[0]

    def ranking(self, view: View) -> IntArray:
        """Return the queue by priority."""
        return self.priority.rows(view)

    def wait_reason(
        self,
        view: View,  # noqa: ARG002
        decision: Decision,
        row: int,  # noqa: ARG002
        derived: WaitReason,
    ) -> WaitReason:
        """Say that nothing starts where the limit passed before there was an answer."""
        missed = decision.stats.get(stats.WINDOW_HALVED)
        return WaitReason.UNDECIDED if missed else derived

    def build(self, view: View) -> Program | None:
        """
        Return the program of a decision, for a look at it; None if no job of the window can start.

        It is built whether or not :meth:`decide` would need it, and as that begins with it: on
        classes of equal nodes, and without what is put in about jobs that did not fit.
        """
        problem = self._problem(view) if len(view.waiting) else None
        return None if problem is None else build(problem, all_selected=self.printed)

    def _window(self, view: View) -> tuple[IntArray, FloatArray]:
        """Return the jobs of the window, as rows of the job store, and what all that wait have."""
        values = priority_values(self.priority, view.waiting, view.now)
        return window_rows(view.waiting, values, self.window.size), values

    def _problem(self, view: View) -> Problem | None:
        """Return the problem of the jobs in the window that may start; None if none can."""
        rows, values = self._window(view)
        weight = program_priorities(self.priority, -np.sort(-values)[: len(rows)], self.scale)
        if self.by_cores:
            weight = weight * np.maximum(JobTable(view.waiting.store, rows).cores, 1)
        fits = fits_now(view, rows, self.allocator)
        if not fits.any():
            return None
        problem = Problem.of(view, frozen(rows[fits]), weight[fits].tolist())
        problem = problem.without_the_hopeless()
        if not len(problem) or (self.printed and len(problem) < len(rows)):
            return None
        return problem

    def _listed(self, view: View, problem: Problem, order: IntArray) -> Layout:
        """Start in an order whatever fits."""
        rows = frozen(problem.rows[order])
        decision = decision_of(view, list_pass(view, rows, self.allocator, stop=False))
        at = {
            int(handle): job
            for job, handle in enumerate(JobTable(view.waiting.store, problem.rows).handle)
        }
        takes = {}
        for action in decision.actions:
            assert isinstance(action, Start)
            on = np.zeros(problem.num_nodes, dtype=np.int64)
            on[action.allocation.node] = action.allocation.units
            takes[at[action.handle]] = on
        return layout_of(problem, takes)

    def _met(self, view: View, starts: Sequence[Start], numbers: Mapping[str, float]) -> Decision:
        """
        Return a decision that met the limit: from the next one on the window is whole again.

        Where it was not, or somebody of it started and others have not been looked at, that is
        after the interval, whether or not anything happens until then.
        """
        beyond = bool(starts) and len(view.waiting) > self.window.size
        again_at = self._next(view) if beyond or not self.window.is_full else None
        self.window.met()
        return Decision(starts, again_at=again_at, stats=numbers)

    def _next(self, view: View) -> int:
        return view.now + (self.interval or 1)


def _orders(problem: Problem) -> tuple[IntArray, ...]:
    """Return the orders of the list plans to begin with: by priority, and by worth for size."""
    return np.arange(len(problem), dtype=np.int64), density_order(problem)
