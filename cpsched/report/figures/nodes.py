"""A chart of nodes: the jobs on each over time, coloured by wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics.waits import began
from cpsched.report.figures.lanes import Rows, place
from cpsched.report.figures.style import SPANS, canvas, moments
from cpsched.util.words import duration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def draw_waits(schedule: Schedule, window: Window) -> Figure:
    """Return the nodes of a schedule within a window; colours say how long a job had waited."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LogNorm

    norm = LogNorm(_SHORT, _LONG)
    colours = colormaps["cividis_r"].with_extremes(under=_NO_WAIT)

    rows, segments = Rows.of(schedule), schedule.segments
    inside = (segments.start < window.end) & (segments.end > window.start)
    boxes = place(schedule, rows, np.flatnonzero(inside))
    wait = (began(schedule) - schedule.workload.submit)[boxes.job]
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
            array=np.maximum(wait, 1),
            cmap=colours,
            norm=norm,
        )
    )
    moments(axes, schedule.workload.epoch, window.start, window.end)
    axes.set_ylim(rows.height, 0)
    axes.set_ylabel(f"{rows.unit}s")
    axes.grid(visible=False)
    marks = [mark for mark in SPANS if _SHORT <= mark <= _LONG]
    bar = figure.colorbar(
        ScalarMappable(norm, colours), ax=axes, pad=0.01, aspect=28, extend="both"
    )
    bar.set_ticks(marks, labels=[duration(mark) for mark in marks])
    bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label("wait")
    return figure
