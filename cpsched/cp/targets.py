"""
Targets to which pure CP assigns units, as few as exactness allows.

A job's units are identical, so what matters is how many it has on each target. A target is a node,
or a *pool* of equivalent nodes:

* Nodes are identical if they are open to the same jobs and have the same free capacity at every
  second at which a job may still start. Only as many of them are kept as there are units that could
  touch one, and the first job that can use them uses them in descending order (the model breaks
  the symmetry).
* One cumulative over several nodes is a relaxation in general, because a unit never spans nodes. It
  is exact where all jobs that can use the nodes need the same for a unit there, ask for nothing per
  node, and may spread in any way: a node then is a number of slots that only grows, and each unit
  takes any free slot when it starts and keeps it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched import _core
from cpsched.cp.capacity import TotalDemand, binding_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.cp.nodes import Timeline
    from cpsched.model.jobtable import JobTable
    from cpsched.util.types import BoolArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Requests:
    """
    What n jobs ask for, as the placement of their units needs it.

    Attributes
    ----------
    units, nodes_min, nodes_max
        Shape ``(n,)``.
    unit, per_node
        Amounts of a unit, and in addition on each node, shape ``(n, R)``; of a job of one unit all
        in ``unit``.
    even, contiguous, exclusive
        Shape ``(n,)``; the first two never for a job of one unit.
    fitting
        Most units of each job that a node could hold when it starts as late as it may, shape ``(n,
        N)``.
    """

    units: IntArray
    nodes_min: IntArray
    nodes_max: IntArray
    unit: IntArray
    per_node: IntArray
    even: BoolArray
    contiguous: BoolArray
    exclusive: BoolArray
    fitting: IntArray

    def plain(self) -> BoolArray:
        """Return which jobs may spread over nodes in any way, shape ``(n,)``."""
        usable = np.minimum(self.units, (self.fitting > 0).sum(axis=1))
        plain: BoolArray = (
            (self.nodes_min <= 1)
            & (self.nodes_max >= usable)
            & ~self.even
            & ~self.contiguous
            & ~self.exclusive
            & ~self.per_node.any(axis=1)
        )
        return plain


def requests_of(timeline: Timeline, jobs: JobTable, latest: IntArray) -> Requests:
    """Return what jobs ask for; ``latest`` is when each has started, seconds from now, ``(n,)``."""
    single = jobs.units == 1
    unit, per_node = jobs.request, jobs.per_node
    unit[single] += per_node[single]
    per_node[single] = 0
    view, capacity = timeline.view, timeline.allocator.capacity
    fitting = np.empty((len(jobs), len(capacity)), dtype=np.int64)
    known: dict[tuple[int, int], IntArray] = {}
    segment = np.searchsorted(timeline.times, latest, side="right") - 1
    for position, key in enumerate(zip(jobs.shape.tolist(), segment.tolist(), strict=True)):
        if key not in known:
            shape, at = key
            shapes = view.waiting.store.shapes
            known[key] = _core.num_fitting_tasks(
                timeline.levels[at], capacity, view.eligible, shapes, shape
            )
        fitting[position] = known[key]
    units = jobs.units
    return Requests(
        units=units,
        nodes_min=jobs.nodes_min,
        nodes_max=jobs.nodes_max,
        unit=unit,
        per_node=per_node,
        even=(jobs.split != 0) & ~single,
        contiguous=(jobs.contiguous != 0) & ~single,
        exclusive=jobs.exclusive != 0,
        fitting=np.minimum(fitting, units[:, None]),
    )


class PlacementTarget(NamedTuple):
    """
    Where units go.

    Attributes
    ----------
    nodes
        One node, or the nodes of a pool.
    jobs, max_units
        Which jobs can use it, in order of priority, and the most units of each it could hold.
    times, level
        Free capacity over time: of a node in every kind, shape ``(S, R)``; of a pool in slots,
        shape ``(S, 1)``.
    kinds
        Which columns of ``level`` can run short there.
    pool
        Whether units count as slots.
    after
        Position of the identical target that the first job fills before this one, or None.
    """

    nodes: IntArray
    jobs: tuple[int, ...]
    max_units: tuple[int, ...]
    times: IntArray
    level: IntArray
    kinds: tuple[int, ...]
    pool: bool
    after: int | None


def targets_of(timeline: Timeline, requests: Requests, listed: IntArray) -> list[PlacementTarget]:
    """
    Return the targets of a decision.

    ``listed`` are the units of the list plan, shape ``(n, N)``: identical nodes are put in an order
    that it fits.
    """
    distinct_nodes = bool(requests.contiguous.any())
    pools: dict[object, list[PlacementTarget]] = {}
    targets: list[PlacementTarget] = []
    for nodes, jobs, total_demand in _groups(timeline, requests):
        times, level = _changes(timeline, nodes[0])
        kinds = (
            tuple(range(level.shape[1]))
            if total_demand is None
            else binding_kinds(total_demand, level)
        )
        proto = PlacementTarget(
            nodes=nodes,
            jobs=tuple(jobs.tolist()),
            max_units=tuple(requests.fitting[jobs, nodes[0]].tolist()),
            times=times,
            level=level,
            kinds=tuple(kinds),
            pool=False,
            after=None,
        )
        units = requests.unit[jobs][:, proto.kinds]
        if total_demand is not None and (units == units[0]).all():
            pools.setdefault((proto.jobs, not kinds), []).append(_pool(proto, units[0]))
        elif distinct_nodes:
            targets.extend(_single(proto, nodes))
        else:
            needed = _in_order(nodes, jobs, requests, listed)
            first = len(targets)
            targets.extend(
                target._replace(after=first + position - 1 if position else None)
                for position, target in enumerate(_single(proto, needed))
            )
    if distinct_nodes:
        targets.sort(key=lambda target: int(target.nodes[0]))
    targets.extend(_merged(parts, requests) for parts in pools.values())
    return targets


def _changes(timeline: Timeline, node: int) -> tuple[IntArray, IntArray]:
    """Return when a node's free capacity changes, and to what."""
    level = timeline.levels[:, node]
    changed = np.ones(len(level), dtype=np.bool_)
    changed[1:] = (level[1:] != level[:-1]).any(axis=1)
    return timeline.times[changed], level[changed]


