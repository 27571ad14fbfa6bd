"""
The state of a machine: which jobs wait, which run where, and what is free.

A job enters nodes by :meth:`ClusterState.start` and leaves them by :meth:`ClusterState.leave`,
whatever the reason. Nothing here has a clock or decides anything;
:class:`~cpsched.engine.cluster.Cluster` drives it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError, DispatchError
from cpsched.kernels import event_loop, ledger
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation, AllocationArena
from cpsched.model.arrays import copied, immutable, move, shared
from cpsched.model.jobstore import JobStore
from cpsched.model.jobtable import JobTable, RunningTable
from cpsched.model.speedup import parts_per_second
from cpsched.model.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cpsched.model.system import System
    from cpsched.util.types import BoolArray, IntArray


_INT64 = np.dtype(np.int64)


class ClusterState:
    """
    Queue, running jobs and free capacity.

    Parameters
    ----------
    system
        The nodes and what they hold.
    name_of
        What messages call a job, by its handle.

    Attributes
    ----------
    store
        Every job submitted so far.
    free
        What each node has left, shape ``(N, R)``; nothing on nodes that are down.
    node_up
        Shape ``(N,)``.
    eligible
        The nodes that are up and that each class of jobs may use, shape ``(C, N)``.
    """

    def __init__(self, system: System, name_of: Callable[[int], str] = str) -> None:
        self.system = system
        self.name_of = name_of
        self.capacity: IntArray = system.capacity
        self.store = JobStore(system.resources)
        self.arena = AllocationArena(len(system.resources))
        self._held = 0
        # What a view shows cannot be made writable.
        self.free, self._free_view = shared(*self.capacity.shape)
        self.free[:] = self.capacity
        self.node_up: BoolArray = immutable(np.ones(system.num_nodes, dtype=np.bool_))
        self.eligible: BoolArray = immutable(np.zeros((0, system.num_nodes), dtype=np.bool_))
        self._classes = self.eligible
        #: What each node that is down would have free if it were up.
        self._down: dict[int, IntArray] = {}
        self._queue, self._queue_view = shared(256)
        self._queue_first = 0
        self._queue_end = 0
        self._running, self._running_view = shared(256)
        self.num_running = 0

    @property
    def classes(self) -> BoolArray:
        """The nodes that each class of jobs may use, down or not, shape ``(C, N)``."""
        classes: BoolArray = self._classes
        return classes

    @property
    def num_waiting(self) -> int:
        """Jobs in the queue."""
        return self._queue_end - self._queue_first

    @property
    def oldest(self) -> int:
        """The first row of a job that waits or runs; how many jobs there are if none does."""
        size = self.store.size
        first = self._queue.item(self._queue_first) if self.num_waiting else size
        return min(first, int(self._running[: self.num_running].min(initial=size)))

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

    def set_classes(self, nodes: BoolArray) -> None:
        """Say which nodes each class of jobs may use, down or not; shape ``(C, N)``."""
        self._classes = nodes
        self.eligible = immutable(nodes & self.node_up if self._down else nodes)

    @property
    def down(self) -> list[int]:
        """The nodes that are down, in order."""
        return sorted(self._down)

    def set_down(self, nodes: Iterable[int]) -> None:
        """
        Set which nodes are down; all others are up.

        Nothing starts on a node that is down. Jobs running there continue, and what they release is
        free when the node is up again.

        Raises
        ------
        ConfigError
            If the system has no such node; then nothing has changed.
        """
        wanted = {int(node) for node in nodes}
        for node in wanted:
            if not 0 <= node < self.system.num_nodes:
                raise ConfigError(
                    f"is {node}, must be from 0 to {self.system.num_nodes - 1}", key="node"
                )
        for node in wanted - self._down.keys():
            self._down[node] = np.zeros(len(self.system.resources), dtype=np.int64)
        for node in self._down.keys() - wanted:
            self.free[node] += self._down.pop(node)
        up = np.ones(self.system.num_nodes, dtype=np.bool_)
        up[list(wanted)] = False
        self.node_up = immutable(up)
        self._hide_down()
        self.set_classes(self._classes)

    def _hide_down(self) -> None:
        for node, hidden in self._down.items():
            hidden += self.free[node]
            self.free[node] = 0

    def enqueue(self, row: int) -> None:
        """Put a job at its place in the queue: rows are in submit order."""
        if self._queue_end == len(self._queue):
            self._grow_queue()
        end = self._queue_end
        self._queue[end] = row
        self._queue_end = end + 1
        self.store.writable[row, c.STATE] = c.WAITING
        if end > self._queue_first and self._queue.item(end - 1) > row:
            # Released later than jobs submitted after it: back to its own place.
            self._queue[self._queue_first : end + 1].sort()

    def return_to_queue(self, row: int) -> None:
        """Put a job that was held, or that ran, at its place in the queue."""
        self.store.reordered += 1
        self.enqueue(row)

    def requeue(self, row: int) -> None:
        """Put a running job back in the queue, with one more try."""
        self.leave(row)
        self.store.writable[row, c.ATTEMPTS] += 1
        self.store.writable[row, c.WANTED_UNITS] = 0
        self.return_to_queue(row)

    def _grow_queue(self) -> None:
        waiting = self._queue[self._queue_first : self._queue_end]
        size = len(self._queue) if len(waiting) < len(self._queue) // 2 else 2 * len(self._queue)
        self._set_queue(waiting, size)

    def _set_queue(self, waiting: IntArray, size: int) -> None:
        """Set a queue, with room for a number of jobs."""
        self._queue, self._queue_view = shared(size)
        self._queue[: len(waiting)] = waiting
        self._queue_first, self._queue_end = 0, len(waiting)

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
        if not self.is_in(row, c.WAITING):
            raise DispatchError(f"job {self.name(row)} is started, but it is not waiting")
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
        self._check_locality(row, node)
        count = len(node)
        first = arena.reserve(count)
        self._grow_running(self.num_running + 1)
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
            *arena.writable,
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

    def resize(self, row: int, allocation: Allocation, now: int) -> None:
        """
        Give a running job another allocation, which may overlap with what it holds.

        It is expected to end as much later or earlier as its speed changes, and later by its
        ``RESIZE_COST``.

        Raises
        ------
        DispatchError
            As :meth:`start`; then nothing has changed.
        """
        columns, current = self.store.writable, self.allocation(row)
        start, since, end = (columns.item(row, at) for at in (c.START, c.SINCE, c.EXPECTED_END))
        speed = self._speed(row)
        self.leave(row)
        columns[row, c.STATE] = c.WAITING
        try:
            self.start(row, allocation, now)
        except DispatchError:
            self.start(row, current, since)
            columns[row, c.START] = start
            self.expect_end(row, end)
            raise
        columns[row, c.START] = start
        left = -(-max(end - now, 1) * speed // self._speed(row))
        self.expect_end(row, now + columns.item(row, c.RESIZE_COST) + left)

    def _speed(self, row: int) -> int:
        """Return the parts of its work that a running job is taken to do in a second."""
        columns = (c.HELD_UNITS, c.UNITS, c.SERIAL)
        return parts_per_second(*(self.store.columns.item(row, column) for column in columns))

    def _check_locality(self, row: int, node: IntArray) -> None:
        """Raise if nodes are not in segments or under few switches as a job asks."""
        store = self.store
        locality = store.shapes[store.columns.item(row, c.SHAPE), c.SHAPE_SEGMENT : c.SHAPE_REQUEST]
        # Nodes that are not there, or twice, are for the check of everything else.
        num_nodes = self.system.num_nodes
        if locality.any() and len(np.unique(node[(node >= 0) & (node < num_nodes)])) == len(node):
            segment, switches = locality.tolist()
            topology = self.system.topology
            complaint = topology.misfit(node, segment=segment, max_switches=switches)
            if complaint:
                raise DispatchError(f"job {self.name(row)} {complaint}")

    def _grow_running(self, num_jobs: int) -> None:
        running = self._running
        if num_jobs > len(running):
            self._running, self._running_view = shared(max(2 * len(running), num_jobs))
            self._running[: len(running)] = running

    def is_in(self, row: int, state: int) -> bool:
        """Say whether there is such a job, and its ``STATE`` is this."""
        store = self.store
        return 0 <= row < store.size and store.columns.item(row, c.STATE) == state

    def name(self, row: int) -> str:
        """Return what messages call a job, whether there is one or not."""
        return self.name_of(row) if 0 <= row < self.store.size else str(row)

    def drop_started(self, num: int) -> None:
        """Remove the ``num`` jobs that no longer wait from the queue."""
        columns, queue = self.store.columns, self._queue
        first, end = self._queue_first, self._queue_end
        while num and first < end and columns.item(queue.item(first), c.STATE) != c.WAITING:
            first += 1
            num -= 1
        self._queue_first = first
        if num:
            self._queue_end = first + ledger.keep_waiting(queue[first:end], columns)

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

    def allocation(self, row: int) -> Allocation:
        """Return what a running job holds."""
        columns = self.store.columns
        return self.arena.get(columns.item(row, c.ALLOC_FIRST), columns.item(row, c.ALLOC_COUNT))

    def leave(self, row: int) -> None:
        """
        Remove a running job from its nodes; it counts as ended until set otherwise.

        This is the only way: at its end, and before it starts again elsewhere.
        """
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
        if self._down:
            self._hide_down()
        if arena.used > 4096 and arena.used > 4 * self._held:
            self._compact()

    # --- for the compiled event loop ------------------------------------------------------------

    def lend(self, counters: Any, num_jobs: int) -> tuple[event_loop.Tables, event_loop.Lists]:
        """
        Return the arrays, with room for a number of jobs, and write how much of them is used.

        Parameters
        ----------
        counters
            A record of :data:`cpsched.kernels.event_loop.COUNTERS`.
        """
        self.store.reserve(num_jobs)
        num_more = num_jobs - self.store.size + int(counters["num_held"])
        if len(self._queue) < self._queue_end + num_more:
            self._set_queue(self._queue[self._queue_first : self._queue_end], num_jobs)
        self._grow_running(num_jobs)
        counters["queue_first"], counters["queue_end"] = self._queue_first, self._queue_end
        counters["num_running"] = self.num_running
        counters["arena_used"], counters["arena_held"] = self.arena.used, self._held
        counters["reordered"] = self.store.reordered
        store = self.store
        return (
            event_loop.Tables(
                store.writable, store.shapes, self.eligible, self.capacity, self.free
            ),
            event_loop.Lists(self._queue, self._running, *self.arena.writable),
        )

    def take_back(self, counters: Any) -> None:
        """Read how much of the arrays is used after :meth:`lend`."""
        self._queue_first, self._queue_end = (
            int(counters["queue_first"]),
            int(counters["queue_end"]),
        )
        self.num_running = int(counters["num_running"])
        self.arena.used, self._held = int(counters["arena_used"]), int(counters["arena_held"])
        self.store.reordered = int(counters["reordered"])

    def make_room(self, num_nodes: int) -> None:
        """Make room for allocations of a number of nodes."""
        if self.arena.used > 2 * self._held:
            self._compact()
        self.arena.reserve(num_nodes)

    def state(self) -> dict[str, Any]:
        """Return the state of the jobs in the store, as arrays and numbers."""
        store = self.store
        allocations = [self.allocation(row) for row in self._running[: self.num_running].tolist()]
        kinds = len(store.resources)
        known = {
            name: copied(values[: store.size])
            for name, values in (("quantiles", store.quantiles), ("ends_within", store.ends_within))
            if values is not None
        }
        return {
            "columns": copied(store.columns[: store.size, c.RANKING_ESTIMATE :]),
            "distribution": known,
            "reordered": store.reordered,
            "node_count": np.array(
                [len(allocation.node) for allocation in allocations], dtype=np.int64
            ),
            "node": _joined([allocation.node for allocation in allocations]),
            "units": _joined([allocation.units for allocation in allocations]),
            "amount": _joined([allocation.amount for allocation in allocations]).reshape(-1, kinds),
            "down": np.array(self.down, dtype=np.int64),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """
        Restore what :meth:`state` returned, in a machine with the same jobs none of which has
        started.
        """
        store = self.store
        columns = saved["columns"]
        known = saved.get("distribution", {})
        states, ends = np.empty((2, len(columns)), dtype=np.int64)
        move(columns[:, c.STATE - c.RANKING_ESTIMATE], states)
        move(columns[:, c.EXPECTED_END - c.RANKING_ESTIMATE], ends)
        running = np.flatnonzero(states == c.RUNNING)
        running = running[np.argsort(ends[running], kind="stable")]
        target = store.writable[: store.size]
        move(
            columns[:, : c.ALLOC_FIRST - c.RANKING_ESTIMATE],
            target[:, c.RANKING_ESTIMATE : c.ALLOC_FIRST],
        )
        store.set_distribution(slice(store.size), known.get("quantiles"), known.get("ends_within"))
        target[running, c.STATE] = c.WAITING
        last = np.cumsum(saved["node_count"])
        for row, first, end in zip(running, last - saved["node_count"], last, strict=True):
            parts = (saved[name][first:end] for name in Allocation._fields)
            self.start(int(row), Allocation(*parts), int(target[row, c.START]))
            self.expect_end(int(row), int(ends[row]))
            target[row, c.SINCE] = columns[row, c.SINCE - c.RANKING_ESTIMATE]
        self.set_down(saved["down"].tolist())
        queue = np.flatnonzero(states == c.WAITING)
        self._set_queue(queue, len(queue) + 256)
        store.reordered = int(saved["reordered"])

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
            f"job {self.name(row)} is given {shapes}: an allocation of K"
            f" nodes is int64 arrays of shape (K,), (K,) and (K, {len(self.system.resources)})"
        )

    def _complaint(self, row: int, allocation: Allocation, wrong: int) -> str:
        """Say what is wrong with an allocation, with its numbers."""
        code, kind, position = wrong % 16, wrong // 16 % 1024, wrong // 16384
        store = self.store
        if code == ledger.BAD_SHAPE:
            return self._improper(row, allocation)
        job = f"job {self.name(row)}"
        num_nodes = len(allocation.node)
        if code == ledger.BAD_UNITS and not position:
            given, columns = int(allocation.units.sum()), store.columns
            units_min, units_max = columns.item(row, c.UNITS_MIN), columns.item(row, c.UNITS_MAX)
            bounds = (
                f"it has {units_max}"
                if units_min == units_max
                else f"it may have {units_min} to {units_max}"
            )
            return f"{job} is given {given} units, {bounds}"
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


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
