"""Whether a job fits the empty machine at all: exact, and once for each distinct request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.mapping.distinct import distinct
from cpsched.model.types import Split

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.model.types import BoolArray, IntArray
    from cpsched.model.workload import Workload

#: Entries of the largest temporary array.
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shapes:
    """Distinct requests; S shapes, R resource kinds. Columns as in the workload."""

    eligible_class: IntArray
    units: IntArray
    request: IntArray
    per_node: IntArray
    nodes_min: IntArray
    nodes_max: IntArray
    split: IntArray
    contiguous: BoolArray

    def take(self, index: IntArray) -> Shapes:
        """Return some of the shapes."""
        return Shapes(**{name: getattr(self, name)[index] for name in self.__slots__})

    def __len__(self) -> int:
        return len(self.units)


def infeasible(
    workload: Workload,
    system: System,
    eligible_class: IntArray,
    eligible: BoolArray,
    *,
    rows: IntArray,
) -> dict[int, str]:
    """
    Return the rows that fit no placement on the empty machine, and why.

    Parameters
    ----------
    workload
        Layout ``units``, in the system's resource kinds.
    eligible_class, eligible
        Which nodes each job may use, shapes ``(J,)`` and ``(C, N)``.
    rows
        The jobs to look at.
    """
    shapes, shape_of_row = _shapes(workload, eligible_class, rows)
    fits = np.ones(len(shapes), dtype=np.bool_)
    for index in np.unique(shapes.eligible_class).tolist():
        nodes = system.capacity[eligible[index]]
        kinds, counts = np.unique(nodes, axis=0, return_counts=True)
        alike = np.flatnonzero((shapes.eligible_class == index) & ~shapes.contiguous)
        fits[alike] = _fits_kinds(shapes.take(alike), kinds, counts)
    for shape in np.flatnonzero(shapes.contiguous).tolist():
        one = shapes.take(np.asarray([shape]))
        fits[shape] = _fits_line(one, _capacity_line(one, system.capacity, eligible))
    reasons = {
        shape: _reason(shapes.take(np.asarray([shape])), system, eligible)
        for shape in np.flatnonzero(~fits).tolist()
    }
    never = np.flatnonzero(~fits[shape_of_row])
    return {int(rows[index]): reasons[int(shape_of_row[index])] for index in never}


def unit_capacity(
    capacity: IntArray, request: IntArray, per_node: IntArray, limit: IntArray
) -> IntArray:
    """
    Return how many units of each shape an empty node of each kind holds.

    Parameters
    ----------
    capacity
        What a node of each kind holds, shape ``(M, R)``.
    request, per_node
        What one unit needs, and the job on each node besides, shapes ``(S, R)``.
    limit
        The most units of interest, shape ``(S,)``: a unit may need nothing at all.

    Returns
    -------
    ndarray
        Units, at most ``limit``, shape ``(S, M)``.
    """
    left = capacity[None, :, :] - per_node[:, None, :]
    needed = request[:, None, :]
    units = np.where(needed > 0, left // np.maximum(needed, 1), limit[:, None, None])
    held = np.where((left < 0).any(axis=2), 0, units.min(axis=2))
    return np.asarray(np.clip(held, 0, limit[:, None]), dtype=np.int64)


def _shapes(
    workload: Workload, eligible_class: IntArray, rows: IntArray
) -> tuple[Shapes, IntArray]:
    """Return the distinct requests among the rows, and which one each row is."""
    columns = {
        "eligible_class": eligible_class[rows],
        **{name: getattr(workload, name)[rows] for name in Shapes.__slots__[1:]},
    }
    flat = [part for column in columns.values() for part in np.atleast_2d(column.T)]
    code, first = distinct(flat, len(rows))
    return Shapes(**{name: column[first] for name, column in columns.items()}), code


def _fits_kinds(shapes: Shapes, kinds: IntArray, counts: IntArray) -> BoolArray:
    """Tell for each shape whether it fits on nodes that may lie anywhere, shape ``(S,)``."""
    fits = np.zeros(len(shapes), dtype=np.bool_)
    step = max(1, _CHUNK // max(1, kinds.size))
    for start in range(0, len(shapes), step):
        part = slice(start, start + step)
        some = shapes.take(np.arange(len(shapes))[part])
        held = unit_capacity(kinds, some.request, some.per_node, some.units)
        fits[part] = _fits_any(some, held, counts)
        for index in np.flatnonzero(fits[part] & (some.split == Split.EVEN)).tolist():
            fits[start + index] = _fits_even(
                some.take(np.asarray([index])), np.repeat(held[index], counts)
            )
    return fits


def _fits_any(shapes: Shapes, held: IntArray, counts: IntArray) -> BoolArray:
    """
    Tell for each shape whether its units fit with any number on each node.

    They do if there are at least ``nodes_min`` units and as many nodes that hold one, and the
    ``nodes_max`` roomiest nodes hold all: taking the fewest roomiest nodes that suffice, each
    gets at least one unit.
    """
    order = np.argsort(-held, axis=1, kind="stable")
    held = np.take_along_axis(held, order, axis=1)
    number = np.where(held > 0, counts[order], 0)
    before = np.cumsum(number, axis=1) - number
    taken = np.clip(shapes.nodes_max[:, None] - before, 0, number)
    return np.asarray(
        (shapes.units >= shapes.nodes_min)
        & (number.sum(axis=1) >= shapes.nodes_min)
        & ((held * taken).sum(axis=1) >= shapes.units),
        dtype=np.bool_,
    )


def _shares(shape: Shapes, num_nodes: int) -> list[tuple[int, int]]:
    """Return the (nodes, units on each) with which one shape splits evenly within its bounds."""
    units = int(shape.units[0])
    most = min(int(shape.nodes_max[0]), units, num_nodes)
    nodes = np.arange(int(shape.nodes_min[0]), most + 1)
    nodes = nodes[units % nodes == 0]
    return [(int(k), units // int(k)) for k in nodes]


def _fits_even(shape: Shapes, held: IntArray) -> bool:
    """Tell whether one shape fits with the same number of units on each node it touches."""
    return any((held >= share).sum() >= nodes for nodes, share in _shares(shape, len(held)))


def _capacity_line(shape: Shapes, capacity: IntArray, eligible: BoolArray) -> IntArray:
    """Return how many units of one shape each node holds, 0 where it is not eligible."""
    held = unit_capacity(capacity, shape.request, shape.per_node, shape.units)[0]
    return np.where(eligible[shape.eligible_class[0]], held, 0)


def _fits_line(shape: Shapes, held: IntArray) -> bool:
    """Tell whether one shape fits on consecutive nodes, each holding at least one unit."""
    if shape.split[0] == Split.EVEN:
        return any(
            max((length for _, length in _runs(held >= share)), default=0) >= nodes
            for nodes, share in _shares(shape, len(held))
        )
    units, fewest = int(shape.units[0]), int(shape.nodes_min[0])
    sums = np.concatenate(([0], np.cumsum(held)))
    for start, length in _runs(held > 0):
        # A longer window holds more, so only the longest allowed one matters.
        nodes = min(int(shape.nodes_max[0]), units, length)
        begins = np.arange(start, start + length - nodes + 1)
        if nodes >= fewest and (sums[begins + nodes] - sums[begins]).max() >= units:
            return True
    return False


def _runs(mask: BoolArray) -> list[tuple[int, int]]:
    """Return start and length of each maximal run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    return [(int(a), int(b - a)) for a, b in edges.reshape(-1, 2)]


