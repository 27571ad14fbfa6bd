"""
Allocators: which of the suitable nodes a job's units are placed on.

Each is an order of nodes. Nodes are filled in that order, and one is skipped only if with it the
job would no longer fit within its bounds on the number of nodes, so no allocator refuses a job that
any choice of nodes can hold. Jobs that need consecutive nodes ignore the order: all allocators give
them the shortest run, the first one in node order. A job with a switch limit gets the fewest groups
of the topology's lowest level.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched import _core
from cpsched.dispatch.answers import check_own_allocator
from cpsched.errors import DispatchError
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation
from cpsched.util.own_code import title
from cpsched.util.spec import build
from cpsched.util.types import Split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import IntArray


#: The most request classes that an order of nodes goes by.
_MOST_WANTED = 40
#: The weight of the request class that weighs most; the others' are whole parts of it.
_WEIGHT = 2**30
#: So many units on a node and more are not told apart.
_TOGETHER = 2**20


def make_allocator(spec: str) -> Allocator:
    """
    Return a new allocator by its registered name.

    Parameters
    ----------
    spec
        A name of ``cpsched list allocators``, such as ``first-fit``, or ``module:Class``.
    """
    allocator: Allocator = build("allocators", spec)
    return allocator


class Allocator:
    """
    Base class of allocators, which choose the nodes of a job and its tasks on each of them.

    Derive from an allocator such as ``FirstFit``: the order of nodes itself is compiled code.

    Attributes
    ----------
    name
        Name in ``cpsched list allocators``.
    policy
        Number of the order of nodes in the compiled code. For example, 0 is the order of the
        system.
    looks_at_jobs
        Whether the order of nodes depends on the requests of other waiting and running jobs.
    memory
        Cache of the compiled code between decisions. It does not influence results.
    capacity
        Capacity of each of N nodes, R resource types, shape ``(N, R)``.
    levels
        Index of the group (such as a switch) of each node on each of L levels of the topology,
        shape ``(L, N)``.
    """

    name: ClassVar[str] = ""
    policy: ClassVar[int]
    looks_at_jobs: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Have what a user's own class returns checked."""
        super().__init_subclass__()
        check_own_allocator(cls)

    def reset(self, system: System) -> None:
        """
        Prepare for a system, before a run starts.

        Raises
        ------
        DispatchError
            If the allocator's class does not define an order of nodes.
        """
        if not isinstance(getattr(self, "policy", None), int | np.integer):
            raise DispatchError(
                f"{title(self)}: its class has no policy (the number of its order of nodes)."
                " Derive it from an allocator such as FirstFit."
            )
        self.capacity: IntArray = system.capacity
        self.levels: IntArray = system.topology.levels
        self._topology = system.topology
        self.memory = _core.PassMemory(int(self.policy), self.capacity, self.levels)

    def look_at(self, view: View) -> _core.PassMemory:
        """
        Return the cache for calls of compiled code, updated to a view.

        Cached results are dropped if the view has another job store than the last one, if the queue
        has been reordered, or if other nodes are eligible. Therefore the columns of the store that
        are set at submit, and the masks of eligible nodes, must not be changed in place.
        """
        store = view.waiting.store
        self.memory.look_at(
            store, store.columns, store.shapes, view.eligible, view.free, store.reordered
        )
        return self.memory

    def place(
        self,
        view: View,
        row: int,
        free: IntArray,
        changed: Mapping[int, int] = MappingProxyType({}),
    ) -> Allocation | None:
        """
        Return the nodes that the allocator chooses for one job, or None if the job does not fit.

        Parameters
        ----------
        view
            State of the system, with the job store and the eligible nodes.
        row
            Row of the job in the store. The job may wait or run.
        free
            Free capacity of each node, shape ``(N, R)``. The array is not changed.
        changed
            Values that replace those of the job, by column of :mod:`cpsched.model.columns`. For
            example ``{columns.UNITS: 4}`` places four tasks.
        """
        job = view.waiting.store.columns[row]
        if changed:
            job = job.copy()
            job[list(changed)] = list(changed.values())
        takes = self.look_at(view).place(job, free)
        return None if takes is None else self.allocation(view, row, takes)

    def allocation(self, view: View, row: int, takes: IntArray) -> Allocation:
        """
        Return the allocation of a job, given the number of its tasks on each node.

        Parameters
        ----------
        row
            Row of the job in the job store.
        takes
            Number of tasks on each node of the system, shape ``(N,)``.
        """
        store = view.waiting.store
        shape = store.shapes[store.columns[row, c.SHAPE]]
        node = np.flatnonzero(takes).astype(np.int64)
        units = takes[node]
        if shape[c.SHAPE_EXCLUSIVE]:
            return Allocation(node, units, self.capacity[node])
        kinds = self.capacity.shape[1]
        request = shape[c.SHAPE_REQUEST : c.SHAPE_REQUEST + kinds]
        per_node = shape[c.SHAPE_REQUEST + kinds : c.SHAPE_REQUEST + 2 * kinds]
        return Allocation(node, units, units[:, None] * request + per_node)

    def planned(self, view: View, row: int, nodes: IntArray, units: IntArray) -> Allocation | None:
        """
        Return the allocation of a job on planned nodes, or None if they violate the job's request.

        Whether the nodes are free is not checked.

        Parameters
        ----------
        row
            Row of the job in the job store.
        nodes, units
            Indices of the planned nodes, and the number of tasks on each, as in a
            :class:`~cpsched.model.decision.PlannedStarts`.

        Raises
        ------
        DispatchError
            If the system lacks a planned node, or the planned tasks do not add up to the job's.
        """
        columns = view.waiting.store.columns
        # Dispatchers of others may name them in lists.
        nodes, units = np.asarray(nodes), np.asarray(units)
        integral = np.issubdtype(nodes.dtype, np.integer) and np.issubdtype(units.dtype, np.integer)
        inside = integral and bool(((nodes >= 0) & (nodes < len(self.capacity))).all())
        if not inside or len(nodes) != len(units) or len(np.unique(nodes)) != len(nodes):
            raise DispatchError(
                f"a plan places tasks {units} on nodes {nodes}. It needs different nodes of the"
                " system, and a number of tasks for each"
            )
        if (units < 1).any() or units.sum() != columns.item(row, c.UNITS):
            raise DispatchError(
                f"a plan places {units} tasks of a job of {columns.item(row, c.UNITS)} tasks"
            )
        shape = view.waiting.store.shapes[columns.item(row, c.SHAPE)]
        segment, switches = shape[c.SHAPE_SEGMENT : c.SHAPE_REQUEST].tolist()
        allowed = (
            columns.item(row, c.NODES_MIN) <= len(nodes) <= columns.item(row, c.NODES_MAX)
            and view.eligible[shape[c.SHAPE_CLASS], nodes].all()
            and (shape[c.SHAPE_SPLIT] != Split.EVEN or (units == units[0]).all())
            and (not shape[c.SHAPE_CONTIGUOUS] or np.ptp(nodes) + 1 == len(nodes))
            and not self._topology.misfit(nodes, segment=segment, max_switches=switches)
        )
        if not allowed:
            return None
        takes = np.zeros(len(self.capacity), dtype=np.int64)
        takes[nodes] = units
        return self.allocation(view, row, takes)


