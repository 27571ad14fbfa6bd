"""Whether a job fits the empty machine at all: exact, and once for each distinct request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.mapping.room import unit_capacity
from cpsched.model.distinct import distinct
from cpsched.model.types import Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.system import System
    from cpsched.model.types import BoolArray, IntArray
    from cpsched.model.workload import Workload

#: Entries of the largest temporary array.
_CHUNK = 1 << 22
#: Units over all nodes are counted up to this, so that no sum overflows.
_MOST_UNITS = 1 << 62


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

    def take(self, index: IntArray | list[int]) -> Shapes:
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
    reasons: dict[int, str] = {}
    for index in np.unique(shapes.eligible_class).tolist():
        kinds, counts = np.unique(system.capacity[eligible[index]], axis=0, return_counts=True)
        own = shapes.eligible_class == index
        alike = np.flatnonzero(own & ~shapes.contiguous)
        fits[alike] = _fits_kinds(shapes.take(alike), kinds, counts)
        for shape in np.flatnonzero(own & shapes.contiguous).tolist():
            fits[shape] = _fits_line(shapes.take([shape]), system.capacity, eligible[index])
        for shape in np.flatnonzero(own & ~fits).tolist():
            reasons[shape] = _reason(shapes.take([shape]), system.resources, kinds, counts)
    never = np.flatnonzero(~fits[shape_of_row])
    return {int(rows[row]): reasons[int(shape_of_row[row])] for row in never}


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
        held = _held(some, kinds, counts.sum())
        fits[part] = _fits_any(some, held, counts)
        for index in np.flatnonzero(fits[part] & (some.split == Split.EVEN)).tolist():
            fits[start + index] = _fits_even(some.take([index]), held[index], counts)
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


def _fits_even(shape: Shapes, held: IntArray, counts: IntArray) -> bool:
    """Tell whether one shape fits with the same number of units on each node it touches."""
    shares = _shares(shape, int(counts.sum()))
    return any(counts[held >= share].sum() >= nodes for nodes, share in shares)


def _held(shapes: Shapes, kinds: IntArray, num_nodes: int) -> IntArray:
    """Return how many units of each shape each kind of node holds, shape ``(S, M)``."""
    limit = np.minimum(shapes.units, _MOST_UNITS // max(1, int(num_nodes)))
    return unit_capacity(kinds, shapes.request, shapes.per_node, limit)


def _fits_line(shape: Shapes, capacity: IntArray, eligible: BoolArray) -> bool:
    """Tell whether one shape fits on consecutive nodes, each holding at least one unit."""
    held = np.where(eligible, _held(shape, capacity, len(capacity))[0], 0)
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


def _reason(shape: Shapes, resources: Sequence[str], kinds: IntArray, counts: IntArray) -> str:
    """Say why one shape never fits: one unit first, then the node bounds, then the whole."""
    held = _held(shape, kinds, counts.sum())[0]
    units, fewest, most = (
        int(column[0]) for column in (shape.units, shape.nodes_min, shape.nodes_max)
    )
    usable = int(counts[held > 0].sum())
    if not usable:
        return _unit_reason(shape, resources, kinds)
    if units < fewest:
        return f"{units} units cannot lie on {fewest} nodes"
    if usable < fewest:
        return f"needs {fewest} nodes, {usable} eligible nodes can hold a unit"
    each = np.sort(np.repeat(held, counts))[::-1][:most]
    size = _amounts(shape.request[0], resources)
    if each.sum() < units:
        where = f"{most} eligible nodes" if most < usable else f"all {usable} eligible nodes"
        return f"needs {units} units of {size}, {where} hold at most {each.sum()}"
    together = " consecutive" if shape.contiguous[0] else ""
    evenly = ", as many on each" if shape.split[0] == Split.EVEN else ""
    return (
        f"{units} units of {size} do not fit on {fewest} to {min(most, usable)}{together}"
        f" eligible nodes{evenly}"
    )


def _unit_reason(shape: Shapes, resources: Sequence[str], kinds: IntArray) -> str:
    """Say why no eligible node holds even one unit."""
    need = shape.request[0] + shape.per_node[0]
    roomiest = kinds.max(axis=0, initial=0)
    what = "a node with one unit" if shape.per_node.any() else "one unit"
    for kind, amount, room in zip(resources, need.tolist(), roomiest.tolist(), strict=True):
        if amount > room:
            return f"{what} needs {_amount(kind, amount)}, no eligible node has more than {room}"
    return f"{what} needs {_amounts(need, resources)} together, which no eligible node has"


def _amounts(amounts: IntArray, resources: Sequence[str]) -> str:
    parts = zip(resources, amounts.tolist(), strict=True)
    return " + ".join(_amount(kind, amount) for kind, amount in parts if amount) or "nothing"


def _amount(kind: str, amount: int) -> str:
    return f"{amount} KB {kind}" if kind == "mem" else f"{amount} {kind}"
