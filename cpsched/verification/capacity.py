"""The rule that no node ever gives more than it has: a sweep over time, node by node."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.arrays import put_away
from cpsched.verification.findings import Rule
from cpsched.verification.phases import inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.model.schedule import Segments
    from cpsched.util.types import BoolArray, IntArray
    from cpsched.verification.checked import Checked

#: Events on cells that are looked at together; bounds memory to about a hundred bytes each.
_CHUNK = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeCells:
    """
    Runs of neighbouring nodes that no segment and no change of capacity divides; C cells.

    What happens to one node of a cell happens to all, so one stands for them. Machines whose
    jobs come in large blocks have far fewer cells than nodes.

    Attributes
    ----------
    node
        The first node of each, shape ``(C,)``.
    first, beyond
        The cells of each segment, ``[first, beyond)``, shape ``(M,)``.
    """

    node: IntArray
    first: IntArray
    beyond: IntArray

    @classmethod
    def of(cls, node: IntArray, count: IntArray, capacity: IntArray) -> NodeCells:
        """Cut the line of nodes wherever something differs."""
        edge = np.zeros(len(capacity) + 1, dtype=np.bool_)
        edge[[0, -1]] = True
        edge[node] = True
        edge[node + count] = True
        edge[1:-1] |= (capacity[1:] != capacity[:-1]).any(axis=1)
        cell_of = np.cumsum(edge) - 1
        return cls(
            node=np.flatnonzero(edge[:-1]),
            first=put_away(cell_of[node]),
            beyond=put_away(cell_of[node + count]),
        )


def check_capacity(checked: Checked) -> None:
    """Check that at no instant more is taken of a node than it has."""
    schedule = checked.schedule
    segments, capacity = schedule.segments, schedule.system.capacity
    sound = inside(schedule) & (segments.amount >= 0).all(axis=1)
    lasting = np.flatnonzero(sound & (segments.start < segments.end))
    times = (put_away(column[lasting]) for column in (segments.start, segments.end))
    _check(checked, lasting, *times)
    # A job of runtime 0 needs room too, but shares it with no other: each gets its own second.
    empty = np.flatnonzero(sound & (segments.start == segments.end))
    fits = _fits_alone(segments, empty, capacity)
    own = np.flatnonzero(~fits).astype(np.int64)
    _check(checked, empty[own], 2 * own, 2 * own + 1)


def _fits_alone(segments: Segments, which: IntArray, capacity: IntArray) -> BoolArray:
    """Tell which segments surely fit: by the least that any node of the machine has."""
    least = capacity.min(axis=0)
    return np.asarray((segments.amount[which] <= least).all(axis=1), dtype=np.bool_)


def _check(checked: Checked, which: IntArray, start: IntArray, end: IntArray) -> None:
    """Check some segments, given when each is there."""
    segments, system = checked.segments, checked.system
    cells = NodeCells.of(segments.node[which], segments.count[which], system.capacity)
    exceeded: list[tuple[int, int, int, int, int]] = []
    for low, high in _blocks(cells):
        own = np.flatnonzero((cells.first < high) & (cells.beyond > low))
        # Ends first: half-open intervals give back before others take. The sort keeps that order.
        times = np.concatenate([end[own], start[own]])
        event = np.argsort(times, kind="stable")
        segment, sign = own[event % len(own)], np.where(event < len(own), -1, 1)
        cell, at = _expand(cells, segment, low, high)
        for kind in range(len(system.resources)):
            amounts = segments.amount[which[segment], kind]
            if not amounts.any():
                continue
            # Every segment gives back what it took, so each cell starts from 0 again.
            taken = np.cumsum((sign * amounts)[at])
            over = taken > system.capacity[cells.node[cell], kind]
            rises = np.flatnonzero(over & ~np.concatenate([[False], over[:-1]]))
            exceeded.extend(
                zip(
                    times[event[at[rises]]].tolist(),
                    cells.node[cell[rises]].tolist(),
                    [kind] * len(rises),
                    which[segment[at[rises]]].tolist(),
                    taken[rises].tolist(),
                    strict=True,
                )
            )
    _report(checked, sorted(exceeded))


def _report(checked: Checked, exceeded: list[tuple[int, int, int, int, int]]) -> None:
    """Report every time that a node's load rises above its capacity, by time."""
    segments, system = checked.segments, checked.system

    def say(at: int) -> str:
        _, node, kind, segment, taken = exceeded[at]
        return (
            f"starts at {segments.start[segment]} on node {system.node_names[node]}, where jobs"
            f" then use {taken} {system.resources[kind]} of {system.capacity[node, kind]}"
        )

    rows = segments.job[np.array([segment for *_, segment, _ in exceeded], dtype=np.int64)]
    checked.add(Rule.CAPACITY, np.ones(len(exceeded), dtype=np.bool_), say, rows)


def _blocks(cells: NodeCells) -> Iterator[tuple[int, int]]:
    """Yield ranges of cells with about ``_CHUNK`` events each (more if one cell has more)."""
    num_cells = len(cells.node)
    steps = np.bincount(cells.first, minlength=num_cells + 1)
    steps = steps - np.bincount(cells.beyond, minlength=num_cells + 1)
    events = np.cumsum(2 * np.cumsum(steps[:num_cells]))
    bounds = np.flatnonzero(np.diff(events // _CHUNK, prepend=0)).tolist()
    edges = sorted({0, *bounds, num_cells})
    yield from pairwise(edges)


def _expand(cells: NodeCells, segment: IntArray, low: int, high: int) -> tuple[IntArray, IntArray]:
    """Return every (cell, event) of cells ``[low, high)``, by cell, then in the order of events."""
    first = np.maximum(cells.first[segment], low)
    length = np.minimum(cells.beyond[segment], high) - first
    ends = np.cumsum(length)
    offset = np.repeat(first - low - (ends - length), length)
    cell = offset + np.arange(len(offset))
    # The smallest type: NumPy sorts 16-bit keys by counting.
    order = np.argsort(cell.astype(np.min_scalar_type(high - low)), kind="stable")
    return cell[order] + low, np.repeat(np.arange(len(segment)), length)[order]
