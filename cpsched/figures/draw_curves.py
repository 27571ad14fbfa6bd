"""Distributions over all jobs: waits and bounded slowdowns, percentile by percentile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.base.words import duration
from cpsched.figures.draw_time import _in_order, _weight, wait_axis
from cpsched.figures.labels import name_lines
from cpsched.figures.style import canvas, number_marks, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from matplotlib.figure import Figure

    from cpsched.figures.data import Curve, RunData

_NARROW = 5


def draw(
    runs: Sequence[RunData],
    curve: Callable[[RunData], Curve],
    label: str,
    width: float,
    *,
    spans: bool = False,
    grey: Collection[RunData] = (),
) -> Figure:
    """
    Return the distributions of a quantity, one line per run; the upper tail gets most of the room.

    Parameters
    ----------
    curve
        The distribution of a run.
    label
        Of the vertical axis.
    spans
        Whether values are seconds, and may be 0.
    grey
        Runs drawn in grey behind the others, without a name.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure = canvas(width, 2.9 if width < _NARROW else 3.3)
    axes = figure.subplots()
    named, nines, tops = [], [0.3], [1.0]
    for run, look in _in_order(runs, grey):
        line = curve(run)
        if not len(line.values):
            continue
        axes.plot(line.nines, line.values, color=look.colour, linestyle=look.dash,
                  linewidth=_weight(look))  # fmt: skip
        most = float(line.values[-1])
        named.append((most, duration(most) if spans else plain(round(most)), look))
        nines.append(float(line.nines[-1]))
        tops.append(float(line.values[-1]))
    if spans:
        wait_axis(axes, max(tops))
    else:
        axes.set_yscale("log")
        axes.set_ylim(0.97, 1.5 * max(tops))
        axes.yaxis.set_major_locator(FixedLocator(number_marks(1, 1.5 * max(tops), 7)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(plain))
    axes.set_xlim(0, max(nines))
    marks = [0.30103, 1, 2, 3, 4, 5, 6]
    inside = [mark for mark in marks if mark <= max(nines) * 0.94]
    axes.set_xticks([*inside, max(nines)], [*map(_percent, inside), "all"])
    axes.set_xlabel("share of the jobs with at most this value")
    axes.set_ylabel(label)
    name_lines(figure, axes, named)
    return figure


def _percent(nines: float) -> str:
    """Return a share in percent, with as many digits as it has nines."""
    return f"{100 * (1 - 10**-nines):.{max(round(nines) - 2, 0)}f} %"
