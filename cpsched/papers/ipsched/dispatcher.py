"""
IPSCHED: a window of jobs is matched to nodes at once (Soner and Ozturan 2012; thesis, chapter 3).

Every few seconds the first jobs in order of priority enter an integer program that chooses which
of them start, and on how many nodes of which kind. ``docs/papers/co-allocation.md`` describes the
choices where the papers contain errors or leave something open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import stats
from cpsched.dispatch.passes import decision_of, fits_now, frozen, list_pass
from cpsched.errors import check_choice
from cpsched.model import columns as c
from cpsched.model.decision import NOTHING, Decision, Start
from cpsched.model.jobtable import JobTable
from cpsched.papers.ipsched.layout import JobLayout, layout_of
from cpsched.papers.ipsched.match import Matcher, density_order
from cpsched.papers.ipsched.problem import CoAllocationProblem
from cpsched.papers.window import WindowDispatcher

if TYPE_CHECKING:
    from cpsched.model.view import View
    from cpsched.util.types import IntArray

#: Value of a job in 3.1: ``P_j`` or ``P_j R_j``.
OBJECTIVES = ("priority", "priority-cores")


@dataclass(kw_only=True, eq=False)
class Ipsched(WindowDispatcher):
    """
    Integer programming over the first jobs of the queue: selects jobs to start on few nodes.

    Parameters
    ----------
    order, window, interval, limit
        As for :class:`~cpsched.papers.window.WindowDispatcher`.
    objective
        ``priority``: ``sum P_j (s_j - c_j)``. ``priority-cores``: ``sum P_j R_j (s_j - c_j)``. The
        sum is over jobs j with priority ``P_j`` and ``R_j`` cores. ``s_j`` is 1 for a selected job,
        and ``c_j`` grows with the number of its nodes.
    """

    name = "ipsched"
    family = "co-allocation, Soner and Ozturan 2012"
    good_for = "CPU jobs and GPU jobs side by side, as in the paper"
    goes_wrong_when = (
        "slowdowns matter (it ranks by the wait alone, without preference for short jobs)"
    )
    allocates = "best-fit"

    objective: str = "priority"

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice("objective", self.objective, OBJECTIVES)
        super().__post_init__()
        self.limits = replace(self.limits, presolve=False, relax=True)

    def choose(self, view: View) -> Decision:
        """
        Return the starts of the selected jobs. None start if the limit passes before the proof.
        """
        if not len(view.waiting):
            return NOTHING
        problem = self._problem(view)
        if problem is None:
            return self.met(view, (), {stats.SKIPPED_NONE_FIT: 1}, more=False)
        matcher = Matcher(problem, view.free, view.system.capacity, self.limits)
        # Lists by priority, and by value for size.
        orders = (np.arange(len(problem)), density_order(problem))
        layout, numbers = matcher.match(
            partial(self._listed, view, problem, order) for order in orders
        )
        if layout is None:
            return self.missed(view, len(view.waiting), numbers)
        rows = problem.rows.tolist()
        handle = view.waiting.store.columns[:, c.HANDLE]
        starts = [
            Start(int(handle[rows[job]]), self.allocator.allocation(view, rows[job], takes))
            for job, takes in sorted(layout.takes.items())
        ]
        beyond = bool(starts) and len(view.waiting) > self.size
        return self.met(view, starts, numbers, more=beyond)

    def _problem(self, view: View) -> CoAllocationProblem | None:
        """Return the problem of the jobs in the window that may start; None if none can."""
        rows, weight = self.in_window(view)
        if self.objective == "priority-cores":
            weight = weight * np.maximum(JobTable(view.waiting.store, rows).cores, 1)
        fits = fits_now(view, rows, self.allocator)
        if not fits.any():
            return None
        problem = CoAllocationProblem.of(
            view, frozen(rows[fits]), weight[fits].tolist()
        ).without_dominated()
        return problem if len(problem) else None

    def _listed(self, view: View, problem: CoAllocationProblem, order: IntArray) -> JobLayout:
        """Start whatever fits, in an order."""
        rows = frozen(problem.rows[order])
        decision = decision_of(view, list_pass(view, rows, self.allocator, stop=False))
        position = {handle: job for job, handle in enumerate(problem.handle.tolist())}
        takes = {}
        for action in decision.actions:
            assert isinstance(action, Start)
            on = np.zeros(problem.num_nodes, dtype=np.int64)
            on[action.allocation.node] = action.allocation.units
            takes[position[action.handle]] = on
        return layout_of(problem, takes)
