"""
Slurm's ``topology.conf`` and ``topology.yaml``: switches or blocks, and the nodes below them.

The formats are those of topology.conf(5) and topology.yaml(5). Read are ``SwitchName=`` with
``Nodes=`` or ``Switches=``, ``BlockName=`` with ``Nodes=``, and ``BlockSizes=``; of the YAML file
one topology of type ``tree``, ``block`` or ``flat``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from cpsched.api.errors import ConfigError, did_you_mean
from cpsched.api.machines import MAX_NODES, expand
from slurm_adapter.config import lines as slurm_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEYS = ("SwitchName", "Switches", "Nodes", "LinkSpeed", "BlockName", "BlockSizes")
_TYPES = ("tree", "block", "flat")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """
    A switch or a block.

    Attributes
    ----------
    line
        Where it is in its file, from 1 on.
    nodes, children
        Names of its nodes, or of the switches below it; one of them is empty.
    """

    name: str
    line: int
    nodes: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmTopology:
    """
    What one file says.

    Attributes
    ----------
    where
        The file.
    kind
        ``tree``, ``block`` or ``flat``.
    units
        Switches or blocks by name, in file order.
    block_sizes
        Base block size and the sizes of larger blocks; empty where the file has none.
    sizes_line
        Where they are.
    """

    where: str
    kind: str
    units: Mapping[str, Unit] = field(default_factory=dict)
    block_sizes: tuple[int, ...] = ()
    sizes_line: int | None = None


def read_conf(text: str, where: str) -> SlurmTopology:
    """
    Return what a ``topology.conf`` says.

    Raises
    ------
    ConfigError
        If a line cannot be read; names file, line, field and value.
    """
    units: dict[str, Unit] = {}
    sizes: tuple[int, ...] = ()
    sizes_line = None
    kinds: dict[str, int] = {}
    for line, content in slurm_lines.logical_lines(text):
        pairs = _known(slurm_lines.pairs(content, where, line), where, line)
        if "BlockSizes" in pairs:
            sizes, sizes_line = _sizes(pairs["BlockSizes"], where, line), line
        kind = "tree" if "SwitchName" in pairs else "block"
        if kind == "tree" or "BlockName" in pairs:
            _add(units, _conf_unit(pairs, kind, where, line), where)
        elif "BlockSizes" not in pairs:
            raise _error(where, line, next(iter(pairs)), "needs a SwitchName or a BlockName")
        kinds.setdefault(kind, line)
    if len(kinds) > 1:
        line = max(kinds.values())
        raise _error(where, line, "SwitchName", "switches and blocks cannot be in one file")
    if not units:
        raise ConfigError("has neither a SwitchName nor a BlockName", where=where)
    return SlurmTopology(
        where=where, kind=next(iter(kinds)), units=units, block_sizes=sizes, sizes_line=sizes_line
    )


def _known(found: Mapping[str, str], where: str, line: int) -> dict[str, str]:
    """Return the pairs of a line, names as Slurm writes them."""
    known = {key.lower(): key for key in _KEYS}
    for name in found:
        if name.lower() not in known:
            hint = did_you_mean(name, _KEYS)
            keys = ", ".join(_KEYS)
            raise _error(where, line, name, f"there is no such key; there are: {keys}.{hint}")
    return {known[name.lower()]: value for name, value in found.items()}


def _conf_unit(pairs: Mapping[str, str], kind: str, where: str, line: int) -> Unit:
    own, below = ("SwitchName", "Switches") if kind == "tree" else ("BlockName", "BlockName")
    if not pairs[own]:
        raise _error(where, line, own, "is empty; it must be a name")
    given = [key for key in dict.fromkeys(("Nodes", below)) if key in pairs and key != own]
    if len(given) != 1:
        right = "either Nodes or Switches" if kind == "tree" else "Nodes"
        raise _error(where, line, own, f"{pairs[own]!r} needs {right}")
    names = _hosts(pairs[given[0]], where, line, given[0])
    return Unit(
        name=pairs[own],
        line=line,
        nodes=names if given[0] == "Nodes" else (),
        children=names if given[0] != "Nodes" else (),
    )


def read_yaml(text: str, where: str, name: str | None = None) -> SlurmTopology:
    """
    Return one topology of a ``topology.yaml``.

    Parameters
    ----------
    name
        Which one; None: the first with ``cluster_default: true``, else the first.

    Raises
    ------
    ConfigError
        If it is not YAML or not such a file; names file, line, field and value.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it cannot be read"
        line = None if mark is None else mark.line + 1
        raise ConfigError(f"is not valid YAML: {problem}", where=where, line=line) from None
    tops = [_mapping(node, where, "topology") for node in _items(root, where, "topologies")]
    named = [
        (_scalar(_needed(top, "topology", where, None), where, "topology"), top) for top in tops
    ]
    chosen = _chosen(named, where, name)
    types = [kind for kind in _TYPES if kind in chosen]
    if len(types) != 1:
        line = chosen["topology"].start_mark.line + 1
        raise _error(where, line, "topology", f"needs one of: {', '.join(_TYPES)}")
    if types == ["flat"]:
        return SlurmTopology(where=where, kind="flat")
    return _yaml_units(chosen[types[0]], types[0], where)


