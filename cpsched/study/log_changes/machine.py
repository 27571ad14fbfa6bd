"""Changes to a machine: more nodes, fewer nodes, other rules of a queue, an outage."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from itertools import count as counting
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.errors import ConfigError, check_least, did_you_mean
from cpsched.model.topology import Topology, TopologyKind
from cpsched.study.changes import Change
from cpsched.util.node_lists import named_nodes
from cpsched.util.quantities import duration
from cpsched.util.spec import Spec, canonical
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from cpsched.model.system import Queue, System
    from cpsched.model.workload import Workload
    from cpsched.simulation.simulate import Settings
    from cpsched.util.types import BoolArray, IntArray

#: A name with a number in it, its last one.
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")


class AddNodes(Change):
    """
    Add nodes to a node group, each like the last node of the group.

    The new nodes come after all others in the order of nodes. In a topology with switches or
    blocks, they have a switch or block of their own.

    Parameters
    ----------
    group
        Name of the node group.
    count
        Number of nodes to add.
    """

    name: ClassVar[str] = "add-nodes"

    def __init__(self, group: str, count: int) -> None:
        check_least("count", count, 1)
        self.group, self.count = group, count

    def of_system(self, system: System) -> System:
        """Return the system with the added nodes."""
        like = int(np.flatnonzero(_in_group(system, self.group))[-1])
        order = np.append(np.arange(system.num_nodes), np.full(self.count, like))
        names = _more_names(system.node_names[like], set(system.node_names))
        new = list(islice(names, self.count))
        topology = _grown(system.topology, self.count)
        return replace(
            _taken(system, order), node_names=(*system.node_names, *new), topology=topology
        )


class RemoveNodes(Change):
    """
    Remove nodes by name, or the last nodes of a group.

    Parameters
    ----------
    nodes
        Names of the nodes, as Slurm lists hosts: ``n[01-04],m1``.
    group, count
        Instead of names: the group, and the number of nodes to remove from its end.
    """

    name: ClassVar[str] = "remove-nodes"

    def __init__(self, nodes: str = "", group: str = "", count: int = 0) -> None:
        if bool(nodes) == bool(group):
            raise ConfigError("needs either nodes, or group and count")
        if group:
            check_least("count", count, 1)
        self.nodes, self.group, self.count = nodes, group, count

    def of_system(self, system: System) -> System:
        """Return the system without the nodes."""
        gone = self._gone(system)
        if gone.all():
            raise ConfigError("leaves no node")
        staying = np.flatnonzero(~gone)
        left = {system.node_groups[node] for node in staying.tolist()}
        for queue in system.queues.values():
            if queue.groups and not left & set(queue.groups):
                raise ConfigError(f"leaves queue {queue.name!r} without a node")
        queues = {
            name: replace(queue, groups=tuple(group for group in queue.groups if group in left))
            for name, queue in system.queues.items()
        }
        return replace(
            _taken(system, staying), queues=queues, topology=_shrunk(system.topology, ~gone)
        )

    def _gone(self, system: System) -> BoolArray:
        gone = np.zeros(system.num_nodes, dtype=np.bool_)
        if self.group:
            nodes = np.flatnonzero(_in_group(system, self.group))
            if self.count > len(nodes):
                raise ConfigError(f"group {self.group!r} has {len(nodes)} nodes")
            gone[nodes[len(nodes) - self.count :]] = True
            return gone
        at = {name: node for node, name in enumerate(system.node_names)}
        gone[[at[name] for name in named_nodes(self.nodes, at)]] = True
        return gone


class _QueueChange(Change):
    """
    Base class of the changes of one queue, in short ``QUEUE=VALUE``.

    Subclasses set ``option``, the name of the value, and override :meth:`changed`.
    """

    option: ClassVar[str]

    @classmethod
    def written(cls, text: str, second: Callable[[str], int]) -> str:  # noqa: ARG003
        """Return the options as ``KEY=VALUE,...``. ``QUEUE=VALUE`` is a short form of them."""
        queue, equals, value = text.partition("=")
        return text if "," in text or not equals else f"queue={queue},{cls.option}={value}"

    def __init__(self, queue: str) -> None:
        self.queue = queue

    def of_system(self, system: System) -> System:
        """Return the system with the changed queue."""
        if self.queue not in system.queues:
            raise _unknown("queue", self.queue, system.queues)
        queue = self.changed(system.queues[self.queue])
        return replace(system, queues={**system.queues, self.queue: queue})

    def changed(self, queue: Queue) -> Queue:
        """Return the queue after the change."""
        raise NotImplementedError


class _QueueTimeChange(_QueueChange):
    """Base class of the changes of a time of a queue, of at least a second."""

    option: ClassVar[str] = "time"

    def __init__(self, queue: str, time: str) -> None:
        super().__init__(queue)
        try:
            self.time = duration(time)
        except ValueError as error:
            raise ConfigError(f"{time!r} {error}", key="time") from None
        check_least("time", self.time, 1)


class MaxTime(_QueueTimeChange):
    """
    Change the time limit of a queue.

    Jobs that are only in this queue and ask for more get the limit as requested time. They are
    killed there if they run longer.

    Parameters
    ----------
    queue
        Name of the queue.
    time
        The limit, ``H:MM:SS`` or ``D-HH:MM:SS``.
    """

    name: ClassVar[str] = "max-time"

    def changed(self, queue: Queue) -> Queue:
        """Return the queue with the limit, and with a default time of at most the limit."""
        default = None if queue.default_time is None else min(queue.default_time, self.time)
        return replace(queue, max_time=self.time, default_time=default)

    def of_workload(self, workload: Workload, system: System) -> Workload:
        """Return the jobs with requested times of at most the limit."""
        column = getattr(workload, system.log.queue_field)
        default = system.queues[self.queue].default
        names = [system.log.queues.get(name, name) == self.queue for name in column.values]
        own = np.array([*names, default])[column.codes]
        requested = workload.requested_time
        too_long = own & (requested != MISSING) & (requested > self.time)
        return workload.with_columns(requested_time=np.where(too_long, self.time, requested))


class DefaultTime(_QueueTimeChange):
    """
    Change the requested time of jobs that ask for none in a queue.

    They are killed at it if they run longer. If all jobs of the log ask for a time, nothing
    changes.

    Parameters
    ----------
    queue
        Name of the queue, the first one of these jobs.
    time
        The time, ``H:MM:SS`` or ``D-HH:MM:SS``, at most the limit of the queue.
    """

    name: ClassVar[str] = "default-time"

    def changed(self, queue: Queue) -> Queue:
        """Return the queue with the default time."""
        if queue.max_time is not None and self.time > queue.max_time:
            raise ConfigError(
                f"{self.time} s is more than max_time of queue {queue.name!r} allows"
                f" ({queue.max_time} s)"
            )
        return replace(queue, default_time=self.time)


class PriorityTier(_QueueChange):
    """
    Change the tier of a queue: jobs of a higher tier go first.

    Dispatchers that preempt may then preempt jobs of lower tiers. Queues without a tier in the
    system file have tier 0 (Slurm's ``PriorityTier`` is 1 by default).

    Parameters
    ----------
    queue
        Name of the queue.
    tier
        The tier, at least 0.
    """

    name: ClassVar[str] = "priority-tier"
    option: ClassVar[str] = "tier"

    def __init__(self, queue: str, tier: int) -> None:
        super().__init__(queue)
        check_least("tier", tier, 0)
        self.tier = tier

    def changed(self, queue: Queue) -> Queue:
        """Return the queue with the tier."""
        return replace(queue, priority_tier=self.tier)


class Outage(Change):
    """
    Add an outage of some nodes.

    Parameters
    ----------
    nodes
        Names of the nodes, as Slurm lists hosts: ``n[01-04],m1``. ``all`` for every node.
    start, end
        Seconds of the log's clock, ``[start, end)``.
    known
        The second from which the outage is known. None: not before it begins.
    """

    name: ClassVar[str] = "outage"

    @classmethod
    def written(cls, text: str, second: Callable[[str], int]) -> str:
        """Return the options as ``KEY=VALUE,...``, with dates as seconds of the log's clock."""
        spec = Spec.parse(f"{cls.name}:{text}")
        options = ((key, _second(key, value, second)) for key, value in spec.options)
        return str(Spec(cls.name, tuple(options))).partition(":")[2]

    def __init__(self, nodes: str, start: int, end: int, known: int | None = None) -> None:
        options = [("nodes", nodes), ("start", str(start)), ("end", str(end))]
        if known is not None:
            options.append(("known", str(known)))
        self.nodes = nodes
        self.outages = canonical("outages", str(Spec("during", tuple(options))))

    def of_system(self, system: System) -> System:
        """Return the same system, after a check that it has the nodes."""
        if self.nodes != "all":
            named_nodes(self.nodes, dict.fromkeys(system.node_names))
        return system

    def of_settings(self, settings: Settings) -> Settings:
        """Return the settings of a run with the outage."""
        if settings.outages != "none":
            raise ConfigError(f"outages are already set: {settings.outages}")
        return replace(settings, outages=self.outages)


def _second(key: str, value: str, second: Callable[[str], int]) -> str:
    """Return the value of an option; a date becomes a second."""
    if key not in ("start", "end", "known") or value.lstrip("-").isdigit():
        return value
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise ConfigError(
            f"is {value!r}, must be seconds or a date such as 2024-03-01T10:00:00", key=key
        ) from None
    return str(second(value))


def _more_names(last: str, taken: Collection[str]) -> Iterator[str]:
    """Yield the names that follow one: ``n09``, ``n10`` after ``n08``."""
    match = _NUMBERED.fullmatch(last)
    before, digits, after = match.groups() if match else (f"{last}-", "0", "")
    for number in counting(int(digits) + 1):
        name = f"{before}{number:0{len(digits)}d}{after}"
        if name not in taken:
            yield name


def _in_group(system: System, group: str) -> BoolArray:
    inside = np.array([own == group for own in system.node_groups])
    if not inside.any():
        raise _unknown("node group", group, dict.fromkeys(system.node_groups))
    return inside


def _unknown(what: str, name: str, known: Collection[str]) -> ConfigError:
    hint = did_you_mean(name, known)
    return ConfigError(f"unknown {what} {name!r}.{hint} Known: {', '.join(known)}.")


def _taken(system: System, order: IntArray) -> System:
    """Return the machine with some of its nodes; topology and queues are not updated."""
    at = order.tolist()
    return replace(
        system,
        capacity=system.capacity[order],
        weights=system.weights[order],
        node_names=tuple(system.node_names[node] for node in at),
        node_groups=tuple(system.node_groups[node] for node in at),
        features=tuple(system.features[node] for node in at),
    )


def _grown(topology: Topology, count: int) -> Topology:
    """Return a topology with more nodes, in a group of their own at each level."""
    num = topology.num_nodes + count
    if topology.num_levels == 1 and not topology.sides:
        return Topology(num)
    sizes = tuple((*np.bincount(level).tolist(), count) for level in _groups(topology))
    return Topology(num, kind=topology.kind, group_sizes=sizes)


def _shrunk(topology: Topology, staying: BoolArray) -> Topology:
    """Return a topology of some of its nodes."""
    num = int(staying.sum())
    if topology.num_levels == 1 and not topology.sides:
        return Topology(num)
    sizes = tuple(
        tuple(size for size in np.bincount(level[staying]).tolist() if size)
        for level in _groups(topology)
    )
    return Topology(num, kind=topology.kind, group_sizes=sizes)


def _groups(topology: Topology) -> IntArray:
    """Return the group of every node at each level, shape ``(L, N)``."""
    if topology.kind not in (TopologyKind.TREE, TopologyKind.BLOCK):
        raise ConfigError(
            f"a {topology.kind.value} has a fixed size: nodes cannot be added or removed. Give"
            " another system file"
        )
    return topology.levels
