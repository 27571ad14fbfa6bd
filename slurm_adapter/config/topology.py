"""
Slurm's ``topology.conf``: switches or blocks, and the nodes below them.

The format is that of topology.conf(5). Read are ``SwitchName=`` with ``Nodes=`` or ``Switches=``,
``BlockName=`` with ``Nodes=``, and ``BlockSizes=``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.api.errors import ConfigError, did_you_mean
from cpsched.api.model import Topology, TopologyKind
from cpsched.api.tools import read_text
from slurm_adapter.config.lines import Value, hosts, logical_lines, pairs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.api.model import IntArray

_KEYS = ("SwitchName", "Switches", "Nodes", "LinkSpeed", "BlockName", "BlockSizes")
#: Types of topologies: the key that names a switch or a block, and the keys of what is below.
_TYPES = {"tree": ("switchname", ("nodes", "switches")), "block": ("blockname", ("nodes",))}
_NEEDED = {"tree": "either Nodes or Switches", "block": "Nodes"}


@dataclass(frozen=True, slots=True)
class Unit:
    """A switch or a block."""

    name: Value
    nodes: tuple[str, ...] = ()
    children: tuple[str, ...] = ()

    def error(self, message: str) -> ConfigError:
        """Return an error about it."""
        at = self.name
        return ConfigError(message, where=at.where, line=at.line, key=at.text)


class _Found(NamedTuple):
    """What one file says: its units by name in file order, and the sizes of blocks if any."""

    where: str
    units: dict[str, Unit]
    sizes: tuple[int, ...]


class SlurmTopologyFiles:
    """What the key ``slurm`` of a system file's ``[topology]`` names: a file of Slurm's."""

    def read(self, file: Path, node_names: Sequence[str]) -> tuple[IntArray, Topology]:
        """
        Return the order of nodes along a topology, and the topology.

        Parameters
        ----------
        file
            A ``topology.conf``.
        node_names
            The machine's nodes, each of which must be in the file, as every node of the file must
            be on the machine.

        Returns
        -------
        order, topology
            Positions in ``node_names`` in the order of the topology, shape ``(N,)``.

        Raises
        ------
        ConfigError
            If the file cannot be read, or does not describe one connected topology of these nodes;
            names file, line, field and value.
        """
        kind, found = _units(read_text(file), str(file))
        leaves, levels = _tree(found) if kind == "tree" else _blocks(found)
        order = _order(found, leaves, node_names)
        return order, Topology(len(node_names), kind=TopologyKind(kind), group_sizes=levels)


TOPOLOGY_FILES = SlurmTopologyFiles()


def _units(text: str, where: str) -> tuple[str, _Found]:
    """Return the type of a ``topology.conf``, and its switches or blocks."""
    units: dict[str, Unit] = {}
    sizes: tuple[int, ...] = ()
    kind = ""
    for line, content in logical_lines(text):
        entry = pairs(content, where, line)
        own = _type_of(entry, where, line)
        if kind not in ("", own):
            message = "switches and blocks cannot be in one file"
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
        unit = Unit(name, names) if given == ["nodes"] else Unit(name, children=names)
        if name.text in units:
            raise unit.error(f"is in the file already, on line {units[name.text].name.line}")
        units[name.text] = unit
    if not units:
        raise ConfigError("has neither a SwitchName nor a BlockName", where=where)
    return kind, _Found(where, units, sizes)


def _type_of(entry: dict[str, Value], where: str, line: int) -> str:
    """Return what type of topology a line is part of."""
    for key, value in entry.items():
        if key not in map(str.lower, _KEYS):
            hint, keys = did_you_mean(value.key, _KEYS), ", ".join(_KEYS)
            message = f"there is no such key; there are: {keys}.{hint}"
            raise ConfigError(message, where=where, line=line, key=value.key)
    if entry.keys().isdisjoint(("switchname", "blockname", "blocksizes")):
        message, first = "needs a SwitchName or a BlockName", next(iter(entry.values()))
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
        raise ValueError("must be numbers each of which is a power of two times the one before it")
    return sizes


def _blocks(found: _Found) -> tuple[list[Unit], tuple[tuple[int, ...], ...]]:
    """Return the blocks, and the sizes of blocks and of the groups of blocks."""
    blocks = list(found.units.values())
    base = found.sizes[0] if found.sizes else 1
    for block in blocks:
        if len(block.nodes) < base:
            raise block.error(f"has {len(block.nodes)} nodes, the base block size is {base}")
    sizes = np.array([len(block.nodes) for block in blocks])
    levels = [sizes]
    levels.extend(
        np.add.reduceat(sizes, range(0, len(sizes), size // base)) for size in found.sizes[1:]
    )
    return blocks, tuple(tuple(level.tolist()) for level in levels)


def _tree(found: _Found) -> tuple[list[Unit], tuple[tuple[int, ...], ...]]:
    """Return the leaf switches depth-first, and the sizes of the switches of each level."""
    root = _root(found)
    leaves: list[Unit] = []
    height: dict[str, int] = {}
    # Above each leaf, lowest first: heights and names of its switches.
    above: list[list[str]] = []
    path: list[str] = []
    stack: list[tuple[Unit, bool]] = [(root, False)]
    while stack:
        unit, left = stack.pop()
        name = unit.name.text
        if left:
            path.pop()
            height[name] = 1 + max(height[child] for child in unit.children)
        elif unit.nodes:
            height[name] = 0
            leaves.append(unit)
            above.append([name, *reversed(path)])
        else:
            path.append(name)
            stack.append((unit, True))
            stack.extend((found.units[child], False) for child in reversed(unit.children))
    levels = []
    for level in range(max(height[root.name.text], 1)):
        sizes: dict[str, int] = {}
        for leaf, names in zip(leaves, above, strict=True):
            # The highest switch that is not above this level: switches may be of unequal depth.
            group = [name for name in names if height[name] <= level][-1]
            sizes[group] = sizes.get(group, 0) + len(leaf.nodes)
        levels.append(tuple(sizes.values()))
    return leaves, tuple(levels)


def _root(found: _Found) -> Unit:
    """Return the switch above all others; every other one is below exactly one."""
    parent: dict[str, Unit] = {}
    for unit in found.units.values():
        for child in unit.children:
            if child not in found.units:
                raise unit.error(f"has a switch {child!r}, which the file does not describe")
            if child in parent:
                raise unit.error(
                    f"has a switch {child!r}, which is below {parent[child].name.text!r} too",
                )
            parent[child] = unit
    roots = [unit for unit in found.units.values() if unit.name.text not in parent]
    if len(roots) > 1:
        raise roots[1].error(
            f"is not connected to {roots[0].name.text!r}; a switch above both is needed"
        )
    reached = set(roots[:1])
    waiting = list(roots)
    while waiting:
        below = [found.units[child] for child in waiting.pop().children]
        reached.update(below)
        waiting.extend(below)
    lost = next((unit for unit in found.units.values() if unit not in reached), None)
    if lost is not None:
        raise lost.error("is below itself")
    return roots[0]


def _order(found: _Found, leaves: list[Unit], node_names: Sequence[str]) -> IntArray:
    """Return where each node of the leaves is on the machine, in their order."""
    position = {name: at for at, name in enumerate(node_names)}
    owner: dict[str, Unit] = {}
    for leaf in leaves:
        for node in leaf.nodes:
            if node not in position:
                raise leaf.error(f"has a node {node!r}, which the system does not have")
            if node in owner:
                raise leaf.error(f"has a node {node!r}, which is in {owner[node].name.text!r} too")
            owner[node] = leaf
    lost = next((name for name in node_names if name not in owner), None)
    if lost is not None:
        raise ConfigError(f"node {lost!r} of the system is not in it", where=found.where)
    return np.array([position[name] for name in owner], dtype=np.int64)
