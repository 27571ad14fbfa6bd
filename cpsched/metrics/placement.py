"""
Placement of jobs: packing, fragmentation, spread and switches, after Soner's thesis, section 7.4.

All are of the nodes a job starts on, over the jobs that completed or timed out, and there are none
on a machine whose nodes are counted pools: a pool does not say where in it a job runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.base.types import Split
from cpsched.mapping.classes import classify
from cpsched.metrics.steps import exact_sum
from cpsched.metrics.window import finished
from cpsched.model.distinct import distinct
from cpsched.model.node_sets import NodeSets, unit_capacity

if TYPE_CHECKING:
    from cpsched.base.types import AnyArray, BoolArray, FloatArray, IntArray
    from cpsched.model.schedule import Schedule
    from cpsched.model.workload import Workload


@dataclass(frozen=True, kw_only=True, eq=False)
class Places:
    """
    The nodes that jobs started on; n jobs, in the order of their rows.

    Attributes
    ----------
    row
        Row of the workload.
    sets
        The nodes of each job.
    units
        Units on all of them.
    """

    row: IntArray
    sets: NodeSets
    units: IntArray

    @cached_property
    def first(self) -> IntArray:
        """The lowest of a job's node indices."""
        lowest: IntArray = self.sets.first[self.sets.begin]
        return lowest

    @cached_property
    def last(self) -> IntArray:
        """The highest of a job's node indices."""
        end = self.sets.begin + self.sets.runs - 1
        highest: IntArray = self.sets.first[end] + self.sets.count[end] - 1
        return highest

    @cached_property
    def nodes(self) -> IntArray:
        """How many nodes a job has."""
        return self.sets.size

    @cached_property
    def blocks(self) -> IntArray:
        """How many maximal runs of consecutive nodes: the fragmentation (thesis, 7.4)."""
        return self.sets.blocks()

    @property
    def span(self) -> IntArray:
        """Nodes from the first to the last, both counted."""
        return self.last - self.first + 1

    @property
    def spread(self) -> FloatArray:
        """Each job's span over its number of nodes (thesis, 7.4); 1 if it is contiguous."""
        return np.asarray(self.span / self.nodes, dtype=np.float64)


def places(schedule: Schedule) -> Places:
    """Return where the jobs that completed or timed out started."""
    segments = schedule.segments
    at_start = finished(schedule)[segments.job] & (segments.start == schedule.start[segments.job])
    index = np.flatnonzero(at_start)
    index = index[np.lexsort((segments.node[index], segments.job[index]))]
    job, node, count = segments.job[index], segments.node[index], segments.count[index]
    first = np.flatnonzero(np.diff(job, prepend=-1))
    sets = NodeSets(first, node, count)
    return Places(row=job[first], sets=sets, units=sets.summed(count * segments.units[index]))


def packing_factor(schedule: Schedule, found: Places) -> FloatArray:
    """Return each job's number of nodes over the fewest it could have (thesis, 7.4)."""
    fewest = fewest_nodes(schedule, found.row, found.units)
    return np.asarray(found.nodes / fewest, dtype=np.float64)


def placement(schedule: Schedule, found: Places) -> dict[str, Any] | None:
    """
    Return the placement of jobs on the machine, as plain JSON types.

    Parameters
    ----------
    found
        What :func:`places` gives for the schedule.

    Returns
    -------
    dict or None
        ``nodes``, ``packing_factor``, ``fragmentation``, ``spread``, ``span_nodes`` and
        ``distance_hops`` of jobs, and the shares that are ``contiguous`` and ``compact``; with
        levels of groups also ``groups_touched`` (of the lowest level) and ``lowest_common_switch``
        (leaf switches are level 0). None on a machine of counted pools, or if no job ended.
    """
    if schedule.system.is_counted_pool or not len(found.row):
        return None
    topology = schedule.system.topology
    segment = schedule.workload.segment[found.row]
    groups = levels = None
    if topology.num_levels > 1:
        groups = _statistics(found.sets.groups(topology.level_group(0)))
        levels = topology.common_level(found.first, found.last)
    return {
        "nodes": _statistics(found.nodes),
        "packing_factor": _statistics(packing_factor(schedule, found)),
        "fragmentation": _statistics(found.blocks),
        "spread": _statistics(found.spread),
        "span_nodes": _statistics(found.span),
        "distance_hops": _statistics(topology.mean_distance(found.sets)),
        "contiguous": _share(schedule, found, found.blocks == 1),
        "compact": _share(schedule, found, topology.compact(found.sets, segment)),
        "groups_touched": groups,
        "lowest_common_switch": None if levels is None else _statistics(levels),
    }


def _share(schedule: Schedule, found: Places, which: BoolArray) -> dict[str, Any]:
    """Return which share some jobs are of the jobs, and of node time."""
    area = (schedule.end - schedule.start)[found.row] * found.nodes
    whole = exact_sum(area)
    return {
        "jobs": int(which.sum()) / len(which),
        "node_time": exact_sum(area[which]) / whole if whole else None,
    }


def _statistics(values: AnyArray) -> dict[str, Any]:
    """
    Return number, mean, standard deviation (of all, not of a sample), median, p95 and maximum.

    Sums are exact before they are rounded, of integers and of floating point numbers alike.
    """
    distinct, number = np.unique(values, return_counts=True)
    # Values repeat a lot, and these sums are over the distinct ones.
    mean = math.fsum((distinct * number).tolist()) / len(values)
    variance = math.fsum(((distinct - mean) ** 2 * number).tolist()) / len(values)
    median, p95 = np.quantile(values, [0.5, 0.95]).tolist()
    return {
        "jobs": len(values),
        "mean": mean,
        "std": math.sqrt(variance),
        "median": median,
        "p95": p95,
        "max": distinct[-1].item(),
    }


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
