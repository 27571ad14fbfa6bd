"""What both sides have agreed on, put on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.dispatch.resizing import expanded, shrunk, started
from cpsched.model import columns as c
from cpsched.model.decision import Kill, Resize, Start, Suspend
from cpsched_papers.dn_dbes.messages import KILLED, STARTED, SUSPENDED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.base.types import IntArray
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.allocation import Allocation
    from cpsched.model.decision import Action
    from cpsched.model.view import View
    from cpsched_papers.dn_dbes.messages import JobStatus


class Actions:
    """
    The actions of one decision.

    Parameters
    ----------
    rows
        The waiting jobs' rows of the store, in order of priority.

    Attributes
    ----------
    done
        In the order in which they are carried out: first what gives nodes back, then starts, then
        what grows.
    started, suspended, killed
        Numbers of the jobs.
    resized
        How many jobs change size.
    not_placed
        How many were to start or grow, and found no nodes.
    """

    def __init__(self, view: View, rows: IntArray, allocator: Allocator) -> None:
        self.done: list[Action] = []
        self.started: set[int] = set()
        self.suspended: set[int] = set()
        self.killed: set[int] = set()
        self.resized = self.not_placed = 0
        self._view, self._allocator = view, allocator
        self._rows = rows
        self._running = {job: index for index, job in enumerate(view.running.handle.tolist())}
        self._held = view.running.held_units.tolist()
        self._free = view.free.copy()
        self._agreed: list[JobStatus] = []

    def add(self, jobs: Iterable[JobStatus]) -> None:
        """Add what was agreed on."""
        self._agreed.extend(jobs)

    def carry_out(self) -> None:
        """Do all of it that finds nodes."""
        rows = self._view.waiting.store.columns[self._rows]
        row_of = dict(zip(rows[:, c.HANDLE].tolist(), self._rows.tolist(), strict=True))
        later, blocked = [], False
        for status in self._agreed:
            if status.state == STARTED:
                later.append(status)
            elif status.state in (SUSPENDED, KILLED):
                self._leave(status)
            elif status.units < self._held[self._running[status.job]]:
                index = self._running[status.job]
                less = shrunk(self._view, index, status.units, self._allocator)
                self._resize(index, status, less)
        for status in later:
            # Nobody overtakes a job whose turn it is.
            if not blocked:
                blocked = not self._start(row_of[status.job], status)
        for status in self._agreed:
            index = self._running.get(status.job, -1)
            if index >= 0 and status.units > self._held[index]:
                view, free = self._view, self._free
                allocation = expanded(view, index, status.units, free, self._allocator)
                if allocation is None:
                    self.not_placed += 1
                else:
                    self._resize(index, status, allocation)
        if not self.done and not self._running:
            self._start_anything()

    def _leave(self, status: JobStatus) -> None:
        self._give_back(self._view.running.allocation(self._running[status.job]))
        if status.state == KILLED:
            self.killed.add(status.job)
            self.done.append(Kill(status.job))
        else:
            self.suspended.add(status.job)
            self.done.append(Suspend(status.job))

    def _resize(self, index: int, status: JobStatus, allocation: Allocation) -> None:
        self._give_back(self._view.running.allocation(index))
        self._take(allocation)
        self.resized += 1
        self.done.append(Resize(status.job, allocation))

    def _start(self, row: int, status: JobStatus) -> bool:
        """Start a job, with the units it prefers where those agreed on find no nodes."""
        preferred = self._view.waiting.store.columns.item(row, c.UNITS)
        for units in (status.units, preferred):
            allocation = started(self._view, row, units, self._free, self._allocator)
            if allocation is not None:
                self._take(allocation)
                self.started.add(status.job)
                self.done.append(Start(status.job, allocation))
                return True
        self.not_placed += 1
        return False

    def _start_anything(self) -> None:
        """
        Start the first job that fits the empty machine.

        Where units differ, a count of them may say that none does.
        """
        columns = self._view.waiting.store.columns
        for row in self._rows.tolist():
            units = columns.item(row, c.UNITS)
            allocation = started(self._view, row, units, self._free, self._allocator)
            if allocation is not None:
                job = columns.item(row, c.HANDLE)
                self.started.add(job)
                self.done.append(Start(job, allocation))
                return

    def _take(self, allocation: Allocation) -> None:
        self._free[allocation.node] -= allocation.amount

    def _give_back(self, allocation: Allocation) -> None:
        up = self._view.node_up[allocation.node]
        self._free[allocation.node[up]] += allocation.amount[up]
