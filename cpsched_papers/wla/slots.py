"""
Slots: the maximal runs of free nodes in node order, kept from one decision to the next.

A slot appears where a job gives nodes back, and grows together with its neighbours; it shrinks or
falls apart where a job starts (Yang et al., section II).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray, IntArray


class SlotList:
    """
    The maximal runs of free nodes of a line, as half-open intervals in order.

    Parameters
    ----------
    num_nodes
        Length of the line; at first no node is free.
    """

    def __init__(self, num_nodes: int) -> None:
        self._free: BoolArray = np.zeros(num_nodes, dtype=np.bool_)
        self._first: list[int] = []
        self._end: list[int] = []

    def __len__(self) -> int:
        return len(self._first)

    def arrays(self) -> tuple[IntArray, IntArray]:
        """Return the first node of each slot, and the node behind its last."""
        return np.array(self._first, dtype=np.int64), np.array(self._end, dtype=np.int64)

    def update(self, free: BoolArray) -> int:
        """
        Work in which nodes are free now.

        Parameters
        ----------
        free
            Shape ``(N,)``; copied.

        Returns
        -------
        int
            How many runs of nodes have changed since the last call.
        """
        changed = np.flatnonzero(free != self._free)
        if not len(changed):
            return 0
        # A run of neighbours that changed alike is one change.
        new = np.ones(len(changed), dtype=np.bool_)
        new[1:] = (np.diff(changed) > 1) | (np.diff(free[changed].view(np.int8)) != 0)
        begins = np.flatnonzero(new)
        firsts = changed[begins]
        ends = changed[np.append(begins[1:], len(changed)) - 1] + 1
        given = free[firsts]
        for first, end, is_given in zip(
            firsts.tolist(), ends.tolist(), given.tolist(), strict=True
        ):
            if is_given:
                self._give(first, end)
            else:
                self._take(first, end)
        self._free = free.copy()
        return len(firsts)

    def _give(self, first: int, end: int) -> None:
        """Add nodes that none of the slots has, merging with what they touch."""
        at = bisect_left(self._first, first)
        if at < len(self._first) and self._first[at] == end:
            end = self._end[at]
            del self._first[at], self._end[at]
        if at and self._end[at - 1] == first:
            self._end[at - 1] = end
        else:
            self._first.insert(at, first)
            self._end.insert(at, end)

    def _take(self, first: int, end: int) -> None:
        """Remove nodes, all of one slot; what is left of it on either side remains a slot."""
        at = bisect_right(self._first, first) - 1
        slot_first, slot_end = self._first[at], self._end[at]
        left = [(slot_first, first)] if slot_first < first else []
        if end < slot_end:
            left.append((end, slot_end))
        self._first[at : at + 1] = [begin for begin, _ in left]
        self._end[at : at + 1] = [finish for _, finish in left]


def cut(first: IntArray, end: IntArray, at: IntArray) -> tuple[IntArray, IntArray]:
    """
    Split slots wherever a node may not be in one slot with the node before it.

    Parameters
    ----------
    first, end
        Disjoint intervals in order.
    at
        Such nodes, in any order, each once.

    Returns
    -------
    first, end
        Of the parts, in order.
    """
    if not len(first) or not len(at):
        return first, end
    slot = np.searchsorted(first, at, side="right") - 1
    at = at[(slot >= 0) & (at > first[slot]) & (at < end[slot])]
    return np.sort(np.append(first, at)), np.sort(np.append(end, at))


def runs(marked: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the maximal runs of marked nodes: the first of each and the one behind its last."""
    edges = np.diff(marked.astype(np.int8), prepend=0, append=0)
    return np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
