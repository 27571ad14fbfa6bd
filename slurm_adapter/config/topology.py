"""A topology that one of Slurm's files describes, and the order of a machine's nodes in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.model import Topology, TopologyKind
from cpsched.api.tools import read_text
from slurm_adapter.config.topology_files import SlurmTopology, Unit, read_conf, read_yaml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.api.model import IntArray


def read_slurm_topology(
    file: Path, node_names: Sequence[str], name: str | None = None
) -> tuple[IntArray, Topology]:
    """
    Return the order of nodes along a topology, and the topology.

    Parameters
    ----------
    file
        ``topology.yaml`` (or ``.yml``), else in the format of ``topology.conf``.
    node_names
        The machine's nodes, each of which must be in the file, as every node of the file must be
        on the machine.
    name
        Which topology of a YAML file; None for the default one.

    Returns
    -------
    order, topology
        Positions in ``node_names`` in the order of the topology, shape ``(N,)``.

    Raises
    ------
    ConfigError
        If the file cannot be read, or does not describe one connected topology of these nodes.
    """
    where = str(file)
    text = read_text(file)
    found = read_yaml(text, where, name) if is_yaml(file) else read_conf(text, where)
    if found.kind == "flat":
        return np.arange(len(node_names), dtype=np.int64), Topology(len(node_names))
    leaves, levels = _tree(found) if found.kind == "tree" else _blocks(found)
    kind = TopologyKind.TREE if found.kind == "tree" else TopologyKind.BLOCK
    order = _order(found, leaves, node_names)
    return order, Topology(len(node_names), kind=kind, group_sizes=levels)


def is_yaml(file: Path) -> bool:
    """Tell whether a file is in the newer format, which names several topologies."""
    return file.suffix.lower() in (".yaml", ".yml")


def _blocks(found: SlurmTopology) -> tuple[list[Unit], tuple[tuple[int, ...], ...]]:
    """Return the blocks, and the sizes of blocks and of the groups of blocks."""
    blocks = list(found.units.values())
    base = found.block_sizes[0] if found.block_sizes else 1
    for block in blocks:
        if len(block.nodes) < base:
            raise ConfigError(
                f"has {len(block.nodes)} nodes, the base block size is {base}",
                where=found.where, line=block.line, key=block.name,
            )  # fmt: skip
    sizes = np.array([len(block.nodes) for block in blocks])
    levels = [sizes]
    levels.extend(
        np.add.reduceat(sizes, range(0, len(sizes), size // base)) for size in found.block_sizes[1:]
    )
    return blocks, tuple(tuple(level.tolist()) for level in levels)


def _tree(found: SlurmTopology) -> tuple[list[Unit], tuple[tuple[int, ...], ...]]:
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
        if left:
            path.pop()
            height[unit.name] = 1 + max(height[child] for child in unit.children)
        elif unit.nodes:
            height[unit.name] = 0
            leaves.append(unit)
            above.append([unit.name, *reversed(path)])
        else:
            path.append(unit.name)
            stack.append((unit, True))
            stack.extend((found.units[child], False) for child in reversed(unit.children))
    levels = []
    for level in range(max(height[root.name], 1)):
        sizes: dict[str, int] = {}
        for leaf, names in zip(leaves, above, strict=True):
            # The highest switch that is not above this level: switches may be of unequal depth.
            group = [name for name in names if height[name] <= level][-1]
            sizes[group] = sizes.get(group, 0) + len(leaf.nodes)
        levels.append(tuple(sizes.values()))
    return leaves, tuple(levels)


def _root(found: SlurmTopology) -> Unit:
    """Return the switch above all others; every other one is below exactly one."""
    parent: dict[str, Unit] = {}
    for unit in found.units.values():
        for child in unit.children:
            if child not in found.units:
                raise _error(
                    found, unit, f"has a switch {child!r}, which the file does not describe"
                )
            if child in parent:
                raise _error(
                    found,
                    unit,
                    f"has a switch {child!r}, which is below {parent[child].name!r} too",
                )
            parent[child] = unit
    roots = [unit for unit in found.units.values() if unit.name not in parent]
    if len(roots) > 1:
        raise _error(
            found, roots[1], f"is not connected to {roots[0].name!r}; a switch above both is needed"
        )
    reached = set(roots[:1])
    waiting = list(roots)
    while waiting:
        below = [found.units[child] for child in waiting.pop().children]
        reached.update(below)
        waiting.extend(below)
    lost = next((unit for unit in found.units.values() if unit not in reached), None)
    if lost is not None:
        raise _error(found, lost, "is below itself")
    return roots[0]


def _order(found: SlurmTopology, leaves: list[Unit], node_names: Sequence[str]) -> IntArray:
    """Return where each node of the leaves is on the machine, in their order."""
    position = {name: at for at, name in enumerate(node_names)}
    owner: dict[str, Unit] = {}
    for leaf in leaves:
        for node in leaf.nodes:
            if node not in position:
                raise _error(found, leaf, f"has a node {node!r}, which the system does not have")
            if node in owner:
                raise _error(
                    found, leaf, f"has a node {node!r}, which is in {owner[node].name!r} too"
                )
            owner[node] = leaf
    lost = next((name for name in node_names if name not in owner), None)
    if lost is not None:
        raise ConfigError(f"node {lost!r} of the system is not in it", where=found.where)
    return np.array([position[name] for name in owner], dtype=np.int64)


def _error(found: SlurmTopology, unit: Unit, message: str) -> ConfigError:
    return ConfigError(message, where=found.where, line=unit.line, key=unit.name)


class SlurmTopologyFiles:
    """What the key ``slurm`` of a system file's ``[topology]`` names: a file of Slurm's."""

    def has_names(self, file: Path) -> bool:
        """Tell whether a file names its topologies, so that one can be asked for."""
        return is_yaml(file)

    def read(
        self, file: Path, node_names: Sequence[str], name: str | None
    ) -> tuple[IntArray, Topology]:
        """Return the order of nodes and the topology, as :func:`read_slurm_topology`."""
        return read_slurm_topology(file, node_names, name)


TOPOLOGY_FILES = SlurmTopologyFiles()
