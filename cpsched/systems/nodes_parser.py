"""The ``[[nodes]]`` entries of a system file, spread out to one row a node."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.util.node_lists import expand
from cpsched.util.types import MAX_AMOUNT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from cpsched.util.toml_section import Section
    from cpsched.util.types import IntArray

#: More nodes than this are taken for a typing error.
MAX_NODES = 1_000_000

#: Keys of an entry that no resource may be called.
ENTRY_KEYS = ("group", "count", "ids", "names", "features", "weight")

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_PATTERN = re.compile(r"([^{}]*)\{(?::0?(\d{1,2})d)?\}([^{}]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesEntry:
    """
    One ``[[nodes]]`` entry: nodes that are alike.

    Attributes
    ----------
    positions
        Its nodes along the line, counted from 1; None if only their number is given.
    count
        How many there are.
    amounts
        What each holds, shape ``(R,)``.
    pattern
        Its nodes' names, with one ``{}`` or ``{:03d}`` for the number; None: plain names.
    hosts
        Its nodes' names, where they are listed.
    """

    section: Section
    group: str
    positions: tuple[int, ...] | None
    count: int
    amounts: tuple[int, ...]
    pattern: str | None
    hosts: tuple[str, ...] | None
    features: frozenset[str]
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemNodes:
    """All nodes of a system along the line; N nodes, R resource kinds."""

    capacity: IntArray
    names: tuple[str, ...]
    groups: tuple[str, ...]
    features: tuple[frozenset[str], ...]
    weights: IntArray

    def take(self, order: IntArray) -> Self:
        """Return the nodes at the given positions, in that order."""
        where = order.tolist()
        return type(self)(
            capacity=self.capacity[order],
            names=tuple(self.names[at] for at in where),
            groups=tuple(self.groups[at] for at in where),
            features=tuple(self.features[at] for at in where),
            weights=self.weights[order],
        )


def read_nodes(
    sections: Sequence[Section], resources: Sequence[str], shared_features: Sequence[str]
) -> SystemNodes:
    """
    Return the nodes that the entries describe.

    Entries with ``ids`` take those positions; entries with ``count`` take the lowest positions
    left, in file order.

    Raises
    ------
    ConfigError
        If positions overlap, leave a gap, or two nodes get one name.
    """
    entries = [_entry(section, resources, shared_features) for section in sections]
    for index, name in enumerate(resources):
        total = sum(entry.count * entry.amounts[index] for entry in entries)
        if total > MAX_AMOUNT:
            raise entries[-1].section.error(name, f"{total} of it in all is beyond {MAX_AMOUNT}")
    owner = _owners(entries)
    names = _names(entries, owner)
    capacity = np.array([entry.amounts for entry in entries], dtype=np.int64)[owner]
    return SystemNodes(
        capacity=capacity,
        names=names,
        groups=tuple(entries[index].group for index in owner),
        features=tuple(entries[index].features for index in owner),
        weights=np.array([entry.weight for entry in entries], dtype=np.int64)[owner],
    )


def _entry(section: Section, resources: Sequence[str], shared: Sequence[str]) -> NodesEntry:
    section.expect(*ENTRY_KEYS, *resources)
    pattern = section.text("names") if "names" in section else None
    hosts = _hosts(section, pattern) if pattern and "{" not in pattern else None
    if ("count" in section) == ("ids" in section) and ("count" in section or hosts is None):
        raise section.error("", 'give either count = 32 or ids = "1-32"')
    positions = _positions(section) if "ids" in section else None
    count = section.count("count", MAX_NODES) or len(hosts or ())
    entry = NodesEntry(
        section=section,
        group=section.text("group"),
        positions=positions,
        count=len(positions) if positions is not None else count,
        amounts=tuple(
            (section.memory(name) if name == "mem" else section.count(name)) or 0
            for name in resources
        ),
        pattern=pattern,
        hosts=hosts,
        features=frozenset((*shared, *section.texts("features"))),
        weight=section.count("weight", least=0) or 0,
    )
    if entry.amounts[0] < 1:
        raise section.error("core", "is missing; every node has at least one core")
    if hosts is not None and len(hosts) != entry.count:
        raise section.error("names", f"are {len(hosts)}, of {entry.count} nodes")
    return entry


def _hosts(section: Section, text: str) -> tuple[str, ...]:
    """Read names that are listed as Slurm lists them; no list is taken for a wrong pattern."""
    try:
        return tuple(expand(text, MAX_NODES))
    except ValueError as error:
        raise section.error("names", f"{text[:60]!r} {error}, nor a pattern with {{}}") from None


def _positions(section: Section) -> tuple[int, ...]:
    """Read ``"1-32"`` or ``"39,44,45"``."""
    positions: list[int] = []
    for part in section.text("ids").split(","):
        match = _RANGE.fullmatch(part.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or match[1]) if match else 0
        if not 1 <= first <= last <= MAX_NODES:
            raise section.error(
                "ids", f'{part.strip()!r} is not a range of positions, such as "1-32" or "39,44"'
            )
        positions.extend(range(first, last + 1))
    return tuple(positions)


def _owners(entries: Sequence[NodesEntry]) -> IntArray:
    """Return which entry each position belongs to, shape ``(N,)``."""
    total = sum(entry.count for entry in entries)
    if total > MAX_NODES:
        raise entries[-1].section.error("", f"{total} nodes are more than {MAX_NODES}")
    owner = np.full(total, -1, dtype=np.int64)
    for index, entry in enumerate(entries):
        for position in entry.positions or ():
            if position > total:
                raise entry.section.error(
                    "ids", f"position {position} is beyond the {total} nodes of all entries"
                )
            if owner[position - 1] >= 0:
                raise entry.section.error("ids", f"position {position} is given twice")
            owner[position - 1] = index
    for index, entry in enumerate(entries):
        if entry.positions is None:
            owner[np.flatnonzero(owner < 0)[: entry.count]] = index
    return owner


def _names(entries: Sequence[NodesEntry], owner: IntArray) -> tuple[str, ...]:
    """Name every node: by position where positions are given, else counting in the entry."""
    makers = [_name_maker(entry, len(owner)) for entry in entries]
    used = [0] * len(entries)
    names: dict[str, int] = {}
    for position, index in enumerate(owner, start=1):
        used[index] += 1
        entry = entries[index]
        counts_in_entry = entry.hosts or (entry.pattern and entry.positions is None)
        name = makers[index](used[index] if counts_in_entry else position)
        if name in names:
            raise entries[index].section.error(
                "names", f"node {position} would be called {name!r} as node {names[name]} is"
            )
        names[name] = position
    return tuple(names)


def _name_maker(entry: NodesEntry, num_nodes: int) -> Callable[[int], str]:
    """Return the function from a node's number to its name; a pattern is never evaluated."""
    if (hosts := entry.hosts) is not None:
        return lambda number: hosts[number - 1]
    if entry.pattern is None:
        width = len(str(num_nodes))
        return lambda number: f"node{number:0{width}d}"
    match = _PATTERN.fullmatch(entry.pattern)
    if match is None:
        raise entry.section.error(
            "names", f'{entry.pattern!r} must hold one {{}} or {{:03d}}, such as "node{{:03d}}"'
        )
    before, digits, after = match.groups()
    return lambda number: f"{before}{number:0{int(digits or 0)}d}{after}"
