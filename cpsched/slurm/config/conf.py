"""
``slurm.conf``: parameters, nodes and partitions, with the files it includes.

The format is that of slurm.conf(5). Keys are in any case; ``NodeName=DEFAULT`` and
``PartitionName=DEFAULT`` hold for the lines after them; ``Include`` takes a path relative to the
file it is in, ``%c`` for the cluster's name, and patterns (``nodes.d/*.conf``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.slurm.config.inventory import REPEATED
from cpsched.slurm.config.lines import (
    ConfigLine,
    Setting,
    given_twice,
    logical_lines,
    pairs,
    read_text,
)
from cpsched.util import node_lists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_INCLUDE = re.compile(r"(?i)include\s+(\S.*)")
#: Limit for files that include each other.
_MOST_LEVELS = 16
#: Keys with which a line about something begins, and the attribute with such lines.
_LINES = {
    "NodeName": "nodes",
    "PartitionName": "partitions",
    "NodeSet": "node_sets",
    "DownNodes": "down_nodes",
    "FrontendName": "front_ends",
}


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
    nodes, partitions, node_sets, down_nodes, front_ends
        Lines in their order, defaults filled in.
    reservations
        From ``scontrol show reservation``; no file has them.
    notes
        What was taken in another way than it may look, one sentence each.
    """

    where: str
    parameters: dict[str, Setting] = field(default_factory=dict)
    nodes: list[ConfigLine] = field(default_factory=list)
    partitions: list[ConfigLine] = field(default_factory=list)
    node_sets: list[ConfigLine] = field(default_factory=list)
    down_nodes: list[ConfigLine] = field(default_factory=list)
    front_ends: list[ConfigLine] = field(default_factory=list)
    reservations: list[ConfigLine] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self, name: str, default: str = "") -> str:
        """Return a parameter, or the default if it is missing or ``(null)``."""
        value = self.parameters.get(name.lower())
        return default if value is None or value.text in ConfigLine.nothing else value.text

    def words(self, name: str) -> list[str]:
        """Return the comma-separated words of a parameter."""
        return [word.strip() for word in self.text(name).split(",") if word.strip()]


def read_conf(path: Path) -> Conf:
    """Read a ``slurm.conf``."""
    conf = Conf(where=str(path))
    defaults: dict[str, dict[str, Setting]] = {}
    tables: dict[str, list[ConfigLine]] = {
        key.lower(): getattr(conf, attribute) for key, attribute in _LINES.items()
    }
    for values in _lines(path, _cluster_name(path), conf.notes.append):
        table = next((key for key in values if key in tables), None)
        # What stands before NodeName= and the like is not about the nodes.
        for key in list(values):
            if key == table:
                break
            _add_parameter(conf, values.pop(key))
        if table is None:
            continue
        name = values.pop(table)
        if name.text.upper() == "DEFAULT":
            defaults[table] = defaults.get(table, {}) | values
        else:
            tables[table].append(ConfigLine(name, defaults.get(table, {}) | values))
    return conf


def _add_parameter(conf: Conf, value: Setting) -> None:
    """Add a parameter; the last value counts, or all of those that may be given several times."""
    key = value.key.lower()
    before = conf.parameters.get(key)
    if before is not None and key in REPEATED:
        value = replace(value, text=f"{before.text}, {value.text}")
    elif before is not None:
        conf.notes.append(given_twice(before, value))
    conf.parameters[key] = value


def _cluster_name(path: Path) -> str:
    """Return the name in lower case, as Slurm puts it into names of files."""
    match = re.search(r"(?im)^\s*ClusterName\s*=\s*(\S+)", read_text(path))
    return match[1].lower() if match else ""


def _lines(
    path: Path, cluster: str, note: Callable[[str], None], level: int = 0
) -> Iterator[dict[str, Setting]]:
    """Yield the pairs of every line of a file and of those it includes."""
    for line, content in logical_lines(read_text(path)):
        match = _INCLUDE.fullmatch(content)
        if match is None:
            values = pairs(content, str(path), line, note)
            _check_one_name(values, content, str(path), line)
            yield values
            continue
        if level == _MOST_LEVELS:
            raise ConfigError(
                f"more than {_MOST_LEVELS} files include each other", where=str(path), line=line
            )
        name = match[1].strip().strip('"').replace("%c", cluster)
        files = _included(path, Setting(name, "Include", str(path), line))
        if not files:
            note(f"{path}:{line}: Include {name} has no file")
        for included in files:
            yield from _lines(included, cluster, note, level + 1)


def _check_one_name(values: Mapping[str, Setting], content: str, where: str, line: int) -> None:
    """Raise an error if a line names two nodes, partitions or the like, which Slurm refuses."""
    for name in _LINES:
        if len(re.findall(rf"(?i)(?<![\w.]){name}\s*=", content)) > 1:
            message, key = (
                f"a line has one {name}. Write a line for each.",
                values[name.lower()].key,
            )
            raise ConfigError(message, where=where, line=line, key=key)


def _included(path: Path, value: Setting) -> list[Path]:
    """Return the files of an Include, in the order of their names."""
    if any(sign in value.text for sign in "*?["):
        base = path.parent if not value.text.startswith("/") else path.parent.joinpath("/")
        return sorted(base.glob(value.text.lstrip("/")))
    included = path.parent / value.text
    if not included.is_file():
        raise value.error("no such file")
    return [included]


def partition_nodes(conf: Conf, known: Mapping[str, frozenset[str]]) -> dict[str, tuple[str, ...]]:
    """Return the nodes of every partition, unordered."""
    sets: dict[str, tuple[str, ...]] = {}
    for entry in conf.node_sets:
        feature = entry.text("Feature")
        listed = entry.hosts("Nodes") if entry.text("Nodes") else ()
        having = [node for node, has in known.items() if feature and feature in has]
        sets[entry.name.text] = tuple(dict.fromkeys((*listed, *having)))
    partitions: dict[str, tuple[str, ...]] = {}
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
            there = ", ".join([node_lists.listed(list(known)), *(f"set {name}" for name in sets)])
            raise entry.values["nodes"].error(
                f"has {unknown!r}, which is not a node. The nodes are {there}"
            )
        twice = next((name for name in names if name in partitions), None)
        if twice is not None:
            raise entry.name.error(f"partition {twice!r} is on two lines. Keep one of them.")
        partitions |= {name: tuple(dict.fromkeys(nodes)) for name in names}
    return partitions
