"""
``compact``: another dispatcher decides which jobs start now, slots decide where.

What the other one starts is packed into the slots, a window of starts at a time, as ``wla`` packs
jobs. A job is moved only from wholly free nodes to as many of the same sort, so that what is left
is the same but for the numbers of the nodes; and onto a node that is reserved for another job only
if it is expected to end in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.dispatchers import Wrapper
from cpsched.api.model import MAX_TIME, Start
from cpsched.api.model import columns as c
from cpsched_papers.wla.machine_slots import OWN_PLACES, MachineSlots, problem_of
from cpsched_papers.wla.solvers import CP_SAT, Solver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import Action, BoolArray, Decision, IntArray, System, View


class Compact(Wrapper):
    """
    Another dispatcher decides when jobs start, and slots decide where.

    Parameters
    ----------
    dispatcher
        The other dispatcher, in quotes where it has several options:
        ``compact:dispatcher="easy:priority=slowdown,allocator=contiguous"``.
    window
        Most jobs that are packed at once, in the order in which they start.
    solver
        ``branch-and-bound``, ``greedy`` or ``cp-sat``, see ``wla``.
    limit
        Deterministic time that ``cp-sat`` may take for a window.
    """

    name = "compact"
    good_for = "another dispatcher's waits with most jobs on neighbouring nodes"
    goes_wrong_when = "the machine is full: jobs that find no run of free nodes are scattered"

    def __init__(
        self,
        dispatcher: str = "easy:allocator=contiguous",
        window: int = 50,
        solver: str = CP_SAT,
        limit: float = 0.01,
    ) -> None:
        super().__init__(dispatcher)
        self.solver = Solver(solver, window, limit)

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        super().reset(system, seed)
        self._machine = MachineSlots(system)

    def decide(self, view: View) -> Decision:
        """Ask the other dispatcher, and move what it starts."""
        decision = self.inner.decide(view)
        starts = [action for action in decision.actions if isinstance(action, Start)]
        if not starts:
            return decision
        moved = self._moved(view, starts, decision)
        actions: list[Action] = [
            moved.get(action.handle, action) if isinstance(action, Start) else action
            for action in decision.actions
        ]
        return decision._replace(actions=actions)

    def _moved(self, view: View, starts: Sequence[Start], decision: Decision) -> dict[int, Start]:
        """Return the starts on runs of nodes, by handle."""
        self._machine.update(view, np.arange(len(view.eligible)))
        reserved = self._reserved(view, decision)
        if reserved is None:
            return {}
        handle = view.waiting.handle
        rows = dict(zip(handle.tolist(), view.waiting.rows.tolist(), strict=True))
        # All that starts stays where it is until it has been moved.
        uses = np.zeros(len(view.free), dtype=np.int64)
        for start in starts:
            uses[start.allocation.node] += 1
        movable = [start for start in starts if self._is_movable(view, rows, start, uses)]
        moved: dict[int, Start] = {}
        for first in range(0, len(movable), self.solver.window):
            window = movable[first : first + self.solver.window]
            for start in window:
                uses[start.allocation.node] -= 1
            moved |= self._packed(view, rows, window, uses > 0, reserved)
            for start in window:
                uses[moved.get(start.handle, start).allocation.node] += 1
        return moved

    def _reserved(self, view: View, decision: Decision) -> IntArray | None:
        """Return from when on each node is reserved; None where a job needs more than nodes."""
        reserved = np.full(len(view.free), MAX_TIME)
        handles, rows = view.waiting.handle, view.waiting.rows
        store = view.waiting.store
        for handle, start, nodes, _ in self.inner.reservations(view, decision):
            if nodes is not None:
                reserved[nodes] = np.minimum(reserved[nodes], start)
                continue
            # Any nodes of its sorts will do, unless they have to lie in a way.
            row = rows[handles == handle]
            if store.shapes[store.columns[row, c.SHAPE]][
                :, [c.SHAPE_CONTIGUOUS, *OWN_PLACES]
            ].any():
                return None
        return reserved

    def _is_movable(
        self, view: View, rows: Mapping[int, int], start: Start, uses: IntArray
    ) -> bool:
        """Return whether a job has whole nodes of one sort for itself, wherever they lie."""
        nodes = start.allocation.node
        store = view.waiting.store
        shape = store.shapes[store.columns[rows[start.handle], c.SHAPE]]
        return bool(
            not shape[OWN_PLACES].any()
            and (uses[nodes] == 1).all()
            and (view.free[nodes] == view.system.capacity[nodes]).all()
            and (self._machine.sort[nodes] == self._machine.sort[nodes[0]]).all()
        )

    def _packed(
        self,
        view: View,
        rows: Mapping[int, int],
        window: Sequence[Start],
        taken: BoolArray,
        reserved: IntArray,
    ) -> dict[int, Start]:
        """
        Return the starts of a window that slots can hold, by handle, on other nodes.

        Those that no slot can hold stay where they are, and the others are packed beside them.
        """
        planned = self.inner.reservation_view(view).waiting.store.columns
        taken = taken.copy()
        while window:
            size = np.zeros((len(window), self._machine.num_sorts), dtype=np.int64)
            for job, start in enumerate(window):
                nodes = start.allocation.node
                size[job, self._machine.sort[nodes[0]]] = len(nodes)
            ends = view.now + planned[[rows[start.handle] for start in window], c.RUNTIME_ESTIMATE]
            slots = self._machine.available(taken, reserved)
            in_time = ends[:, None] <= slots.until
            found = problem_of(slots, size[:, slots.sort] * in_time)
            answer, _ = self.solver.solve(found.problem)
            moved = {}
            for job, first, num in found.places(answer, tight=True):
                handle, allocation = window[job]
                nodes = np.arange(first, first + num)
                moved[handle] = Start(handle, allocation._replace(node=nodes))
            if len(moved) == len(window):
                return moved
            for start in window:
                if start.handle not in moved:
                    taken[start.allocation.node] = True
            window = [start for start in window if start.handle in moved]
        return {}
