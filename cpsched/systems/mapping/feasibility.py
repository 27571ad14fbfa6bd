"""Whether a job fits the empty machine at all: exact, and once for each distinct request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.arrays import rows_of
from cpsched.model.distinct import distinct, distinct_rows
from cpsched.model.node_sets import unit_capacity
from cpsched.systems.mapping.locality import LocalityRequest, asks_for_locality
from cpsched.util.types import Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.system import System
    from cpsched.model.workload import Workload
    from cpsched.util.types import BoolArray, IntArray

#: Entries of the largest temporary array.
_CHUNK = 1 << 22
#: Units over all nodes are counted up to this, so that no sum overflows.
_UNITS_LIMIT = 1 << 62


#: What a request is, next to the nodes it may use.
_COLUMNS = (
    *("units", "units_max", "request", "per_node", "nodes_min", "nodes_max", "split"),
    *("contiguous", "segment", "max_switches", "switch_wait"),
)


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
    shapes, class_of, shape_of_row = _shapes_of(workload, eligible_class, rows, _COLUMNS)
    fits = np.ones(len(shapes), dtype=np.bool_)
    reasons: dict[int, str] = {}
    for index in np.unique(class_of).tolist():
        kinds, counts = distinct_rows(system.capacity[eligible[index]])
        own = class_of == index
        loose = np.flatnonzero(own & ~shapes.contiguous)
        fits[loose] = _fits_kinds(shapes, loose, kinds, counts)
        for at in np.flatnonzero(own & shapes.contiguous).tolist():
            fitting = _fitting_units(shapes, np.array([at]), system.capacity, system.num_nodes)[0]
            anywhere = LocalityRequest.of(shapes, at)._replace(segment=1, switches=0)
            fits[at] = anywhere.fits_window(fitting * eligible[index], np.zeros_like(fitting))
        for at in np.flatnonzero(own & ~fits).tolist():
            reasons[at] = _reason(shapes, at, kinds, counts)
        for at in np.flatnonzero(own & fits & asks_for_locality(shapes)).tolist():
            fitting = _fitting_units(shapes, np.array([at]), system.capacity, system.num_nodes)[0]
            reason = LocalityRequest.of(shapes, at).why_never(
                fitting * eligible[index], system.topology, is_pool=system.is_counted_pool
            )
            if reason is not None:
                fits[at], reasons[at] = False, reason
    never = np.flatnonzero(~fits[shape_of_row])
    return {int(rows[row]): reasons[int(shape_of_row[row])] for row in never}


def max_units(
    workload: Workload,
    system: System,
    eligible_class: IntArray,
    eligible: BoolArray,
    *,
    rows: IntArray,
) -> IntArray:
    """
    Return how many units of some jobs fit on the empty machine, at most ``units_max`` of each.

    Nodes may lie anywhere, and a job may touch at most its ``nodes_max``.

    Parameters
    ----------
    workload, eligible_class, eligible, rows
        As for :func:`infeasible`.

    Returns
    -------
    ndarray
        Units, shape ``(K,)`` for K rows.
    """
    columns = ("units_max", "request", "per_node", "nodes_max")
    shapes, class_of, shape_of_row = _shapes_of(workload, eligible_class, rows, columns)
    largest = np.zeros(len(shapes), dtype=np.int64)
    for index in np.unique(class_of).tolist():
        kinds, counts = distinct_rows(system.capacity[eligible[index]])
        own = np.flatnonzero(class_of == index)
        step = max(1, _CHUNK // max(1, kinds.size))
        for start in range(0, len(own), step):
            batch = own[start : start + step]
            largest[batch] = _max_units(
                shapes, batch, _fitting_units(shapes, batch, kinds, counts.sum()), counts
            )
    return np.minimum(largest, shapes.units_max)[shape_of_row]


def _shapes_of(
    workload: Workload, eligible_class: IntArray, rows: IntArray, columns: Sequence[str]
) -> tuple[Workload, IntArray, IntArray]:
    """Return one job of each distinct request, its class, and which request each row has."""
    of_rows = (
        column if len(rows) == len(column) else rows_of(column, rows)
        for column in (eligible_class, *(getattr(workload, name) for name in columns))
    )
    # One by one: the columns of many jobs take room.
    flat = (part for column in of_rows for part in np.atleast_2d(column.T))
    shape_of_row, first = distinct(flat, len(rows))
    workload.let_go()
    return workload.take(rows[first]), eligible_class[rows[first]], shape_of_row


def _fits_kinds(shapes: Workload, which: IntArray, kinds: IntArray, counts: IntArray) -> BoolArray:
    """
    Say for some shapes whether they fit on nodes that may lie anywhere.

    Units fit, with any number on each node, if there are at least ``nodes_min`` units and as many
    nodes that hold one, and the ``nodes_max`` roomiest nodes hold all: taking the fewest roomiest
    nodes that suffice, each gets at least one unit.
    """
    fits = np.zeros(len(which), dtype=np.bool_)
    step = max(1, _CHUNK // max(1, kinds.size))
    for start in range(0, len(which), step):
        batch = which[start : start + step]
        fitting = _fitting_units(shapes, batch, kinds, counts.sum())
        good = (
            (shapes.units[batch] >= shapes.nodes_min[batch])
            & ((fitting > 0) @ counts >= shapes.nodes_min[batch])
            & (_max_units(shapes, batch, fitting, counts) >= shapes.units[batch])
        )
        for at in np.flatnonzero(good & (shapes.split[batch] == Split.EVEN)).tolist():
            shares = (
                LocalityRequest.of(shapes, int(batch[at]))._replace(segment=1).shares(counts.sum())
            )
            good[at] = any(counts[fitting[at] >= share].sum() >= nodes for nodes, share in shares)
        fits[start : start + step] = good
    return fits


def _max_units(shapes: Workload, which: IntArray, fitting: IntArray, counts: IntArray) -> IntArray:
    """Return how many units of some shapes their ``nodes_max`` roomiest nodes hold."""
    order = np.argsort(-fitting, axis=1, kind="stable")
    descending = np.take_along_axis(fitting, order, axis=1)
    number = np.where(descending > 0, counts[order], 0)
    before = np.cumsum(number, axis=1) - number
    taken = np.clip(shapes.nodes_max[which, None] - before, 0, number)
    return np.asarray((descending * taken).sum(axis=1))


def _fitting_units(shapes: Workload, which: IntArray, kinds: IntArray, num_nodes: int) -> IntArray:
    """Return how many units of some shapes each kind of node holds, shape ``(S, M)``."""
    limit = np.minimum(shapes.units_max[which], _UNITS_LIMIT // max(1, int(num_nodes)))
    return unit_capacity(kinds, shapes.request[which], shapes.per_node[which], limit)


def _reason(shapes: Workload, at: int, kinds: IntArray, counts: IntArray) -> str:
    """Say why a shape never fits: one unit first, then the node bounds, then the whole."""
    fitting = _fitting_units(shapes, np.array([at]), kinds, counts.sum())[0]
    units, fewest, nodes_max = (
        int(column[at]) for column in (shapes.units, shapes.nodes_min, shapes.nodes_max)
    )
    usable = int(counts[fitting > 0].sum())
    if not usable:
        return _unit_reason(shapes.request[at], shapes.per_node[at], shapes.resources, kinds)
    if units < fewest:
        return f"{units} tasks cannot be placed on {fewest} nodes"
    if usable < fewest:
        return f"needs {fewest} nodes, {usable} eligible nodes can hold a task"
    each = np.sort(np.repeat(fitting, counts))[::-1][:nodes_max]
    size = _amounts(shapes.request[at], shapes.resources)
    if each.sum() < units:
        where = (
            f"{nodes_max} eligible nodes" if nodes_max < usable else f"all {usable} eligible nodes"
        )
        return f"needs {units} tasks of {size}, {where} hold at most {each.sum()}"
    together = " consecutive" if shapes.contiguous[at] else ""
    evenly = ", as many on each" if shapes.split[at] == Split.EVEN else ""
    return (
        f"{units} tasks of {size} do not fit on {fewest} to {min(nodes_max, usable)}{together}"
        f" eligible nodes{evenly}"
    )


def _unit_reason(
    request: IntArray, per_node: IntArray, resources: Sequence[str], kinds: IntArray
) -> str:
    """Say why no eligible node holds even one unit."""
    need = request + per_node
    roomiest = kinds.max(axis=0, initial=0)
    what = "a node with one task" if per_node.any() else "one task"
    for kind, amount, largest in zip(resources, need.tolist(), roomiest.tolist(), strict=True):
        if amount > largest:
            return f"{what} needs {_amount(kind, amount)}, no eligible node has more than {largest}"
    return f"{what} needs {_amounts(need, resources)} together, which no eligible node has"


def _amounts(amounts: IntArray, resources: Sequence[str]) -> str:
    parts = zip(resources, amounts.tolist(), strict=True)
    return " + ".join(_amount(kind, amount) for kind, amount in parts if amount) or "nothing"


def _amount(kind: str, amount: int) -> str:
    return f"{amount} KB {kind}" if kind == "mem" else f"{amount} {kind}"
