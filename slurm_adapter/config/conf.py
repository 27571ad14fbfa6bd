"""
``slurm.conf``: parameters, nodes and partitions, with the files it includes.

The format is that of slurm.conf(5). Keys are in any case; ``NodeName=DEFAULT`` and
``PartitionName=DEFAULT`` hold for the lines after them; ``Include`` takes a path relative to the
file it is in, ``%c`` for the cluster's name, and patterns (``nodes.d/*.conf``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from cpsched.api.errors import ConfigError
from cpsched.api.machines import MAX_NODES, expand
from cpsched.api.tools import node_lists
from slurm_adapter.config import lines as slurm_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

T = TypeVar("T")

_INCLUDE = re.compile(r"(?i)include\s+(\S.*)")
#: Limit for files that include each other.
_MOST_LEVELS = 16
#: Keys that a line may begin with, and what it describes.
_TABLES = ("NodeName", "PartitionName", "NodeSet", "DownNodes", "SlurmctldHost", "FrontendName")


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its place in a file."""

    text: str
    key: str
    where: str
    line: int | None = None

    def error(self, message: str) -> ConfigError:
        """Return an error about it."""
        shown = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return ConfigError(f"{shown!r} {message}", where=self.where, line=self.line, key=self.key)

    def read(self, reader: Callable[[str], T]) -> T:
        """
        Return the text as converted by a reader; its ValueError becomes an error with this place.
        """
        try:
            return reader(self.text)
        except ValueError as error:
            raise self.error(str(error)) from None


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A line that describes nodes, a partition or similar.

    Attributes
    ----------
    name
        Of what: the value of the line's first key.
    values
        By key in lower case, defaults included.
    """

    name: Value
    values: Mapping[str, Value] = field(default_factory=dict)

    def text(self, key: str, default: str = "") -> str:
        """Return a value, or the default if it is missing or ``(null)``."""
        value = self.values.get(key.lower())
        return default if value is None or value.text in ("(null)", "N/A", "") else value.text

    def number(self, key: str, default: int) -> int:
        """Return a whole number from 0 on; Slurm allows units of 1024 (``K``, ``M``, ``G``)."""
        if not self.text(key):
            return default
        return self.values[key.lower()].read(_number)

    def flag(self, key: str) -> bool:
        """Whether a value is YES."""
        return self.text(key).upper() in ("YES", "TRUE", "1", "ON")

    def hosts(self, key: str | None = None) -> tuple[str, ...]:
        """Return the names that a list of hosts stands for."""
        value = self.name if key is None else self.values[key.lower()]
        return hosts(value)


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
        value = self.parameters.get(name.lower())
        return default if value is None or value.text in ("(null)", "N/A", "") else value.text

    def words(self, name: str) -> list[str]:
        """Return the comma-separated words of a parameter."""
        return [word.strip() for word in self.text(name).split(",") if word.strip()]


def hosts(value: Value) -> tuple[str, ...]:
    """Return the names that a list of hosts stands for."""
    return value.read(lambda text: tuple(expand(text.strip(), MAX_NODES)))


def read_conf(path: Path) -> Conf:
    """
    Read a ``slurm.conf``.

    Raises
    ------
    ConfigError
        If it or a file that it includes cannot be read, or a line is not of the form Name=value.
    """
    conf = Conf(where=str(path))
    defaults: dict[str, dict[str, Value]] = {}
    for where, line, found in _pairs(path, _cluster_name(path)):
        first = next(iter(found))
        table = next((name for name in _TABLES if name.lower() == first.lower()), None)
        values = {key.lower(): Value(text, key, where, line) for key, text in found.items()}
        if table is None or table == "SlurmctldHost":
            conf.parameters |= values
            continue
        name = values.pop(first.lower())
        if name.text.upper() == "DEFAULT":
            defaults[table] = defaults.get(table, {}) | values
            continue
        entries: dict[str, list[Entry]] = {
            "NodeName": conf.nodes,
            "PartitionName": conf.partitions,
            "NodeSet": conf.node_sets,
            "DownNodes": conf.down_nodes,
        }
        if table in entries:
            entries[table].append(Entry(name, defaults.get(table, {}) | values))
    return conf


def read_text(path: Path) -> str:
    """
    Return the text of a configuration file; bytes that are not UTF-8 can only be in comments.

    Raises
    ------
    ConfigError
        If it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        reason = error.strerror or "it is not a file"
        raise ConfigError(f"cannot be read: {reason}", where=str(path)) from error


def _cluster_name(path: Path) -> str:
    match = re.search(r"(?im)^\s*ClusterName\s*=\s*(\S+)", read_text(path))
    return match[1] if match else ""


def _pairs(path: Path, cluster: str, level: int = 0) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield the pairs of every line of a file and of those it includes."""
    for line, content in slurm_lines.logical_lines(read_text(path)):
        match = _INCLUDE.fullmatch(content)
        if match is None:
            yield str(path), line, slurm_lines.pairs(content, str(path), line)
            continue
        if level == _MOST_LEVELS:
            raise ConfigError(
                f"more than {_MOST_LEVELS} files include each other", where=str(path), line=line
            )
        value = Value(
            match[1].strip().strip('"').replace("%c", cluster), "Include", str(path), line
        )
        for included in _included(path, value):
            yield from _pairs(included, cluster, level + 1)


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
    """
    Return the nodes of every partition, unordered.

    Parameters
    ----------
    known
        Features by node, for node sets defined by a feature.

    Raises
    ------
    ConfigError
        If a partition has an unknown node or node set.
    """
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


def _number(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError("is not a whole number from 0 on")
    return int(match[1]) * int(1024 ** "_KMGT".find(match[2].upper() or "_"))
