"""
``wla``: a window of jobs is packed into slots of neighbouring free nodes.

Yang, Zhou, Tang, Zheng, Wang and Lan 2014, "Balancing Job Performance with System Performance via
Locality-Aware Scheduling on Torus-Connected Systems". ``docs/papers/locality.md`` says what is done
where the paper leaves something open, such as what becomes of jobs that the window does not start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import stats
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.orders import make_priority
from cpsched.dispatch.passes import decision_of, easy_pass, frozen
from cpsched.dispatch.shadow import Shadow
from cpsched.errors import check_choice, check_least
from cpsched.model import columns as c
from cpsched.model.decision import Decision, Start
from cpsched.papers.wla.machine_slots import MachineSlots, problem_of
from cpsched.papers.wla.solvers import BRANCH_AND_BOUND, Solver
from cpsched.util.types import MAX_TIME

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.allocation import Allocation
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.papers.wla.machine_slots import Slots
    from cpsched.util.types import BoolArray, IntArray

#: What starts besides jobs of the window: what EASY lets start, or nothing.
EASY, NOTHING_ELSE = BACKFILLS = ("easy", "none")


class Wla(LearningDispatcher):
    """
    Window-based locality-aware scheduling: packs a window of jobs into contiguous node ranges.

    The window has the first jobs of the queue that fit into such a range (slot).

    Parameters
    ----------
    window
        Number of jobs that a decision considers.
    interval
        Seconds between decisions. ``none``: a decision at every event.
    solver
        ``branch-and-bound`` (exact, for windows of up to 10), ``greedy``, or ``cp-sat``.
    order
        Order of the queue.
    tight
        Whether the jobs of a slot go to the smallest slot that is large enough. The paper takes one
        of the largest if there are fewer jobs than slots.
    limit
        Deterministic time of ``cp-sat`` for a decision.
    allocator
        Places the jobs that are in no slot. By default ``contiguous``. With ``backfill=none`` it is
        ``first-fit``, and these are jobs that cannot have neighbouring nodes on this system.
    backfill
        ``easy``: the window only reorders the queue. Its first job that cannot start has a
        reservation, and backfilled jobs start on any nodes. ``none``: only jobs of the window
        start, without reservations, and jobs larger than every slot wait.
    """

    name = "wla"
    family = "neighbouring nodes, Yang et al. 2014"
    good_for = (
        "jobs that run faster on neighbouring nodes (backfill=none: all of them get such nodes)"
    )
    goes_wrong_when = "few jobs benefit, or with backfill=none wide jobs wait for a slot"

    def __init__(
        self,
        window: int = 5,
        interval: int | None = 30,
        solver: str = BRANCH_AND_BOUND,
        order: str = "fifo",
        tight: bool = False,
        limit: float = 0.01,
        allocator: str | None = None,
        backfill: str = EASY,
    ) -> None:
        check_least("interval", interval, 1, "none")
        check_choice("backfill", backfill, BACKFILLS)
        self.interval = interval
        self.solver = Solver(solver, window, limit)
        self._backfills = backfill == EASY
        self.selects_sets = not self._backfills
        if allocator is None:
            allocator = "contiguous" if self._backfills else "first-fit"
        super().__init__(make_priority(order), allocator=allocator)
        self._tight = tight
        self._shadow = Shadow()

    def reset(self, system: System, seed: int) -> None:
        """Clear all memory and prepare for a system, before a run starts."""
        super().reset(system, seed)
        self._machine = MachineSlots(system)

    def choose(self, view: View) -> Decision:
        """Return the starts of the jobs that fit into the slots, and of backfilled jobs."""
        self._machine.update(view, np.unique(view.waiting.eligible_class))
        return self._backfilled(view) if self._backfills else self._window_alone(view)

    def considered(self, view: View) -> IntArray | None:
        """
        Return the jobs of the window, as rows of the job store. None if other jobs may start too.
        """
        if self._backfills:
            return None
        self._machine.update(view, np.unique(view.waiting.eligible_class))
        return self._window(view)

    def not_considered(self, view: View, decision: Decision, row: int) -> str:  # noqa: ARG002
        """Return the reason that a job is outside the window."""
        considered = self.considered(view)
        if considered is None or row in considered:
            return ""
        return (
            f"only the first {self.solver.window:,} jobs that fit a slot of neighbouring nodes are"
            f" considered (window={self.solver.window})"
        )

    def _window_alone(self, view: View) -> Decision:
        """Start jobs of the window."""
        window = self._window(view)
        if not len(window):
            return Decision(stats={stats.SKIPPED_NONE_FIT: 1})
        starting = _Starting(view, self.allocator)
        nowhere = self._has_no_slot(view, window)
        for row in window[nowhere].tolist():
            starting.start(row, ~starting.taken)
        window, slots = window[~nowhere], self._machine.available(starting.taken)
        numbers = self._pack(window, self._weight(view, window, slots), slots, starting)
        again = None
        if 0 < len(starting.allocations) < len(view.waiting):
            # The window has moved on.
            again = view.now + (self.interval or 1)
        return Decision(starting.starts(), again_at=again, stats=numbers)

    def _backfilled(self, view: View) -> Decision:
        """Start jobs of the window, then go over the rest of the queue as EASY does."""
        queue = self.queues[0].rows(view)
        starting, numbers = self._reordered(view, queue)
        rest = self._shadow.started(view, starting.allocations)
        rows = frozen(queue[~np.isin(queue, list(starting.allocations))])
        filled = decision_of(rest, easy_pass(rest, rows, rows, self.allocator))
        return filled._replace(
            actions=[*starting.starts(), *filled.actions],
            stats={**numbers, stats.FILLED: len(filled.actions)},
        )

    def _reordered(self, view: View, queue: IntArray) -> tuple[_Starting, dict[str, float]]:
        """
        Return the jobs that start before EASY's pass, and statistics.

        The queue's first job starts if it can, and the window leaves it what is reserved for it if
        not: so it never starts later than it was once planned to.
        """
        # With nobody behind it.
        alone = decision_of(view, easy_pass(view, queue, queue[:0], self.allocator))
        if alone.actions:
            first = alone.actions[0]
            assert isinstance(first, Start)
            return self._with_first(view, queue, first)
        reserved = np.full(len(view.free), MAX_TIME)
        if alone.planned_starts is not None:
            (nodes,) = alone.planned_starts.nodes.values()
            reserved[nodes] = alone.planned_starts.start[0]
        starting = _Starting(view, self.allocator)
        return starting, self._pack_first(view, queue, starting, reserved)

    def _with_first(
        self, view: View, queue: IntArray, first: Start
    ) -> tuple[_Starting, dict[str, float]]:
        """Return the same if the first job can start, alone on the nodes of ``first``."""
        is_first = view.waiting.store.columns[queue, c.HANDLE] == first.handle
        row = int(queue[is_first][0])
        starting = _Starting(view, self.allocator)
        numbers = self._pack_first(view, queue, starting)
        if row not in starting.allocations:
            # No slot holds it, or others fill them better: the window is packed around it.
            starting = _Starting(view, self.allocator)
            starting.add(row, first.allocation)
            numbers = self._pack_first(view, queue[~is_first], starting)
        return starting, numbers

    def _pack_first(
        self, view: View, queue: IntArray, starting: _Starting, reserved: IntArray | None = None
    ) -> dict[str, float]:
        """Pack the first jobs of a queue that fit a slot; return statistics."""
        slots = self._machine.available(starting.taken, reserved)
        weight = self._weight(view, queue, slots)
        window = np.flatnonzero(_fits(weight, slots))[: self.solver.window]
        return self._pack(queue[window], weight[window], slots, starting)

    def _window(self, view: View) -> IntArray:
        """Return the first jobs that some slot can hold, or no slot ever can."""
        rows = self.queues[0].rows(view)
        slots = self._machine.available()
        fits = _fits(self._weight(view, rows, slots), slots)
        return frozen(rows[fits | self._has_no_slot(view, rows)][: self.solver.window])

    def _has_no_slot(self, view: View, rows: IntArray) -> BoolArray:
        """Return which jobs no slot can hold even if all of the machine is free."""
        nowhere: BoolArray = (self._machine.sizes(view, rows, self.allocator) == 0).all(axis=1)
        return nowhere

    def _weight(self, view: View, rows: IntArray, slots: Slots) -> IntArray:
        """Return the nodes jobs need in each slot, 0 in one they may not use or not so long."""
        runtime = view.waiting.store.columns[rows, c.RUNTIME_ESTIMATE]
        ends = view.now + np.maximum(runtime, 1)
        in_time = (ends[:, None] <= slots.until) | (slots.until == MAX_TIME)
        weight: IntArray = self._machine.sizes(view, rows, self.allocator)[:, slots.sort] * in_time
        return weight

    def _pack(
        self, window: IntArray, weight: IntArray, slots: Slots, starting: _Starting
    ) -> dict[str, float]:
        """Start those jobs of a window that the solver puts into slots; return statistics."""
        window_problem = problem_of(slots, weight)
        if not window_problem.jobs:
            return {}
        answer, numbers = self.solver.solve(window_problem.problem)
        for job, first, size in window_problem.places(answer, tight=self._tight):
            nodes = np.zeros(len(starting.taken), dtype=np.bool_)
            nodes[first : first + size] = True
            started = starting.start(int(window[job]), nodes)
            assert started
        return numbers


def _fits(weight: IntArray, slots: Slots) -> BoolArray:
    """Return which jobs some slot can hold, given the nodes they need in each."""
    fits: BoolArray = np.any((weight > 0) & (weight <= slots.end - slots.first), axis=1)
    return fits


class _Starting:
    """What a decision starts, by row of the store, and the nodes of it, shape ``(N,)``."""

    def __init__(self, view: View, allocator: Allocator) -> None:
        self.view = view
        self.allocations: dict[int, Allocation] = {}
        self.taken: BoolArray = np.zeros(len(view.free), dtype=np.bool_)
        self._allocator = allocator

    def start(self, row: int, nodes: BoolArray) -> bool:
        """Start a job on some nodes, if the allocator finds room there; return whether."""
        free = np.where(nodes[:, None], self.view.free, 0)
        allocation = self._allocator.place(self.view, row, free)
        if allocation is not None:
            self.add(row, allocation)
        return allocation is not None

    def add(self, row: int, allocation: Allocation) -> None:
        """Start a job."""
        self.allocations[row] = allocation
        self.taken[allocation.node] = True

    def starts(self) -> list[Start]:
        """Return the starts, in order."""
        handles = self.view.waiting.store.columns[list(self.allocations), c.HANDLE]
        return [
            Start(handle, allocation)
            for handle, allocation in zip(handles.tolist(), self.allocations.values(), strict=True)
        ]
