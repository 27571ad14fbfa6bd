"""The models of a system file, and the :class:`~cpsched.model.system.System` that it describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from cpsched.errors import ConfigError, instead_of
from cpsched.model.system import LogMapping, MemoryMapping, Preempt, ProcessorMapping, Queue, System
from cpsched.model.topology import Topology, TopologyKind
from cpsched.systems.nodes_parser import NodesEntry, system_nodes
from cpsched.util import registry
from cpsched.util.models import (
    Count,
    CountOrZero,
    Counts,
    Flag,
    Model,
    Must,
    Seconds,
    SecondsOrZero,
    Text,
    Texts,
    entries_of,
    list_of,
    member_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from cpsched.util.types import IntArray


class QueueEntry(Model):
    """A ``[[queues]]`` entry; its keys are those of :class:`~cpsched.model.system.Queue`."""

    name: Text
    expected_wait: Seconds | None = None
    max_time: Seconds | None = None
    default_time: Seconds | None = None
    groups: Texts = ()
    users: Texts = ()
    priority_tier: CountOrZero = 0
    preempt: Annotated[Preempt, *member_of(Preempt)] = Preempt.OFF
    grace: SecondsOrZero = 0
    default: Flag = False
    exclusive: Flag = False
    min_nodes: Count = 1
    max_nodes: Count = 0

    @model_validator(mode="after")
    def _check(self) -> QueueEntry:
        if 0 < self.max_nodes < self.min_nodes:
            raise ConfigError(f"is less than min_nodes ({self.min_nodes})", key="max_nodes")
        if "," in self.name:
            raise ConfigError(
                "contains a comma, which separates several queues of a job", key="name"
            )
        if self.grace and self.preempt == Preempt.OFF:
            raise ConfigError("needs preempt in the same queue", key="grace")
        if self.max_time and self.default_time and self.default_time > self.max_time:
            raise ConfigError(
                f"{self.default_time} s is more than max_time allows ({self.max_time} s)",
                key="default_time",
            )
        return self


class TopologyTable(Model):
    """The table ``[topology]``: sizes of one kind of topology, or a file of Slurm's."""

    level_sizes: Counts | None = None
    switches: (
        Annotated[
            tuple[Counts, ...], *list_of("lists of whole numbers of at least 1: [[4, 6], [10]]")
        ]
        | None
    ) = None
    block_size: Count | None = None
    block_sizes: Counts | None = None
    router_size: Count | None = None
    group_size: Count | None = None
    sides: Counts | None = None
    slurm: Text | None = None

    @model_validator(mode="after")
    def _check(self) -> TopologyTable:
        kinds = [name for name, _ in self if name in self.model_fields_set - {"group_size"}]
        if len(kinds) > 1:
            raise ConfigError(
                f"describes another topology than {kinds[0]}. Give one of them.", key=kinds[1]
            )
        if self.group_size is not None and self.router_size is None:
            raise ConfigError("needs router_size", key="group_size")
        if self.router_size is not None and self.group_size is None:
            raise ConfigError("is missing. It must be a whole number above 0.", key="group_size")
        return self

    def laid_out(self, node_names: Sequence[str], folder: Path) -> tuple[IntArray, Topology]:
        """
        Return the topology of nodes; without a key it is a plain line.

        Returns
        -------
        order, topology
            Positions of the nodes in the order of the topology, shape ``(N,)``: only a file of
            Slurm's gives another order than that of the system file.

        Raises
        ------
        ConfigError
            If the sizes do not fit the number of nodes.
        """
        if self.slurm is not None:
            reader = registry.load("topology_files", "slurm")
            return reader.read(folder / self.slurm, node_names)  # type: ignore[no-any-return]
        order = np.arange(len(node_names), dtype=np.int64)
        try:
            return order, Topology(len(node_names), **self._sizes())
        except ValueError as error:
            (key,) = self.model_fields_set - {"group_size"}
            raise ConfigError(str(error), key=f"topology.{key}") from error

    def _sizes(self) -> dict[str, Any]:
        """Return the arguments of :class:`Topology`."""
        if self.switches is not None:
            return {"kind": TopologyKind.TREE, "group_sizes": self.switches}
        if self.block_size is not None or self.block_sizes is not None:
            return {
                "kind": TopologyKind.BLOCK,
                "level_sizes": self.block_sizes or (self.block_size,),
            }
        if self.router_size is not None:
            sizes = (self.router_size, self.group_size)
            return {"kind": TopologyKind.DRAGONFLY, "level_sizes": sizes}
        if self.sides is not None:
            return {"kind": TopologyKind.TORUS, "sides": self.sides}
        return {} if self.level_sizes is None else {"level_sizes": self.level_sizes}


