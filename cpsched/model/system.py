"""
The machine: nodes and what they hold, queues, topology, and how a log's jobs map onto it.

A :class:`System` is read from TOML by :func:`cpsched.systems.load`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.model.arrays import immutable
from cpsched.model.topology import Topology
from cpsched.util.terminal import table_text
from cpsched.util.words import brief, counted, memory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.util.types import IntArray


class ProcessorMapping(StrEnum):
    """How the processors of a log without nodes (SWF) become units on nodes."""

    POOL = "pool"
    """Each node group is one pool of cores: a job of P processors is P tasks of one core, without
    nodes. A log that names nodes keeps them."""
    WHOLE_NODES = "whole-nodes"
    """A job takes ceil(P / cores per node) nodes, each with all of its cores. All nodes that a job
    may use must have the same number of cores."""
    PACKED = "packed"
    """P tasks of one core on as few nodes as possible: ceil(P / tasks that fit on an empty node),
    by cores and requested memory. Where eligible nodes differ, the largest ones give the smallest
    allowed number of nodes, and the smallest ones the largest."""
    ANYWHERE = "anywhere"
    """P tasks of one core on any nodes, as in AccaSim. Nodes matter only for memory."""


class MemoryMapping(StrEnum):
    """The use of the memory that a job requested in the log."""

    REQUESTED = "requested"
    """It is a constraint (KB per processor, as SWF has it)."""
    IGNORED = "ignored"
    """It is dropped: memory is not modelled for this log."""


class Preempt(StrEnum):
    """How running jobs of a queue make way for jobs of a queue of a higher tier."""

    OFF = "off"
    """They do not."""
    REQUEUE = "requeue"
    """Restartable jobs return to the queue, with the work of their last checkpoint."""
    SUSPEND = "suspend"
    """Restartable jobs return to the queue, with all of their work."""
    KILL = "kill"
    """Jobs end for good."""


@dataclass(frozen=True, kw_only=True)
class Queue:
    """
    A named queue of a system (a partition in Slurm), with its rules for jobs.

    Attributes
    ----------
    expected_wait
        Expected wait of a job in this queue, seconds (``ewt`` in Remediani 2017), at least 1.
    max_time, default_time
        Largest requested time, and the requested time of a job without one, seconds.
    groups
        Node groups that its jobs may use. Empty: all.
    users
        Users or groups whose jobs may be in the queue. Empty: all.
    priority_tier
        Jobs of a queue with a higher tier go first, and may preempt those of lower tiers.
    preempt
        Preemption of running jobs of this queue for jobs of a higher tier.
    grace
        Seconds between the notice to a job and its preemption.
    default
        Whether jobs that name no queue are in this one.
    exclusive
        Whether its jobs share no node with others.
    min_nodes, max_nodes
        Bounds on the number of nodes of its jobs. 0 for ``max_nodes``: no bound.
    """

    name: str
    expected_wait: int | None = None
    max_time: int | None = None
    default_time: int | None = None
    groups: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    priority_tier: int = 0
    preempt: Preempt = Preempt.OFF
    grace: int = 0
    default: bool = False
    exclusive: bool = False
    min_nodes: int = 1
    max_nodes: int = 0


@dataclass(frozen=True, kw_only=True)
class LogMapping:
    """
    How a log's jobs become requests on this system; nothing here is guessed.

    Attributes
    ----------
    processors
        See :class:`ProcessorMapping`; None: a log that only counts processors is refused.
    processor_cores
        Cores of one processor of the log.
    memory
        See :class:`MemoryMapping`.
    queue_field
        Which column names the queue: ``queue`` or ``partition``.
    queues
        Queue of this system for each name in the log, where they differ.
    constraints
        ``honour`` or ``ignore`` the log's constraint strings.
    """

    processors: ProcessorMapping | None = None
    processor_cores: int = 1
    memory: MemoryMapping = MemoryMapping.REQUESTED
    queue_field: str = "queue"
    queues: Mapping[str, str] = field(default_factory=dict)
    constraints: str = "honour"


@dataclass(frozen=True, kw_only=True, eq=False)
class System:
    """
    A cluster: N nodes in the order of the topology, R resource types, and queues.

    Attributes
    ----------
    resources
        Names of the R types. ``mem`` is in KB, all others are counts. ``core`` comes first.
    capacity
        Capacity of each node, int64, shape ``(N, R)``. It is copied and read-only.
    node_names, node_groups
        Name and group of each node.
    features
        Features of each node, as in Slurm, a set of strings each.
    weights
        Slurm's weight of each node, int64, shape ``(N,)``. Lower weights are allocated first. Zeros
        if none is given.
    queues
        Queues by name. Empty: one queue without a name that accepts everything.
    default_expected_wait, default_time
        Expected wait and requested time of jobs whose queue defines none, seconds. None: no
        default.
    """

    name: str
    title: str
    source: str
    resources: tuple[str, ...]
    capacity: IntArray
    node_names: tuple[str, ...]
    node_groups: tuple[str, ...]
    features: tuple[frozenset[str], ...]
    queues: Mapping[str, Queue]
    topology: Topology
    weights: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    default_expected_wait: int | None = None
    default_time: int | None = None
    log: LogMapping = field(default_factory=LogMapping)

    def __post_init__(self) -> None:
        # The same kind of array for every system: the native core takes no other.
        capacity = immutable(np.asarray(self.capacity, dtype=np.int64))
        object.__setattr__(self, "capacity", capacity)
        weights = self.weights if len(self.weights) else np.zeros(len(capacity))
        object.__setattr__(self, "weights", immutable(np.asarray(weights, dtype=np.int64)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, System) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.name, self.node_names))

    def __repr__(self) -> str:
        kinds = zip(self.resources, self.total.tolist(), strict=True)
        amounts = [counted(total, kind) for kind, total in kinds if kind != "mem" and total]
        return (
            f"<System {brief(self.name)}: {', '.join([counted(self.num_nodes, 'node'), *amounts])}>"
        )

    def _repr_html_(self) -> str:
        """Return what the nodes of each group hold, for notebooks."""
        return f"<pre>{escape(self.kinds_text())}</pre>"

    def kinds(self) -> list[tuple[str, list[int]]]:
        """
        Return the types of nodes: for each node group and capacity, the indices of its nodes.

        For example ``[("cpu", [0, 1, 2]), ("gpu", [3])]``.
        """
        nodes_of: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        node_kinds = zip(self.node_groups, map(tuple, self.capacity.tolist()), strict=True)
        for node, kind in enumerate(node_kinds):
            nodes_of.setdefault(kind, []).append(node)
        return [(group, nodes) for (group, _), nodes in nodes_of.items()]

    def kinds_text(self, width: int = 120, names: Sequence[str] = ()) -> str:
        """
        Return the resources of each type of node as a table for people.

        Parameters
        ----------
        width
            Largest number of characters of a line.
        names
            Names of the nodes of each group. Empty: without names.
        """
        rows = []
        for at, (group, nodes) in enumerate(self.kinds()):
            amounts = zip(self.resources, self.capacity[nodes[0]].tolist(), strict=True)
            rows.append(
                [
                    brief(group),
                    *names[at : at + 1],
                    f"{len(nodes):,}",
                    *(memory(per_node) if kind == "mem" else f"{per_node:,}"
                      for kind, per_node in amounts),
                ]
            )  # fmt: skip
        headers = ["group", *(["names"] if names else []), "nodes", *self.resources]
        text = table_text(headers, rows, width=width, names=2 if names else 1)
        return f"{brief(self.title or self.name)}: resources of each node of a group\n\n{text}"

    def copy(self) -> System:
        """Return an equal system that shares no changeable data with this one."""
        queues = {name: replace(queue) for name, queue in self.queues.items()}
        log = replace(self.log, queues=dict(self.log.queues))
        return replace(self, queues=queues, topology=replace(self.topology), log=log)

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return len(self.node_names)

    @cached_property
    def total(self) -> IntArray:
        """Capacity of the whole system, shape ``(R,)``."""
        total: IntArray = immutable(self.capacity.sum(axis=0))
        return total

    @property
    def is_counted_pool(self) -> bool:
        """
        Whether each node stands for a whole node group (a counted pool).

        :func:`cpsched.systems.mapping.fit` makes such a system for a log that only counts
        processors, if the system file says ``pool``. Each node has the name of its group.
        """
        return self.log.processors == ProcessorMapping.POOL and self.node_names == self.node_groups

    def is_untold_type(self, name: str) -> bool:
        """
        Return whether a resource such as ``gpu:a100`` may be among untyped amounts of the system.

        It may be if the system does not list the type, but has ``gpu`` in larger amounts than the
        sum of the listed types.
        """
        kind, colon, _ = name.partition(":")
        if not colon or name in self.resources or kind not in self.resources:
            return False
        totals = zip(self.resources, self.total.tolist(), strict=True)
        known = sum(total for type_name, total in totals if type_name.startswith(f"{kind}:"))
        return bool(self.total[self.resource_index(kind)] > known)

    def resource_index(self, name: str) -> int:
        """Return the position of a resource type, -1 if the system lacks it."""
        return self.resources.index(name) if name in self.resources else -1

    def queues_of(self, names: str | None) -> tuple[Queue, ...]:
        """Return those queue names, of a comma-separated list, that the system has."""
        if names is None:
            return ()
        return tuple(self.queues[name] for name in names.split(",") if name in self.queues)

    def expected_wait(self, queue: str | None) -> int | None:
        """Return the expected wait of a job's queue in seconds, or the system's default."""
        waits = [
            own
            for candidate in self.queues_of(queue)
            if (own := candidate.expected_wait) is not None
        ]
        return min(waits, default=self.default_expected_wait)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON types, with equal neighbouring nodes together."""

        def kind(node: int) -> dict[str, Any]:
            weight = int(self.weights[node])
            return {
                "group": self.node_groups[node],
                "features": sorted(self.features[node]),
                "capacity": self.capacity[node].tolist(),
                **({"weight": weight} if weight else {}),
            }

        runs = [
            {**alike, "names": [self.node_names[node] for node in nodes]}
            for alike, nodes in groupby(range(self.num_nodes), key=kind)
        ]
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "resources": list(self.resources),
            "nodes": runs,
            "queues": [_without_defaults(queue) for queue in self.queues.values()],
            **self.topology.to_dict(),
            "default_expected_wait": self.default_expected_wait,
            "default_time": self.default_time,
            "log": _without_defaults(self.log),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> System:
        """Return the system that a result of :meth:`to_dict` describes."""
        nodes = [(run, name) for run in data["nodes"] for name in run["names"]]
        log = dict(data["log"])
        if log["processors"] is not None:
            log["processors"] = ProcessorMapping(log["processors"])
        log["memory"] = MemoryMapping(log["memory"])
        queues = [_queue_of(queue) for queue in data["queues"]]
        return cls(
            name=data["name"],
            title=data["title"],
            source=data["source"],
            resources=tuple(data["resources"]),
            capacity=np.array([run["capacity"] for run, _ in nodes], dtype=np.int64),
            node_names=tuple(name for _, name in nodes),
            node_groups=tuple(run["group"] for run, _ in nodes),
            features=tuple(frozenset(run["features"]) for run, _ in nodes),
            queues={queue.name: queue for queue in queues},
            weights=np.array([run.get("weight", 0) for run, _ in nodes], dtype=np.int64),
            topology=Topology.from_dict(len(nodes), data),
            default_expected_wait=data["default_expected_wait"],
            default_time=data["default_time"],
            log=LogMapping(**log),
        )

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the system, with all properties of :meth:`to_dict`."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()


#: Said only where it is not the default, so that digests stay what they were.
_LATER_KEYS = {
    *("priority_tier", "preempt", "grace", "processor_cores"),
    *("default", "exclusive", "min_nodes", "max_nodes"),
}


def _without_defaults(thing: Queue | LogMapping) -> dict[str, Any]:
    """Return a queue or mapping as plain types, without what most of them do not say."""
    fields = asdict(thing)
    for name in _LATER_KEYS & fields.keys():
        if fields[name] == getattr(type(thing), name):
            del fields[name]
    return fields


def _queue_of(fields: Mapping[str, Any]) -> Queue:
    """Return a queue from these."""
    preempt = Preempt(fields.get("preempt", Preempt.OFF))
    tuples = {name: tuple(fields[name]) for name in ("groups", "users")}
    return Queue(**{**fields, **tuples, "preempt": preempt})
