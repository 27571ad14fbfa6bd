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
    """
    A ``[[queues]]`` entry; its keys are those of :class:`~cpsched.model.system.Queue`.

    Without queues, a system accepts every queue name of a log and applies no rules. With queues,
    each name in the log must be one of them, or be translated by ``[log.queues]``. A job may name
    several queues (``short,long``). It runs wherever one of them allows it, except in queues whose
    limits exclude it. The default time of the first one applies.
    """

    name: Text
    """Name of the queue, without commas."""
    expected_wait: Seconds | None = None
    """How long its jobs expect to wait. Default: ``default_expected_wait``."""
    max_time: Seconds | None = None
    """Longest requested time. A job that asks for more is rejected. Default: no limit."""
    default_time: Seconds | None = None
    """Requested time of jobs that name none, at most ``max_time``. Default: ``max_time``, else the
    system's ``default_time``."""
    groups: Texts = ()
    """Node groups that its jobs may use. Default: all."""
    users: Texts = ()
    """Users or groups whose jobs it accepts. Default: all."""
    priority_tier: CountOrZero = 0
    """Jobs of a higher tier go first and may preempt jobs of lower tiers."""
    preempt: Annotated[Preempt, *member_of(Preempt)] = Preempt.OFF
    """How running jobs of this queue make way for jobs of a higher tier."""
    grace: SecondsOrZero = 0
    """Time between the notice to a job and its preemption. Needs ``preempt``."""
    default: Flag = False
    """Whether jobs that name no queue go here. At most one queue is the default."""
    exclusive: Flag = False
    """Whether its jobs share no node with other jobs."""
    min_nodes: Count = 1
    """Fewest nodes of a job. A job with wider bounds is restricted to these bounds. A job that
    asks for other numbers is rejected."""
    max_nodes: Count = 0
    """Most nodes of a job, as for ``min_nodes``. Default: no limit."""

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
    """
    The table ``[topology]``: sizes of one kind of topology, or a file of Slurm's.

    Switches, blocks and groups hold consecutive positions. Give one kind, or none: nodes then
    have only their order.
    """

    level_sizes: Counts | None = None
    """A tree: nodes under one switch of each level, smallest first. Each size is a multiple of the
    one before. For example, ``[16, 64]``: leaf switches of 16 nodes, four of them under each
    switch of the next level."""
    switches: (
        Annotated[
            tuple[Counts, ...], *list_of("lists of whole numbers of at least 1: [[4, 6], [10]]")
        ]
        | None
    ) = None
    """A tree of unequal switches: for each level, lowest first, the sizes of its switches in node
    order. For example, ``[[4, 6, 10], [10, 10]]``."""
    block_size: Count | None = None
    """Blocks: nodes in a block."""
    block_sizes: Counts | None = None
    """Blocks in groups: nodes in a block, then in each larger group of blocks. For example, ``[18,
    72]``."""
    router_size: Count | None = None
    """A dragonfly: nodes under a router. Needs ``group_size``."""
    group_size: Count | None = None
    """A dragonfly: nodes in a group of routers."""
    sides: Counts | None = None
    """A torus: nodes along each of its 2 to 5 dimensions."""
    slurm: Text | None = None
    """A topology file of Slurm, by a path relative to the system file: ``topology.conf``."""

    @model_validator(mode="after")
    def _check(self) -> TopologyTable:
        kinds = [name for name, _ in self if name in self.model_fields_set - {"group_size"}]
        if len(kinds) > 1:
            raise ConfigError(
                f"{kinds[0]} describes a topology, too. Keep one of the keys.", key=kinds[1]
            )
        if self.group_size is not None and self.router_size is None:
            raise ConfigError("needs router_size. Add it.", key="group_size")
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
    """
    The table ``[log]``; its keys are those of :class:`~cpsched.model.system.LogMapping`.

    How jobs of a log become requests for nodes. cpsched guesses none of these settings.
    """

    processors: Annotated[ProcessorMapping, *member_of(ProcessorMapping)] | None = None
    """How the processors of a log without nodes (SWF) are placed on nodes. Without this key, such
    a log is refused."""
    memory: Annotated[MemoryMapping, *member_of(MemoryMapping)] | None = None
    """Whether the memory that a job requested is a constraint or is dropped. Default:
    ``requested`` if nodes have ``mem``, else ``ignored``."""
    queue_field: Annotated[Literal["queue", "partition"], Must("one of: queue, partition")] = (
        "queue"
    )
    """The column of the log that names the queue."""
    queues: Annotated[dict[str, Text], Must("a table")] = Field(default_factory=dict)
    """Queue of this system for each name in the log. Default: the names are the same."""
    constraints: Annotated[Literal["honour", "ignore"], Must("one of: honour, ignore")] = "honour"
    """Whether the constraint strings of the log apply."""


class SystemFile(Model):
    """A system file, in the format of ``docs/reference/system-file.md``."""

    resources: Annotated[Texts, Must('a list that begins with "core", then "mem", ...')]
    """Resource types, ``core`` first. ``mem`` is in KB, all others are counts. ``gpu:a100`` is a
    GPU type, counted in addition to ``gpu``."""
    name: Text | None = None
    """Name of the system. Default: the file's name without ``.toml``."""
    title: Text | None = None
    """Name of the cluster in full. Default: ``name``."""
    source: Text = "not stated"
    """Where these numbers come from."""
    features: Texts = ()
    """Features of every node."""
    default_time: Seconds | None = None
    """Requested time of jobs without one whose queue has no default. Without it, such a job is an
    error."""
    default_expected_wait: Seconds | None = None
    """Expected wait of jobs whose queue has none. Some priorities need one."""
    nodes: Annotated[tuple[NodesEntry, ...], *entries_of("nodes")] = ()
    """At least one entry."""
    queues: Annotated[tuple[QueueEntry, ...], *entries_of("queues")] = ()
    """Any number of entries."""
    topology: TopologyTable = Field(default_factory=TopologyTable)
    """The network."""
    log: LogTable = Field(default_factory=LogTable)
    """How jobs of a log become requests."""

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
                    f"{kind!r} is listed, but every node has 0 of it. Remove it, or add it.",
                    key="resources",
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
                raise ConfigError("is true for two queues. Keep it for one.", key=f"{key}.default")
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
