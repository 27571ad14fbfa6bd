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
log's second 0: :func:`start_time_of` returns it.

:func:`parse` is registered as the reader of system files that end in ``.json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from accasim_adapter.machine import DEFAULT_EXPECTED_WAIT, cores_first
from cpsched.errors import ConfigError, instead_of
from cpsched.model.system import LogMapping, MemoryMapping, ProcessorMapping, System
from cpsched.model.topology import Topology
from cpsched.util.documents import read_json, read_text
from cpsched.util.models import CountOrZero, Model, Must, Source, Text, whole
from cpsched.util.types import MAX_NODES

_Amounts = Annotated[dict[str, CountOrZero], Must("a table of whole numbers")]


class _SystemFile(Model):
    """AccaSim's file; what its other keys say is not about the system."""

    model_config = ConfigDict(extra="ignore")

    groups: Annotated[dict[str, _Amounts], Must("a table of groups")]
    resources: Annotated[
        dict[str, Annotated[int, *whole(1, MAX_NODES)]], Must("a table of whole numbers")
    ]
    equivalence: Annotated[dict[str, _Amounts], Must("a table")] = Field(default_factory=dict)
    node_prefix: Text = "node_"
    start_time: CountOrZero = 0

    @model_validator(mode="after")
    def _check(self) -> _SystemFile:
        if not any("core" in amounts for amounts in self.groups.values()):
            raise ConfigError("no group has cores", key="groups")
        for group in self.resources:
            if group not in self.groups:
                there = instead_of(group, self.groups, "Groups")
                raise ConfigError(f"unknown group{there}", key=f"resources.{group}")
        if not 1 <= (num_nodes := sum(self.resources.values())) <= MAX_NODES:
            raise ConfigError(
                f"{num_nodes} nodes in all, must be 1 to {MAX_NODES}", key="resources"
            )
        for name, amounts in self.equivalence.items():
            if name != "processor":
                raise ConfigError(f"names {name}, must be processor", key="equivalence")
            if not amounts.get("core") or any(amounts[kind] for kind in amounts if kind != "core"):
                raise ConfigError(
                    'must be cores alone, at least one, such as {"core": 1}',
                    key="equivalence.processor",
                )
        return self


def start_time_of(system: str | Path) -> int:
    """
    Return the Unix time of second 0 of the logs of a system configuration.

    0 where it has none, and for systems that are no configuration of AccaSim.

    Raises
    ------
    ConfigError
        If the file is one of AccaSim and does not describe a system.
    """
    path = Path(system)
    if path.suffix != ".json":
        return 0
    text = read_text(path)
    # What a run has of its system is JSON, too.
    return 0 if '"nodes"' in text else _read(text, str(path)).start_time


def parse(text: str, *, where: str = "system", name: str = "system") -> System:
    """
    Return the system that a system configuration of AccaSim describes.

    Parameters
    ----------
    text
        JSON.
    where
        The file, for messages.
    name
        Name of the system.

    Returns
    -------
    System
        Memory is in the unit of the log (KB in SWF), and is counted if the system has any. All
        queues have the same expected wait.

    Raises
    ------
    ConfigError
        If the text is not JSON or does not describe a system. The message names the key.
    """
    file = _read(text, where)
    groups = file.groups
    kinds = cores_first({kind: None for amounts in groups.values() for kind in amounts})
    of_node = [group for group, count in file.resources.items() for _ in range(count)]
    return System(
        name=name,
        title=name,
        source=f"AccaSim system configuration {where}",
        resources=kinds,
        capacity=np.array([[groups[group].get(kind, 0) for kind in kinds] for group in of_node]),
        node_names=tuple(f"{file.node_prefix}{number}" for number in range(1, len(of_node) + 1)),
        node_groups=tuple(of_node),
        features=tuple(frozenset[str]() for _ in of_node),
        queues={},
        topology=Topology(len(of_node)),
        default_expected_wait=DEFAULT_EXPECTED_WAIT,
        log=LogMapping(
            processors=ProcessorMapping.ANYWHERE,
            processor_cores=file.equivalence.get("processor", {}).get("core", 1),
            memory=MemoryMapping.REQUESTED if "mem" in kinds else MemoryMapping.IGNORED,
        ),
    )


def _read(text: str, where: str) -> _SystemFile:
    try:
        content: Any = read_json(text)
    except ValueError as error:
        raise ConfigError(str(error), where=where) from error
    if not isinstance(content, dict):
        raise ConfigError("is not a JSON object ({...})", where=where)
    source = Source(where, content)
    with source.blamed():
        return source.read(_SystemFile)


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
