"""
``wla``: a window of jobs is packed into slots of neighbouring free nodes.

Yang, Zhou, Tang, Zheng, Wang and Lan 2014, "Balancing Job Performance with System Performance via
Locality-Aware Scheduling on Torus-Connected Systems". ``docs/background/wla.md`` says what is done
where the paper leaves something open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.dispatchers import LearningDispatcher, frozen, make_priority, stats
from cpsched.api.errors import check_choice, check_least
from cpsched.api.model import MAX_TIME, Decision, PlannedStarts, Start
from cpsched.api.model import columns as c
from cpsched_papers.wla.machine_slots import (
    MachineSlots,
    Slots,
    busy_until,
    earliest_run,
    problem_of,
)
from cpsched_papers.wla.solvers import BRANCH_AND_BOUND, Solver

if TYPE_CHECKING:
    from cpsched.api.dispatchers import Allocator
    from cpsched.api.model import BoolArray, IntArray, System, View

#: Whether a job that is bigger than every slot keeps its place in the window.
INSIDE, ASIDE = "inside", "aside"
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
        Whether jobs bigger than every slot step ``aside`` while they are held, so that the window
        is the first jobs that fit a slot, or stay ``inside``, so that fewer others are considered.
    tight
        Whether the jobs of a slot go to the smallest slot that holds them; no, as in the paper:
        with fewer jobs than slots, to one of the largest.
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
    goes_wrong_when = "few jobs gain by it: a job waits until a run of free nodes is long enough"
    selects_sets = True

    def __init__(
        self,
        window: int = 5,
        interval: int | None = 30,
        solver: str = BRANCH_AND_BOUND,
        priority: str = "fifo",
        held: str = ASIDE,
        tight: bool = False,
        age_limit: int | None = None,
        limit: float = 0.01,
        allocator: str = "first-fit",
    ) -> None:
        check_least("interval", interval, 1, "none")
        check_least("age_limit", age_limit, 1, "none")
        check_choice("held", held, (INSIDE, ASIDE))
        self.interval = interval
        self.solver = Solver(solver, window, limit)
        super().__init__(make_priority(priority), allocator=allocator)
        self._aside = held == ASIDE
        self._tight = tight
        self._age_limit = age_limit

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        super().reset(system, seed)
        self._machine = MachineSlots(system)

    def choose(self, view: View) -> Decision:
        """Pack the window into the slots."""
        starting, plan, _, window, slots = self._prepared(view)
        if not len(window):
            again = self._again_at(view, starting)
            return Decision(starting.starts, plan, again, {stats.SKIPPED_NONE_FIT: 1})
        sizes, ends = self._sizes_and_ends(view, window)
        nowhere = ~sizes.any(axis=1)
        if nowhere.any():
            for row, end in zip(window[nowhere].tolist(), ends[nowhere].tolist(), strict=True):
                starting.anywhere(row, end)
            window, sizes, ends = window[~nowhere], sizes[~nowhere], ends[~nowhere]
            slots = self._slots_beside(starting)
        found = problem_of(slots, sizes, ends)
        numbers: dict[str, float] = {HELD_JOBS: len(window) - len(found.jobs)}
        if found.jobs:
            answer, more = self.solver.solve(found.problem)
            numbers |= more
            for job, first, size in found.places(answer, tight=self._tight):
                starting.on_run(int(window[job]), first, first + size)
        return Decision(starting.starts, plan, self._again_at(view, starting), numbers)

    def considered(self, view: View) -> IntArray:
        """Return the jobs that are past the age limit and come first, and the window."""
        _, _, late, window, _ = self._prepared(view)
        return np.concatenate([late, window])

    def _prepared(
        self, view: View
    ) -> tuple[_Starting, PlannedStarts | None, IntArray, IntArray, Slots]:
        """Return what starts first, what is reserved, for whom, the window, and the slots."""
        self._machine.update(view, np.unique(view.waiting.eligible_class))
        starting = _Starting(view, self.allocator)
        plan, late = self._start_late(starting)
        rows = self.queues[0].rows(view)
        if len(late):
            rows = rows[~np.isin(rows, late)]
        slots = self._slots_beside(starting)
        if self._aside:
            rows = rows[self._fits_somewhere(view, rows, slots)]
        return starting, plan, late, frozen(rows[: self.solver.window]), slots

    def _slots_beside(self, starting: _Starting) -> Slots:
        taken = starting.taken if starting.starts else None
        return self._machine.available(taken, starting.reserved)

    def _sizes_and_ends(self, view: View, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return what jobs need of each sort of nodes, and when they end if they start now."""
        runtime = view.waiting.store.columns[rows, c.RUNTIME_ESTIMATE]
        # Not in this second.
        ends: IntArray = view.now + np.maximum(runtime, 1)
        return self._machine.sizes(view, rows, self.allocator), ends

    def _fits_somewhere(self, view: View, rows: IntArray, slots: Slots) -> BoolArray:
        """Return which jobs some slot can hold; those that no slot ever can are not held."""
        sizes, ends = self._sizes_and_ends(view, rows)
        fits = np.logical_not(sizes.any(axis=1))
        for until in set(slots.until.tolist()):
            longest = np.zeros(sizes.shape[1], dtype=np.int64)
            alike = slots.until == until
            np.maximum.at(longest, slots.sort[alike], (slots.end - slots.first)[alike])
            fits |= (ends <= until) & ((sizes > 0) & (sizes <= longest)).any(axis=1)
        return np.asarray(fits)

    def _start_late(self, starting: _Starting) -> tuple[PlannedStarts | None, IntArray]:
        """
        Start jobs past the age limit, the oldest first; reserve for the first that cannot.

        Returns
        -------
        plan, late
            The reservation, and the jobs that have started or have it.
        """
        view = starting.view
        if self._age_limit is None:
            return None, np.zeros(0, dtype=np.int64)
        late = view.waiting.rows[view.now - view.waiting.submit >= self._age_limit]
        sizes, ends = self._sizes_and_ends(view, late)
        until = busy_until(view) if len(late) else late
        for job, row in enumerate(late.tolist()):
            run = earliest_run(self._machine, until, sizes[job])
            if run is None:
                # No run of nodes can ever hold it, so it needs none.
                if not starting.anywhere(row, MAX_TIME):
                    # Nothing else starts before it does.
                    starting.reserve(np.arange(len(view.free)), view.now)
                    return None, late[: job + 1]
            elif run.start == view.now:
                starting.on_run(row, run.first, run.end)
            else:
                nodes = np.arange(run.first, run.end)
                starting.reserve(nodes, run.start)
                handle = int(view.waiting.store.columns[row, c.HANDLE])
                return PlannedStarts((handle,), (run.start,), {handle: nodes}), late[: job + 1]
            until[starting.starts[-1].allocation.node] = ends[job]
        return None, late

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
