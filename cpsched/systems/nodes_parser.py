"""The ``[[nodes]]`` entries of a system file, spread out to one row a node."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError, ValidationInfo, model_validator

from cpsched.errors import ConfigError
from cpsched.util.models import Count, CountOrZero, Memory, Model, Text, Texts, explained, whole
from cpsched.util.node_lists import expand
from cpsched.util.types import MAX_AMOUNT, MAX_NODES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Self

    from cpsched.util.types import IntArray

_MEMORY, _COUNT = TypeAdapter(Memory), TypeAdapter(Count)
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_PATTERN = re.compile(r"([^{}]*)\{(?::0?(\d{1,2})d)?\}([^{}]*)")


class NodesEntry(Model):
    """
    A ``[[nodes]]`` entry: identical nodes; each resource of the system is a key, too.

    Positions number the nodes from 1. All entries together fill them, each once. Contiguous jobs
    and switches follow this order.

    Each resource is a key with its amount on every node, such as ``core = 16`` or
    ``mem = "64 GB"``. A resource that is left out has none, and each node needs at least one core.
    Memory is a number of KB, or text with ``KB``, ``MB``, ``GB`` or ``TB`` (powers of 1024).
    """

    model_config = ConfigDict(extra="allow")

    group: Text
    """Name of the node group, to which queues refer. Several entries may share one."""
    count: Annotated[int, *whole(1, MAX_NODES)] | None = None
    """Number of nodes. They take the lowest free positions, in file order. Left out if ``ids`` or
    a list of ``names`` is given."""
    ids: Text | None = None
    """Positions of the nodes, counted from 1: ``1-32`` or ``39,44``."""
    names: Text | None = None
    """A pattern with one ``{}`` or ``{:03d}``, which is the position for ``ids`` and counts from 1
    for ``count``. Or a list as Slurm writes it: ``n[01-16,20],m1``. Default: ``node`` and the
    position."""
    features: Texts = ()
    """Features of these nodes, in addition to those of all nodes."""
    weight: CountOrZero = 0
    """Slurm's node weight: the dispatcher ``slurm`` uses nodes of a lower weight first."""

    @classmethod
    def known_keys(cls, info: ValidationInfo) -> Collection[str]:
        """Return the keys of an entry, those of resources included."""
        return [*cls.model_fields, *(info.context or {})["resources"]]

    @model_validator(mode="after")
    def _check(self) -> NodesEntry:
        if (self.count is None) == (self.ids is None) and (self.count or self.hosts is None):
            raise ConfigError('give either count = 32 or ids = "1-32"')
        size = self.size
        if self.hosts is not None and len(self.hosts) != size:
            raise ConfigError(
                f"{len(self.hosts)} names are given for {size} nodes. Give one for each node.",
                key="names",
            )
        if self.names is not None and self.hosts is None:
            _ = self._pattern
        if not self.amounts.get("core"):
            raise ConfigError("is missing. Every node has at least one core.", key="core")
        return self

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """Positions of the nodes, where ``ids`` gives them: ``"1-32"`` or ``"39,44,45"``."""
        positions: list[int] = []
        for part in (self.ids or "").split(",") if self.ids else ():
            match = _RANGE.fullmatch(part.strip())
            first = int(match[1]) if match else 0
            last = int(match[2] or match[1]) if match else 0
            if not 1 <= first <= last <= MAX_NODES:
                raise ConfigError(
                    f'{part.strip()!r} is not a range of positions, such as "1-32" or "39,44"',
                    key="ids",
                )
            positions.extend(range(first, last + 1))
        return tuple(positions)

    @cached_property
    def hosts(self) -> tuple[str, ...] | None:
        """Names of the nodes, where they are listed; no list is taken for a wrong pattern."""
        if self.names is None or "{" in self.names:
            return None
        try:
            return tuple(expand(self.names, MAX_NODES))
        except ValueError as error:
            raise ConfigError(
                f"{self.names[:60]!r} {error}, nor a pattern with {{}}", key="names"
            ) from None

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.count or len(self.positions or self.hosts or ())

    @cached_property
    def amounts(self) -> dict[str, int]:
        """What each node holds, by resource."""
        amounts = {}
        for name, value in (self.model_extra or {}).items():
            try:
                amounts[name] = (_MEMORY if name == "mem" else _COUNT).validate_python(value)
            except ValidationError as error:
                raise ConfigError(explained(error).reason, key=name) from None
        return amounts

    def name_of(self, number: int, num_nodes: int) -> str:
        """Return the name of a node by its number; a pattern is never evaluated."""
        if self.hosts is not None:
            return self.hosts[number - 1]
        if self.names is None:
            return f"node{number:0{len(str(num_nodes))}d}"
        before, digits, after = self._pattern
        return f"{before}{number:0{int(digits or 0)}d}{after}"

    @cached_property
    def _pattern(self) -> tuple[str, ...]:
        match = _PATTERN.fullmatch(self.names or "")
        if match is None:
            raise ConfigError(
                f'{self.names!r} must contain one {{}} or {{:03d}}, such as "node{{:03d}}"',
                key="names",
            )
        return match.groups()


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


