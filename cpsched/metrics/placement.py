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
    from cpsched.model.schedule import Schedule
    from cpsched.util.types import AnyArray, FloatArray, IntArray


#: The measures, in the order of files.
_NAMES = (
    *("nodes", "fragmentation", "spread", "span_nodes", "distance_hops"),
    *("contiguous", "compact", "groups_touched", "lowest_common_switch"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class StartPlacements:
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


def start_placements(schedule: Schedule) -> StartPlacements:
    """Return where the jobs that completed or timed out started."""
    segments = schedule.segments
    at_start = finished(schedule)[segments.job] & (segments.start == schedule.start[segments.job])
    index = np.flatnonzero(at_start)
    index = index[np.lexsort((segments.node[index], segments.job[index]))]
    job, node, count = segments.job[index], segments.node[index], segments.count[index]
    first = np.flatnonzero(np.diff(job, prepend=-1))
    return StartPlacements(row=job[first], sets=NodeSets(first, node, count))


def placement(schedule: Schedule) -> dict[str, Any] | None:
    """
    Return the placement of jobs on the machine, as plain JSON types.

    Returns
    -------
    dict or None
        ``nodes``, ``fragmentation``, ``spread``, ``span_nodes`` and
        ``distance_hops`` of jobs, and the shares that are ``contiguous`` and ``compact``; with
        levels of groups also ``groups_touched`` (of the lowest level) and ``lowest_common_switch``
        (leaf switches are level 0). None on a machine of counted pools, or if no job ended.
    """
    if schedule.system.is_counted_pool:
        return None
    tallies: dict[str, _ValueCounts] = {}
    for _, part in schedule.parts():
        placed = start_placements(part)
        if len(placed.row):
            for name, values in _measures(part, placed).items():
                tallies.setdefault(name, _ValueCounts()).add(*values)
    if not tallies:
        return None
    shares = "contiguous", "compact"
    return {
        name: None
        if name not in tallies
        else tallies[name].share()
        if name in shares
        else tallies[name].statistics()
        for name in _NAMES
    }


def _measures(schedule: Schedule, placed: StartPlacements) -> dict[str, tuple[AnyArray, ...]]:
    """Return measures, each a value a job; of those that are shares the jobs' node time besides."""
    topology = schedule.system.topology
    segment = schedule.workload.segment[placed.row]
    area = (schedule.end[placed.row] - schedule.start[placed.row]) * placed.nodes
    measures: dict[str, tuple[AnyArray, ...]] = {
        "nodes": (placed.nodes,),
        "fragmentation": (placed.blocks,),
        "spread": (placed.spread,),
        "span_nodes": (placed.span,),
        "distance_hops": (topology.mean_distance(placed.sets),),
        "contiguous": (placed.blocks == 1, area),
        "compact": (topology.compact(placed.sets, segment), area),
    }
    if topology.num_levels > 1:
        measures["groups_touched"] = (placed.sets.groups(topology.level_group(0)),)
        measures["lowest_common_switch"] = (topology.common_level(placed.first, placed.last),)
    return measures


class _ValueCounts:
    """How often each value of a measure occurs: values repeat a lot."""

    def __init__(self) -> None:
        # Empty, of the type that becomes any other.
        self._values: AnyArray = np.empty(0, dtype=np.bool_)
        self._number: IntArray = np.empty(0, dtype=np.int64)
        self._weight = {False: 0, True: 0}

    def add(self, values: AnyArray, weight: IntArray | None = None) -> None:
        """Add a value a job."""
        new, number = np.unique(values, return_counts=True)
        self._values, of = np.unique(np.concatenate([self._values, new]), return_inverse=True)
        counts = np.concatenate([self._number, number])
        self._number = np.bincount(of, weights=counts, minlength=len(self._values)).astype(np.int64)
        if weight is not None:
            for flag in self._weight:
                self._weight[flag] += exact_sum(weight[values == flag])

    def share(self) -> dict[str, Any]:
        """Return which share of the jobs, and of their weight, is true."""
        number = dict(zip(self._values.tolist(), self._number.tolist(), strict=True))
        total = sum(self._weight.values())
        return {
            "jobs": number.get(True, 0) / sum(number.values()),
            "node_time": self._weight[True] / total if total else None,
        }

    def statistics(self) -> dict[str, Any]:
        """
        Return number, mean, standard deviation (of all, not of a sample), median, p95 and maximum.

        Sums are exact before they are rounded, of integers and of floating point numbers alike.
        """
        values, number = self._values, self._number
        jobs = int(number.sum())
        mean = math.fsum((values * number).tolist()) / jobs
        variance = math.fsum(((values - mean) ** 2 * number).tolist()) / jobs
        return {
            "jobs": jobs,
            "mean": mean,
            "std": math.sqrt(variance),
            "median": self._quantile(0.5),
            "p95": self._quantile(0.95),
            "max": values[-1].item(),
        }

    def _quantile(self, share: float) -> float:
        """Interpolate linearly between jobs, as NumPy does."""
        reached = np.cumsum(self._number)
        at = (int(reached[-1]) - 1) * share
        low = math.floor(at)
        ranks = [low, min(low + 1, int(reached[-1]) - 1)]
        pair = self._values[np.searchsorted(reached, ranks, side="right")]
        return float(np.quantile(pair, at - low))
