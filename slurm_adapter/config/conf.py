"""
``slurm.conf``: parameters, nodes and partitions, with the files it includes.

The format is that of slurm.conf(5). Keys are in any case; ``NodeName=DEFAULT`` and
``PartitionName=DEFAULT`` hold for the lines after them; ``Include`` takes a path relative to the
file it is in, ``%c`` for the cluster's name, and patterns (``nodes.d/*.conf``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError
from cpsched.api.tools import node_lists
from slurm_adapter.config.lines import Entry, Value, logical_lines, pairs, read_text, said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_INCLUDE = re.compile(r"(?i)include\s+(\S.*)")
#: Limit for files that include each other.
_MOST_LEVELS = 16


@dataclass(slots=True)
class Conf:
    """
    A site's configuration, from any of the supported files.

    Attributes
    ----------
    where
        The file.
    parameters
        By name in lower case; if given twice, the last one.
    nodes, partitions, node_sets, down_nodes
        Lines in their order, defaults filled in.
    reservations
        From ``scontrol show reservation``; no file has them.
    """

    where: str
    parameters: dict[str, Value] = field(default_factory=dict)
    nodes: list[Entry] = field(default_factory=list)
    partitions: list[Entry] = field(default_factory=list)
    node_sets: list[Entry] = field(default_factory=list)
    down_nodes: list[Entry] = field(default_factory=list)
    reservations: list[Entry] = field(default_factory=list)

    def text(self, name: str, default: str = "") -> str:
        """Return a parameter, or the default if it is missing or ``(null)``."""
        return said(self.parameters, name, default)

    def words(self, name: str) -> list[str]:
        """Return the comma-separated words of a parameter."""
        return [word.strip() for word in self.text(name).split(",") if word.strip()]


def read_conf(path: Path) -> Conf:
    """Read a ``slurm.conf``."""
    conf = Conf(where=str(path))
    defaults: dict[str, dict[str, Value]] = {}
    tables: dict[str, list[Entry]] = {
        "nodename": conf.nodes,
        "partitionname": conf.partitions,
        "nodeset": conf.node_sets,
        "downnodes": conf.down_nodes,
        "frontendname": [],
    }
    for values in _lines(path, _cluster_name(path)):
        table = next(iter(values))
        if table not in tables:
            conf.parameters |= values
            continue
        name = values.pop(table)
        if name.text.upper() == "DEFAULT":
            defaults[table] = defaults.get(table, {}) | values
        else:
            tables[table].append(Entry(name, defaults.get(table, {}) | values))
    return conf


def _cluster_name(path: Path) -> str:
    match = re.search(r"(?im)^\s*ClusterName\s*=\s*(\S+)", read_text(path))
    return match[1] if match else ""


def _lines(path: Path, cluster: str, level: int = 0) -> Iterator[dict[str, Value]]:
    """Yield the pairs of every line of a file and of those it includes."""
    for line, content in logical_lines(read_text(path)):
        match = _INCLUDE.fullmatch(content)
        if match is None:
            yield pairs(content, str(path), line)
            continue
        if level == _MOST_LEVELS:
            raise ConfigError(
                f"more than {_MOST_LEVELS} files include each other", where=str(path), line=line
            )
        name = match[1].strip().strip('"').replace("%c", cluster)
        for included in _included(path, Value(name, "Include", str(path), line)):
            yield from _lines(included, cluster, level + 1)


def _included(path: Path, value: Value) -> list[Path]:
    """Return the files of an Include, in the order of their names."""
    if any(sign in value.text for sign in "*?["):
        base = path.parent if not value.text.startswith("/") else path.parent.joinpath("/")
        return sorted(base.glob(value.text.lstrip("/")))
    included = path.parent / value.text
    if not included.is_file():
        raise value.error("there is no such file")
    return [included]


def partition_nodes(conf: Conf, known: Mapping[str, frozenset[str]]) -> dict[str, tuple[str, ...]]:
    """Return the nodes of every partition, unordered."""
    sets: dict[str, tuple[str, ...]] = {}
    for entry in conf.node_sets:
        feature = entry.text("Feature")
        listed = entry.hosts("Nodes") if entry.text("Nodes") else ()
        having = [node for node, has in known.items() if feature and feature in has]
        sets[entry.name.text] = tuple(dict.fromkeys((*listed, *having)))
    found: dict[str, tuple[str, ...]] = {}
    for entry in conf.partitions:
        text = entry.text("Nodes")
        names = [entry.name.text] if "," not in entry.name.text else entry.name.text.split(",")
        nodes: tuple[str, ...] = ()
        if text.upper() == "ALL":
            nodes = tuple(known)
        elif text:
            listed = entry.hosts("Nodes")
            nodes = tuple(node for name in listed for node in sets.get(name, (name,)))
        unknown = next((node for node in nodes if node not in known), None)
        if unknown is not None:
            there = "; ".join([node_lists.listed(list(known)), *(f"set {name}" for name in sets)])
            raise entry.values["nodes"].error(
                f"has {unknown!r}, which is not a node; the nodes are {there}"
            )
        twice = next((name for name in names if name in found), None)
        if twice is not None:
            raise entry.name.error(f"partition {twice!r} is also on another line")
        found |= {name: tuple(dict.fromkeys(nodes)) for name in names}
    return found
