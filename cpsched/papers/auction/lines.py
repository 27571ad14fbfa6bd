"""Lines of nodes that a request can use, parts of them, and how units are put on those."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.util.types import IntArray

#: Positions in a line: a window, or, where they are not consecutive, the positions in order.
Spot: TypeAlias = "slice | IntArray"


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """
    The nodes that a request can use, in order, in runs called nodesets; M nodes in P nodesets.

    Attributes
    ----------
    node, fitting
        Their numbers and how many units each holds, at least 1; shape ``(M,)``.
    before
        Units that fit on the nodes before each, and on all of them; shape ``(M + 1,)``.
    run
        The nodeset of each, from 0 on, shape ``(M,)``.
    begins, ends
        Positions in the line at which nodesets begin and end (half-open), shape ``(P,)``.
    """

    node: IntArray
    fitting: IntArray
    before: IntArray
    run: IntArray
    begins: IntArray
    ends: IntArray

    @classmethod
    def of(cls, fitting: IntArray) -> Line:
        """Return the line of the nodes that hold a unit or more, by ``fitting``, ``(N,)``."""
        node = np.flatnonzero(fitting > 0).astype(np.int64)
        fitting_units = fitting[node]
        before = np.zeros(len(node) + 1, dtype=np.int64)
        np.cumsum(fitting_units, out=before[1:])
        first = np.ones(len(node), dtype=np.bool_)
        first[1:] = node[1:] != node[:-1] + 1
        begins = np.flatnonzero(first).astype(np.int64)
        ends = np.append(begins[1:], len(node)).astype(np.int64)[: len(begins)]
        return cls(node, fitting_units, before, np.cumsum(first) - 1, begins, ends)


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


def spot_of(positions: IntArray) -> Spot:
    """Return the spot of some positions of a line, in any order."""
    nodes: IntArray = np.sort(positions)
    first, last = int(nodes[0]), int(nodes[-1])
    return slice(first, last + 1) if last - first + 1 == len(nodes) else nodes


def spread(fitting: IntArray, units: int, *, evenly: bool) -> IntArray:
    """
    Put units on nodes, at least one on each.

    The thesis does not specify this. If a job sets its number of nodes, an even spread leaves cores
    for the generic resources on all of them; otherwise filling one node after the other leaves
    whole nodes free.

    Parameters
    ----------
    fitting
        Units each node holds, at least 1, shape ``(K,)``; together they hold all.
    units
        At least K.
    evenly
        As even as the room allows; otherwise nodes are filled in order, unless fewer would do.
    """
    count = len(fitting)
    if not evenly:
        taken = fitting.copy()
        taken[-1] -= int(fitting.sum()) - units
        if taken[-1] >= 1:
            return taken
    each, extra = divmod(units, count)
    taken = np.full(count, each, dtype=np.int64)
    taken[:extra] += 1
    if (taken <= fitting).all():
        return taken
    # The largest number that every node can get, as far as it has the room.
    low, high = 1, int(fitting.max())
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(fitting, middle).sum()) <= units:
            low = middle
        else:
            high = middle - 1
    taken = np.minimum(fitting, low)
    taken[np.flatnonzero(fitting > low)[: units - int(taken.sum())]] += 1
    return taken