def _groups(
    timeline: Timeline, requests: Requests
) -> Iterator[tuple[IntArray, IntArray, TotalDemand | None]]:
    """
    Group nodes by their future and the jobs they are open to, in order of their first node.

    Yields the nodes, the jobs, and what these ask for if all of them are plain.
    """
    used = np.flatnonzero(requests.fitting.any(axis=0))
    groups: dict[bytes, list[int]] = {}
    parts = (
        timeline.levels[:, used].transpose(1, 0, 2).reshape(len(used), -1),
        requests.fitting[:, used].T,
        timeline.allocator.capacity[used],
    )
    keys = np.ascontiguousarray(np.concatenate(parts, axis=1))
    for position, node in enumerate(used.tolist()):
        groups.setdefault(keys[position].tobytes(), []).append(node)
    plain = requests.plain()
    total_demand: dict[bytes, TotalDemand | None] = {}
    for group in groups.values():
        nodes = np.array(group, dtype=np.int64)
        jobs = np.flatnonzero(requests.fitting[:, nodes[0]])
        key = jobs.tobytes()
        if key not in total_demand:
            demand = requests.unit[jobs] * requests.units[jobs, None]
            total_demand[key] = TotalDemand.of(demand) if plain[jobs].all() else None
        yield nodes, jobs, total_demand[key]


def _single(proto: PlacementTarget, nodes: IntArray) -> Iterator[PlacementTarget]:
    """Make a target of each of some identical nodes."""
    for node in nodes.tolist():
        yield proto._replace(nodes=np.array([node], dtype=np.int64))


def _in_order(nodes: IntArray, jobs: IntArray, requests: Requests, listed: IntArray) -> IntArray:
    """Put identical nodes in the order the list plan uses them in; leave out those never needed."""
    takes = listed[:, nodes]
    order = np.lexsort((nodes, -(takes > 0).any(axis=0).astype(np.int64), -takes[jobs[0]]))
    return nodes[order[: int(requests.units[jobs].sum())]]


def _pool(proto: PlacementTarget, unit: IntArray) -> PlacementTarget:
    """Count identical nodes in slots for units that need the same of each binding kind."""
    slots = np.zeros(len(proto.level), dtype=np.int64)
    if proto.kinds:
        slots = (proto.level[:, proto.kinds] // unit).min(axis=1)
    count = len(proto.nodes)
    return proto._replace(
        max_units=tuple(max_units * count for max_units in proto.max_units),
        level=(slots * count)[:, None],
        kinds=(0,) if proto.kinds else (),
        pool=True,
    )


def _merged(parts: list[PlacementTarget], requests: Requests) -> PlacementTarget:
    """Make one pool of pools that the same jobs can use."""
    times = np.unique(np.concatenate([part.times for part in parts]))
    level = sum(part.level[np.searchsorted(part.times, times, side="right") - 1] for part in parts)
    jobs = list(parts[0].jobs)
    max_units = np.minimum(np.sum([part.max_units for part in parts], axis=0), requests.units[jobs])
    return parts[0]._replace(
        nodes=np.sort(np.concatenate([part.nodes for part in parts])),
        max_units=tuple(max_units.tolist()),
        times=times,
        level=np.asarray(level, dtype=np.int64),
    )


def units_in_pool(
    requests: Requests,
    target: PlacementTarget,
    counts: dict[int, int],
    start: Sequence[int],
    duration: IntArray,
    timeline: Timeline,
) -> Iterator[tuple[int, int, int]]:
    """
    Put the units that a plan has at a pool on its nodes: yield job, node and units.

    Parameters
    ----------
    counts
        Units by job.
    start, duration
        Seconds from now, and seconds, of all jobs.
    """
    allocated = np.zeros((len(target.nodes), timeline.levels.shape[2]), dtype=np.int64)
    ends: list[tuple[int, int, IntArray]] = []
    for job in sorted(counts, key=lambda job: start[job]):
        unit = requests.unit[job]
        while ends and ends[0][0] <= start[job]:
            _, ended, left = heapq.heappop(ends)
            allocated -= left[:, None] * requests.unit[ended]
        at = np.searchsorted(timeline.times, start[job], side="right") - 1
        kinds = np.flatnonzero(unit)
        free = timeline.levels[at][target.nodes[:, None], kinds] - allocated[:, kinds]
        fitting = np.clip((free // unit[kinds]).min(axis=1, initial=counts[job]), 0, None)
        take = np.clip(counts[job] - (np.cumsum(fitting) - fitting), 0, fitting)
        allocated += take[:, None] * unit
        heapq.heappush(ends, (start[job] + int(duration[job]), job, take))
        for node in np.flatnonzero(take).tolist():
            yield job, int(target.nodes[node]), int(take[node])
