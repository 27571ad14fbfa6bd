"""
Generic resources of nodes: ``Gres=gpu:a100:4,nvme:2`` of slurm.conf, and ``gres.conf``.

slurm.conf says what a node has; gres.conf(5) adds the types and the devices
(``File=/dev/nvidia[0-3]``, one per file).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError
from slurm_adapter.config.lines import UNITS, Entry, Value, hosts, logical_lines, pairs, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

#: ``gpu``, ``gpu:4``, ``gpu:a100:4(S:0-1)``, ``bandwidth:lustre:no_consume:4G``.
_GRES = re.compile(
    r"([A-Za-z][\w.+/-]*)(?::([A-Za-z][\w.+/-]*))?(:no_consume)?(?::([0-9]+)([KMGT]?))?(?:\([^)]*\))?",
    re.IGNORECASE,
)
#: A file or files in a row.
_BETWEEN = re.compile(r",(?![^(\[]*[)\]])")
_MODES = ("autodetect",)


@dataclass(frozen=True, slots=True)
class Gres:
    """
    Some of a node's resources.

    Attributes
    ----------
    name, type
        ``gpu`` and ``a100``; ``type`` is '' if none is given.
    count
        How many.
    consumed
        Whether jobs use them up (not ``no_consume``).
    """

    name: str
    type: str
    count: int
    consumed: bool = True


def read_gres(value: Value) -> tuple[Gres, ...]:
    """Return what ``Gres=`` of a node lists."""
    found = []
    for item in _BETWEEN.split(value.text):
        match = _GRES.fullmatch(item.strip())
        if match is None:
            raise value.error(f"has {item.strip()!r}, which is not of the form gpu:a100:4")
        name, kind, free, count, unit = match.groups()
        if kind and kind.lower() == "no_consume":
            kind, free = None, kind
        number = int(count or 1) * UNITS[(unit or "").lower()]
        found.append(Gres(name, kind or "", number, consumed=not free))
    return tuple(found)


def read_gres_conf(path: Path) -> list[Entry]:
    """Return the lines of a ``gres.conf`` that name a resource."""
    found: list[Entry] = []
    for line, content in logical_lines(read_text(path)):
        values = pairs(content, str(path), line)
        if "name" in values:
            found.append(Entry(values["name"], values))
        elif values.keys().isdisjoint(_MODES):
            first = next(iter(values.values())).key
            message = "the line has no Name, such as Name=gpu"
            raise ConfigError(message, where=str(path), line=line, key=first)
    return found


def types_by_node(entries: Iterable[Entry]) -> dict[str, list[Gres]]:
    """Return what gres.conf says about each node; entries for all nodes are under ''."""
    found: dict[str, list[Gres]] = {}
    for entry in entries:
        files = entry.values.get("file") or entry.values.get("multiplefiles")
        if "count" in entry.values or files is None:
            count = entry.number("Count", 1)
        else:
            count = len(hosts(files))
        gres = Gres(entry.name.text, entry.text("Type"), count)
        named = hosts(entry.values["nodename"]) if "nodename" in entry.values else ("",)
        for node in named:
            found.setdefault(node, []).append(gres)
    return found


def with_types(listed: Sequence[Gres], said: Mapping[str, list[Gres]], node: str) -> list[Gres]:
    """Return a node's resources, with types from gres.conf if slurm.conf has none."""
    found: list[Gres] = []
    for gres in listed:
        typed = [
            other
            for other in (*said.get(node, ()), *said.get("", ()))
            if other.name.lower() == gres.name.lower() and other.type
        ]
        if gres.type or sum(other.count for other in typed) != gres.count:
            found.append(gres)
        else:
            found += typed
    return found
