"""Charts of nodes: the jobs on each over time, as rectangles that never overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics.waits import began
from cpsched.report.figures.style import (
    PAPER,
    WAITS,
    WIDE,
    canvas,
    in_axis_units,
    time_axis,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule
    from cpsched.util.types import FloatArray, IntArray

#: Systems of at most this many nodes are drawn core by core: mostly pools.
_FEW_NODES = 4
#: Of the nodes where no job is: seen on a light and on a dark page.
EMPTY = "#eef1f4"
#: Points: lower rectangles get no edges, which would hide their colour.
_THIN = 2.0
#: More rectangles than this are drawn as an image within the figure.
_VECTORS = 600


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """
    The vertical axis of a chart of nodes.

    A node has the height 1, or on a system of a few large nodes each of its cores does.

    Attributes
    ----------
    base
        Where each node begins, shape ``(N,)``.
    lane
        Height of one core of each node, shape ``(N,)``.
    lanes
        Cores of each node, at least 1, shape ``(N,)``.
    height
        Of all nodes together.
    unit
        What has the height 1: ``node`` or ``core``.
    """

    base: FloatArray
    lane: FloatArray
    lanes: IntArray
    height: float
    unit: str

    @classmethod
    def of(cls, schedule: Schedule) -> Rows:
        """Return the axis for a schedule's system."""
        lanes = np.maximum(schedule.system.capacity[:, 0], 1)
        by_core = len(lanes) <= _FEW_NODES
        high = lanes.astype(np.float64) if by_core else np.ones(len(lanes))
        return cls(
            base=np.cumsum(high) - high,
            lane=high / lanes,
            lanes=lanes,
            height=float(high.sum()),
            unit="core" if by_core else "node",
        )


def num_rectangles(schedule: Schedule) -> IntArray:
    """Return the approximate number of rectangles of each segment: one, or one a shared node."""
    segments = schedule.segments
    is_full = segments.amount[:, 0] >= Rows.of(schedule).lanes[segments.node]
    return np.where(is_full, 1, segments.count)


def place(schedule: Schedule, rows: Rows, chosen: IntArray) -> Rectangles:
    """
    Assign each chosen segment cores of its nodes for drawing.

    The log has the number of cores on each node but not which: a job is drawn on the lowest
    adjacent free cores, or if there are none, in several parts. Segments that hold no time are
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
    placed: list[tuple[int, float, float]] = []
    columns = (segments.start, segments.end, segments.node, segments.count, segments.amount[:, 0])
    for segment, start, end, node, count, cores in zip(
        chosen.tolist(), *(column[chosen].tolist() for column in columns), strict=True
    ):
        last = node + count - 1
        if cores >= rows.lanes[node : last + 1].max():
            # All of some adjacent nodes: one rectangle.
            free_at[first[node] : first[last] + rows.lanes[last]] = end
            top = rows.base[last] + rows.lanes[last] * rows.lane[last]
            placed.append((segment, float(rows.base[node]), float(top)))
            continue
        for own in range(node, last + 1):
            view = free_at[first[own] : first[own] + rows.lanes[own]]
            for low, high in _ranges(np.flatnonzero(view <= start), max(cores, 1), len(view)):
                view[low:high] = end
                base, lane = float(rows.base[own]), float(rows.lane[own])
                placed.append((segment, base + low * lane, base + high * lane))
    which = np.array([segment for segment, _, _ in placed], dtype=np.int64)
    return Rectangles(
        job=segments.job[which],
        start=segments.start[which],
        end=segments.end[which],
        low=np.array([low for _, low, _ in placed], dtype=np.float64),
        high=np.array([high for _, _, high in placed], dtype=np.float64),
    )


def _ranges(free: IntArray, cores: int, lanes: int) -> list[tuple[int, int]]:
    """Return lanes ``[low, high)`` for a number of cores: one range if there is one."""
    if cores >= lanes or len(free) < cores:
        # Only an invalid schedule has more than is free; it is drawn over others.
        return [(0, min(cores, lanes))]
    ahead = free[cores - 1 :] - free[: len(free) - cores + 1]
    adjacent = np.flatnonzero(ahead == cores - 1)
    if len(adjacent):
        low = int(free[adjacent[0]])
        return [(low, low + cores)]
    taken = free[:cores]
    breaks = np.flatnonzero(np.diff(taken) > 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(taken, breaks)]


def wait_class(wait: IntArray) -> IntArray:
    """Return the class of each wait, a position in :data:`~cpsched.report.figures.style.WAITS`."""
    return np.searchsorted([most for most, _, _ in WAITS], wait, side="right")


def draw_waits(schedule: Schedule, window: Window) -> Figure:
    """Return the nodes of a schedule within a window; colours say how long a job had waited."""
    from matplotlib.collections import PolyCollection
    from matplotlib.dates import date2num
    from matplotlib.patches import Patch

    rows, segments = Rows.of(schedule), schedule.segments
    inside = (segments.start < window.end) & (segments.end > window.start)
    boxes = place(schedule, rows, np.flatnonzero(inside))
    waits = wait_class((began(schedule) - schedule.workload.submit)[boxes.job])
    epoch = schedule.workload.epoch
    # A linear map: the ends of the window place all times between them.
    ends = in_axis_units(window, epoch)
    first, last = ends if epoch is None else date2num(ends).tolist()  # type: ignore[no-untyped-call]
    scale = (last - first) / window.length
    left, right = (
        first + scale * (np.clip(side, window.start, window.end) - window.start)
        for side in (boxes.start, boxes.end)
    )
    corners = [(left, boxes.low), (right, boxes.low), (right, boxes.high), (left, boxes.high)]
    polygons = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
    inches = min(max(rows.height * 0.045, 1.6), 3.2)
    figure = canvas(WIDE, 1.2 + inches)
    axes = figure.subplots()
    axes.set_facecolor(EMPTY)
    lowest = 72 * inches * float((boxes.high - boxes.low).min(initial=np.inf)) / rows.height
    outlined = lowest >= _THIN and len(polygons) <= _VECTORS
    colours = [colour for _, colour, _ in WAITS]
    axes.add_collection(
        PolyCollection(
            list(polygons),
            facecolors=[colours[at] for at in waits.tolist()],
            edgecolors=PAPER if outlined else "face",
            linewidths=0.25 if outlined else 0,
            rasterized=len(polygons) > _VECTORS,
        )
    )
    axes.set_xlim(first, last)
    if epoch is not None:
        axes.xaxis_date()
    time_axis(axes, epoch)
    axes.set_ylim(rows.height, 0)
    axes.set_ylabel(f"{rows.unit}s")
    axes.grid(visible=False)
    patches = [Patch(color=colour, label=text) for _, colour, text in WAITS]
    figure.legend(
        handles=patches, loc="outside lower left", ncols=3, title="wait", alignment="left"
    )
    return figure
