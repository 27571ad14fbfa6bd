"""
Charts of nodes: the jobs on each over time, coloured by wait or by job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.base.words import duration
from cpsched.figures.lanes import Rows, place
from cpsched.figures.style import SPANS, canvas, moments
from cpsched.metrics.placement import places

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cpsched.base.types import AnyArray, FloatArray, IntArray
    from cpsched.figures.lanes import Rectangles
    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule

_WIDTH = 7.2
#: Waits at the ends of the colours, seconds: the same in every chart, so that they compare.
_SHORT, _LONG = 60, 4 * 86400
#: Below, and of the nodes where no job is: seen on a light and on a dark page.
_NO_WAIT, EMPTY, EDGE = "#c3cad1", "#f3f5f7", "#fefefe"
#: Points: lower rectangles get no edges, which would hide their colour.
_THIN = 2.0
#: More rectangles than this are drawn as an image within the figure.
_VECTORS = 600
#: Neighbouring jobs get hues that are far apart: multiples of the golden ratio.
_GOLDEN = 0.618034
#: Saturation and value of jobs that are compact, and of those that are not.
_COMPACT, _TORN = (0.24, 0.95), (0.74, 0.78)
#: Groups of nodes are separated by a line if each is at least this many points high.
_GROUP_POINTS = 4.0


def draw_waits(schedule: Schedule, window: Window) -> Figure:
    """Return the nodes of a schedule within a window; colours say how long a job had waited."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm

    norm = LogNorm(_SHORT, _LONG)
    colours = colormaps["cividis_r"].with_extremes(under=_NO_WAIT)

    def waits(boxes: Rectangles) -> dict[str, Any]:
        wait = (schedule.start - schedule.workload.submit)[boxes.job]
        return {"array": np.maximum(wait, 1), "cmap": colours, "norm": norm}

    figure, axes, _, _ = _chart(schedule, window, waits)
    marks = [mark for mark in SPANS if _SHORT <= mark <= _LONG]
    bar = figure.colorbar(
        ScalarMappable(norm, colours), ax=axes, pad=0.01, aspect=28, extend="both"
    )
    bar.set_ticks(marks, labels=[duration(mark) for mark in marks])
    bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label("wait")
    return figure


def _chart(
    schedule: Schedule, window: Window, colouring: Callable[[Rectangles], dict[str, Any]]
) -> tuple[Figure, Axes, Rows, float]:
    """
    Draw the jobs on the nodes of a schedule within a window.

    Parameters
    ----------
    colouring
        Maps the rectangles to the colour arguments of matplotlib's ``PolyCollection``.

    Returns
    -------
    figure, axes, rows, inches
        What was drawn, its vertical axis and how high that is.
    """
    from matplotlib.collections import PolyCollection

    rows, segments = Rows.of(schedule), schedule.segments
    inside = (segments.start < window.end) & (segments.end > window.start)
    boxes = place(schedule, rows, np.flatnonzero(inside))
    left, right = np.maximum(boxes.start, window.start), np.minimum(boxes.end, window.end)
    corners = [(left, boxes.low), (right, boxes.low), (right, boxes.high), (left, boxes.high)]
    polygons = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
    inches = min(max(rows.height * 0.045, 1.6), 4.2)
    figure = canvas(_WIDTH, 0.9 + inches)
    axes = figure.subplots()
    axes.set_facecolor(EMPTY)
    least = 72 * inches * float((boxes.high - boxes.low).min(initial=np.inf)) / rows.height
    # An image keeps its colours on a dark page, where pale edges would dominate.
    outlined = least >= _THIN and len(polygons) <= _VECTORS
    axes.add_collection(
        PolyCollection(
            list(polygons),
            edgecolors=EDGE if outlined else "face",
            linewidths=0.25 if outlined else 0,
            rasterized=len(polygons) > _VECTORS,
            **colouring(boxes),
        )
    )
    moments(axes, schedule.workload.epoch, window.start, window.end)
    axes.set_ylim(rows.height, 0)
    axes.set_ylabel(f"{rows.unit}s")
    axes.grid(visible=False)
    return figure, axes, rows, inches


def draw_placement(schedule: Schedule, window: Window) -> Figure:
    """Return the nodes of a schedule within a window, a colour for each job."""
    palette = _palette(schedule)

    def colours(boxes: Rectangles) -> dict[str, Any]:
        return {"facecolors": palette[boxes.job]}

    figure, axes, rows, inches = _chart(schedule, window, colours)
    group = schedule.system.topology.level_group(0)
    borders = np.flatnonzero(np.diff(group)) + 1
    if len(borders) and 72 * inches / (len(borders) + 1) >= _GROUP_POINTS:
        for at in rows.base[borders]:
            axes.axhline(at, color="#ffffff", linewidth=1.2, zorder=3)
        axes.set_yticks(_middles(rows, borders), [""] * (len(borders) + 1), minor=False)
        axes.tick_params(axis="y", length=0)
        words = schedule.system.topology.group_words[1]
        axes.set_ylabel(f"{len(borders) + 1} {words} of nodes")
    return figure


def _palette(schedule: Schedule) -> FloatArray:
    """Return the colour of each job, shape ``(J, 3)``: pale for those that are compact."""
    from matplotlib.colors import hsv_to_rgb

    num_jobs = len(schedule.workload)
    found = places(schedule)
    torn = np.zeros(num_jobs, dtype=np.bool_)
    segment = schedule.workload.segment[found.row]
    torn[found.row] = ~schedule.system.topology.compact(found.sets, segment)
    rank = np.empty(num_jobs, dtype=np.int64)
    rank[np.argsort(schedule.start, kind="stable")] = np.arange(num_jobs)
    tone: AnyArray = np.where(torn[:, None], _TORN, _COMPACT)
    colours: FloatArray = hsv_to_rgb(np.column_stack([rank * _GOLDEN % 1, tone]))
    return colours


def _middles(rows: Rows, borders: IntArray) -> list[float]:
    """Return the middle of each group on the axis."""
    edges = np.concatenate([[0.0], rows.base[borders], [rows.height]])
    middles: list[float] = ((edges[1:] + edges[:-1]) / 2).tolist()
    return middles