class LogTable(Model):
    """The table ``[log]``; its keys are those of :class:`~cpsched.model.system.LogMapping`."""

    processors: Annotated[ProcessorMapping, *member_of(ProcessorMapping)] | None = None
    memory: Annotated[MemoryMapping, *member_of(MemoryMapping)] | None = None
    queue_field: Annotated[Literal["queue", "partition"], Must("one of: queue, partition")] = (
        "queue"
    )
    queues: Annotated[dict[str, Text], Must("a table")] = Field(default_factory=dict)
    constraints: Annotated[Literal["honour", "ignore"], Must("one of: honour, ignore")] = "honour"


class SystemFile(Model):
    """A system file, in the format of ``docs/reference/system-files.md``."""

    resources: Annotated[Texts, Must('a list that begins with "core", then "mem", ...')]
    name: Text | None = None
    title: Text | None = None
    source: Text = "not stated"
    features: Texts = ()
    default_time: Seconds | None = None
    default_expected_wait: Seconds | None = None
    nodes: Annotated[tuple[NodesEntry, ...], *entries_of("nodes")] = ()
    queues: Annotated[tuple[QueueEntry, ...], *entries_of("queues")] = ()
    topology: TopologyTable = Field(default_factory=TopologyTable)
    log: LogTable = Field(default_factory=LogTable)

    @field_validator("resources", mode="after")
    @classmethod
    def _check_resources(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if not names or names[0] != "core":
            raise ConfigError('must be a list that begins with "core", then "mem", ...')
        for name in names:
            if name in NodesEntry.model_fields:
                raise ConfigError(f"a resource cannot be called {name!r}")
        # Each of them is a key of the entries of nodes.
        assert info.context is not None
        info.context["resources"] = names
        return names

    def system(self, name: str, folder: Path) -> System:
        """
        Return the system.

        Raises
        ------
        ConfigError
            If parts of it contradict one another; names the key.
        """
        if not self.nodes:
            raise ConfigError("is missing. Give at least one [[nodes]] entry.", key="nodes")
        nodes = system_nodes(self.nodes, self.resources, self.features)
        for kind, total in zip(self.resources, nodes.capacity.sum(axis=0), strict=True):
            if not total:
                raise ConfigError(
                    f"{kind!r} is listed, and every node has 0 of it", key="resources"
                )
        queues = self._queues(dict.fromkeys(nodes.groups))
        order, topology = self.topology.laid_out(nodes.names, folder)
        nodes = nodes.take(order)
        name = self.name or name
        return System(
            name=name,
            title=self.title or name,
            source=self.source,
            resources=self.resources,
            capacity=nodes.capacity,
            node_names=nodes.names,
            node_groups=nodes.groups,
            features=nodes.features,
            weights=nodes.weights,
            queues=queues,
            topology=topology,
            default_expected_wait=self.default_expected_wait,
            default_time=self.default_time,
            log=self._log(queues),
        )

    def _queues(self, groups: Collection[str]) -> dict[str, Queue]:
        queues: dict[str, Queue] = {}
        for number, entry in enumerate(self.queues, start=1):
            key = f"queues[{number}]"
            if entry.name in queues:
                raise ConfigError(f"the queue {entry.name!r} is given twice", key=f"{key}.name")
            if entry.default and any(other.default for other in queues.values()):
                raise ConfigError("is true for two queues", key=f"{key}.default")
            for group in entry.groups:
                _check_known(f"{key}.groups", "node group", group, groups)
            queues[entry.name] = Queue(**dict(entry))
        return queues

    def _log(self, queues: Collection[str]) -> LogMapping:
        """Return how a log maps onto the system; memory counts where the system has any."""
        memory, has_memory = self.log.memory, "mem" in self.resources
        if memory == MemoryMapping.REQUESTED and not has_memory:
            raise ConfigError(
                '"requested" needs nodes with mem. Add it to [[nodes]].', key="log.memory"
            )
        for name, queue in self.log.queues.items():
            _check_known(f"log.queues.{name}", "queue", queue, queues)
        usual = MemoryMapping.REQUESTED if has_memory else MemoryMapping.IGNORED
        return LogMapping(**{**dict(self.log), "memory": memory or usual})


def _check_known(key: str, what: str, name: str, known: Collection[str]) -> None:
    """Raise ConfigError, with the closest name, if a name is not among the known ones."""
    if name not in known:
        there = instead_of(name, known, "Known")
        raise ConfigError(f"unknown {what} {name!r}{there}", key=key)
