"""
The nodes of a machine as hosts of Batsim, and back.

Batsim's hosts are all alike to the protocol, and a job asks for a number of them. Two readings of a
machine exist: every core is a host (``cores``), or every node is one (``nodes``). What a job asks
for beyond a number of hosts cannot be said, and is refused where a scheduler could not know how to
respect it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from cpsched.errors import DispatchError, check_choice
from cpsched.model.allocation import Allocation

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, IntArray


class Hosts(Protocol):
    """
    A machine as hosts.

    Attributes
    ----------
    names
        One of each host.
    node
        The node of each host.
    """

    names: list[str]
    node: IntArray

    def number(self, jobs: JobTable, view: View) -> IntArray:
        """
        Return how many hosts each of some jobs asks for.

        Raises
        ------
        DispatchError
            If one asks for what cannot be said.
        """

    def allocation(self, jobs: JobTable, hosts: IntArray) -> Allocation:
        """
        Return what the only job of a table holds on some hosts.

        Raises
        ------
        DispatchError
            If its units do not fit there.
        """


def hosts_of_system(system: System, kind: str) -> Hosts:
    """Return the hosts of a machine: ``cores`` or ``nodes``."""
    return _KINDS[kind](system)


def check_kind(kind: str) -> None:
    """Raise a ConfigError unless it is a kind of hosts."""
    check_choice("hosts", kind, _KINDS)


class CoreHosts:
    """
    A host for every core: jobs ask for cores alone, and may share nodes.

    Parameters
    ----------
    system
        The machine.
    """

    def __init__(self, system: System) -> None:
        cores = system.capacity[:, 0]
        self.node: IntArray = np.repeat(np.arange(system.num_nodes, dtype=np.int64), cores)
        first = np.cumsum(cores) - cores
        within = np.arange(len(self.node)) - first[self.node]
        self.names = [
            system.node_names[node] if cores[node] == 1 else f"{system.node_names[node]}.{core}"
            for node, core in zip(self.node.tolist(), within.tolist(), strict=True)
        ]
        self._resources = system.resources
        self._one_core_each = bool((cores == 1).all())

    def number(self, jobs: JobTable, view: View) -> IntArray:
        """Return how many cores each job asks for."""
        request, per_node = jobs.request, jobs.per_node
        for kind, name in enumerate(self._resources):
            asked = (request[:, kind] if kind else 0) + per_node[:, kind]
            _refuse(jobs, asked > 0, f"{name} on a node" if kind == 0 else name)
        _refuse(jobs, request[:, 0] < 1, "no cores")
        if not self._one_core_each:
            _refuse(jobs, jobs.exclusive > 0, "whole nodes")
        _refuse_classes(jobs, view)
        cores: IntArray = jobs.units * request[:, 0]
        return cores

    def allocation(self, jobs: JobTable, hosts: IntArray) -> Allocation:
        """Return the units on each node: so many that they take the cores given there."""
        if self._one_core_each:
            node, cores = hosts, np.ones(len(hosts), dtype=np.int64)
        else:
            node, cores = np.unique(self.node[hosts], return_counts=True)
        request = jobs.request[0]
        units = cores // request[0]
        if (units * request[0] != cores).any():
            at = int(np.flatnonzero(units * request[0] != cores)[0])
            raise DispatchError(
                f"batsim: {_job(jobs)} is given {cores[at]} cores of a node,"
                f" but each of its tasks takes {request[0]}"
            )
        return Allocation(node, units.astype(np.int64), units[:, None] * request)


class NodeHosts:
    """
    A host for every node: a job has its nodes for itself.

    Parameters
    ----------
    system
        The machine.
    """

    def __init__(self, system: System) -> None:
        self.node: IntArray = np.arange(system.num_nodes, dtype=np.int64)
        self.names = list(system.node_names)
        self._capacity = system.capacity
        #: What every node holds.
        self._least: IntArray = system.capacity.min(axis=0)

    def number(self, jobs: JobTable, view: View) -> IntArray:
        """Return the fewest nodes on which each job can be."""
        max_units = self._max_units(jobs)
        _refuse(jobs, max_units < 1, "more than every node holds")
        _refuse_classes(jobs, view)
        nodes: IntArray = np.maximum(-(-jobs.units // np.maximum(max_units, 1)), jobs.nodes_min)
        _refuse(jobs, nodes > jobs.nodes_max, "more than its nodes hold")
        return nodes

    def allocation(self, jobs: JobTable, hosts: IntArray) -> Allocation:
        """Return the units on each node: as equal as they can be, the first nodes have more."""
        units, count = int(jobs.units[0]), len(hosts)
        each = units // count + (np.arange(count) < units % count)
        amount = each[:, None] * jobs.request[0] + jobs.per_node[0]
        if jobs.exclusive[0]:
            amount = self._capacity[hosts]
        return Allocation(hosts, each.astype(np.int64), amount.astype(np.int64))

    def _max_units(self, jobs: JobTable) -> IntArray:
        """Return how many units of each job any node can hold."""
        left = self._least - jobs.per_node
        request = jobs.request
        fits = np.where(request > 0, left // np.maximum(request, 1), np.where(left < 0, 0, 2**31))
        max_units: IntArray = fits.min(axis=1)
        return max_units


def _refuse(jobs: JobTable, which: BoolArray, what: str) -> None:
    """Raise if there are jobs that ask for what JOB_SUBMITTED cannot say."""
    at = np.flatnonzero(which)
    if len(at):
        raise DispatchError(
            f"batsim: {_job(jobs.take(at[:1]))} asks for {what}, which JOB_SUBMITTED cannot"
            " express. Jobs of Batsim ask for a number of hosts (hosts=cores or hosts=nodes)."
        )


def _refuse_classes(jobs: JobTable, view: View) -> None:
    """Raise if there are jobs that may not use every node."""
    everywhere = np.all(view.eligible | ~view.node_up, axis=1)
    _refuse(jobs, ~everywhere[jobs.eligible_class], "certain nodes")


def _job(jobs: JobTable) -> str:
    return f"job {jobs.handle[0]}"


_KINDS: dict[str, Callable[[System], Hosts]] = {"cores": CoreHosts, "nodes": NodeHosts}
