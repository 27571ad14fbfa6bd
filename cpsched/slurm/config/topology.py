"""
Slurm's ``topology.conf``: switches or blocks, and the nodes below them.

The format is that of topology.conf(5). Read are ``SwitchName=`` with ``Nodes=`` or ``Switches=``,
``BlockName=`` with ``Nodes=``, and ``BlockSizes=``.

Contents of which Slurm only warns (``src/plugins/topology/tree/switch_record.c``) are noted and
read: nodes in no switch, names that are no nodes, a node in two switches, and trees that do not
meet. Slurm gives no job nodes of two trees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.errors import ConfigError, did_you_mean
from cpsched.model.topology import Topology, TopologyKind
from cpsched.slurm.config.lines import Setting, hosts, logical_lines, pairs
from cpsched.util.documents import read_text
from cpsched.util.node_lists import compress
from cpsched.util.words import brief

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.util.types import IntArray

_KEYS = ("SwitchName", "Switches", "Nodes", "LinkSpeed", "BlockName", "BlockSizes")
#: Types of topologies: the key that names a switch or a block, and the keys of what is below.
_TYPES = {"tree": ("switchname", ("nodes", "switches")), "block": ("blockname", ("nodes",))}
_NEEDED = {"tree": "either Nodes or Switches", "block": "Nodes"}


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch or a block."""

    name: Setting
    nodes: tuple[str, ...] = ()
    children: tuple[str, ...] = ()

    def error(self, message: str) -> ConfigError:
        """Return an error about it."""
        at = self.name
        return ConfigError(message, where=at.where, line=at.line, key=at.text)


class _TopologyConf(NamedTuple):
    """The contents of a file: its type, its units by name in file order, and sizes of blocks."""

    where: str
    kind: str
    units: dict[str, Switch]
    sizes: tuple[int, ...]
    notes: list[str]


class NodeLayout(NamedTuple):
    """
    The order of nodes along a topology, and the topology.

    Attributes
    ----------
    order
        Position of each node in the system, along the topology.
    topology
        Of the nodes in that order.
    lone
        Nodes in no switch or block: each is like one of its own.
    roots
        The highest switches; none of blocks.
    flattened
        Whether switches below the highest ones are left out.
    notes
        What Slurm would warn of, one sentence each.
    """

    order: IntArray
    topology: Topology
    lone: tuple[str, ...]
    roots: tuple[str, ...]
    flattened: bool
    notes: list[str]


class SlurmTopologyFiles:
    """
    Reader of Slurm's ``topology.conf``, which the key ``slurm`` in ``[topology]`` names.

    The key is in a system file.
    """

    def read(self, file: Path, node_names: Sequence[str]) -> tuple[IntArray, Topology]:
        """
        Return the order of nodes along a topology, and the topology.

        Raises
        ------
        ConfigError
            If the file cannot be read, or is not a topology; names file, line, field and value.
        """
        layout = read_layout(read_text(file), str(file), node_names)
        return layout.order, layout.topology


