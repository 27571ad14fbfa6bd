"""
The machine's state in a simulation: who waits, who runs where, what is free.

It only carries out; when things happen is the simulator's business.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from cpsched import kernels
from cpsched.errors import DispatchError
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation, AllocationArena
from cpsched.model.jobtable import JobStore, JobTable, RunningTable
from cpsched.model.view import View

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.model.types import BoolArray, IntArray


class State:
    """
    Queue, running jobs and free capacity.

    Parameters
    ----------
    system
        The machine, as the workload was mapped onto it.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.capacity: IntArray = np.ascontiguousarray(system.capacity, dtype=np.int64)
        self.store = JobStore(system.resources)
        self.arena = AllocationArena(len(system.resources))
        self._held = 0
        self.free: IntArray = self.capacity.copy()
        self._free_view = self.free.view()
        self._free_view.flags.writeable = False
        self.node_up: BoolArray = np.ones(system.num_nodes, dtype=np.bool_)
        self.node_up.flags.writeable = False
        self.eligible: BoolArray = np.zeros((0, system.num_nodes), dtype=np.bool_)
        self._queue: IntArray = np.zeros(256, dtype=np.int64)
        self._queue_first = 0
        self._queue_end = 0
        # Running jobs by (expected end, row), once for bisection and once for the kernels.
        self._ends: list[tuple[int, int]] = []
        self._running: IntArray = np.zeros(256, dtype=np.int64)

    @property
    def num_waiting(self) -> int:
        """Jobs in the queue."""
        return self._queue_end - self._queue_first

    @property
    def num_running(self) -> int:
        """Jobs that hold nodes."""
        return len(self._ends)

    def view(self, now: int) -> View:
        """Return what a dispatcher may know now."""
        queue = self._queue[self._queue_first : self._queue_end]
        queue.flags.writeable = False
        running = self._running[: len(self._ends)]
        running.flags.writeable = False
        return View(
            now=now,
            system=self.system,
            free=self._free_view,
            node_up=self.node_up,
            eligible=self.eligible,
            waiting=JobTable(self.store, queue),
            running=RunningTable(self.store, running, self.arena),
        )

    def set_eligible(self, eligible: BoolArray) -> None:
        """Replace the node masks, shape ``(C, N)``."""
        eligible.flags.writeable = False
        self.eligible = eligible

    def enqueue(self, row: int) -> None:
        """Put a job at its place in the queue: rows are in submit order."""
        if self._queue_end == len(self._queue):
            self._make_room()
        end = self._queue_end
        self._queue[end] = row
        self._queue_end = end + 1
        self.store.writable[c.STATE, row] = c.WAITING
        if end > self._queue_first and self._queue[end - 1] > row:
            # Released later than jobs submitted after it: back to its own place.
            self._queue[self._queue_first : end + 1].sort()

    def _make_room(self) -> None:
        waiting = self._queue[self._queue_first : self._queue_end]
        size = len(self._queue) if len(waiting) < len(self._queue) // 2 else 2 * len(self._queue)
        queue = np.zeros(size, dtype=np.int64)
        queue[: len(waiting)] = waiting
        self._queue, self._queue_first, self._queue_end = queue, 0, len(waiting)

    def start(self, row: int, allocation: Allocation) -> None:
        """
        Take an allocation for a waiting job; :meth:`drop_started` then mends the queue.

        Raises
        ------
        DispatchError
            If the job does not wait, or the allocation does not match its request or what is
            free; names job, node, resource, demand and free.
        """
        store = self.store
        columns = store.writable
        if not 0 <= row < store.size or columns[c.STATE, row] != c.WAITING:
            raise DispatchError(f"job {row} is started, but it does not wait")
        code, position, kind = kernels.claim(
            columns,
            row,
            store.shapes,
            self.eligible,
            self.capacity,
            self.free,
            allocation.node,
            allocation.units,
            allocation.amount,
        )
        if code != kernels.OK:
            raise DispatchError(self._complaint(row, allocation, code, position, kind))
        columns[c.ALLOC_FIRST, row] = self.arena.add(allocation)
        columns[c.ALLOC_COUNT, row] = len(allocation.node)
        columns[c.STATE, row] = c.RUNNING
        self._held += len(allocation.node)

    def drop_started(self) -> None:
        """Take the jobs that no longer wait out of the queue."""
        state = self.store.writable[c.STATE]
        first, end = self._queue_first, self._queue_end
        while first < end and state[self._queue[first]] != c.WAITING:
            first += 1
        self._queue_first = first
        self._queue_end = first + kernels.keep_waiting(self._queue[first:end], state)

    def drop_head(self) -> None:
        """Take the first job out of the queue."""
        self._queue_first += 1

    def is_head(self, row: int) -> bool:
        """Whether a job is the first in the queue."""
        return self._queue_first < self._queue_end and self._queue[self._queue_first] == row

    def expect_end(self, row: int, end: int) -> None:
        """Enter a running job at its expected end."""
        entry = (end, row)
        ends = self._ends
        count = len(ends)
        if count == len(self._running):
            self._running = np.concatenate([self._running, np.zeros(count, dtype=np.int64)])
        at = bisect_left(ends, entry)
        ends.insert(at, entry)
        if at < count:
            self._running[at + 1 : count + 1] = self._running[at:count]
        self._running[at] = row
        self.store.writable[c.EXPECTED_END, row] = end

    def forget_end(self, row: int) -> None:
        """Take a running job out of the order of expected ends."""
        entry = (int(self.store.writable[c.EXPECTED_END, row]), row)
        at = bisect_left(self._ends, entry)
        self._ends.pop(at)
        count = len(self._ends)
        if at < count:
            self._running[at:count] = self._running[at + 1 : count + 1]

    def first_expected_end(self) -> tuple[int, int] | None:
        """Return (expected end, row) of the job expected to end first."""
        return self._ends[0] if self._ends else None

    def end(self, row: int) -> None:
        """Give back what a job holds."""
        columns = self.store.writable
        count = int(columns[c.ALLOC_COUNT, row])
        arena = self.arena
        kernels.release(self.free, columns[c.ALLOC_FIRST, row], count, arena.node, arena.amount)
        self.forget_end(row)
        columns[c.STATE, row] = c.ENDED
        self._held -= count
        if arena.used > 4096 and arena.used > 4 * self._held:
            self._compact()

    def _compact(self) -> None:
        rows = self._running[: len(self._ends)]
        columns = self.store.writable
        self.arena, first = self.arena.compacted(
            columns[c.ALLOC_FIRST, rows], columns[c.ALLOC_COUNT, rows]
        )
        columns[c.ALLOC_FIRST, rows] = first

    def _complaint(
        self, row: int, allocation: Allocation, code: int, position: int, kind: int
    ) -> str:
        """Say what is wrong with an allocation, with its numbers."""
        store = self.store
        units = int(store.columns[c.UNITS, row])
        low = int(store.columns[c.NODES_MIN, row])
        high = int(store.columns[c.NODES_MAX, row])
        job = f"job {int(store.columns[c.HANDLE, row])}"
        if code == kernels.BAD_UNITS and position < 0:
            return f"{job} is given {int(allocation.units.sum())} units, it has {units}"
        if code == kernels.BAD_BOUNDS:
            return f"{job} is given {len(allocation.node)} nodes, it may touch {low} to {high}"
        index = int(allocation.node[position]) if len(allocation.node) > position else -1
        if code == kernels.BAD_NODE:
            return (
                f"{job} is given node {index}: nodes must be within [0, {self.system.num_nodes}),"
                " strictly increasing, with units and amounts for each"
            )
        node = f"node {self.system.node_names[index]}"
        if code == kernels.BAD_UNITS:
            return f"{job} is given {int(allocation.units[position])} units on {node}"
        if code == kernels.BAD_ELIGIBLE:
            return f"{job} may not use {node}, or the node is down"
        if code == kernels.BAD_SPLIT:
            return f"{job} needs the same number of units on each node; {node} differs"
        if code == kernels.BAD_RUN:
            return f"{job} needs consecutive nodes; {node} does not follow the one before"
        amount = int(allocation.amount[position, kind])
        resource = self.system.resources[kind]
        if code == kernels.BAD_AMOUNT:
            return f"{job} is given {amount} {resource} on {node}, which is not what it asks for"
        return (
            f"{job} is given {amount} {resource} on {node},"
            f" where {int(self.free[index, kind])} are free"
        )
