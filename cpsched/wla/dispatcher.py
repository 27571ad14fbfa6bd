"""
``wla``: a window of jobs is packed into slots of neighbouring free nodes.

Yang, Zhou, Tang, Zheng, Wang and Lan 2014, "Balancing Job Performance with System Performance via
Locality-Aware Scheduling on Torus-Connected Systems". ``docs/wla.md`` says what is done where the
paper leaves something open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.passes import frozen
from cpsched.errors import check_choice, check_least
from cpsched.model import columns as c
from cpsched.model.decision import Decision, PlannedStarts, Start
from cpsched.model.types import MAX_TIME
from cpsched.priority import make_priority
from cpsched.wla.machine_slots import MachineSlots, problem_of
from cpsched.wla.reservation import busy_until, earliest_run
from cpsched.wla.sizes import Sizes
from cpsched.wla.solvers import BRANCH_AND_BOUND, Solver

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.system import System
    from cpsched.model.types import BoolArray, IntArray
    from cpsched.model.view import View

#: Whether a job that is bigger than every slot keeps its place in the window.
HELD = ("inside", "aside")
#: Statistic: jobs that were held at a decision, being bigger than every slot.
HELD_JOBS = "held_jobs"


class Wla(LearningDispatcher):
    """
    Window-based locality-aware scheduling: every job gets neighbouring nodes.

    Parameters
    ----------
    window
        How many jobs a decision considers, first in the queue.
    interval
        Seconds between decisions; ``none``: a decision at every event.
    solver
        ``branch-and-bound`` (exact, for windows of up to 10), ``greedy``, or ``cp-sat``.
    priority
        Order of the queue.
    held
        Whether jobs bigger than every slot stay ``inside`` the window while they are held, so that
        fewer others are considered, or step ``aside`` for those behind them.
    age_limit
        Seconds of waiting after which the oldest job starts before all others, on nodes that are
        reserved for it as soon as it has none. None: never, as in the paper.
    limit
        Deterministic time that ``cp-sat`` may take for a decision.
    allocator
        Places the jobs that cannot have neighbouring nodes on any machine as this one is.
    """

    name = "wla"
    good_for = "jobs that run faster on neighbouring nodes: all of them get such nodes"
    goes_wrong_when = "few jobs gain by it: whoever finds no run of free nodes long enough waits"
    selects_sets = True

    def __init__(
        self,
        window: int = 5,
        interval: int | None = 30,
        solver: str = BRANCH_AND_BOUND,
        priority: str = "fifo",
        held: str = "inside",
        age_limit: int | None = None,
        limit: float = 0.01,
        allocator: str = "first-fit",
    ) -> None:
        check_least("interval", interval, 1, "none")
        check_least("age_limit", age_limit, 1, "none")
        check_choice("held", held, HELD)
        self.interval = interval
        self.solver = Solver(solver, window, limit)
        self.priority_rule = make_priority(priority)
        super().__init__(self.priority_rule)
        self.allocator = make_allocator(allocator)
        self._aside = held == "aside"
        self._age_limit = age_limit

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        super().reset(system, seed)
        self.allocator.reset(system)
        self._machine = MachineSlots(system)
        self._sizes = Sizes(self.allocator, self._machine)

    def choose(self, view: View) -> Decision:
        """Pack the window into the slots."""
        window, late = self._window(view)
        starting = _Starting(view, self.allocator)
        sizes = self._sizes.of(view, window)
        rows = view.waiting.store.columns[window]
        ends = view.now + rows[:, c.RUNTIME_ESTIMATE]
        left: BoolArray = np.ones(len(window), dtype=np.bool_)
        plan = self._start_late(starting, window[:late], sizes, left)
        for job in np.flatnonzero(left & ~sizes.any(axis=1)).tolist():
            left[job] = False
            starting.anywhere(int(window[job]), int(ends[job]))
        jobs = np.flatnonzero(left)
        slots = self._machine.available(starting.taken, starting.reserved)
        found = problem_of(slots, sizes[jobs], ends[jobs])
        numbers: dict[str, float] = {HELD_JOBS: len(jobs) - len(found.jobs)}
        if found.jobs:
            answer, more = self.solver.solve(found.problem)
            numbers |= more
            for job, first, size in found.places(answer):
                starting.on_run(int(window[jobs[job]]), first, first + size)
        return Decision(starting.starts, plan, self._again_at(view, starting), numbers)

    def ranking(self, view: View) -> IntArray:
        """Return the queue by priority."""
        return self.priority_rule.rows(view)

    def considered(self, view: View) -> IntArray:
        """Return the window."""
        return self._window(view)[0]

    def _window(self, view: View) -> tuple[IntArray, int]:
        """Return the jobs to consider, and how many of them, the first ones, are past the limit."""
        rows = self.ranking(view)
        late = 0
        if self._age_limit is not None:
            waited = view.now - view.waiting.submit
            oldest = view.waiting.rows[waited >= self._age_limit]
            late = len(oldest)
            rows = np.concatenate([oldest, rows[~np.isin(rows, oldest)]])
        if not self._aside:
            rows = rows[: self.solver.window]
        store = view.waiting.store
        classes = np.unique(store.shapes[store.columns[rows, c.SHAPE], c.SHAPE_CLASS])
        if self._machine.update(view, classes):
            self._sizes.forget()
        if self._aside:
            most = self._machine.longest_free()
            sizes = self._sizes.of(view, rows)
            fits = ((sizes > 0) & (sizes <= most)).any(axis=1)
            # Those that no run can ever hold, and those past the limit, are no slot's to hold.
            others = ~sizes.any(axis=1) | (np.arange(len(rows)) < late)
            rows = rows[np.logical_or(fits, others)][: self.solver.window]
        return frozen(rows), min(late, len(rows))

    def _start_late(
        self, starting: _Starting, late: IntArray, sizes: IntArray, left: BoolArray
    ) -> PlannedStarts | None:
        """Start jobs past the age limit, the oldest first; reserve for the first that cannot."""
        view = starting.view
        for job, row in enumerate(late.tolist()):
            left[job] = False
            handle = int(view.waiting.store.columns[row, c.HANDLE])
            if not sizes[job].any():
                if starting.anywhere(row, MAX_TIME):
                    continue
                # Nothing else starts before it does.
                starting.reserve(np.arange(len(view.free)), view.now)
                return None
            until = busy_until(view)
            until[starting.taken] = MAX_TIME
            run = earliest_run(self._machine, until, sizes[job])
            if run is not None and run.start == view.now:
                starting.on_run(row, run.first, run.end)
                continue
            if run is None:
                return None
            nodes = np.arange(run.first, run.end)
            starting.reserve(nodes, run.start)
            return PlannedStarts((handle,), (run.start,), {handle: nodes})
        return None

    def _again_at(self, view: View, starting: _Starting) -> int | None:
        """Return when to decide again where nothing happens until then."""
        if len(starting.starts) == len(view.waiting):
            return None
        if starting.starts:
            # The window has moved on.
            return view.now + (self.interval or 1)
        if self._age_limit is None:
            return None
        late = int(view.waiting.submit[0]) + self._age_limit
        return late if late > view.now else None


class _Starting:
    """
    What a decision starts, and what is left beside it.

    Attributes
    ----------
    starts
        In the order in which they were made.
    taken
        Nodes of these jobs, shape ``(N,)``.
    reserved
        The second from which on each node is reserved; None: none is.
    """

    def __init__(self, view: View, allocator: Allocator) -> None:
        self.view = view
        self.starts: list[Start] = []
        self.taken: BoolArray = np.zeros(len(view.free), dtype=np.bool_)
        self.reserved: IntArray | None = None
        self._allocator = allocator

    def on_run(self, row: int, first: int, end: int) -> None:
        """Start a job on the nodes ``[first, end)``, which are free and enough for it."""
        nodes = np.zeros(len(self.taken), dtype=np.bool_)
        nodes[first:end] = True
        started = self._start(row, nodes)
        assert started

    def anywhere(self, row: int, end: int) -> bool:
        """Start a job that ends by then wherever the allocator finds room; return whether."""
        nodes = ~self.taken
        if self.reserved is not None:
            nodes &= self.reserved >= end
        return self._start(row, nodes)

    def reserve(self, nodes: IntArray, start: int) -> None:
        """Keep nodes for another job from a second on."""
        self.reserved = np.full(len(self.taken), MAX_TIME)
        self.reserved[nodes] = start

    def _start(self, row: int, nodes: BoolArray) -> bool:
        view = self.view
        free = np.where(nodes[:, None], view.free, 0)
        allocation = self._allocator.place(view, row, free)
        if allocation is None:
            return False
        handle = int(view.waiting.store.columns[row, c.HANDLE])
        self.starts.append(Start(handle, allocation))
        self.taken[allocation.node] = True
        return True