def read_layout(text: str, where: str, node_names: Sequence[str]) -> NodeLayout:
    """
    Return how a ``topology.conf`` lays nodes out.

    Raises
    ------
    ConfigError
        As :meth:`SlurmTopologyFiles.read`.
    """
    conf = _read(text, where)
    highest = [unit.name.text for unit in _roots(conf.units)] if conf.kind == "tree" else []
    units, lone = _known(conf, node_names)
    roots: list[Switch] = []
    flattened = False
    if conf.kind == "tree":
        # Switches without nodes below them are left out.
        by_root = {name: _tree(units, units[name]) for name in highest}
        trees = [tree for tree in by_root.values() if tree[0]]
        roots = [units[name] for name, tree in by_root.items() if tree[0]]
        heights = [len(levels) for _, levels in trees]
        apart = len(roots) > 1 or (bool(lone) and not roots[0].children)
        # Of trees that do not meet no job has two: they are the groups, whatever is inside them.
        flattened = len(roots) > 1 and any(root.children for root in roots)
        if flattened:
            levels = [[sum(levels[0]) for _, levels in trees]]
        else:
            levels = [
                [size for _, own in trees for size in own[min(level, len(own) - 1)]]
                for level in range(max(heights))
            ]
        leaves = [leaf for own, _ in trees for leaf in own]
    else:
        apart = False
        leaves, levels = _blocks(units, conf.sizes)
    levels = [[*sizes, *[1] * len(lone)] for sizes in levels]
    position = {name: at for at, name in enumerate(node_names)}
    names = [node for leaf in leaves for node in leaf.nodes] + list(lone)
    topology = Topology(
        len(node_names),
        kind=TopologyKind(conf.kind),
        group_sizes=tuple(map(tuple, levels)),
        apart=apart,
    )
    order = np.array([position[name] for name in names], dtype=np.int64)
    titles = tuple(root.name.text for root in roots)
    return NodeLayout(order, topology, lone, titles, flattened, conf.notes)


TOPOLOGY_FILES = SlurmTopologyFiles()


def _read(text: str, where: str) -> _TopologyConf:
    units: dict[str, Switch] = {}
    sizes: tuple[int, ...] = ()
    notes: list[str] = []
    kind = ""
    for line, content in logical_lines(text):
        entry = pairs(content, where, line, notes.append)
        own = _type_of(entry, where, line)
        if kind not in ("", own):
            message = "the file has switches and blocks. Keep one of them."
            raise ConfigError(message, where=where, line=line, key="SwitchName")
        kind = own
        if "blocksizes" in entry:
            sizes = entry["blocksizes"].read(_sizes)
        key, below = _TYPES[kind]
        name = entry.get(key)
        if name is None:
            continue
        given = [key for key in below if key in entry]
        if len(given) != 1 or not name.text:
            raise name.error(f"needs {_NEEDED[kind]}")
        names = hosts(entry[given[0]])
        unit = Switch(name, names) if given == ["nodes"] else Switch(name, children=names)
        if name.text in units:
            raise unit.error(
                f"line {units[name.text].name.line} defines the same name. Keep one of the lines."
            )
        units[name.text] = unit
    if not units:
        raise ConfigError(
            "no line has SwitchName or BlockName. Give a topology.conf of Slurm.", where=where
        )
    return _TopologyConf(where, kind, units, sizes, notes)


def _type_of(entry: dict[str, Setting], where: str, line: int) -> str:
    """Return the type of topology that a line is part of."""
    for key, value in entry.items():
        if key not in map(str.lower, _KEYS):
            hint, keys = did_you_mean(value.key, _KEYS), ", ".join(_KEYS)
            message = f"unknown key.{hint} Keys: {keys}."
            raise ConfigError(message, where=where, line=line, key=value.key)
    if entry.keys().isdisjoint(("switchname", "blockname", "blocksizes")):
        message, first = "the line needs SwitchName or BlockName", next(iter(entry.values()))
        raise ConfigError(message, where=where, line=line, key=first.key)
    return "tree" if "switchname" in entry else "block"