def system_nodes(
    entries: Sequence[NodesEntry], resources: Sequence[str], features: Sequence[str]
) -> SystemNodes:
    """
    Return the nodes that the entries describe.

    Entries with ``ids`` take those positions; entries with ``count`` take the lowest positions
    left, in file order.

    Parameters
    ----------
    features
        Of all nodes.

    Raises
    ------
    ConfigError
        If positions overlap, leave a gap, or two nodes get one name.
    """
    for name in resources:
        total = sum(entry.size * entry.amounts.get(name, 0) for entry in entries)
        if total > MAX_AMOUNT:
            raise ConfigError(
                f"{total} in all are more than {MAX_AMOUNT}", key=f"nodes[{len(entries)}].{name}"
            )
    owner = _owners(entries)
    names = _names(entries, owner)
    amounts = [[entry.amounts.get(name, 0) for name in resources] for entry in entries]
    sets = [frozenset((*features, *entry.features)) for entry in entries]
    return SystemNodes(
        capacity=np.array(amounts, dtype=np.int64)[owner],
        names=names,
        groups=tuple(entries[index].group for index in owner),
        features=tuple(sets[index] for index in owner),
        weights=np.array([entry.weight for entry in entries], dtype=np.int64)[owner],
    )


def _owners(entries: Sequence[NodesEntry]) -> IntArray:
    """Return which entry each position belongs to, shape ``(N,)``."""
    total = sum(entry.size for entry in entries)
    if total > MAX_NODES:
        raise ConfigError(
            f"{total} nodes are more than the {MAX_NODES} that a system may have",
            key=f"nodes[{len(entries)}]",
        )
    owner = np.full(total, -1, dtype=np.int64)
    for index, entry in enumerate(entries):
        for position in entry.positions:
            if position > total:
                reason = f"position {position} is beyond the {total} nodes of all entries"
                raise ConfigError(reason, key=f"nodes[{index + 1}].ids")
            if owner[position - 1] >= 0:
                raise ConfigError(
                    f"position {position} is given twice", key=f"nodes[{index + 1}].ids"
                )
            owner[position - 1] = index
    for index, entry in enumerate(entries):
        if entry.ids is None:
            owner[np.flatnonzero(owner < 0)[: entry.size]] = index
    return owner


def _names(entries: Sequence[NodesEntry], owner: IntArray) -> tuple[str, ...]:
    """Name every node: by position where positions are given, else counting in the entry."""
    used = [0] * len(entries)
    names: dict[str, int] = {}
    for position, index in enumerate(owner.tolist(), start=1):
        used[index] += 1
        entry = entries[index]
        counts_in_entry = entry.hosts or (entry.names and entry.ids is None)
        name = entry.name_of(used[index] if counts_in_entry else position, len(owner))
        if name in names:
            raise ConfigError(
                f"nodes {names[name]} and {position} would both be called {name!r}. Rename one.",
                key=f"nodes[{index + 1}].names",
            )
        names[name] = position
    return tuple(names)
