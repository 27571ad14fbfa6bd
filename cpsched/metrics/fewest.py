"""The fewest nodes of the empty machine that could hold each job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.base.types import Split
from cpsched.mapping.classes import classify
from cpsched.mapping.room import unit_capacity
from cpsched.model.distinct import distinct

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray, IntArray
    from cpsched.model.schedule import Schedule
    from cpsched.model.workload import Workload

#: Entries of the largest temporary array.
_CHUNK = 1 << 20


def fewest_nodes(schedule: Schedule, rows: IntArray, units: IntArray) -> IntArray:
    """
    Return the smallest number of nodes that could hold each job with nothing else running.

    Parameters
    ----------
    rows
        Jobs of the workload, shape ``(n,)``.
    units
        How many units each holds, shape ``(n,)``; more or less than it asked for if it is
        moldable.

    Returns
    -------
    ndarray
        Shape ``(n,)``, at least 1: among the nodes that queue and constraint allow, with the
        job's least number of nodes, split, contiguity and segments. 1 for jobs that no nodes can
        hold.
    """
    workload, system = schedule.workload, schedule.system
    classes = classify(workload, system)
    columns = (
        classes.of_job[rows],
        units,
        workload.nodes_min[rows],
        workload.split[rows],
        workload.contiguous[rows],
        *workload.request[rows].T,
        *workload.per_node[rows].T,
    )
    code, first = distinct(columns, len(rows))
    fewest = np.ones(len(first), dtype=np.int64)
    of_class = classes.of_job[rows[first]]
    for index in np.unique(of_class).tolist():
        own = np.flatnonzero(of_class == index)
        mask = classes.nodes[index]
        kinds, counts = np.unique(system.capacity[mask], axis=0, return_counts=True)
        step = max(1, _CHUNK // max(kinds.size, 1))
        for start in range(0, len(own), step):
            part = own[start : start + step]
            row, want = rows[first[part]], units[first[part]]
            held = unit_capacity(kinds, workload.request[row], workload.per_node[row], want)
            fewest[part] = np.maximum(_anywhere(held, counts, want), workload.nodes_min[row])
        special = workload.contiguous[rows[first[own]]] | (workload.split[rows[first[own]]] != 0)
        for shape in own[special].tolist():
            job, wanted = int(rows[first[shape]]), units[[first[shape]]]
            one = workload.request[[job]], workload.per_node[[job]], wanted
            held = np.where(mask, unit_capacity(system.capacity, *one)[0], 0)
            fewest[shape] = _specially(workload, job, held, int(wanted[0]), int(fewest[shape]))
    fewest = np.maximum(fewest, 1)[code]
    segment = np.maximum(workload.segment[rows], 1)
    return -(-fewest // segment) * segment


def _specially(workload: Workload, job: int, held: IntArray, units: int, least: int) -> int:
    """Return the fewest nodes of a job that lies in a row or is split evenly."""
    in_a_row = bool(workload.contiguous[job])
    if workload.split[job] == Split.EVEN:
        return _evenly(held, units, least, in_a_row=in_a_row)
    return _in_a_row(held, units, least)


def _anywhere(held: IntArray, counts: IntArray, units: IntArray) -> IntArray:
    """Return how many of the roomiest nodes hold the units; ``held`` (S, M), ``counts`` (M,)."""
    order = np.argsort(-held, axis=1, kind="stable")
    held, number = np.take_along_axis(held, order, axis=1), counts[order]
    # Of each kind no more nodes than are needed for what the kinds before it leave.
    left = units.copy()
    nodes = np.zeros(len(units), dtype=np.int64)
    for kind in range(held.shape[1]):
        room = held[:, kind]
        taken = np.where(room > 0, np.minimum(number[:, kind], -(-left // np.maximum(room, 1))), 0)
        nodes += taken
        left = np.maximum(left - taken * room, 0)
    return nodes


def _evenly(held: IntArray, units: int, least: int, *, in_a_row: bool) -> int:
    """Return the fewest nodes that can hold equal shares of the units."""
    for nodes in range(least, units + 1):
        if units % nodes:
            continue
        able = held >= units // nodes
        if (_longest(able) if in_a_row else int(able.sum())) >= nodes:
            return nodes
    return least


def _longest(mask: BoolArray) -> int:
    """Return the length of the longest run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _in_a_row(held: IntArray, units: int, least: int) -> int:
    """Return the length of the shortest run of nodes, each with a unit, that holds them all."""
    sums = np.concatenate(([0], np.cumsum(held)))
    begin = np.flatnonzero(held > 0)
    end = np.maximum(np.searchsorted(sums, sums[begin] + units), begin + least)
    # Where the first node without room comes behind each.
    full = np.append(np.flatnonzero(held == 0), len(held))
    whole = end <= full[np.searchsorted(full, begin)]
    return int((end - begin)[whole].min(initial=len(held))) if whole.any() else least