def _sizes(text: str) -> tuple[int, ...]:
    """Read the base block size and larger ones, each a power of two times the one before."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and 0 < len(part) < 10 for part in parts):
        raise ValueError("must be whole numbers, such as 18,36")
    sizes = tuple(map(int, parts))
    ratios = [size / max(below, 1) for below, size in pairwise(sizes)]
    if sizes[0] < 1 or any(ratio < 2 or not np.log2(ratio).is_integer() for ratio in ratios):
        raise ValueError(
            "must be sizes each of which is 2, 4, 8, ... times the one before it, such as 18,36"
        )
    return sizes


def _known(
    conf: _TopologyConf, node_names: Sequence[str]
) -> tuple[dict[str, Switch], tuple[str, ...]]:
    """
    Return the units with the nodes that there are, each in one of them, and the nodes in none.

    Raises
    ------
    ConfigError
        If there is no node in any unit.
    """
    there = set(node_names)
    owner: dict[str, Switch] = {}
    unknown: list[str] = []
    twice: list[str] = []
    units: dict[str, Switch] = {}
    for name, unit in conf.units.items():
        own = []
        for node in dict.fromkeys(unit.nodes):
            if node not in there:
                unknown.append(node)
            elif node in owner:
                twice.append(f"{node} (also in {owner[node].name.text})")
            else:
                owner[node] = unit
                own.append(node)
        units[name] = replace(unit, nodes=tuple(own))
    if not owner:
        message = "no node of the file is a node of the system. Check the names of the nodes."
        raise ConfigError(message, where=conf.where, key=next(iter(units.values())).name.key)
    if unknown:
        names = brief(compress(unknown))
        conf.notes.append(f"{conf.where}: unknown nodes are ignored: {names}")
    if twice:
        conf.notes.append(
            f"{conf.where}: a node in several switches or blocks counts for the first:"
            f" {brief(', '.join(twice))}"
        )
    return units, tuple(name for name in node_names if name not in owner)


def _blocks(
    units: dict[str, Switch], sizes: tuple[int, ...]
) -> tuple[list[Switch], list[list[int]]]:
    """Return the blocks, and the sizes of blocks and of the groups of blocks."""
    blocks = [block for block in units.values() if block.nodes]
    base = sizes[0] if sizes else 1
    for block in blocks:
        if len(block.nodes) < base:
            raise block.error(
                f"the block has {len(block.nodes)} nodes, and the base block size is {base}"
            )
    nodes = np.array([len(block.nodes) for block in blocks])
    levels = [nodes]
    levels.extend(np.add.reduceat(nodes, range(0, len(nodes), size // base)) for size in sizes[1:])
    return blocks, [level.tolist() for level in levels]


def _tree(units: dict[str, Switch], root: Switch) -> tuple[list[Switch], list[list[int]]]:
    """Return the leaf switches depth-first, and the sizes of the switches of each level."""
    leaves: list[Switch] = []
    height: dict[str, int] = {}
    # Above each leaf, lowest first: heights and names of its switches.
    above: list[list[str]] = []
    path: list[str] = []
    stack: list[tuple[Switch, bool]] = [(root, False)]
    while stack:
        unit, left = stack.pop()
        name = unit.name.text
        if left:
            path.pop()
            height[name] = 1 + max(height[child] for child in unit.children)
        elif not unit.children:
            height[name] = 0
            if unit.nodes:
                leaves.append(unit)
                above.append([name, *reversed(path)])
        else:
            path.append(name)
            stack.append((unit, True))
            stack.extend((units[child], False) for child in reversed(unit.children))
    levels = []
    for level in range(max(height[root.name.text], 1)):
        sizes: dict[str, int] = {}
        for leaf, names in zip(leaves, above, strict=True):
            # The highest switch that is not above this level: switches may be of unequal depth.
            group = [name for name in names if height[name] <= level][-1]
            sizes[group] = sizes.get(group, 0) + len(leaf.nodes)
        levels.append(list(sizes.values()))
    return leaves, levels


def _roots(units: dict[str, Switch]) -> list[Switch]:
    """Return the highest switches; every other one is below exactly one."""
    parent: dict[str, Switch] = {}
    for unit in units.values():
        for child in unit.children:
            if child not in units:
                raise unit.error(f"names the switch {child!r}, which no line of the file defines")
            if child in parent:
                raise unit.error(
                    f"names the switch {child!r}, which {parent[child].name.text!r} names, too"
                )
            parent[child] = unit
    roots = [unit for unit in units.values() if unit.name.text not in parent]
    reached = set(roots)
    waiting = list(roots)
    while waiting:
        below = [units[child] for child in waiting.pop().children]
        reached.update(below)
        waiting.extend(below)
    lost = next((unit for unit in units.values() if unit not in reached), None)
    if lost is not None:
        raise lost.error("the switch is below itself")
    return roots
