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
from cpsched.api.errors import check_least
from cpsched.api.model import Decision, Start
from cpsched.api.model import columns as c
from cpsched_papers.wla.machine_slots import MachineSlots, problem_of
from cpsched_papers.wla.solvers import BRANCH_AND_BOUND, Solver

if TYPE_CHECKING:
    from cpsched.api.dispatchers import Allocator
    from cpsched.api.model import BoolArray, IntArray, System, View


class Wla(LearningDispatcher):
    """
    Window-based locality-aware scheduling: every job gets neighbouring nodes.

    The window is the first jobs of the queue that fit a slot; jobs bigger than every slot are held.

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
    tight
        Whether the jobs of a slot go to the smallest slot that holds them; no, as in the paper:
        with fewer jobs than slots, to one of the largest.
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
        tight: bool = False,
        limit: float = 0.01,
        allocator: str = "first-fit",
    ) -> None:
        check_least("interval", interval, 1, "none")
        self.interval = interval
        self.solver = Solver(solver, window, limit)
        super().__init__(make_priority(priority), allocator=allocator)
        self._tight = tight

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        super().reset(system, seed)
        self._machine = MachineSlots(system)

    def choose(self, view: View) -> Decision:
        """Pack the window into the slots."""
        window = self.considered(view)
        if not len(window):
            return Decision(stats={stats.SKIPPED_NONE_FIT: 1})
        starting = _Starting(view, self.allocator)
        sizes = self._machine.sizes(view, window, self.allocator)
        nowhere = ~sizes.any(axis=1)
        for row in window[nowhere].tolist():
            starting.start(row, ~starting.taken)
        window, sizes = window[~nowhere], sizes[~nowhere]
        slots = self._machine.available(starting.taken)
        found = problem_of(slots, sizes[:, slots.sort])
        numbers: dict[str, float] = {}
        if found.jobs:
            answer, numbers = self.solver.solve(found.problem)
            for job, first, size in found.places(answer, tight=self._tight):
                nodes = np.zeros(len(starting.taken), dtype=np.bool_)
                nodes[first : first + size] = True
                started = starting.start(int(window[job]), nodes)
                assert started
        again = None
        if 0 < len(starting.starts) < len(view.waiting):
            # The window has moved on.
            again = view.now + (self.interval or 1)
        return Decision(starting.starts, again_at=again, stats=numbers)

    def considered(self, view: View) -> IntArray:
        """Return the window: the first jobs that some slot can hold, or no slot ever can."""
        self._machine.update(view, np.unique(view.waiting.eligible_class))
        slots = self._machine.available()
        rows = self.queues[0].rows(view)
        sizes = self._machine.sizes(view, rows, self.allocator)
        longest = np.zeros(sizes.shape[1], dtype=np.int64)
        np.maximum.at(longest, slots.sort, slots.end - slots.first)
        fits = ((sizes > 0) & (sizes <= longest)).any(axis=1) | ~sizes.any(axis=1)
        return frozen(rows[fits][: self.solver.window])


class _Starting:
    """What a decision starts, and the nodes of these jobs, shape ``(N,)``."""

    def __init__(self, view: View, allocator: Allocator) -> None:
        self.view = view
        self.starts: list[Start] = []
        self.taken: BoolArray = np.zeros(len(view.free), dtype=np.bool_)
        self._allocator = allocator

    def start(self, row: int, nodes: BoolArray) -> bool:
        """Start a job on some nodes, if the allocator finds room there; return whether."""
        view = self.view
        free = np.where(nodes[:, None], view.free, 0)
        allocation = self._allocator.place(view, row, free)
        if allocation is None:
            return False
        handle = int(view.waiting.store.columns[row, c.HANDLE])
        self.starts.append(Start(handle, allocation))
        self.taken[allocation.node] = True
        return True
