"""Lines over time and over the sizes of jobs: all runs in one chart, named where they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.figures.labels import name_lines
from cpsched.figures.looks import behind
from cpsched.figures.style import SPANS, canvas, moments, plain, span_axis

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cpsched.base.types import FloatArray
    from cpsched.figures.data import RunData, Series
    from cpsched.figures.looks import Look

_HEIGHT, _NARROW_HEIGHT, _NARROW = 3.1, 2.7, 5
#: If the highest line is this multiple of a typical one, the axis is logarithmic.
_WIDE = 8
_MINUTE = 60
#: How far an axis with a logarithm goes beyond the highest value.
_ABOVE = 1.8
#: Points of a line that a narrow figure leaves out, of each that it shows.
_FEWER = 2


def draw(
    runs: Sequence[RunData],
    series: Callable[[RunData], Series | None],
    label: str,
    width: float,
    *,
    share: bool = False,
    grey: Collection[RunData] = (),
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
    grey
        Runs drawn in grey behind the others, without a name.
    """
    from matplotlib.ticker import FuncFormatter, PercentFormatter, SymmetricalLogLocator

    figure, axes = _axes(width)
    ends, tops, named = [], [], []
    for run, look in _in_order(runs, grey):
        line = series(run)
        if line is None:
            continue
        values, edges = line.values, line.edges
        if width < _NARROW:
            values, edges = _halved(values, edges)
        ends += [edges[0], edges[-1]]
        tops.append(float(values.max()))
        mean = float(line.values.mean())
        named.append((mean, f"{100 * mean:.0f} %" if share else plain(round(mean, 1)), look))
        axes.stairs(values, edges, baseline=None, color=look.colour, linestyle=look.dash,
                    linewidth=_weight(look))  # fmt: skip
    if not share and tops and max(tops) > _WIDE * max(sorted(tops)[(len(tops) - 1) // 2], 1):
        axes.set_yscale("symlog", linthresh=1)
        axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1))
    # After the scale, which brings a formatter of its own.
    axes.yaxis.set_major_formatter(
        PercentFormatter(1, decimals=0) if share else FuncFormatter(plain)
    )
    axes.set_ylim(bottom=0, top=1.02 if share else None)
    if ends:
        moments(axes, runs[0].epoch, min(ends), max(ends), most=4 if width < _NARROW else 8)
    axes.set_ylabel(label)
    name_lines(figure, axes, named)
    return figure


def draw_by_size(
    runs: Sequence[RunData], width: float, *, grey: Collection[RunData] = ()
) -> Figure:
    """Return mean waits by the number of cores a job held."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure, axes = _axes(width)
    named = []
    for run, look in _in_order(runs, grey):
        if not len(run.by_size.wait):
            continue
        axes.plot(run.by_size.cores, run.by_size.wait, color=look.colour, linestyle=look.dash,
                  marker=look.marker, markersize=3, linewidth=_weight(look))  # fmt: skip
        named.append((float(run.by_size.wait[-1]), "", look))
    cores = sorted({int(one) for run in runs for one in run.by_size.cores})
    top = max((float(run.by_size.wait.max()) for run in runs if len(run.by_size.wait)), default=1)
    every = max(1, -(-len(cores) // (5 if width < _NARROW else 10)))
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(cores[::every]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    wait_axis(axes, top)
    axes.set_ylabel("mean wait")
    axes.set_xlabel("cores held")
    name_lines(figure, axes, named)
    return figure


def wait_axis(axes: Axes, top: float) -> None:
    """Make the vertical axis one of waits up to ``top`` seconds, with a logarithm from a minute."""
    from matplotlib.ticker import FixedLocator

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


def _axes(width: float) -> tuple[Figure, Axes]:
    figure = canvas(width, _NARROW_HEIGHT if width < _NARROW else _HEIGHT)
    return figure, figure.subplots()


def _in_order(runs: Sequence[RunData], grey: Collection[RunData]) -> list[tuple[RunData, Look]]:
    """Return the runs with their looks: those in grey first, the baselines last and on top."""
    ranked = sorted(runs, key=lambda run: (run not in grey, run.look.is_base))
    return [(run, behind(run.look) if run in grey else run.look) for run in ranked]


def _weight(look: Look) -> float:
    return 0.6 if not look.name else 1.7 if look.is_base else 1.3


def _halved(values: FloatArray, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means over pairs of parts, of a line of many; all have the same length."""
    if len(values) < 80 or len(values) % _FEWER:
        return values, edges
    return values.reshape(-1, _FEWER).mean(axis=1), edges[::_FEWER]
