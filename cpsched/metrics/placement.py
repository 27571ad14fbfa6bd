"""
Placement of jobs: fragmentation, spread and switches, after Soner's thesis, section 7.4.

All are of the nodes a job starts on, over the jobs that completed or timed out, and there are none
on a machine whose nodes are counted pools: a pool does not say where in it a job runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics.steps import exact_sum
from cpsched.metrics.window import finished
from cpsched.model.node_sets import NodeSets

if TYPE_CHECKING:
    from cpsched.base.types import AnyArray, BoolArray, FloatArray, IntArray
    from cpsched.model.schedule import Schedule


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
    """

    row: IntArray
    sets: NodeSets

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
    return Places(row=job[first], sets=NodeSets(first, node, count))


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
        ``nodes``, ``fragmentation``, ``spread``, ``span_nodes`` and
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
