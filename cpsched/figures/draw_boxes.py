"""Box plots of runs, one below the other, as in Remediani (2017), sections 3.1 and 5."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cpsched.figures.style import (
    FAINT,
    INK,
    MEAN,
    PAPER,
    canvas,
    colour,
    plain,
    span_axis,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cpsched.figures.boxes import Box
    from cpsched.figures.data import RunData

_ROW, _MARGIN, _WIDTH = 0.22, 0.95, 7.2
#: If the largest value is so many times a usual one, the axis is logarithmic.
_WIDE = 30
_WIDEST_NAME = 34


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """
    One panel of box plots, a box (or None) for each run.

    Attributes
    ----------
    label
        Of the axis.
    zero
        Whether values may be 0, which a plain logarithm has no place for.
    spans
        Whether values are seconds.
    trend
        A value for each run, drawn as a line from run to run; or nothing.
    """

    title: str
    label: str
    boxes: Sequence[Box | None]
    zero: bool = False
    spans: bool = False
    trend: Sequence[float | None] = ()


def row_height(runs: Sequence[RunData]) -> float:
    """Return how high a run's row must be for its name, in inches."""
    lines = max(len(run_name(run, runs).splitlines()) for run in runs)
    return max(_ROW, 0.14 * lines + 0.02)


def draw(runs: Sequence[RunData], panels: Sequence[Panel]) -> Figure:
    """Return box plots side by side, with the runs' names on the left."""
    places = _places(runs)
    row = row_height(runs)
    height = _MARGIN + max(row * (places[-1] + 1), 0.5)
    figure = canvas(_WIDTH, height)
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(every, panels, strict=True):
        _draw_panel(axes, panel, runs, places, most_marks=8 if len(panels) == 1 else 4)
    _name_rows(every[0], runs, places)
    return figure


def _places(runs: Sequence[RunData]) -> list[float]:
    """Return the height of each run's row: a gap between dispatchers if there are groups."""
    places, at = [0.0], 0.0
    several = len({run.predictor for run in runs}) > 1
    for before, run in pairwise(runs):
        at += 1.7 if several and run.dispatcher != before.dispatcher else 1.0
        places.append(at)
    return places


def predictors(runs: Sequence[RunData]) -> list[str]:
    """Return the predictors in the order they first appear; a colour each."""
    return list(dict.fromkeys(run.predictor for run in runs))


def _draw_panel(
    axes: Axes,
    panel: Panel,
    runs: Sequence[RunData],
    places: Sequence[float],
    *,
    most_marks: int,
) -> None:
    order = predictors(runs)
    for run, box, at in zip(runs, panel.boxes, places, strict=True):
        if box is None:
            axes.text(0.01, at, "no job waited", transform=axes.get_yaxis_transform(),
                      va="center", fontsize=7, style="italic")  # fmt: skip
            continue
        axes.bxp([_statistics(box)], positions=[at], orientation="horizontal", widths=0.68,
                 patch_artist=True, showmeans=True, showfliers=False,
                 **_look(colour(order.index(run.predictor))))  # fmt: skip
    axes.set_title(panel.title)
    axes.set_xlabel(panel.label)
    axes.grid(visible=False, axis="y")
    _scale(axes, panel, most_marks)
    if panel.trend:
        trend = [math.nan if value is None else value for value in panel.trend]
        axes.plot(trend, places, color=INK, linewidth=0.9, linestyle=(0, (3, 1.5)),
                  marker="D", markersize=2.6, zorder=5)  # fmt: skip


def _statistics(box: Box) -> dict[str, Any]:
    numbers = asdict(box)
    names = {"low": "whislo", "quartile_1": "q1", "median": "med", "quartile_3": "q3",
             "high": "whishi", "mean": "mean"}  # fmt: skip
    return {"fliers": [], **{drawn: numbers[name] for name, drawn in names.items()}}


def _look(fill: str) -> Mapping[str, Any]:
    thin = {"color": INK, "linewidth": 0.7}
    return {
        "boxprops": {"facecolor": fill, "edgecolor": INK, "linewidth": 0.7},
        "medianprops": {"color": INK, "linewidth": 1.6},
        "whiskerprops": thin,
        "capprops": thin,
        "meanprops": {
            "marker": "^",
            "markersize": 5.5,
            "markerfacecolor": MEAN,
            "markeredgecolor": PAPER,
            "markeredgewidth": 0.5,
            "zorder": 6,
        },
    }


def _scale(axes: Axes, panel: Panel, most_marks: int) -> None:
    """Choose a logarithmic axis where a linear one would show the largest values only."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, SymmetricalLogLocator

    known = [box for box in panel.boxes if box is not None]
    top = max((box.high for box in known), default=1.0)
    least = min((box.median for box in known), default=1.0)
    log = top > _WIDE * max(least, 1.0)
    if log and panel.zero:
        axes.set_xscale("symlog", linthresh=1)
        axes.xaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1))
    elif log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(base=10, numticks=most_marks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    if panel.spans:
        span_axis(axes, "x", top, log=log)
    if not log:
        axes.set_xlim(left=0 if panel.zero or panel.spans else None)


def _name_rows(axes: Axes, runs: Sequence[RunData], places: Sequence[float]) -> None:
    """Put each run's name beside its row: the dispatcher once, its predictors below each other."""
    axes.set_yticks(list(places), [run_name(run, runs) for run in runs])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(places[-1] + 0.7, -0.7)
    if len(predictors(runs)) > 1:
        for before, after in pairwise(places):
            if after - before > 1:
                axes.axhline((before + after) / 2, color=FAINT, linewidth=0.5)


def run_name(run: RunData, runs: Sequence[RunData]) -> str:
    """Return what a run is called beside its row; the predictor only where they differ."""
    whole = run.dispatcher if len(predictors(runs)) < 2 else f"{run.dispatcher}  {run.predictor}"
    return wrapped(whole, _WIDEST_NAME)
