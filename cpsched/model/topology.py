"""
The topology of nodes: a line, switches, blocks, dragonfly groups, a torus.

A node's index is its place along the topology's order, so neighbours in index are near each other
and every group of nodes is a range of indices. Whoever builds a
:class:`~cpsched.model.system.System` puts its nodes in that order: depth-first through the
switches, or along the curve of a torus.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.model.arrays import immutable
from cpsched.model.curves import along_curve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from cpsched.model.node_sets import NodeSets
    from cpsched.util.types import BoolArray, FloatArray, IntArray

#: Most sides of a torus, and the longest side.
MAX_SIDES, MAX_SIDE = 5, 4095


class TopologyKind(StrEnum):
    """The kind of network, which determines the distance of two nodes."""

    LINE = "line"
    """Nothing above the nodes; the distance is that of the indices."""
    TREE = "tree"
    """Switches above switches; hops up to the lowest switch above both nodes, and down again."""
    BLOCK = "block"
    """Blocks of nodes (racks with a fast network inside), groups of blocks; hops as in a tree."""
    DRAGONFLY = "dragonfly"
    """Routers, all connected to each other within a group, and groups connected to each other."""
    TORUS = "torus"
    """A grid in 2, 3 or 5 dimensions that is closed in each; hops along its sides."""


@dataclass(frozen=True)
class Topology:
    """
    N nodes in the topology's order, and what is above them or between them.

    Attributes
    ----------
    num_nodes
        Number of nodes N.
    level_sizes
        Nodes in one group of each level where all groups of a level are of one size (but the last,
        which may be smaller), smallest first: ``(16, 128)`` puts 16 nodes under a leaf switch and
        128 under the next. Empty for a plain line. The root above all is implied.
    kind
        See :class:`TopologyKind`; by default what the sizes say: a tree, a torus or a line.
    group_sizes
        The same for groups of unequal sizes: for each level, lowest first, the sizes of its groups
        along the line. Instead of ``level_sizes``.
    sides
        Of a torus: nodes along each of its 2 to 5 dimensions; their product is N. Nodes
        are in the order of :mod:`cpsched.model.curves`.
    apart
        Whether the groups of the lowest level do not meet: no job has nodes of two of them.
    """

    num_nodes: int
    level_sizes: tuple[int, ...] = ()
    kind: TopologyKind = TopologyKind.LINE
    group_sizes: tuple[tuple[int, ...], ...] = ()
    sides: tuple[int, ...] = ()
    apart: bool = False

    def __post_init__(self) -> None:
        if self.kind is TopologyKind.LINE and (self.level_sizes or self.group_sizes):
            object.__setattr__(self, "kind", TopologyKind.TREE)
        elif self.kind is TopologyKind.LINE and self.sides:
            object.__setattr__(self, "kind", TopologyKind.TORUS)
        _check_level_sizes(self.level_sizes)
        _check_group_sizes(self.group_sizes, self.num_nodes)
        if self.level_sizes and self.group_sizes:
            raise ValueError(
                "the sizes of groups are given twice, as equal ones and one by one. Keep one form."
            )
        if (self.kind is TopologyKind.TORUS) != bool(self.sides):
            raise ValueError("a torus needs sides, and no other topology has sides")
        if self.sides:
            _check_torus(self.sides, self.num_nodes)
            if self.level_sizes or self.group_sizes:
                raise ValueError("a torus has sides instead of levels of groups")
        if self.apart and not (self.level_sizes or self.group_sizes):
            raise ValueError("separate groups need levels of groups. Give the sizes of groups.")
        if self.kind is TopologyKind.DRAGONFLY and self.num_levels != len(_DRAGONFLY_HOPS):
            raise ValueError("a dragonfly has two levels: routers and groups of routers")

    @cached_property
    def levels(self) -> IntArray:
        """
        The group of every node at each level below the root, lowest first, shape ``(L, N)``.

        Groups count up from 0 along the line, and each lies inside one group of the next level.
        """
        rows = [np.arange(self.num_nodes) // size for size in self.level_sizes]
        rows += [np.repeat(np.arange(len(sizes)), sizes) for sizes in self.group_sizes]
        levels: IntArray = immutable(np.array(rows, dtype=np.int64).reshape(-1, self.num_nodes))
        return levels

    @cached_property
    def cells(self) -> IntArray:
        """Coordinates of each node of a torus, shape ``(N, D)``; elsewhere ``(N, 0)``."""
        if not self.sides:
            return np.zeros((self.num_nodes, 0), dtype=np.int64)
        cells: IntArray = immutable(along_curve(self.sides))
        return cells

    @property
    def num_levels(self) -> int:
        """Number of levels of groups, the root included."""
        return len(self.level_sizes) + len(self.group_sizes) + 1

    @property
    def group_words(self) -> tuple[str, str]:
        """What one group of the lowest level is called, and what several are."""
        return _GROUP_WORDS[self.kind]

    def level_group(self, level: int) -> IntArray:
        """Return the group of every node at a level (0 = leaf switches), shape ``(N,)``."""
        if level < self.num_levels - 1:
            group: IntArray = self.levels[level]
            return group
        if level == self.num_levels - 1:
            return np.zeros(self.num_nodes, dtype=np.int64)
        raise ValueError(f"level is {level}, must be from 0 to {self.num_levels - 1}")

    def common_level(self, a: IntArray, b: IntArray) -> IntArray:
        """
        Return the lowest level at which the nodes of each pair are in one group (0 = lowest).

        With the first and last of a set of nodes it is the lowest level at which one group holds
        the set, for groups have consecutive nodes. The root where there are no other levels.
        """
        level = np.zeros(len(a), dtype=np.int64)
        for group in self.levels:
            level += group[a] != group[b]
        return level

    def distance(self, a: IntArray, b: IntArray) -> IntArray:
        """
        Return the hops between the nodes of each pair; 0 from a node to itself.

        On a line the difference of the indices. In a tree or between blocks ``2 (level + 1)``, up
        to the lowest common group and down. In a dragonfly 2 under one router, 3 inside one group
        and 5 between groups: the links of a minimal path, those of the two nodes included [1]_. In
        a torus the sum over its sides, each the shorter way round.

        References
        ----------
        .. [1] Kim, Dally, Scott and Abts (2008). Technology-driven, highly-scalable dragonfly
           topology. ISCA.
        """
        if self.kind is TopologyKind.LINE:
            return np.abs(np.asarray(a) - np.asarray(b))
        if self.kind is TopologyKind.TORUS:
            apart = np.abs(self.cells[a] - self.cells[b])
            around: IntArray = np.minimum(apart, np.array(self.sides) - apart).sum(axis=-1)
            return around
        hops: IntArray = np.where(a == b, 0, self.hops[self.common_level(a, b)])
        return hops

    def misfit(self, nodes: IntArray, *, segment: int = 0, max_switches: int = 0) -> str:
        """
        Say how distinct nodes break what a job asks of their places, '' if they do not.

        Parameters
        ----------
        segment, max_switches
            As in a :class:`~cpsched.model.workload.Workload`; 0 where nothing is asked.
        """
        counts = np.unique(self.level_group(0)[nodes], return_counts=True)[1]
        word, words = self.group_words
        if segment and (counts % segment).any():
            shown = " + ".join(map(str, counts.tolist()[:6])) + " + ..." * (len(counts) > 6)
            return f"has {shown} nodes {word} by {word}, in segments of {segment}"
        if max_switches and len(counts) > max_switches:
            return f"touches {len(counts)} {words}, but may touch at most {max_switches}"
        return ""

    def compact(self, sets: NodeSets, segment: IntArray | int = 1) -> BoolArray:
        """
        Tell which of S sets of nodes are compact, shape ``(S,)``.

        On a line: they are consecutive. With levels of groups: at every level they touch as few
        groups as so many nodes can. In a torus: they are consecutive along its curve.

        Parameters
        ----------
        segment
            Nodes that each set has in segments, 0 or 1 for none: no group of the lowest level can
            hold part of a segment, so such a set may need more groups.
        """
        if self.num_levels > 1:
            together = np.ones(len(sets), dtype=np.bool_)
            segments = np.maximum(np.broadcast_to(segment, len(sets)), 1)
            for level, group in enumerate(self.levels):
                touched = sets.groups(group)
                for value in np.unique(segments).tolist():
                    own = segments == value
                    fewest = np.searchsorted(self._largest_first(level, value), sets.size[own]) + 1
                    together[own] &= touched[own] == fewest
            return together
        return np.asarray(sets.blocks() == 1)

    def mean_distance(self, sets: NodeSets) -> FloatArray:
        """Return the mean distance over all pairs of nodes of each set, shape ``(S,)``."""
        size = sets.size
        pairs = size * (size - 1) // 2
        if self.kind is TopologyKind.LINE:
            total = _along_line(sets)
        elif self.kind is TopologyKind.TORUS:
            total = self._around(sets)
        else:
            total = self._through_levels(sets, pairs)
        return np.asarray(total / np.maximum(pairs, 1), dtype=np.float64)

    def _through_levels(self, sets: NodeSets, pairs: IntArray) -> IntArray:
        """Return sums of hops: at each level the pairs that no lower level has in one group."""
        total = np.zeros(len(sets), dtype=np.int64)
        nearer = total
        for level, hops in enumerate(self.hops.tolist()):
            together = pairs
            if level < len(self.levels):
                owner, count = sets.parts(self.levels[level])
                together = np.zeros(len(sets), dtype=np.int64)
                np.add.at(together, owner, count * (count - 1) // 2)
            total = total + hops * (together - nearer)
            nearer = together
        return total

    def _around(self, sets: NodeSets) -> IntArray:
        """Return sums of distances round the sides of a torus; equal sets are worked out once."""
        known: dict[bytes, int] = {}
        total = np.zeros(len(sets), dtype=np.int64)
        for index in range(len(sets)):
            nodes = sets.nodes(index)
            key = nodes.tobytes()
            if key not in known:
                known[key] = 0
                for side, along in zip(self.sides, self.cells[nodes].T, strict=True):
                    coordinate, count = np.unique(along, return_counts=True)
                    apart = np.abs(coordinate[:, None] - coordinate)
                    known[key] += int(count @ np.minimum(apart, side - apart) @ count) // 2
            total[index] = known[key]
        return total

    @cached_property
    def hops(self) -> IntArray:
        """Hops between two nodes by their common level, shape ``(num_levels,)``."""
        if self.kind is TopologyKind.DRAGONFLY:
            return np.array(_DRAGONFLY_HOPS, dtype=np.int64)
        return 2 * np.arange(1, self.num_levels + 1, dtype=np.int64)

    def _largest_first(self, level: int, segment: int = 1) -> FloatArray:
        """Return how many nodes the one, two, three ... largest groups hold in whole segments."""
        known: dict[tuple[int, int], FloatArray] = self._largest
        if (level, segment) not in known:
            usable = np.bincount(self.levels[0]) // segment * segment
            above = self.levels[level][np.flatnonzero(np.diff(self.levels[0], prepend=-1))]
            sizes = np.bincount(above, weights=usable)
            known[level, segment] = np.cumsum(np.sort(sizes)[::-1])
        return known[level, segment]

    @cached_property
    def _largest(self) -> dict[tuple[int, int], FloatArray]:
        return {}

    def to_dict(self) -> dict[str, Any]:
        """
        Return everything but the number of nodes as plain JSON types.

        A line, or a tree of equal switches, is its ``level_sizes`` alone.
        """
        table: dict[str, Any] = {"level_sizes": list(self.level_sizes)}
        equal_tree = self.kind in (TopologyKind.LINE, TopologyKind.TREE) and not self.group_sizes
        equal_tree &= not self.apart
        if not equal_tree:
            table["topology"] = {"kind": self.kind.value}
        if self.group_sizes:
            table["topology"]["group_sizes"] = [list(sizes) for sizes in self.group_sizes]
        if self.apart:
            table["topology"]["apart"] = True
        if self.sides:
            # The curve as in systems written when there were others: digests stay what they were.
            table["topology"] |= {"sides": list(self.sides), "curve": "hilbert"}
        return table

    @classmethod
    def from_dict(cls, num_nodes: int, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_dict` gave."""
        rest = data.get("topology", {})
        if rest.get("curve", "hilbert") != "hilbert":
            raise ValueError(f"curve is {rest['curve']!r}, must be 'hilbert'")
        return cls(
            num_nodes,
            tuple(data["level_sizes"]),
            kind=TopologyKind(rest.get("kind", TopologyKind.LINE)),
            group_sizes=tuple(tuple(sizes) for sizes in rest.get("group_sizes", ())),
            sides=tuple(rest.get("sides", ())),
            apart=bool(rest.get("apart", False)),
        )


