"""Rectangles for jobs in a chart of nodes; they never overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule
    from cpsched.util.types import FloatArray, IntArray

#: Machines of at most this many nodes are drawn core by core: mostly pools.
_FEW_NODES = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rectangles:
    """
    Jobs on nodes over time; M rectangles.

    Attributes
    ----------
    job
        Row of the workload, shape ``(M,)``.
    start, end
        Seconds, ``[start, end)``.
    low, high
        On the axis of :class:`Rows`.
    """

    job: IntArray
    start: IntArray
    end: IntArray
    low: FloatArray
    high: FloatArray

    def sorted_by_job(self) -> Rectangles:
        """Return the same rectangles, those of each job together."""
        order = np.argsort(self.job, kind="stable")
        return Rectangles(
            job=self.job[order],
            start=self.start[order],
            end=self.end[order],
            low=self.low[order],
            high=self.high[order],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """
    The vertical axis of a chart of nodes.

    A node is one unit high, or on a machine of a few large nodes each of its cores is.

    Attributes
    ----------
    base
        Where each node begins, shape ``(N,)``.
    lane
        How high one core of each node is, shape ``(N,)``.
    lanes
        Cores of each node, at least 1, shape ``(N,)``.
    height
        Of all nodes together.
    unit
        What one unit is: ``node`` or ``core``.
    """

    base: FloatArray
    lane: FloatArray
    lanes: IntArray
    height: float
    unit: str

    @classmethod
    def of(cls, schedule: Schedule) -> Rows:
        """Return the axis for a schedule's machine."""
        lanes = np.maximum(schedule.system.capacity[:, 0], 1)
        if len(lanes) <= _FEW_NODES:
            high = lanes.astype(np.float64)
            unit = "core"
        else:
            high = np.ones(len(lanes))
            unit = "node"
        return cls(
            base=np.cumsum(high) - high,
            lane=high / lanes,
            lanes=lanes,
            height=float(high.sum()),
            unit=unit,
        )


def pieces(schedule: Schedule) -> IntArray:
    """Return how many rectangles each segment takes at most, roughly: the nodes it only shares."""
    segments = schedule.segments
    whole = segments.amount[:, 0] >= Rows.of(schedule).lanes[segments.node]
    return np.where(whole, 1, segments.count)


def place(schedule: Schedule, rows: Rows, chosen: IntArray) -> Rectangles:
    """
    Assign each chosen segment cores of its nodes for drawing.

    The log has the number of cores on each node but not which: a job is drawn on the lowest
    adjacent free cores, or if there are none, in several pieces. Segments that hold no time are
    left out.

    Parameters
    ----------
    chosen
        Positions of segments.
    """
    segments = schedule.segments
    chosen = chosen[segments.end[chosen] > segments.start[chosen]]
    chosen = chosen[np.argsort(segments.start[chosen], kind="stable")]
    first = np.cumsum(rows.lanes) - rows.lanes
    free_at = np.full(int(rows.lanes.sum()), np.iinfo(np.int64).min)
    found: list[tuple[int, float, float]] = []
    columns = (segments.start, segments.end, segments.node, segments.count, segments.amount[:, 0])
    for segment, start, end, node, count, cores in zip(
        chosen.tolist(), *(column[chosen].tolist() for column in columns), strict=True
    ):
        last = node + count - 1
        if cores >= rows.lanes[node : last + 1].max():
            # Whole nodes, side by side: one rectangle.
            free_at[first[node] : first[last] + rows.lanes[last]] = end
            top = rows.base[last] + rows.lanes[last] * rows.lane[last]
            found.append((segment, float(rows.base[node]), float(top)))
            continue
        for one in range(node, last + 1):
            view = free_at[first[one] : first[one] + rows.lanes[one]]
            for low, high in _runs(np.flatnonzero(view <= start), max(cores, 1), len(view)):
                view[low:high] = end
                base, lane = float(rows.base[one]), float(rows.lane[one])
                found.append((segment, base + low * lane, base + high * lane))
    which = np.array([one[0] for one in found], dtype=np.int64)
    return Rectangles(
        job=segments.job[which],
        start=segments.start[which],
        end=segments.end[which],
        low=np.array([one[1] for one in found], dtype=np.float64),
        high=np.array([one[2] for one in found], dtype=np.float64),
    )


def _runs(free: IntArray, cores: int, lanes: int) -> list[tuple[int, int]]:
    """Return lanes ``[low, high)`` for a number of cores: one run if there is one."""
    if cores >= lanes or len(free) < cores:
        # Only an invalid schedule has more than is free; it is drawn over others.
        return [(0, min(cores, lanes))]
    ahead = free[cores - 1 :] - free[: len(free) - cores + 1]
    together = np.flatnonzero(ahead == cores - 1)
    if len(together):
        low = int(free[together[0]])
        return [(low, low + cores)]
    taken = free[:cores]
    breaks = np.flatnonzero(np.diff(taken) > 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(taken, breaks)]
