"""AccaSim's resource manager as a system of ours."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched import systems
from cpsched.errors import ConfigError, check_least
from cpsched.model.system import System
from cpsched.model.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.util.types import IntArray

#: The expected wait of all queues, which AccaSim does not know; its value changes nothing.
DEFAULT_EXPECTED_WAIT = 3600


class MachineExtras(NamedTuple):
    """
    What AccaSim does not know of its machine.

    Attributes
    ----------
    like
        A system with queues, expected waits, features, topology. It must have the same number of
        nodes with the same capacities; its node names are not used.
    default_time
        Requested time of jobs without one, seconds; by default that of ``like``, if any.
    """

    like: System | None = None
    default_time: int | None = None

    @classmethod
    def checked(cls, system: System | str | None, default_time: int | None) -> MachineExtras:
        """Return what a user says; a ConfigError if the system is unknown, or the time invalid."""
        check_least("default_time", default_time, 1)
        return cls(systems.load(system) if isinstance(system, str) else system, default_time)

    def system_of(self, manager: Any) -> System:
        """Return the machine of AccaSim's resource manager; a ConfigError if ``like`` is not it."""
        kinds = cores_first(manager.system_resource_types())
        names, nodes = tuple(manager.node_names), manager.system_capacity("nodes")
        capacity = np.array([[nodes[name][kind] for kind in kinds] for name in names], np.int64)
        if self.like is not None:
            known = _same(self.like, names, kinds, capacity)
            return replace(known, default_time=self.default_time or known.default_time)
        # Kinds of nodes are numbered in the order of appearance.
        numbers: dict[bytes, int] = {}
        groups = [numbers.setdefault(row.tobytes(), len(numbers)) for row in capacity]
        return System(
            name="accasim",
            title="system of AccaSim",
            source="its system configuration",
            resources=kinds,
            capacity=capacity,
            node_names=names,
            node_groups=tuple(f"group_{group}" for group in groups),
            features=tuple(frozenset[str]() for _ in names),
            queues={},
            topology=Topology(len(names)),
            default_expected_wait=DEFAULT_EXPECTED_WAIT,
            default_time=self.default_time,
        )


def cores_first(types: Iterable[str]) -> tuple[str, ...]:
    """Return the resource kinds, cores first as everywhere."""
    return tuple(sorted(types, key=lambda kind: kind != "core"))


def _same(
    system: System, names: tuple[str, ...], kinds: tuple[str, ...], capacity: IntArray
) -> System:
    """Return a system under the names of AccaSim's nodes, if it is the same machine."""
    where = f"system {system.name}"
    resources, node_names = ", ".join(system.resources), system.node_names
    if set(system.resources) != set(kinds):
        there = f"it has {resources}, AccaSim's system has {', '.join(kinds)}"
        raise ConfigError(there, where=where, key="resources")
    if system.num_nodes != len(names):
        there = f"it has {system.num_nodes} nodes, AccaSim's system has {len(names)}"
        raise ConfigError(there, where=where, key="nodes")
    ordered = capacity[:, [kinds.index(kind) for kind in system.resources]]
    for node in np.flatnonzero((ordered != system.capacity).any(axis=1)).tolist():
        raise ConfigError(
            f"node {node_names[node]} has {system.capacity[node].tolist()} of {resources},"
            f" AccaSim's {names[node]} has {ordered[node].tolist()}",
            where=where,
            key="nodes",
        )
    return replace(system, node_names=names)