def _along_line(sets: NodeSets) -> IntArray:
    """Return sums of differences of indices: the k-th of n nodes counts ``2 k - n + 1`` times."""
    owner = np.repeat(np.arange(len(sets)), sets.runs)
    first, count = sets.first, sets.count
    before = np.cumsum(count) - count
    before -= before[sets.begin][owner]
    times = 2 * before - sets.size[owner] + 1
    ones, squares = count * (count - 1) // 2, (count - 1) * count * (2 * count - 1) // 6
    return sets.summed(times * first * count + (times + 2 * first) * ones + 2 * squares)


_GROUP_WORDS = {
    TopologyKind.LINE: ("machine", "machines"),
    TopologyKind.TREE: ("leaf switch", "leaf switches"),
    TopologyKind.BLOCK: ("block", "blocks"),
    TopologyKind.DRAGONFLY: ("router", "routers"),
    TopologyKind.TORUS: ("machine", "machines"),
}
#: Links between two nodes under one router, in one group, and in two groups.
_DRAGONFLY_HOPS = (2, 3, 5)


def _check_level_sizes(sizes: Sequence[int]) -> None:
    previous = 1
    for size in sizes:
        if size <= previous or size % previous:
            raise ValueError(
                f"switch level of {size} nodes must be a multiple of, and larger than,"
                f" the level below it ({previous})"
            )
        previous = size


def _check_group_sizes(levels: Sequence[Sequence[int]], num_nodes: int) -> None:
    """Check that each level covers the line, and that its groups end where lower ones do."""
    below = set(range(num_nodes + 1))
    for level, sizes in enumerate(levels):
        if not all(size >= 1 for size in sizes) or sum(sizes) != num_nodes:
            raise ValueError(
                f"the groups of level {level} hold {sum(sizes)} nodes, there are {num_nodes}"
            )
        ends = set(np.cumsum(sizes).tolist())
        if not ends <= below:
            raise ValueError(
                f"a group of level {level} contains part of a group of the level below"
            )
        below = ends


def _check_torus(sides: Sequence[int], num_nodes: int) -> None:
    if not 2 <= len(sides) <= MAX_SIDES or not all(1 <= side <= MAX_SIDE for side in sides):
        raise ValueError(f"a torus has 2 to {MAX_SIDES} sides, each from 1 to {MAX_SIDE}")
    if prod(sides) != num_nodes:
        shown = " x ".join(map(str, sides))
        raise ValueError(f"sides {shown} are {prod(sides)} nodes, there are {num_nodes}")
