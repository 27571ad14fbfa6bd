"""AccaSim's resource manager as a system of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.machines import systems
from cpsched.api.model import MAX_TIME, Queue, System, Topology

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.api.model import IntArray

#: The expected wait of all queues if none is set; its value then changes nothing.
DEFAULT_EXPECTED_WAIT = 3600


class Beside(NamedTuple):
    """
    What AccaSim does not know of its machine.

    Attributes
    ----------
    like
        A system with queues, expected waits, features, topology. It must have the same number of
        nodes with the same capacities; its node names are not used.
    expected_wait
        Of all queues, or of each by name, seconds; jobs of other queues then have the default.
    default_time
        Requested time of jobs without one, seconds; by default that of ``like``, if any.
    """

    like: System | None = None
    expected_wait: int | Mapping[str, int] | None = None
    default_time: int | None = None

    @classmethod
    def checked(
        cls,
        system: System | str | None,
        expected_wait: int | Mapping[str, int] | None,
        default_time: int | None,
    ) -> Beside:
        """
        Return what a user says.

        Raises
        ------
        ConfigError
            If the system is unknown, or a time is no whole number of seconds, 1 or more.
        """
        by_queue = expected_wait if isinstance(expected_wait, Mapping) else {"": expected_wait}
        given = [(f"expected_wait {queue}".strip(), wait) for queue, wait in by_queue.items()]
        for key, seconds in [*given, ("default_time", default_time)]:
            if seconds is not None and not (type(seconds) is int and 1 <= seconds <= MAX_TIME):
                raise ConfigError(f"is {seconds!r}, must be seconds, 1 to {MAX_TIME}", key=key)
        like = systems.load(system) if isinstance(system, str) else system
        return cls(like, expected_wait, default_time)

    def system_of(self, manager: Any) -> System:
        """
        Return the machine that a resource manager of AccaSim holds.

        Raises
        ------
        ConfigError
            If ``like`` is another machine, or both it and ``expected_wait`` are given.
        """
        kinds = cores_first(manager.system_resource_types())
        names, nodes = tuple(manager.node_names), manager.system_capacity("nodes")
        capacity = np.array([[nodes[name][kind] for kind in kinds] for name in names], np.int64)
        if self.like is not None:
            if self.expected_wait is not None:
                raise ConfigError("the system already has expected waits", key="expected_wait")
            known = _same(self.like, names, kinds, capacity)
            return replace(known, default_time=self.default_time or known.default_time)
        wait = self.expected_wait or DEFAULT_EXPECTED_WAIT
        by_queue, usual = ({}, wait) if isinstance(wait, int) else (wait, DEFAULT_EXPECTED_WAIT)
        # Kinds of nodes are numbered in the order of appearance.
        numbers: dict[bytes, int] = {}
        groups = [numbers.setdefault(row.tobytes(), len(numbers)) for row in capacity]
        return System(
            name="accasim",
            title="machine of AccaSim",
            source="its system configuration",
            resources=kinds,
            capacity=capacity,
            node_names=names,
            node_groups=tuple(f"group_{group}" for group in groups),
            features=tuple(frozenset[str]() for _ in names),
            queues={name: Queue(name=name, expected_wait=wait) for name, wait in by_queue.items()},
            topology=Topology(len(names)),
            default_expected_wait=usual,
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
    if set(system.resources) != set(kinds):
        raise ConfigError(
            f"it has {', '.join(system.resources)}, AccaSim's machine has {', '.join(kinds)}",
            where=where,
            key="resources",
        )
    if system.num_nodes != len(names):
        raise ConfigError(
            f"it has {system.num_nodes} nodes, AccaSim's machine has {len(names)}",
            where=where,
            key="nodes",
        )
    found = capacity[:, [kinds.index(kind) for kind in system.resources]]
    for node in np.flatnonzero((found != system.capacity).any(axis=1)).tolist():
        raise ConfigError(
            f"node {system.node_names[node]} has {system.capacity[node].tolist()} of"
            f" {', '.join(system.resources)}, AccaSim's {names[node]} has {found[node].tolist()}",
            where=where,
            key="nodes",
        )
    return replace(system, node_names=names)
