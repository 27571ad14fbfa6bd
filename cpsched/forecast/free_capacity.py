"""How much of a job fits on the free nodes, and which resource is in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.allocators import FirstFit
from cpsched.forecast.explanation import Demand, FreeCapacity, NodeUnits
from cpsched.model.jobtable import JobTable
from cpsched.model.node_sets import unit_capacity
from cpsched.util.node_lists import compress
from cpsched.util.words import amount, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.allocation import Allocation
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, IntArray


class Fitting:
    """
    One job's request against levels of free capacity; N nodes, R resource kinds.

    Parameters
    ----------
    view
        Gives the job's request, the nodes that it may use, and their capacities.
    row
        The job's row in the job store.
    """

    def __init__(self, view: View, row: int) -> None:
        job = JobTable(view.waiting.store, np.array([row]))[0]
        self.view = view
        self.row = row
        self.job = job
        self.units, self.nodes_min = job.units, job.nodes_min
        self.request, self.per_node = job.request, job.per_node
        self.eligible: BoolArray = view.eligible[job.eligible_class]
        self.exclusive = bool(job.exclusive)
        self.allocator = FirstFit()
        self.allocator.reset(view.system)

    @property
    def demand(self) -> IntArray:
        """The least amount of each kind that the job takes, shape ``(R,)``."""
        needed: IntArray = self.units * self.request + self.nodes_min * self.per_node
        return needed

    def place(self, free: IntArray) -> Allocation | None:
        """Return where the job fits if it is alone; None if it does not."""
        return self.allocator.place(self.view, self.row, free)

    def free_capacity(self, free: IntArray) -> FreeCapacity:
        """Return the tasks of the job that fit on the nodes, given free capacity, ``(N, R)``."""
        by_kind = self._units_by_kind(free)
        fitting_units: IntArray = by_kind.min(axis=1)
        if self.exclusive:
            fitting_units[(free != self.view.system.capacity).any(axis=1)] = 0
        total = min(int(fitting_units.sum()), self.units)
        resources = self._resources(free, by_kind.sum(axis=0))
        fits = self.place(free) is not None
        names = self.view.system.node_names
        return FreeCapacity(
            fits=fits,
            units=total,
            short=self.units - total,
            resources=resources,
            places=node_groups(
                names, np.flatnonzero(fitting_units), fitting_units[fitting_units > 0]
            ),
            obstacle="" if fits else self._obstacle(resources, fitting_units, free),
        )

    def _units_by_kind(self, free: IntArray) -> IntArray:
        """Return the units each kind alone would allow on each node, shape ``(N, R)``."""
        limit = np.array([self.units])
        units = [
            unit_capacity(
                free[:, [kind]], self.request[None, [kind]], self.per_node[None, [kind]], limit
            )[0]
            for kind in range(len(self.request))
        ]
        return np.stack(units, axis=1) * self.eligible[:, None]

    def _resources(self, free: IntArray, units: IntArray) -> tuple[Demand, ...]:
        system = self.view.system
        return tuple(
            Demand(
                resource=name,
                demand=int(self.demand[kind]),
                free=int(free[:, kind].sum()),
                eligible=int(free[self.eligible, kind].sum()),
                capacity=int(system.total[kind]),
                units=min(int(units[kind]), self.units),
            )
            for kind, name in enumerate(system.resources)
            if self.demand[kind]
        )

    def _obstacle(
        self, resources: Sequence[Demand], fitting_units: IntArray, free: IntArray
    ) -> str:
        """Return why the job does not fit on the free nodes, the narrowest reason first."""
        missing = self.units - int(fitting_units.sum())
        size = f"{int(fitting_units.sum()):,} of its {counted(self.units, 'task')}"
        if missing > 0 and self.exclusive:
            idle = int(((free == self.view.system.capacity).all(axis=1) & self.eligible).sum())
            return f"it needs whole nodes, and {size} fit on the {idle:,} idle nodes it may use"
        tight = [kind for kind in resources if kind.units < self.units]
        if missing > 0 and tight:
            return ", and ".join(_shortage(kind, self.units) for kind in tight)
        if missing > 0:
            return f"enough of every resource is free, but on different nodes: {size} fit"
        return self._rule_obstacle(fitting_units)

    def _rule_obstacle(self, fitting_units: IntArray) -> str:
        """Return the placement rule that cannot be met although all tasks fit."""
        usable = int((fitting_units > 0).sum())
        if usable < self.nodes_min:
            return f"it needs at least {self.nodes_min} nodes, and its tasks fit on only {usable}"
        job, max_nodes = self.job, min(self.job.nodes_max, usable)
        group, groups = self.view.system.topology.group_words
        rules = [
            f"on at most {max_nodes} nodes" if job.nodes_max < usable else "",
            "with as many tasks on each" if job.split else "",
            "on consecutive nodes" if job.contiguous else "",
            f"in segments of {job.segment} nodes in one {group} each" if job.segment > 1 else "",
            f"in at most {counted(job.max_switches, group, groups)}" if job.max_switches else "",
        ]
        return f"there is free capacity for its tasks, but not {', '.join(filter(None, rules))}"


def _shortage(kind: Demand, units: int) -> str:
    """Return the shortage of one resource: too little in total, or too little per node."""
    verb = "is" if kind.eligible == 1 else "are"
    has = amount(kind.resource, kind.eligible)
    where = "free" if kind.free == kind.eligible else "free on nodes it may use"
    if kind.demand > kind.eligible:
        return f"it needs {amount(kind.resource, kind.demand)}, and {has} {verb} {where}"
    return (
        f"{has} {verb} {where}, but spread over nodes so that only {kind.units:,} of its"
        f" {counted(units, 'task')} fit"
    )


def node_groups(names: Sequence[str], nodes: IntArray, units: IntArray) -> tuple[NodeUnits, ...]:
    """Return node lists with the units on each node, most units first."""
    return tuple(
        NodeUnits(nodes=node_list(names, nodes[units == number]), units=int(number))
        for number in np.unique(units)[::-1]
    )


def node_list(names: Sequence[str], nodes: IntArray) -> str:
    """Return node indices as text like ``n[1-16,20]``."""
    return compress(names[int(node)] for node in nodes)
