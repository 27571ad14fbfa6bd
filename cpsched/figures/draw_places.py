"""Placement of jobs: the machine over time coloured by job, and a torus cut into slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.figures.draw_gantt import EMPTY, chart
from cpsched.figures.style import INK, canvas
from cpsched.metrics.placement import places
from cpsched.metrics.steps import used

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cpsched.base.types import AnyArray, FloatArray, IntArray
    from cpsched.figures.lanes import Rectangles, Rows
    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule

#: Neighbouring jobs get hues that are far apart: multiples of the golden ratio.
_GOLDEN = 0.618034
#: Saturation and value of jobs that are compact, and of those that are not.
_COMPACT, _TORN = (0.24, 0.95), (0.74, 0.78)
#: Groups of nodes are separated by a line if each is at least this many points high.
_GROUP_POINTS = 4.0
_WIDTH = 7.2
_PANELS_BESIDE = 8


def draw(schedule: Schedule, window: Window) -> Figure:
    """Return the nodes of a schedule within a window, a colour for each job."""
    palette = _palette(schedule)

    def colours(boxes: Rectangles) -> dict[str, Any]:
        return {"facecolors": palette[boxes.job]}

    figure, axes, rows, inches = chart(schedule, window, colours)
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


def draw_torus(schedule: Schedule, second: int) -> Figure:
    """Return a torus at a second, cut into slices along its last side, a colour for each job."""
    from matplotlib.colors import to_rgb

    topology = schedule.system.topology
    palette = np.concatenate([_palette(schedule), [to_rgb(EMPTY)]])
    sides = topology.sides
    grid = np.zeros(sides, dtype=np.int64)
    grid[tuple(topology.cells.T)] = _jobs_at(schedule, second)
    # More than two dimensions beside the last are laid side by side.
    slices = np.moveaxis(grid, -1, 0).reshape(sides[-1], sides[0], -1)
    across = min(len(slices), _PANELS_BESIDE)
    down = -(-len(slices) // across)
    wide = _WIDTH / across
    figure = canvas(_WIDTH, 0.3 + down * (0.2 + wide * min(sides[0] / slices.shape[2], 2.0)))
    for axes, (number, one) in zip(
        figure.subplots(down, across, squeeze=False).ravel(),
        list(enumerate(slices)) + [(-1, slices[0])] * (down * across - len(slices)),
        strict=True,
    ):
        axes.axis("off")
        if number >= 0:
            axes.imshow(palette[one], interpolation="nearest", aspect="auto")
            axes.set_title(str(number), fontsize=8, color=INK, pad=2, loc="center")
    return figure


def busiest_second(schedule: Schedule, window: Window) -> int:
    """Return the first second of a window at which most of the machine is in use."""
    starts = np.unique(schedule.segments.start)
    inside = np.append(window.start, starts[(starts > window.start) & (starts < window.end)])
    return int(inside[used(schedule, 0).at(inside).argmax()])


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


def _jobs_at(schedule: Schedule, second: int) -> IntArray:
    """Return the job on each node at a second, the last row where several share it; -1 for none."""
    segments = schedule.segments
    job = np.full(schedule.system.num_nodes, -1, dtype=np.int64)
    for at in np.flatnonzero((segments.start <= second) & (segments.end > second)).tolist():
        first = segments.node[at]
        job[first : first + segments.count[at]] = segments.job[at]
    return job


def _middles(rows: Rows, borders: IntArray) -> list[float]:
    """Return the middle of each group on the axis."""
    edges = np.concatenate([[0.0], rows.base[borders], [rows.height]])
    middles: list[float] = ((edges[1:] + edges[:-1]) / 2).tolist()
    return middles
