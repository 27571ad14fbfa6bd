"""Nodesets: contiguous runs of nodes with something free, and windows along them (thesis, 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.api.model import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """
    The nodes that a request can use, in order, in runs called nodesets; M nodes in P nodesets.

    Attributes
    ----------
    node, room
        Their numbers and how many units each holds, at least 1; shape ``(M,)``.
    before
        Units that fit on the nodes before each, and on all of them; shape ``(M + 1,)``.
    run
        The nodeset of each, from 0 on, shape ``(M,)``.
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
        """Return the line of the nodes that hold a unit or more, given ``room``, shape ``(N,)``."""
        node = np.flatnonzero(room > 0).astype(np.int64)
        held = room[node]
        before = np.zeros(len(node) + 1, dtype=np.int64)
        np.cumsum(held, out=before[1:])
        first = np.ones(len(node), dtype=np.bool_)
        first[1:] = node[1:] != node[:-1] + 1
        begins = np.flatnonzero(first).astype(np.int64)
        ends = np.append(begins[1:], len(node)).astype(np.int64)[: len(begins)]
        return cls(node, held, before, np.cumsum(first) - 1, begins, ends)

    def forward(
        self, begin: IntArray, units: int, nodes_min: int, nodes_max: int
    ) -> tuple[IntArray, IntArray]:
        """
        Return the shortest windows ``[begin, end)`` that hold a job, from given positions on.

        Positions from which there is none are left out.
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


def machine_lines(free: IntArray, generic: Iterable[int]) -> list[Line]:
    """
    Return the nodesets of a machine, those of Figure 4.4 of the thesis, as lines.

    Parameters
    ----------
    free
        Cores first, shape ``(N, R)``.
    generic
        Which kinds are generic resources. The first line is of all nodes with a core free; then
        there is one for each level of each kind, of those that have as much of it free, too.
    """
    cores = free[:, 0]
    levels = [
        np.where(free[:, kind] >= level, cores, 0)
        for kind in generic
        for level in range(1, int(free[:, kind].max(initial=0)) + 1)
    ]
    return [Line.of(usable) for usable in (cores, *levels)]