def _chosen(
    named: list[tuple[str, dict[str, Any]]], where: str, name: str | None
) -> dict[str, Any]:
    """Return the topology that is asked for."""
    for own, top in named:
        default = "cluster_default" in top and _scalar(
            top["cluster_default"], where, "cluster_default"
        )
        if own == name or (name is None and str(default).lower() in ("true", "yes", "on")):
            return top
    if name is None:
        return named[0][1]
    there = ", ".join(own for own, _ in named)
    raise ConfigError(f"there is no topology {name!r}; there are: {there}", where=where)


def _yaml_units(node: Any, kind: str, where: str) -> SlurmTopology:
    """Return the switches or blocks of a topology."""
    inside = _mapping(node, where, kind)
    several, one, below = (
        ("switches", "switch", "children") if kind == "tree" else ("blocks", "block", "block")
    )
    line = node.start_mark.line + 1
    units: dict[str, Unit] = {}
    for item in _items(_needed(inside, several, where, line), where, several):
        entry, at = _mapping(item, where, one), item.start_mark.line + 1
        own = _scalar(_needed(entry, one, where, at), where, one)
        given = [key for key in ("nodes", below) if key in entry and key != one]
        if len(given) != 1:
            right = "either nodes or children" if kind == "tree" else "nodes"
            raise _error(where, at, one, f"{own!r} needs {right}")
        value = entry[given[0]]
        hosts = _scalar(value, where, given[0])
        names = _hosts(hosts, where, value.start_mark.line + 1, given[0])
        nodes, children = (names, ()) if given[0] == "nodes" else ((), names)
        _add(units, Unit(name=own, line=at, nodes=nodes, children=children), where)
    if not units:
        raise _error(where, line, several, "there are none")
    sizes = inside.get("block_sizes")
    texts = [] if sizes is None else [_scalar(s, where, "block_sizes") for s in _items(
        sizes, where, "block_sizes")]  # fmt: skip
    sizes_line = None if sizes is None else sizes.start_mark.line + 1
    return SlurmTopology(
        where=where,
        kind=kind,
        units=units,
        block_sizes=_sizes(",".join(texts), where, sizes_line, "block_sizes") if texts else (),
        sizes_line=sizes_line,
    )


def _items(node: Any, where: str, what: str) -> list[Any]:
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        line = None if node is None else node.start_mark.line + 1
        raise _error(where, line, what, "must be a list with at least one entry")
    return list(node.value)


def _mapping(node: Any, where: str, what: str) -> dict[str, Any]:
    if not isinstance(node, yaml.MappingNode):
        raise _error(where, node.start_mark.line + 1, what, "must have keys below it")
    return {str(key.value): value for key, value in node.value}


def _needed(entry: Mapping[str, Any], key: str, where: str, line: int | None) -> Any:
    if key not in entry:
        raise _error(where, line, key, "is missing")
    return entry[key]


def _scalar(node: Any, where: str, what: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.value:
        raise _error(where, node.start_mark.line + 1, what, "must be a text or a number")
    return str(node.value)


def _add(units: dict[str, Unit], unit: Unit, where: str) -> None:
    if unit.name in units:
        first = units[unit.name].line
        raise _error(where, unit.line, unit.name, f"is in the file already, on line {first}")
    units[unit.name] = unit


def _hosts(text: str, where: str, line: int, key: str) -> tuple[str, ...]:
    try:
        return tuple(expand(text, MAX_NODES))
    except ValueError as error:
        raise _error(where, line, key, f"{text[:60]!r} {error}") from None


def _sizes(text: str, where: str, line: int | None, key: str = "BlockSizes") -> tuple[int, ...]:
    """Read the base block size and larger ones, each a power of two times the one before."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and 0 < len(part) < 10 for part in parts):
        raise _error(where, line, key, f"{text!r} must be whole numbers, such as 18,36")
    sizes = tuple(int(part) for part in parts)
    for below, size in zip((0, *sizes), sizes, strict=False):
        ratio = size // below if below else 2
        if size < 1 or (below and size % below) or ratio < 2 or ratio & (ratio - 1):
            raise _error(
                where, line, key, f"{text!r}: each must be a power of two times the one before it"
            )
    return sizes


def _error(where: str, line: int | None, key: str | None, message: str) -> ConfigError:
    return ConfigError(message, where=where, line=line, key=key)
