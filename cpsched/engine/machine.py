"""
The state of a machine: which jobs wait, which run where, and what is free.

A job enters nodes by :meth:`ClusterState.start` and leaves them by :meth:`ClusterState.leave`,
whatever the reason. Nothing here has a clock or decides anything;
:class:`~cpsched.engine.cluster.Cluster` drives it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched import _core
from cpsched.errors import ConfigError, DispatchError
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation, AllocationArena
from cpsched.model.arrays import copied, immutable, move
from cpsched.model.jobstore import JobStore
from cpsched.model.jobtable import JobTable, RunningTable
from cpsched.model.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cpsched.model.system import System
    from cpsched.util.types import BoolArray, IntArray


_INT64 = np.dtype(np.int64)


class _Fault(IntEnum):
    """What is wrong with an allocation; the numbers of the native core."""

    NONE = 0
    NODE = 1
    TASKS = 2
    ELIGIBLE = 3
    BOUNDS = 4
    SPLIT = 5
    GAP = 6
    AMOUNT = 7
    FREE = 8
    SHAPE = 9


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
    node_up
        Shape ``(N,)``.
    eligible
        The nodes that are up and that each class of jobs may use, shape ``(C, N)``.
    """

    def __init__(self, system: System, name_of: Callable[[int], str] = str) -> None:
        self.system = system
        self.name_of = name_of
        self.capacity: IntArray = system.capacity
        #: The queue, the running jobs and what is free.
        self.core = _core.Cluster(self.capacity)
        self.store = JobStore(system.resources, cluster=self.core)
        self.node_up: BoolArray = immutable(np.ones(system.num_nodes, dtype=np.bool_))
        self._classes: BoolArray = immutable(np.zeros((0, system.num_nodes), dtype=np.bool_))
        self.eligible = self._classes
        self.core.look_at_eligible(self.eligible)
        self._arena = AllocationArena.of(*self.core.allocations())

    @property
    def free(self) -> IntArray:
        """What each node has left, shape ``(N, R)``; nothing on nodes that are down."""
        free: IntArray = self.core.free
        return free

    @property
    def classes(self) -> BoolArray:
        """The nodes that each class of jobs may use, down or not, shape ``(C, N)``."""
        classes: BoolArray = self._classes
        return classes

    @property
    def num_waiting(self) -> int:
        """Jobs in the queue."""
        return self.core.num_waiting

    @property
    def num_running(self) -> int:
        """Jobs on nodes."""
        return self.core.num_running

    @property
    def oldest(self) -> int:
        """The first row of a job that waits or runs; how many jobs there are if none does."""
        return self.core.oldest(self.store.size)

    def view(self, now: int) -> View:
        """Return what a dispatcher may know now."""
        allocations = self.core.allocations()
        if allocations[0] is not self._arena.node:
            self._arena = AllocationArena.of(*allocations)
        return View(
            now,
            self.system,
            self.free,
            self.node_up,
            self.eligible,
            JobTable(self.store, self.core.waiting()),
            RunningTable(self.store, self.core.running(), self._arena),
        )

    def set_classes(self, nodes: BoolArray) -> None:
        """Say which nodes each class of jobs may use, down or not; shape ``(C, N)``."""
        self._classes = nodes
        self.eligible = immutable(nodes & self.node_up if self.core.down else nodes)
        self.core.look_at_eligible(self.eligible)

    @property
    def down(self) -> list[int]:
        """The nodes that are down, in order."""
        return self.core.down

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
        wanted = sorted({int(node) for node in nodes})
        for node in wanted:
            if not 0 <= node < self.system.num_nodes:
                raise ConfigError(
                    f"is {node}, must be from 0 to {self.system.num_nodes - 1}", key="node"
                )
        self.core.set_down(wanted)
        up = np.ones(self.system.num_nodes, dtype=np.bool_)
        up[wanted] = False
        self.node_up = immutable(up)
        self.set_classes(self._classes)

    def start(self, row: int, allocation: Allocation, now: int) -> None:
        """
        Take an allocation for a waiting job.

        Raises
        ------
        DispatchError
            If the job does not wait, or the allocation is not three arrays of integers, does not
            match the job's request, or takes more than is free; names job, node, resource, demand
            and free. Then nothing has changed.
        """
        if not self.is_in(row, c.WAITING):
            raise DispatchError(f"cannot start job {self.name(row)}: it is not waiting")
        self._check_arrays(row, allocation)
        self._check_fault(row, allocation, self.core.start(row, *allocation, now))

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
        self._check_arrays(row, allocation)
        self._check_fault(row, allocation, self.core.resize(row, *allocation, now))

    def _check_arrays(self, row: int, allocation: Allocation) -> None:
        """Raise unless an allocation is arrays of integers, on nodes that lie as a job asks."""
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

    def _check_fault(self, row: int, allocation: Allocation, refusal: tuple[int, int, int]) -> None:
        """Raise if the core has refused an allocation."""
        if refusal[0]:
            raise DispatchError(self._complaint(row, allocation, *refusal))

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

    def is_in(self, row: int, state: int) -> bool:
        """Say whether there is such a job, and its ``STATE`` is this."""
        store = self.store
        return 0 <= row < store.size and store.columns.item(row, c.STATE) == state

    def name(self, row: int) -> str:
        """Return what messages call a job, whether there is one or not."""
        return self.name_of(row) if 0 <= row < self.store.size else str(row)

    def allocation(self, row: int) -> Allocation:
        """Return what a running job holds."""
        columns = self.store.columns
        arena = AllocationArena.of(*self.core.allocations())
        return arena.get(columns.item(row, c.ALLOC_FIRST), columns.item(row, c.ALLOC_COUNT))

    def state(self) -> dict[str, Any]:
        """Return the state of the jobs in the store, as arrays and numbers."""
        store = self.store
        allocations = [self.allocation(row) for row in self.core.running().tolist()]
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
            self.core.expect_end(int(row), int(ends[row]))
            target[row, c.SINCE] = columns[row, c.SINCE - c.RANKING_ESTIMATE]
        self.set_down(saved["down"].tolist())
        self.core.set_queue(np.flatnonzero(states == c.WAITING))
        store.reordered = int(saved["reordered"])

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

    def _complaint(
        self, row: int, allocation: Allocation, fault: int, position: int, kind: int
    ) -> str:
        """Say what is wrong with an allocation, with its numbers."""
        store = self.store
        if fault == _Fault.SHAPE:
            return self._improper(row, allocation)
        job = f"job {self.name(row)}"
        num_nodes = len(allocation.node)
        if fault == _Fault.TASKS and not position:
            given, columns = int(allocation.units.sum()), store.columns
            units_min, units_max = columns.item(row, c.UNITS_MIN), columns.item(row, c.UNITS_MAX)
            bounds = (
                f"must have {units_max}"
                if units_min == units_max
                else f"may have {units_min} to {units_max}"
            )
            return f"{job} is given {given} tasks, but {bounds}"
        if fault == _Fault.BOUNDS:
            low, high = (int(store.columns[row, column]) for column in (c.NODES_MIN, c.NODES_MAX))
            return f"{job} is given {num_nodes} nodes, but may have {low} to {high}"
        position -= fault == _Fault.TASKS
        index = int(allocation.node[position]) if position < num_nodes else -1
        if fault == _Fault.NODE:
            return (
                f"{job} is given node {index}: nodes must be from 0 to {self.system.num_nodes - 1},"
                " in ascending order, each once"
            )
        node = f"node {self.system.node_names[index]}"
        amount, resource = int(allocation.amount[position, kind]), self.system.resources[kind]
        return {
            _Fault.TASKS: (
                f"{job} is given {int(allocation.units[position])} tasks on {node}, must be 1 or"
                " more"
            ),
            _Fault.ELIGIBLE: f"{job} may not use {node}, or the node is down",
            _Fault.SPLIT: f"{job} needs equally many tasks on each node, but {node} differs",
            _Fault.GAP: f"{job} needs consecutive nodes, but {node} does not follow the last",
            _Fault.AMOUNT: (
                f"{job} is given {amount} {resource} on {node}, which differs from its request"
            ),
            _Fault.FREE: (
                f"{job} is given {amount} {resource} on {node},"
                f" where {int(self.free[index, kind])} are free"
            ),
        }[_Fault(fault)]


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
