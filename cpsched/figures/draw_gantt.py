"""A Gantt chart of nodes: which job is where, and how long it had waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.figures.lanes import Rows, place
from cpsched.figures.style import PAPER, SPANS, canvas, duration, moments

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule

_WIDTH = 7.2
#: More rectangles than this are drawn as an image within the figure.
_VECTORS = 2500


def draw(schedule: Schedule, window: Window) -> Figure:
    """Return the nodes of a schedule within a window; colours say how long a job had waited."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LogNorm

    rows, segments = Rows.of(schedule), schedule.segments
    inside = (segments.start < window.end) & (segments.end > window.start)
    boxes = place(schedule, rows, np.flatnonzero(inside))
    wait = (schedule.start - schedule.workload.submit)[boxes.job]
    left, right = np.maximum(boxes.start, window.start), np.minimum(boxes.end, window.end)
    corners = [(left, boxes.low), (right, boxes.low), (right, boxes.high), (left, boxes.high)]
    polygons = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
    longest = max(float(wait.max(initial=0)), 3600.0)
    norm = LogNorm(60, longest, clip=True)
    figure = canvas(_WIDTH, 0.9 + min(max(rows.height * 0.045, 1.6), 4.2))
    axes = figure.subplots()
    axes.add_collection(
        PolyCollection(
            list(polygons),
            array=np.maximum(wait, 1),
            cmap="cividis_r",
            norm=norm,
            edgecolors=PAPER,
            linewidths=0.25,
            rasterized=len(polygons) > _VECTORS,
        )
    )
    moments(axes, schedule.workload.epoch, window.start, window.end)
    axes.set_ylim(rows.height, 0)
    axes.set_ylabel(f"{rows.unit}s")
    axes.grid(visible=False)
    marks = [mark for mark in SPANS if 60 <= mark <= longest]
    bar = figure.colorbar(ScalarMappable(norm, "cividis_r"), ax=axes, pad=0.01, aspect=28)
    bar.set_ticks(marks, labels=[duration(mark) for mark in marks])
    bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label("wait")
    return figure
