"""Lines over time: a panel for each dispatcher, a line for each predictor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.figures.draw_boxes import predictors
from cpsched.figures.style import (
    SPANS,
    canvas,
    colour,
    dash,
    legend,
    moments,
    plain,
    span_axis,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cpsched.figures.data import RunData, Series

_WIDTH, _HEIGHT, _HEAD = 7.2, 1.55, 0.55
#: If the highest line is so many times a usual one, the axis is logarithmic.
_WIDE = 8
_MINUTE = 60
#: How far an axis with a logarithm goes beyond the highest value.
_ABOVE = 1.8


def draw(
    runs: Sequence[RunData],
    series: Callable[[RunData], Series | None],
    label: str,
    *,
    share: bool = False,
) -> Figure:
    """
    Return a quantity over time.

    Parameters
    ----------
    series
        The quantity of a run.
    label
        Of the vertical axis.
    share
        Whether values are within [0, 1], shown as percentages.
    """
    from matplotlib.ticker import FuncFormatter, PercentFormatter, SymmetricalLogLocator

    figure, panels = _panels(runs)
    ends, tops = [], []
    for axes, run, index in panels:
        line = series(run)
        if line is None:
            continue
        ends += [line.edges[0], line.edges[-1]]
        tops.append(float(line.values.max()))
        axes.stairs(line.values, line.edges, baseline=None, color=colour(index),
                    linestyle=dash(index), linewidth=1.1)  # fmt: skip
    for axes in figure.axes:
        if not share and tops and max(tops) > _WIDE * max(sorted(tops)[(len(tops) - 1) // 2], 1):
            axes.set_yscale("symlog", linthresh=1)
            axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1))
        # After the scale, which brings a formatter of its own.
        axes.yaxis.set_major_formatter(
            PercentFormatter(1, decimals=0) if share else FuncFormatter(plain)
        )
        axes.set_ylim(bottom=0, top=1.02 if share else None)
        if ends:
            moments(axes, runs[0].epoch, min(ends), max(ends))
            axes.tick_params(axis="x", labelrotation=30)
    figure.supylabel(label, fontsize=8.5)
    return figure


def draw_by_size(runs: Sequence[RunData]) -> Figure:
    """Return mean waits by the number of cores a job held."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure, panels = _panels(runs)
    for axes, run, index in panels:
        axes.plot(run.by_size.cores, run.by_size.wait, color=colour(index), linestyle=dash(index),
                  marker="o", markersize=3)  # fmt: skip
    cores = sorted({int(one) for run in runs for one in run.by_size.cores})
    top = max((float(run.by_size.wait.max()) for run in runs if len(run.by_size.wait)), default=1)
    every = max(1, -(-len(cores) // 6))
    for axes in figure.axes:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(cores[::every]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(plain))
        # Waits of seconds only need no logarithm, and would have no mark on it.
        if top > 2 * _MINUTE:
            axes.set_yscale("symlog", linthresh=_MINUTE)
            span_axis(axes, "y", top, log=True)
            axes.yaxis.set_major_locator(
                FixedLocator([0, *(m for m in SPANS if _MINUTE <= m <= _ABOVE * top)])
            )
        else:
            span_axis(axes, "y", max(top, 1), log=False)
        # Room for the highest marks.
        axes.set_ylim(bottom=0, top=(_ABOVE if top > 2 * _MINUTE else 1.1) * max(top, 1))
    figure.supylabel("mean wait", fontsize=8.5)
    figure.supxlabel("cores held, from ... to less than twice as many", fontsize=8.5)
    return figure


def _panels(runs: Sequence[RunData]) -> tuple[Figure, Iterator[tuple[Axes, RunData, int]]]:
    """Return a figure with a panel for each dispatcher; and panel, run and colour of each line."""
    names = list(dict.fromkeys(run.dispatcher for run in runs))
    order = predictors(runs)
    across = min(len(names), 3 if len(names) > 4 or len(names) == 3 else 2)
    down = -(-len(names) // across)
    figure = canvas(_WIDTH, _HEAD + max(down, 1.4) * _HEIGHT)
    every = list(figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flat)
    for axes in every[len(names) :]:
        figure.delaxes(axes)
        # Above a hole the panel is the last of its column, and shows the marks.
    for axes in every[max(len(names) - across, 0) : len(names)]:
        axes.tick_params(axis="x", labelbottom=True)
    for axes, name in zip(every, names, strict=False):
        axes.set_title(wrapped(name, 78 // across))
    legend(figure, order)
    place = dict(zip(names, every, strict=False))
    return figure, ((place[run.dispatcher], run, order.index(run.predictor)) for run in runs)
