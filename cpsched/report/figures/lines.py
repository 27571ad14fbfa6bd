"""Lines: over time, over the sizes of jobs, and distributions over all jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.report.figures.style import (
    HIGH,
    WIDE,
    canvas,
    in_axis_units,
    legend_below,
    plain,
    time_axis,
    wait_axis,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

    from cpsched.report.figures.data import Curve, RunData, Series
    from cpsched.report.figures.looks import Look

#: If the highest line is this multiple of the lowest, the axis is logarithmic.
_WIDE_RANGE = 8


def draw_over_time(
    runs: Sequence[RunData],
    series: Callable[[RunData], Series | None],
    label: str,
    *,
    is_share: bool = False,
) -> Figure:
    """
    Return a quantity over time.

    Parameters
    ----------
    series
        The quantity of a run.
    label
        Of the vertical axis.
    is_share
        Whether values are within [0, 1], shown in percent.
    """
    from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

    figure = canvas(WIDE, HIGH)
    axes = figure.subplots()
    tops = []
    for run in runs:
        if (line := series(run)) is not None:
            tops.append(float(line.values.max()))
            times = in_axis_units(line.edges.tolist(), run.epoch)
            values = [*line.values.tolist(), float(line.values[-1])]
            axes.step(times, values, where="post", **_style(run.look))
            axes.margins(x=0)
    if not is_share and tops and max(tops) > _WIDE_RANGE * max(min(tops), 1):
        axes.set_yscale("symlog", linthresh=1)
        axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1))
    # After the scale, which brings a formatter of its own.
    shown = (lambda share, _: f"{100 * share:.0f} %") if is_share else plain
    axes.yaxis.set_major_formatter(FuncFormatter(shown))
    axes.set_ylim(bottom=0, top=1.02 if is_share else None)
    if runs:
        time_axis(axes, runs[0].epoch)
    axes.set_ylabel(label)
    legend_below(figure, axes)
    return figure


def draw_by_size(runs: Sequence[RunData]) -> Figure:
    """Return mean waits by the number of cores a job held."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure = canvas(WIDE, HIGH + 0.3)
    axes = figure.subplots()
    axes.set_xscale("log", base=2)
    cores, tops = set[int](), [1.0]
    for run in runs:
        if len(run.by_size.wait):
            axes.plot(
                run.by_size.cores, run.by_size.wait, marker="o", markersize=3, **_style(run.look)
            )
            cores |= set(run.by_size.cores.tolist())
            tops.append(float(run.by_size.wait.max()))
    axes.xaxis.set_major_locator(FixedLocator(sorted(cores)[:: max(1, -(-len(cores) // 8))]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    wait_axis(axes, max(tops))
    axes.set_ylabel("mean wait")
    axes.set_xlabel("cores of a job")
    legend_below(figure, axes)
    return figure


def draw_distributions(
    runs: Sequence[RunData], curve: Callable[[RunData], Curve], label: str, *, is_wait: bool
) -> Figure:
    """
    Return the distributions of waits or slowdowns; the upper tail gets most of the width.

    Parameters
    ----------
    curve
        The distribution of a run.
    label
        Of the vertical axis.
    is_wait
        Whether values are seconds, and may be 0.
    """
    from matplotlib.ticker import FuncFormatter

    figure = canvas(WIDE, HIGH + 0.3)
    axes = figure.subplots()
    nines, tops = [0.3], [1.0]
    for run in runs:
        line = curve(run)
        if len(line.values):
            axes.plot(line.nines, line.values, **_style(run.look))
            nines.append(float(line.nines[-1]))
            tops.append(float(line.values[-1]))
    if is_wait:
        wait_axis(axes, max(tops))
    else:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(plain))
    axes.set_xlim(0, max(nines))
    marks = [mark for mark in (0.30103, 1, 2, 3, 4, 5, 6) if mark <= max(nines) * 0.9]
    axes.set_xticks([*marks, max(nines)], [*map(_percent, marks), "all"])
    axes.set_xlabel("share of the jobs with at most this value")
    axes.set_ylabel(label)
    legend_below(figure, axes)
    return figure


def _style(look: Look) -> dict[str, Any]:
    return {
        "color": look.colour,
        "linestyle": look.dash,
        "linewidth": 1.9 if look.is_base else 1.4,
        "label": look.label,
    }


def _percent(nines: float) -> str:
    """Return a share in percent, with as many digits as it has nines."""
    return f"{100 * (1 - 10**-nines):.{max(round(nines) - 2, 0)}f} %"