class FirstFit(Allocator):
    """Nodes in the order of the system."""

    name = "first-fit"
    policy = 0


class BestFit(Allocator):
    """The node first on which the fewest tasks of this job fit."""

    name = "best-fit"
    policy = 1


class Pack(Allocator):
    """The fullest node first, so that whole nodes stay free."""

    name = "pack"
    policy = 2


class Balanced(Allocator):
    """
    The emptiest node first, and nodes with scarce resources last if the job does not need these.

    A resource is scarce if only some nodes have it (GPUs, MICs).
    """

    name = "balanced"
    policy = 3


class SpareScarce(Allocator):
    """
    The fullest node first, among the nodes without scarce resources that the job does not need.

    A resource is scarce if only some nodes have it (GPUs, MICs). Nodes are ordered by three
    numbers, smallest first. The first is the number of scarce resource types on the node that the
    job does not request. The second is the number of resource types of which the node has more free
    than every node has in total, if a task of the job would fit without this surplus (a GPU, or
    large memory). The third is the order of ``pack``.
    """

    name = "spare-scarce"
    policy = 4


class Fgd(Allocator):
    """
    The node first where the job least reduces the capacity for other requests.

    The measure is the number of tasks of each waiting and running request that fit before and after
    the placement. Requests for which few tasks fit weigh more. Of equal nodes the emptiest comes
    first. After the fragmentation gradient descent (FGD) of Weng et al. 2023 ("Beware of
    Fragmentation", USENIX ATC), which weighs the typical requests of past jobs by their frequency
    alone.
    """

    name = "fgd"
    policy = 8
    looks_at_jobs = True

    def look_at(self, view: View) -> _core.PassMemory:
        """
        Return the cache for calls of compiled code, updated to a view and the requests of its jobs.
        """
        store, kinds = view.waiting.store, self.capacity.shape[1]
        rows = np.concatenate([view.waiting.rows, view.running.rows])
        shape, units, nodes_max = store.columns[rows][:, [c.SHAPE, c.UNITS, c.NODES_MAX]].T
        # What a node is asked for at least: a job on few nodes needs room for several units.
        together = np.minimum(-(-units // np.minimum(nodes_max, units)), _TOGETHER - 1)
        code, which = np.unique(shape * _TOGETHER + together, return_inverse=True)
        shape, together = np.divmod(code, _TOGETHER)
        request = store.shapes[shape, c.SHAPE_REQUEST :]
        amount = together[:, None] * request[:, :kinds] + request[:, kinds : 2 * kinds]
        share = (amount / np.maximum(self.capacity.sum(axis=0), 1)).max(axis=1)
        # Once for how much is asked for, and once for how much is lost where that is.
        weight = np.bincount(which, units, len(code)) / together * share**2
        first = np.argsort(-weight, kind="stable")[:_MOST_WANTED]
        share = weight[first] / max(weight.max(initial=0), 1e-300)
        weights = (share * _WEIGHT).astype(np.int64)
        wanted = np.stack([shape[first], together[first], weights], axis=1)
        self.memory.set_wanted(wanted)
        return super().look_at(view)


class LowestSwitch(Allocator):
    """
    Nodes under the lowest switch with enough free capacity, the fullest if there are several.

    Below that switch nodes are selected as by ``fewest-groups``. Groups are switches, blocks or
    dragonfly groups of any size. Without groups it is ``contiguous``.
    """

    name = "lowest-switch"
    policy = 5


class FewestGroups(Allocator):
    """
    Nodes in as few groups of the topology's lowest level as possible.

    The group with the least sufficient free capacity comes first, or the largest group if none is
    sufficient. Groups are switches, blocks or routers of any size. Without groups it is
    ``contiguous``.
    """

    name = "fewest-groups"
    policy = 6


class Contiguous(Allocator):
    """The shortest sufficient contiguous range of free nodes, else the fewest ranges."""

    name = "contiguous"
    policy = 7
