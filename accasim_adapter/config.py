"""
AccaSim's system configuration: JSON with node groups, and how many nodes there are of each.

::

    {"groups": {"thin": {"core": 16, "mem": 65536}, "gpu": {"core": 16, "gpu": 2, "mem": 65536}},
     "resources": {"thin": 60, "gpu": 4},
     "equivalence": {"processor": {"core": 1}},
     "start_time": 0,
     "node_prefix": "node_"}

Nodes are numbered from 1 in the order of ``resources``. ``equivalence`` says how many cores a
processor of a log is; AccaSim puts each processor on any node. ``start_time`` is the Unix time of a
log's second 0 and says nothing about the machine.

:func:`parse` is registered as the reader of system files that end in ``.json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accasim_adapter.machine import DEFAULT_EXPECTED_WAIT, cores_first
from cpsched.errors import ConfigError
from cpsched.model.system import LogMapping, MemoryMapping, ProcessorMapping, System
from cpsched.model.topology import Topology
from cpsched.systems.nodes_parser import MAX_NODES
from cpsched.util.documents import read_json
from cpsched.util.toml_section import Section
from cpsched.util.types import MAX_AMOUNT

if TYPE_CHECKING:
    from collections.abc import Collection


def parse(text: str, *, where: str = "system", name: str = "system") -> System:
    """
    Return the machine that a system configuration of AccaSim describes.

    Parameters
    ----------
    text
        JSON.
    where
        The file, for messages.
    name
        Name of the machine.

    Returns
    -------
    System
        Memory is in the log's unit (KB in SWF), and is counted if the machine has any. All queues
        have the same expected wait.

    Raises
    ------
    ConfigError
        If it is not JSON, or does not describe a machine; names the key.
    """
    try:
        content: Any = read_json(text)
    except ValueError as error:
        raise ConfigError(str(error), where=where) from error
    if not isinstance(content, dict):
        raise ConfigError("is not a JSON object ({...})", where=where)
    file = Section(content, where)
    groups = {
        key: _amounts(file.table("groups").table(key)) for key in file.table("groups").names()
    }
    kinds = cores_first({kind: None for amounts in groups.values() for kind in amounts})
    if "core" not in kinds:
        raise file.error("groups", "no group has cores")
    of_node = _nodes(file.table("resources"), groups)
    if not 1 <= len(of_node) <= MAX_NODES:
        raise file.error("resources", f"{len(of_node)} nodes in all, must be 1 to {MAX_NODES}")
    prefix = file.text("node_prefix", "node_")
    return System(
        name=name,
        title=name,
        source=f"AccaSim system configuration {where}",
        resources=kinds,
        capacity=np.array([[groups[group].get(kind, 0) for kind in kinds] for group in of_node]),
        node_names=tuple(f"{prefix}{number}" for number in range(1, len(of_node) + 1)),
        node_groups=tuple(of_node),
        features=tuple(frozenset[str]() for _ in of_node),
        queues={},
        topology=Topology(len(of_node)),
        default_expected_wait=DEFAULT_EXPECTED_WAIT,
        log=LogMapping(
            processors=ProcessorMapping.ANYWHERE,
            processor_cores=_processor_cores(file.table("equivalence")),
            memory=MemoryMapping.REQUESTED if "mem" in kinds else MemoryMapping.IGNORED,
        ),
    )


def _amounts(table: Section) -> dict[str, int]:
    """Return whole numbers of at least 0 by name."""
    amounts = {name: table.count(name, MAX_AMOUNT, least=0) for name in table.names()}
    for name, amount in amounts.items():
        if amount is None:
            raise table.error(name, "is null, must be a whole number")
    return {name: amount or 0 for name, amount in amounts.items()}


def _nodes(counts: Section, groups: Collection[str]) -> list[str]:
    """Return the group of each node."""
    for group in counts.names():
        if group not in groups:
            raise counts.error(group, f"no such group; there are: {', '.join(groups)}")
    num_nodes = {group: counts.count(group, MAX_NODES) or 0 for group in counts.names()}
    return [group for group, count in num_nodes.items() for _ in range(count)]


def _processor_cores(equivalence: Section) -> int:
    """Return how many cores a processor of a log is."""
    if not equivalence.names():
        return 1
    if equivalence.names() != ["processor"]:
        names = ", ".join(equivalence.names())
        raise equivalence.error("", f"names {names}; only processor is understood")
    amounts = _amounts(equivalence.table("processor"))
    cores = amounts.pop("core", 0)
    if cores < 1 or any(amounts.values()):
        raise equivalence.error(
            "processor", 'must be cores alone, at least one, such as {"core": 1}'
        )
    return cores


def system_config(system: System) -> dict[str, Any]:
    """
    Return a system as AccaSim's system configuration, node by node in the same order.

    Nodes of one group that are not consecutive become separate groups.
    """
    groups: dict[str, dict[str, int]] = {}
    counts: dict[str, int] = {}
    last: tuple[Any, ...] | None = None
    name = ""
    for group, row in zip(system.node_groups, system.capacity.tolist(), strict=True):
        if (group, row) != last:
            taken = sum(other == group or other.startswith(f"{group}-") for other in groups)
            name = f"{group}-{taken + 1}" if taken else group
            groups[name] = dict(zip(system.resources, row, strict=True))
            counts[name] = 0
            last = (group, row)
        counts[name] += 1
    cores = {"core": system.log.processor_cores}
    return {"groups": groups, "resources": counts, "equivalence": {"processor": cores}}


def write_system_config(system: System, path: str | Path) -> None:
    """Write :func:`system_config` to a file that AccaSim reads."""
    Path(path).write_text(json.dumps(system_config(system), indent=1) + "\n", encoding="utf-8")
