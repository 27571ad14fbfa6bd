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
from cpsched.api.errors import ConfigError
from cpsched.api.machines import MAX_NODES
from cpsched.api.model import (
    MAX_AMOUNT,
    LogMapping,
    MemoryMapping,
    ProcessorMapping,
    Queue,
    System,
    Topology,
)
from cpsched.api.tools import escaped, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEYS = ("groups", "resources", "equivalence", "start_time", "node_prefix")


def parse(text: str, *, where: str = "system", name: str = "system") -> System:
    """
    Return the machine that a system configuration of AccaSim describes.

    Parameters
    ----------
    text
        JSON. Besides AccaSim's own keys there may be ``queues`` (``{"debug": {"expected_wait":
        3600}}``) and ``system_name``, which AccaSim itself would not accept.
    where
        The file, for messages.
    name
        Name of the machine if the file has none.

    Returns
    -------
    System
        Memory is in the log's unit (KB in SWF), and is counted if the machine has any. All queues
        have the same expected wait unless the file sets one.

    Raises
    ------
    ConfigError
        If it is not JSON, or does not describe a machine; names the key.
    """
    file = _File(text, where)
    groups = {key: file.amounts("groups", key) for key in file.table("groups")}
    counts = file.amounts("resources")
    kinds = _kinds(groups, file)
    for group, count in counts.items():
        if group not in groups:
            raise file.error(f"resources.{group}", f"no such group; there are: {', '.join(groups)}")
        if not 1 <= count <= MAX_NODES:
            raise file.error(f"resources.{group}", f"is {count}, must be 1 to {MAX_NODES}")
    of_node = [group for group, count in counts.items() for _ in range(count)]
    if not 1 <= len(of_node) <= MAX_NODES:
        raise file.error("resources", f"{len(of_node)} nodes in all, must be 1 to {MAX_NODES}")
    prefix = file.content.get("node_prefix", "node_")
    if not isinstance(prefix, str):
        raise file.error("node_prefix", f"is {prefix!r}, must be text")
    title = file.content.get("system_name", name)
    return System(
        name=name,
        title=str(title),
        source=f"AccaSim system configuration {where}",
        resources=kinds,
        capacity=np.array([[groups[group].get(kind, 0) for kind in kinds] for group in of_node]),
        node_names=tuple(f"{prefix}{number}" for number in range(1, len(of_node) + 1)),
        node_groups=tuple(of_node),
        features=tuple(frozenset[str]() for _ in of_node),
        queues=_queues(file),
        topology=Topology(len(of_node)),
        default_expected_wait=DEFAULT_EXPECTED_WAIT,
        log=LogMapping(
            processors=ProcessorMapping.ANYWHERE,
            processor_cores=_processor_cores(file),
            memory=MemoryMapping.REQUESTED if "mem" in kinds else MemoryMapping.IGNORED,
        ),
    )


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


class _File:
    """The content of a configuration, with checked access."""

    def __init__(self, text: str, where: str) -> None:
        self._where = where
        try:
            self.content: dict[str, Any] = read_json(text)
        except ValueError as error:
            raise ConfigError(str(error), where=where) from error
        if not isinstance(self.content, dict):
            raise ConfigError("is not a JSON object ({...})", where=where)

    def error(self, key: str, message: str) -> ConfigError:
        return ConfigError(message, where=self._where, key=escaped(key))

    def table(self, *keys: str) -> Mapping[str, Any]:
        """Return an object in the file."""
        found: Any = self.content
        for depth, key in enumerate(keys, start=1):
            found = found.get(key)
            if not isinstance(found, dict):
                place = ".".join(keys[:depth])
                raise self.error(
                    place, f"is {_short(found)}, must be an object; a system has {', '.join(_KEYS)}"
                )
        return dict(found)

    def amounts(self, *keys: str) -> dict[str, int]:
        """Return an object of whole numbers of at least 0."""
        found = self.table(*keys)
        for name, value in found.items():
            good = isinstance(value, int) and not isinstance(value, bool)
            if not good or not 0 <= value <= MAX_AMOUNT:
                raise self.error(
                    ".".join((*keys, name)),
                    f"is {_short(value)}, must be a whole number from 0 to {MAX_AMOUNT}",
                )
        return dict(found)


def _kinds(groups: Mapping[str, Mapping[str, int]], file: _File) -> tuple[str, ...]:
    """Return the resource kinds of all groups, cores first."""
    kinds = dict.fromkeys(kind for amounts in groups.values() for kind in amounts)
    if "core" not in kinds:
        raise file.error("groups", "no group has cores")
    return cores_first(kinds)


def _processor_cores(file: _File) -> int:
    if "equivalence" not in file.content:
        return 1
    if file.table("equivalence").keys() - {"processor"}:
        names = ", ".join(file.table("equivalence"))
        raise file.error("equivalence", f"names {names}; only processor is understood")
    amounts = file.amounts("equivalence", "processor")
    cores = amounts.pop("core", 0)
    if cores < 1 or any(amounts.values()):
        raise file.error(
            "equivalence.processor", 'must be cores alone, at least one, such as {"core": 1}'
        )
    return cores


def _queues(file: _File) -> dict[str, Queue]:
    if "queues" not in file.content:
        return {}
    queues = {}
    for name in file.table("queues"):
        wait = file.amounts("queues", name).get("expected_wait", 0)
        if wait < 1:
            raise file.error(f"queues.{name}.expected_wait", "must be seconds, at least 1")
        queues[name] = Queue(name=name, expected_wait=wait)
    return queues


def _short(value: object) -> str:
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
