"""What decisions cost, and how good a solver's plans are proven to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.figures.draw_boxes import predictors, row_height, run_name
from cpsched.figures.style import INK, canvas, colour, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cpsched.figures.data import RunData


def draw(runs: Sequence[RunData]) -> Figure:
    """Return decision times of the runs, and the gap to the bound of those with a solver."""
    solved = any(run.gap is not None for run in runs)
    figure = canvas(7.2, 1.1 + row_height(runs) * len(runs))
    every = figure.subplots(1, 2 if solved else 1, sharey=True, squeeze=False)[0]
    order = predictors(runs)
    _times(every[0], runs, order)
    if solved:
        for at, run in enumerate(runs):
            if run.gap is not None:
                axes = every[1]
                axes.barh(at, 100 * run.gap, height=0.62, color=colour(order.index(run.predictor)))
                axes.text(100 * run.gap, at, f" {100 * run.gap:.1f}", va="center", fontsize=7.5)
        every[1].set_title("gap to the bound")
        every[1].set_xlabel("mean over solver calls [%]")
        every[1].grid(visible=False, axis="y")
    every[0].set_yticks(range(len(runs)), [run_name(run, runs) for run in runs])
    every[0].tick_params(axis="y", length=0)
    every[0].set_ylim(len(runs) - 0.4, -0.6)
    return figure


def _times(axes: Axes, runs: Sequence[RunData], order: Sequence[str]) -> None:
    """Draw median, p99 and maximum of each run's decision times on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for at, run in enumerate(runs):
        if run.decision_s is None:
            continue
        median, p99, most = (max(1000 * value, 1e-4) for value in run.decision_s)
        shade = colour(order.index(run.predictor))
        axes.plot([median, most], [at, at], color=INK, linewidth=0.7)
        axes.plot([median, p99], [at, at], color=shade, linewidth=5, solid_capstyle="butt")
        axes.plot(median, at, "o", color=INK, markersize=4)
        axes.plot(most, at, "|", color=INK, markersize=6)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=10, numticks=9))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    axes.set_title("time of a decision")
    axes.set_xlabel("median (dot), to p99 (bar),\nto the longest (line) [ms]")
    axes.grid(visible=False, axis="y")
