"""What decisions cost, and how good a solver's plans are proven to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.figures.style import INK, canvas, plain, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cpsched.figures.data import RunData


_NARROW = 5


def draw(runs: Sequence[RunData], width: float) -> Figure:
    """Return decision times of the runs, and the gap to the bound of those with a solver."""
    solved, narrow = any(run.gap is not None for run in runs), width < _NARROW
    names = [wrapped(run.look.label, 16 if narrow else 30) for run in runs]
    row = 0.12 + 0.14 * max(len(name.splitlines()) for name in names)
    down, across = (1 + solved, 1) if narrow else (1, 1 + solved)
    figure = canvas(width, down * (1.1 + row * len(runs)))
    every = figure.subplots(down, across, sharey=True, squeeze=False).flat
    _times(every[0], runs, narrow=narrow)
    if solved:
        for at, run in enumerate(runs):
            if run.gap is not None:
                axes = every[1]
                axes.barh(at, 100 * run.gap, height=0.62, color=run.look.colour)
                axes.text(100 * run.gap, at, f" {100 * run.gap:.1f}", va="center", fontsize=8)
        every[1].set_title("gap to the bound")
        every[1].set_xlabel("mean over solver calls [%]")
        every[1].grid(visible=False, axis="y")
        every[1].margins(x=0.15)
    every[0].set_yticks(range(len(runs)), names)
    every[0].set_ylim(len(runs) - 0.4, -0.6)
    for axes in every:
        axes.tick_params(axis="y", length=0)
    return figure


def _times(axes: Axes, runs: Sequence[RunData], *, narrow: bool) -> None:
    """Draw median, p99 and maximum of each run's decision times on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for at, run in enumerate(runs):
        if run.decision_s is None:
            continue
        median, p99, most = (max(1000 * value, 1e-4) for value in run.decision_s)
        shade = run.look.colour
        axes.plot([median, most], [at, at], color=INK, linewidth=0.7)
        axes.plot([median, p99], [at, at], color=shade, linewidth=5, solid_capstyle="butt")
        axes.plot(median, at, "o", color=INK, markersize=4)
        axes.plot(most, at, "|", color=INK, markersize=6)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=10, numticks=5 if narrow else 9))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    axes.set_title("time of a decision")
    axes.set_xlabel("median (dot), to p99 (bar),\nto the longest (line) [ms]")
    axes.grid(visible=False, axis="y")
