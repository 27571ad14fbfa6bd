"""A system file's text to a :class:`~cpsched.model.system.System`."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import instead_of
from cpsched.model.system import LogMapping, MemoryMapping, Preempt, ProcessorMapping, Queue, System
from cpsched.model.topology import Topology, TopologyKind
from cpsched.systems.nodes_parser import ENTRY_KEYS, SystemNodes, read_nodes
from cpsched.util import registry
from cpsched.util.toml_section import Section

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from cpsched.util.types import IntArray

#: At the top of a system file.
_KEYS = (
    *("name", "title", "source", "resources", "features", "default_time", "default_expected_wait"),
    *("nodes", "queues", "topology", "log"),
)


def parse(text: str, *, where: str = "system", name: str = "system") -> System:
    """
    Return the machine that a system file's text describes.

    Parameters
    ----------
    text
        TOML, in the format of ``docs/reference/system-files.md``.
    where
        The file, for messages.
    name
        What the machine is called if the file does not say.

    Raises
    ------
    ConfigError
        If it is not TOML, or a key is unknown, missing or is invalid.
    """
    top = Section.of_text(text, where)
    top.expect(*_KEYS)
    kinds = _resources(top)
    nodes = _nodes(top, kinds)
    queues = _queues(top, nodes)
    order, topology = read_topology(top.table("topology"), nodes.names)
    nodes = nodes.take(order)
    name = top.text("name", name)
    return System(
        name=name,
        title=top.text("title", name),
        source=top.text("source", "not stated"),
        resources=kinds,
        capacity=nodes.capacity,
        node_names=nodes.names,
        node_groups=nodes.groups,
        features=nodes.features,
        weights=nodes.weights,
        queues=queues,
        topology=topology,
        default_expected_wait=top.seconds("default_expected_wait"),
        default_time=top.seconds("default_time"),
        log=_log(top.table("log"), queues, has_memory="mem" in kinds),
    )


def _resources(top: Section) -> tuple[str, ...]:
    kinds = top.texts("resources")
    if not kinds or kinds[0] != "core":
        raise top.error("resources", 'must be a list that begins with "core", then "mem", ...')
    for kind in kinds:
        if kind in ENTRY_KEYS:
            raise top.error("resources", f"a resource cannot be called {kind!r}")
    return kinds


def _nodes(top: Section, kinds: tuple[str, ...]) -> SystemNodes:
    sections = top.tables("nodes")
    if not sections:
        raise top.error("nodes", "there are none; give at least one [[nodes]] entry")
    nodes = read_nodes(sections, kinds, top.texts("features"))
    for kind, total in zip(kinds, nodes.capacity.sum(axis=0), strict=True):
        if not total:
            raise top.error("resources", f"{kind!r} is listed, and no node has any")
    return nodes


def _queues(top: Section, nodes: SystemNodes) -> dict[str, Queue]:
    queues: dict[str, Queue] = {}
    for section in top.tables("queues"):
        section.expect(*(item.name for item in fields(Queue)))
        queue = Queue(
            name=section.text("name"),
            expected_wait=section.seconds("expected_wait"),
            max_time=section.seconds("max_time"),
            default_time=section.seconds("default_time"),
            groups=section.texts("groups"),
            users=section.texts("users"),
            priority_tier=section.count("priority_tier", least=0) or 0,
            preempt=Preempt(section.choice("preempt", [m.value for m in Preempt], None) or "off"),
            grace=section.seconds("grace", least=0) or 0,
            default=section.flag("default"),
            exclusive=section.flag("exclusive"),
            min_nodes=section.count("min_nodes") or 1,
            max_nodes=section.count("max_nodes") or 0,
        )
        if queue.default and any(other.default for other in queues.values()):
            raise section.error("default", "there is another default queue")
        if 0 < queue.max_nodes < queue.min_nodes:
            raise section.error("max_nodes", f"is less than min_nodes ({queue.min_nodes})")
        if "," in queue.name:
            raise section.error("name", "must not hold a comma: a job names several queues so")
        if queue.name in queues:
            raise section.error("name", f"there is another queue {queue.name!r}")
        if queue.grace and queue.preempt == Preempt.OFF:
            raise section.error("grace", "needs preempt: nothing is done to jobs of this queue")
        for group in queue.groups:
            _check_known(section, "groups", "node group", group, dict.fromkeys(nodes.groups))
        if queue.max_time and queue.default_time and queue.default_time > queue.max_time:
            raise section.error(
                "default_time",
                f"{queue.default_time} s is more than max_time allows ({queue.max_time} s)",
            )
        queues[queue.name] = queue
    return queues


def _log(section: Section, queues: Mapping[str, Queue], *, has_memory: bool) -> LogMapping:
    """Read how a log maps onto the machine; memory counts where the machine has any."""
    processors = section.choice("processors", [m.value for m in ProcessorMapping], None)
    default = MemoryMapping.REQUESTED if has_memory else MemoryMapping.IGNORED
    memory = section.choice("memory", [m.value for m in MemoryMapping], default.value)
    if memory == MemoryMapping.REQUESTED and not has_memory:
        raise section.error("memory", '"requested" needs nodes with mem; there is no such resource')
    renames = section.table("queues")
    renamed = {name: renames.text(name) for name in renames.names()}
    for name, queue in renamed.items():
        _check_known(renames, name, "queue", queue, queues)
    mapping = LogMapping(
        processors=None if processors is None else ProcessorMapping(processors),
        memory=MemoryMapping(memory or default),
        queue_field=section.choice("queue_field", ("queue", "partition"), None) or "queue",
        queues=renamed,
        constraints=section.choice("constraints", ("honour", "ignore"), None) or "honour",
    )
    section.finish()
    return mapping


def _check_known(section: Section, key: str, what: str, name: str, known: Collection[str]) -> None:
    """Raise ConfigError, with the closest name, if a name is not among the known ones."""
    if name not in known:
        there = instead_of(name, known, "; there are:")
        raise section.error(key, f"there is no {what} {name!r}{there}")


#: The keys of each kind of topology; the first of each says which kind it is.
_KINDS = {
    "level_sizes": (),
    "switches": (),
    "block_size": (),
    "block_sizes": (),
    "router_size": ("group_size",),
    "sides": (),
}


def read_topology(section: Section, node_names: Sequence[str]) -> tuple[IntArray, Topology]:
    """
    Return the topology that a section describes; an empty one is a plain line.

    Returns
    -------
    order, topology
        Positions of the nodes in the order of the topology, shape ``(N,)``: only a file of
        another program (``cpsched.topology_files``) gives another order than that of the system
        file.

    Raises
    ------
    ConfigError
        If it names keys of two kinds, or sizes that do not fit the number of nodes.
    """
    num_nodes = len(node_names)
    order = np.arange(num_nodes, dtype=np.int64)
    files = registry.names("topology_files")
    kinds = {**_KINDS, **dict.fromkeys(files, ())}
    named = [key for key in kinds if key in section]
    section.expect(*kinds, *(key for more in kinds.values() for key in more))
    if len(named) > 1:
        raise section.error(named[1], f"describes another topology than {named[0]}; give one")
    main = named[0] if named else None
    for owner, more in kinds.items():
        for key in more:
            if key in section and owner != main:
                raise section.error(key, f"goes with {owner}, which is not given")
    if main is None:
        return order, Topology(num_nodes)
    if main in files:
        kind = registry.load("topology_files", main)
        return kind.read(section.sibling_file(main), node_names)  # type: ignore[no-any-return]
    arguments = _arguments(section, main)
    try:
        return order, Topology(num_nodes, **arguments)
    except ValueError as error:
        raise section.error(main, str(error)) from error


def _arguments(section: Section, main: str) -> dict[str, Any]:
    """Return what makes the topology, by the parameters of :class:`Topology`."""
    if main == "level_sizes":
        return {"level_sizes": section.counts(main)}
    if main == "switches":
        return {"kind": TopologyKind.TREE, "group_sizes": section.count_lists(main)}
    if main == "block_size":
        return {"kind": TopologyKind.BLOCK, "level_sizes": (section.needed_count(main),)}
    if main == "block_sizes":
        return {"kind": TopologyKind.BLOCK, "level_sizes": section.counts(main)}
    if main == "router_size":
        sizes = (section.needed_count(main), section.needed_count("group_size"))
        return {"kind": TopologyKind.DRAGONFLY, "level_sizes": sizes}
    return {"kind": TopologyKind.TORUS, "sides": section.counts(main)}
