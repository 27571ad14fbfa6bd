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
    """Return a registered allocator."""
    allocator: Allocator = build("allocators", spec)
    return allocator


class Allocator:
    """
    Puts units on nodes.

    Attributes
    ----------
    name
        As registered.
    policy
        The number of its order of nodes in the native core.
    looks_at_jobs
        Whether that order depends on other jobs, so that it must be told of them at every pass.
    memory
        What the native passes that place jobs with it remember between decisions: a cache, and no
        state.
    capacity, levels
        What each node has, shape ``(N, R)``, and its group at each level of the topology, shape
        ``(L, N)``.
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
        Prepare for a system.

        Raises
        ------
        DispatchError
            If its class does not say in which order nodes are taken.
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
        Point the native passes to a view; return what they are called on.

        It forgets what does not hold any more, if the view has another job store than the last
        one, if the queue has been reordered or if other nodes are eligible. A store's columns that
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
        Place one job.

        Parameters
        ----------
        view
            Supplies the job store and the eligible nodes.
        row
            The job's row in the store; it may wait or run.
        free
            What each node has to give, shape ``(N, R)``; not changed.
        changed
            Values that count instead of the job's own, by column of
            :mod:`cpsched.model.columns`.

        Returns
        -------
        Allocation or None
            None if the job does not fit.
        """
        job = view.waiting.store.columns[row]
        if changed:
            job = job.copy()
            job[list(changed)] = list(changed.values())
        takes = self.look_at(view).place(job, free)
        return None if takes is None else self.allocation(view, row, takes)

    def allocation(self, view: View, row: int, takes: IntArray) -> Allocation:
        """Return the allocation of a job that puts ``takes[n]`` units on node n."""
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
        Return the allocation of a job according to a plan; None if the plan violates its request.

        Whether there is room for it is not checked.

        Parameters
        ----------
        nodes, units
            Of a :class:`~cpsched.model.decision.PlannedStarts`.

        Raises
        ------
        DispatchError
            If these are not nodes of the machine, or the units are not the job's number.
        """
        columns = view.waiting.store.columns
        # Dispatchers of others may name them in lists.
        nodes, units = np.asarray(nodes), np.asarray(units)
        integral = np.issubdtype(nodes.dtype, np.integer) and np.issubdtype(units.dtype, np.integer)
        inside = integral and bool(((nodes >= 0) & (nodes < len(self.capacity))).all())
        if not inside or len(nodes) != len(units) or len(np.unique(nodes)) != len(nodes):
            raise DispatchError(f"a plan's nodes are {nodes} and the units on them {units}")
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
    """The nodes in their order along the line."""

    name = "first-fit"
    policy = 0


class BestFit(Allocator):
    """The node that has room for the fewest units of this job first."""

    name = "best-fit"
    policy = 1


class Pack(Allocator):
    """The busiest node first, so that whole nodes stay free."""

    name = "pack"
    policy = 2


class Balanced(Allocator):
    """
    The idlest node first, and those with scarce resources the job does not ask for last.

    A resource is scarce if only some nodes have it (GPUs, MICs).
    """

    name = "balanced"
    policy = 3


class SpareScarce(Allocator):
    """
    The busiest node first, among those whose use takes least from other jobs.

    Nodes are ordered by the number of kinds that they have, that others lack and that the job does
    not ask for (GPUs, MICs); then by the number of kinds of which more is free than every node has,
    if a unit of the job would fit in that (such as a GPU, or large memory); then as by
    ``pack``.
    """

    name = "spare-scarce"
    policy = 4


class Fgd(Allocator):
    """
    The nodes whose use takes least room from what waiting and running jobs ask for.

    The room for each of their requests is counted in units before and after, and weighs more the
    fewer there is room for; where that is equal, the idlest node comes first. After the
    fragmentation gradient descent of Weng et al. 2023 ("Beware of Fragmentation", USENIX ATC),
    which weighs the typical requests of past jobs by their frequency alone.
    """

    name = "fgd"
    policy = 8
    looks_at_jobs = True

    def look_at(self, view: View) -> _core.PassMemory:
        """Do so, and note what waiting and running jobs ask for."""
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
    Nodes under the lowest switch that holds the job, the fullest of several.

    Under it as ``fewest-groups``. Groups are switches, blocks or dragonfly groups, of any sizes;
    without any it is ``contiguous``.
    """

    name = "lowest-switch"
    policy = 5


class FewestGroups(Allocator):
    """
    Nodes in as few groups of the topology's lowest level as hold the job.

    The group with the least room that is enough; the largest first where none is. Groups are
    switches, blocks or routers, of any sizes; without any it is ``contiguous``.
    """

    name = "fewest-groups"
    policy = 6


class Contiguous(Allocator):
    """The shortest run of free nodes that holds the job, else the fewest runs."""

    name = "contiguous"
    policy = 7
