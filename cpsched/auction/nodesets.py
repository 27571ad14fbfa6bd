"""
Nodesets: contiguous runs of nodes with something free, and windows along them (thesis, 4.1).

Bids are for windows of usable nodes: what lies within one nodeset is a contiguous allocation,
what crosses into the next is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.model.types import IntArray


class Nodeset(NamedTuple):
    """
    A maximal run of nodes on which something is free; ``(n_i, n_j, c, g)`` in the thesis.

    Attributes
    ----------
    first, end
        Its nodes are ``[first, end)``, counted from 0 (the thesis counts from 1 and names the
        last).
    units
        Cores free on them together; in general, units of a request that fit on them.
    level
        How much of a generic resource each of them has free at least.
    """

    first: int
    end: int
    units: int
    level: int


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """
    The usable nodes for a request in their order along the line; M nodes in P nodesets.

    Attributes
    ----------
    node
        Their numbers, shape ``(M,)``.
    room
        Units each of them holds, at least 1, shape ``(M,)``.
    before
        Units that fit on those before each, and on all of them; shape ``(M + 1,)``.
    run
        Which nodeset each lies in, counted from 0, shape ``(M,)``.
    begins, ends
        Positions in the line at which nodesets begin and end (half-open), shape ``(P,)``.
    """

    node: IntArray
    room: IntArray
    before: IntArray
    run: IntArray
    begins: IntArray
    ends: IntArray

    @classmethod
    def of(cls, room: IntArray) -> Line:
        """
        Return the line of the nodes that hold a unit or more.

        Parameters
        ----------
        room
            Units of a request that fit on each node of the machine, shape ``(N,)``.
        """
        node = np.flatnonzero(room > 0).astype(np.int64)
        held = room[node]
        before = np.zeros(len(node) + 1, dtype=np.int64)
        np.cumsum(held, out=before[1:])
        first = np.ones(len(node), dtype=np.bool_)
        first[1:] = node[1:] != node[:-1] + 1
        begins = np.flatnonzero(first).astype(np.int64)
        ends = np.append(begins[1:], len(node)).astype(np.int64)[: len(begins)]
        return cls(node, held, before, np.cumsum(first) - 1, begins, ends)

    def nodesets(self, level: int = 0) -> list[Nodeset]:
        """Return the nodesets, first to last."""
        return [
            Nodeset(
                int(self.node[begin]),
                int(self.node[end - 1]) + 1,
                int(self.before[end] - self.before[begin]),
                level,
            )
            for begin, end in zip(self.begins.tolist(), self.ends.tolist(), strict=True)
        ]

    def forward(
        self, begin: IntArray, units: int, nodes_min: int, nodes_max: int
    ) -> tuple[IntArray, IntArray]:
        """
        Return the shortest windows ``[begin, end)`` that hold a job, from given positions on.

        Windows that would need more than ``nodes_max`` nodes, or run past the end, are left out.
        """
        end = np.searchsorted(self.before, self.before[begin] + units).astype(np.int64)
        end = np.maximum(end, begin + nodes_min)
        good = (end <= len(self.node)) & (end - begin <= nodes_max)
        return begin[good], end[good]

    def backward(
        self, end: IntArray, units: int, nodes_min: int, nodes_max: int
    ) -> tuple[IntArray, IntArray]:
        """Return the shortest windows that hold a job and end at given positions."""
        begin = np.searchsorted(self.before, self.before[end] - units, side="right") - 1
        begin = np.minimum(begin, end - nodes_min).astype(np.int64)
        good = (begin >= 0) & (end - begin <= nodes_max)
        return begin[good], end[good]


def machine_nodesets(free: IntArray, generic: Iterable[int]) -> list[Nodeset]:
    """
    Return all nodesets of a machine: Figure 4.4 of the thesis.

    Parameters
    ----------
    free
        Cores first, shape ``(N, R)``.
    generic
        Which kinds are generic resources. Those of level 0, where nothing but a core has to be
        free, are listed once; then those of each level of each kind.
    """
    cores = free[:, 0]
    found = Line.of(cores).nodesets()
    for kind in generic:
        for level in range(1, int(free[:, kind].max(initial=0)) + 1):
            found += Line.of(np.where(free[:, kind] >= level, cores, 0)).nodesets(level)
    return found
