"""AccaSim's resource manager as a system of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.machines import systems
from cpsched.api.model import MAX_TIME, Queue, System, Topology

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.api.model import IntArray

#: The expected wait of all queues if none is set; its value then changes nothing.
DEFAULT_EXPECTED_WAIT = 3600


def check_seconds(expected_wait: int | Mapping[str, int] | None, default_time: int | None) -> None:
    """Raise ConfigError unless all are whole seconds, 1 or more, or not given."""
    waits = expected_wait.items() if isinstance(expected_wait, Mapping) else [("", expected_wait)]
    given = [(f"expected_wait {queue}".strip(), seconds) for queue, seconds in waits]
    for key, seconds in [*given, ("default_time", default_time)]:
        if seconds is None or (type(seconds) is int and 1 <= seconds <= MAX_TIME):
            continue
        raise ConfigError(f"is {seconds!r}, must be seconds, 1 to {MAX_TIME}", key=key)


def system_of(
    manager: Any,
    *,
    like: System | str | None = None,
    expected_wait: int | Mapping[str, int] | None = None,
    default_time: int | None = None,
) -> System:
    """
    Return the machine that a resource manager of AccaSim holds.

    Parameters
    ----------
    manager
        An ``accasim.base.resource_manager_class.ResourceManager``.
    like
        A system (or its name or file) with what AccaSim does not have: queues, expected waits,
        features, topology. It must have the same number of nodes with the same capacities; its node
        names are not used.
    expected_wait
        Of all queues, or of each by name, seconds; jobs of other queues then have the default.
    default_time
        Requested time of jobs without one, seconds; by default that of ``like``, if any.

    Raises
    ------
    ConfigError
        If ``like`` is another machine, or both it and ``expected_wait`` are given.
    """
    kinds = cores_first(manager.system_resource_types())
    capacity = np.array(
        [[node[kind] for kind in kinds] for node in _nodes(manager)], dtype=np.int64
    )
    names = tuple(manager.node_names)
    if like is not None:
        if expected_wait is not None:
            raise ConfigError("the system already has expected waits", key="expected_wait")
        known = systems.load(like) if isinstance(like, str) else like
        known = _like(known, names, kinds, capacity)
        return replace(known, default_time=default_time or known.default_time)
    by_queue = {} if expected_wait is None or isinstance(expected_wait, int) else expected_wait
    waits = expected_wait if isinstance(expected_wait, int) else DEFAULT_EXPECTED_WAIT
    return System(
        name="accasim",
        title="machine of AccaSim",
        source="its system configuration",
        resources=kinds,
        capacity=capacity,
        node_names=names,
        node_groups=_groups(capacity),
        features=tuple(frozenset[str]() for _ in names),
        queues={name: Queue(name=name, expected_wait=wait) for name, wait in by_queue.items()},
        topology=Topology(len(names)),
        default_expected_wait=waits,
        default_time=default_time,
    )


def cores_first(types: Iterable[str]) -> tuple[str, ...]:
    """Return the resource kinds, cores first as everywhere."""
    return tuple(sorted(types, key=lambda kind: kind != "core"))


def _nodes(manager: Any) -> list[Mapping[str, int]]:
    capacity = manager.system_capacity("nodes")
    return [capacity[name] for name in manager.node_names]


def _groups(capacity: IntArray) -> tuple[str, ...]:
    """Number the distinct kinds of nodes, in order of appearance."""
    numbers: dict[bytes, int] = {}
    return tuple(f"group_{numbers.setdefault(row.tobytes(), len(numbers))}" for row in capacity)


def _like(
    system: System, names: tuple[str, ...], kinds: tuple[str, ...], capacity: IntArray
) -> System:
    """Return a system under the names of AccaSim's nodes, if it is the same machine."""
    if set(system.resources) != set(kinds):
        raise ConfigError(
            f"it has {', '.join(system.resources)}, AccaSim's machine has {', '.join(kinds)}",
            where=f"system {system.name}",
            key="resources",
        )
    if system.num_nodes != len(names):
        raise ConfigError(
            f"it has {system.num_nodes} nodes, AccaSim's machine has {len(names)}",
            where=f"system {system.name}",
            key="nodes",
        )
    found = capacity[:, [kinds.index(kind) for kind in system.resources]]
    other = np.flatnonzero((found != system.capacity).any(axis=1))
    if len(other):
        node = int(other[0])
        raise ConfigError(
            f"node {system.node_names[node]} has {system.capacity[node].tolist()} of"
            f" {', '.join(system.resources)}, AccaSim's {names[node]} has {found[node].tolist()}",
            where=f"system {system.name}",
            key="nodes",
        )
    return replace(system, node_names=names)