def _reason(shape: Shapes, system: System, eligible: BoolArray) -> str:
    """Say why one shape never fits: one unit first, then the node bounds, then the whole."""
    held = _capacity_line(shape, system.capacity, eligible)
    nodes = eligible[shape.eligible_class[0]]
    units, fewest, most = (
        int(column[0]) for column in (shape.units, shape.nodes_min, shape.nodes_max)
    )
    usable = int((held > 0).sum())
    if not usable:
        return _unit_reason(shape, system, nodes)
    if units < fewest:
        return f"{units} units cannot lie on {fewest} nodes"
    if usable < fewest:
        return f"needs {fewest} nodes, {usable} eligible nodes can hold a unit"
    total = int(np.sort(held)[::-1][:most].sum())
    size = _amounts(shape.request[0], system)
    if total < units:
        where = f"{min(most, usable)} of the eligible nodes" if most < usable else "eligible nodes"
        return f"needs {units} units of {size}, {where} hold at most {total}"
    split = "evenly " if shape.split[0] == Split.EVEN else ""
    together = "consecutive " if shape.contiguous[0] else ""
    return f"{units} units of {size} do not fit {split}on {fewest} to {min(most, len(held))}" + (
        f" {together}eligible nodes"
    )


def _unit_reason(shape: Shapes, system: System, nodes: BoolArray) -> str:
    """Say why no eligible node holds even one unit."""
    need = shape.request[0] + shape.per_node[0]
    roomiest = system.capacity[nodes].max(axis=0, initial=0)
    for index, kind in enumerate(system.resources):
        if need[index] > roomiest[index]:
            what = "one unit needs" if not shape.per_node[0, index] else "one node needs"
            return f"{what} {need[index]} {kind}, no eligible node has more than {roomiest[index]}"
    return f"one unit with {_amounts(need, system)} fits on no eligible node"


def _amounts(amounts: IntArray, system: System) -> str:
    parts = [
        f"{amount} {kind}" for amount, kind in zip(amounts, system.resources, strict=True) if amount
    ]
    return " + ".join(parts) or "nothing"
