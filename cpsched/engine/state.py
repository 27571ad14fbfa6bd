"""
The machine's state in a simulation: who waits, who runs where, what is free.

It only carries out; when things happen is the simulator's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import DispatchError
from cpsched.kernels import ledger
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation, AllocationArena
from cpsched.model.jobstore import JobStore
from cpsched.model.jobtable import JobTable, RunningTable
from cpsched.model.view import View

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.model.types import BoolArray, IntArray


_INT64 = np.dtype(np.int64)


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
        self.capacity: IntArray = system.capacity
        self.store = JobStore(system.resources)
        self.arena = AllocationArena(len(system.resources))
        self._held = 0
        self.free: IntArray = self.capacity.copy()
        self._free_view = self.free.view()
        self._free_view.flags.writeable = False
        self.node_up: BoolArray = np.ones(system.num_nodes, dtype=np.bool_)
        self.node_up.flags.writeable = False
        # Never writable, so that kernels are compiled for one kind of array.
        self.eligible: BoolArray = np.zeros((0, system.num_nodes), dtype=np.bool_)
        self.eligible.flags.writeable = False
        self._queue: IntArray = np.zeros(256, dtype=np.int64)
        self._queue_first = 0
        self._queue_end = 0
        self._running: IntArray = np.zeros(256, dtype=np.int64)
        self.num_running = 0
        # Read-only faces of the two arrays: a slice of one is read-only at no further cost.
        self._queue_view = _read_only(self._queue)
        self._running_view = _read_only(self._running)

    @property
    def num_waiting(self) -> int:
        """Jobs in the queue."""
        return self._queue_end - self._queue_first

    def view(self, now: int) -> View:
        """Return what a dispatcher may know now."""
        return View(
            now,
            self.system,
            self._free_view,
            self.node_up,
            self.eligible,
            JobTable(self.store, self._queue_view[self._queue_first : self._queue_end]),
            RunningTable(self.store, self._running_view[: self.num_running], self.arena),
        )

    def set_eligible(self, eligible: BoolArray) -> None:
        """Replace the node masks, shape ``(C, N)``; they are never changed in place."""
        eligible.flags.writeable = False
        self.eligible = eligible

    def enqueue(self, row: int) -> None:
        """Put a job at its place in the queue: rows are in submit order."""
        if self._queue_end == len(self._queue):
            self._make_room()
        end = self._queue_end
        self._queue[end] = row
        self._queue_end = end + 1
        self.store.writable[row, c.STATE] = c.WAITING
        if end > self._queue_first and self._queue.item(end - 1) > row:
            # Released later than jobs submitted after it: back to its own place.
            self._queue[self._queue_first : end + 1].sort()

    def release(self, row: int) -> None:
        """Put a job that was held at its place in the queue."""
        self.store.reordered += 1
        self.enqueue(row)

    def _make_room(self) -> None:
        waiting = self._queue[self._queue_first : self._queue_end]
        size = len(self._queue) if len(waiting) < len(self._queue) // 2 else 2 * len(self._queue)
        queue = np.zeros(size, dtype=np.int64)
        queue[: len(waiting)] = waiting
        self._queue, self._queue_first, self._queue_end = queue, 0, len(waiting)
        self._queue_view = _read_only(queue)

    def start(self, row: int, allocation: Allocation, now: int) -> None:
        """
        Take an allocation for a waiting job; :meth:`drop_started` then mends the queue.

        Raises
        ------
        DispatchError
            If the job does not wait, or the allocation is not three arrays of integers, does not
            match the job's request, or takes more than is free; names job, node, resource, demand
            and free. Then nothing has changed.
        """
        store, arena = self.store, self.arena
        if not (0 <= row < store.size and store.columns.item(row, c.STATE) == c.WAITING):
            raise DispatchError(f"job {row} is started, but it does not wait")
        node, units, amount = allocation
        try:
            proper = (
                node.dtype == _INT64
                and units.dtype == _INT64
                and amount.dtype == _INT64
                and node.ndim == units.ndim == 1
                and amount.ndim == 2
            )
        except AttributeError:
            proper = False
        if not proper:
            raise DispatchError(self._improper(row, allocation))
        count = len(node)
        first = arena.reserve(count)
        self._room_to_run()
        wrong = ledger.claim(
            store.writable,
            row,
            store.shapes,
            self.eligible,
            self.capacity,
            self.free,
            node,
            units,
            amount,
            arena.node,
            arena.units,
            arena.amount,
            first,
            self._running,
            self.num_running,
            now,
        )
        if wrong:
            raise DispatchError(self._complaint(row, allocation, -wrong))
        arena.used += count
        self.num_running += 1
        self._held += count

    def _room_to_run(self) -> None:
        if self.num_running == len(self._running):
            self._running = np.concatenate([self._running, np.zeros_like(self._running)])
            self._running_view = _read_only(self._running)

    def resume(self, row: int, allocation: Allocation) -> None:
        """
        Put a job back on its nodes when a checkpoint is taken up.

        Its columns are in the store already; jobs come in order of expected end.
        """
        columns = self.store.writable
        count = len(allocation.node)
        columns[row, c.ALLOC_FIRST] = self.arena.add(allocation)
        self.free[allocation.node] -= allocation.amount
        self._room_to_run()
        self._running[self.num_running] = row
        self.num_running += 1
        self._held += count

    def queued_rows(self) -> IntArray:
        """Return the rows of the queue, copied."""
        return self._queue[self._queue_first : self._queue_end].copy()

    def set_queue(self, rows: IntArray) -> None:
        """Replace the queue."""
        self._queue = np.concatenate([rows, np.zeros(256, dtype=np.int64)])
        self._queue_first, self._queue_end = 0, len(rows)
        self._queue_view = _read_only(self._queue)

    def running_rows(self) -> IntArray:
        """Return the rows of the running jobs by expected end, copied."""
        return self._running[: self.num_running].copy()

    def drop_started(self) -> None:
        """Take the jobs that no longer wait out of the queue."""
        columns, queue = self.store.columns, self._queue
        first, end = self._queue_first, self._queue_end
        while first < end and columns.item(queue.item(first), c.STATE) != c.WAITING:
            first += 1
        self._queue_first = first
        self._queue_end = first + ledger.keep_waiting(queue[first:end], columns)

    def drop_head(self) -> None:
        """Take the first job out of the queue."""
        self._queue_first += 1

    def is_head(self, row: int) -> bool:
        """Whether a job is the first in the queue."""
        return self._queue_first < self._queue_end and self._queue.item(self._queue_first) == row

    def first_to_end(self) -> int:
        """Return the row of the running job expected to end first."""
        return self._running.item(0)

    def is_overdue(self, now: int) -> bool:
        """Whether a running job was expected to have ended by now."""
        if not self.num_running:
            return False
        return self.store.columns.item(self._running.item(0), c.EXPECTED_END) <= now

    def expect_end(self, row: int, end: int) -> None:
        """Expect a running job at another end than so far."""
        columns = self.store.writable
        ledger.forget_end(columns, self._running, self.num_running, row)
        ledger.expect_end(columns, self._running, self.num_running - 1, row, end)

    def end(self, row: int) -> None:
        """Give back what a job holds."""
        arena = self.arena
        count = ledger.release(
            self.store.writable,
            row,
            self.free,
            arena.node,
            arena.amount,
            self._running,
            self.num_running,
        )
        self.num_running -= 1
        self._held -= count
        if arena.used > 4096 and arena.used > 4 * self._held:
            self._compact()

    def _compact(self) -> None:
        rows = self._running[: self.num_running]
        columns = self.store.writable
        self.arena, first = self.arena.compacted(
            columns[rows, c.ALLOC_FIRST], columns[rows, c.ALLOC_COUNT]
        )
        columns[rows, c.ALLOC_FIRST] = first

    def _improper(self, row: int, allocation: Allocation) -> str:
        """Say which arrays a job is given instead of an allocation."""
        shapes = ", ".join(
            f"{name} {array.dtype}{array.shape}" if isinstance(array, np.ndarray) else
            f"{name} {type(array).__name__}"
            for name, array in zip(Allocation._fields, allocation, strict=True)
        )  # fmt: skip
        return (
            f"job {int(self.store.columns[row, c.HANDLE])} is given {shapes}: an allocation of K"
            f" nodes is int64 arrays of shape (K,), (K,) and (K, {len(self.system.resources)})"
        )

    def _complaint(self, row: int, allocation: Allocation, wrong: int) -> str:
        """Say what is wrong with an allocation, with its numbers."""
        code, kind, position = wrong % 16, wrong // 16 % 1024, wrong // 16384
        store = self.store
        if code == ledger.BAD_SHAPE:
            return self._improper(row, allocation)
        job = f"job {int(store.columns[row, c.HANDLE])}"
        num_nodes = len(allocation.node)
        if code == ledger.BAD_UNITS and not position:
            given, units = int(allocation.units.sum()), int(store.columns[row, c.UNITS])
            return f"{job} is given {given} units, it has {units}"
        if code == ledger.BAD_BOUNDS:
            low, high = (int(store.columns[row, column]) for column in (c.NODES_MIN, c.NODES_MAX))
            return f"{job} is given {num_nodes} nodes, it may touch {low} to {high}"
        position -= code == ledger.BAD_UNITS
        index = int(allocation.node[position]) if position < num_nodes else -1
        if code == ledger.BAD_NODE:
            return (
                f"{job} is given node {index}: nodes must be within [0, {self.system.num_nodes}),"
                " strictly increasing"
            )
        node = f"node {self.system.node_names[index]}"
        amount, resource = int(allocation.amount[position, kind]), self.system.resources[kind]
        return {
            ledger.BAD_UNITS: f"{job} is given {int(allocation.units[position])} units on {node}",
            ledger.BAD_ELIGIBLE: f"{job} may not use {node}, or the node is down",
            ledger.BAD_SPLIT: f"{job} needs equally many units on each node; {node} differs",
            ledger.BAD_RUN: f"{job} needs consecutive nodes; {node} does not follow the last",
            ledger.BAD_AMOUNT: (
                f"{job} is given {amount} {resource} on {node}, which is not what it asks for"
            ),
            ledger.NO_ROOM: (
                f"{job} is given {amount} {resource} on {node},"
                f" where {int(self.free[index, kind])} are free"
            ),
        }[code]


def _read_only(array: IntArray) -> IntArray:
    view = array.view()
    view.flags.writeable = False
    return view
