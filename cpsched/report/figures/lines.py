"""
Lines: over time, over the sizes of jobs, and distributions over all jobs.

All runs are in one chart, named where their lines end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpsched.report.figures.labels import name_lines
from cpsched.report.figures.looks import behind
from cpsched.report.figures.style import (
    SPANS,
    WIDE,
    canvas,
    moments,
    number_marks,
    plain,
    span_axis,
)
from cpsched.util.words import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cpsched.report.figures.data import Curve, RunData, Series
    from cpsched.report.figures.looks import Look

#: If the highest line is this multiple of a typical one, the axis is logarithmic.
_WIDE = 8
_MINUTE = 60
#: How far an axis with a logarithm goes beyond the highest value.
_ABOVE = 1.8


class Runs(NamedTuple):
    """The runs of a chart; those in ``grey`` are behind the others, without a name."""

    every: Sequence[RunData]
    grey: Collection[RunData] = ()

    def in_order(self) -> Iterator[tuple[RunData, Look]]:
        """Yield the runs with their looks: those in grey first, the baselines last and on top."""
        for run in sorted(self.every, key=lambda run: (run not in self.grey, run.look.is_base)):
            yield run, behind(run.look) if run in self.grey else run.look


def draw_over_time(
    runs: Runs,
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

    figure = canvas(WIDE, 3.1)
    axes = figure.subplots()
    ends, tops, named = [], [], []
    for run, look in runs.in_order():
        line = series(run)
        if line is None:
            continue
        ends += [line.edges[0], line.edges[-1]]
        tops.append(float(line.values.max()))
        mean = float(line.values.mean())
        named.append((mean, f"{100 * mean:.0f} %" if share else plain(round(mean, 1)), look))
        axes.stairs(line.values, line.edges, baseline=None, color=look.colour, linestyle=look.dash,
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
        moments(axes, runs.every[0].epoch, min(ends), max(ends))
    axes.set_ylabel(label)
    name_lines(figure, axes, named)
    return figure


def draw_by_size(runs: Runs) -> Figure:
    """Return mean waits by the number of cores a job held."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure = canvas(WIDE, 3.1)
    axes = figure.subplots()
    named, cores, tops = [], set[int](), [1.0]
    for run, look in runs.in_order():
        if not len(run.by_size.wait):
            continue
        axes.plot(run.by_size.cores, run.by_size.wait, color=look.colour, linestyle=look.dash,
                  marker=look.marker, markersize=3, linewidth=_weight(look))  # fmt: skip
        named.append((float(run.by_size.wait[-1]), "", look))
        cores |= set(run.by_size.cores.tolist())
        tops.append(float(run.by_size.wait.max()))
    every = max(1, -(-len(cores) // 10))
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sorted(cores)[::every]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    _wait_axis(axes, max(tops))
    axes.set_ylabel("mean wait")
    axes.set_xlabel("cores held")
    name_lines(figure, axes, named)
    return figure


def draw_distributions(
    runs: Runs,
    curve: Callable[[RunData], Curve],
    label: str,
    *,
    spans: bool = False,
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
    """
    figure = canvas(WIDE, 3.3)
    axes = figure.subplots()
    named, nines, tops = [], [0.3], [1.0]
    for run, look in runs.in_order():
        line = curve(run)
        if not len(line.values):
            continue
        axes.plot(line.nines, line.values, color=look.colour, linestyle=look.dash,
                  linewidth=_weight(look))  # fmt: skip
        most = float(line.values[-1])
        named.append((most, duration(most) if spans else plain(round(most)), look))
        nines.append(float(line.nines[-1]))
        tops.append(most)
    if spans:
        _wait_axis(axes, max(tops))
    else:
        _slowdown_axis(axes, 1.5 * max(tops))
    axes.set_xlim(0, max(nines))
    inside = [mark for mark in (0.30103, 1, 2, 3, 4, 5, 6) if mark <= max(nines) * 0.94]
    axes.set_xticks([*inside, max(nines)], [*map(_percent, inside), "all"])
    axes.set_xlabel("share of the jobs with at most this value")
    axes.set_ylabel(label)
    name_lines(figure, axes, named)
    return figure


def _wait_axis(axes: Axes, top: float) -> None:
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


def _slowdown_axis(axes: Axes, top: float) -> None:
    """Make the vertical axis one of slowdowns, with a logarithm from 1."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set_yscale("log")
    axes.set_ylim(0.97, top)
    axes.yaxis.set_major_locator(FixedLocator(number_marks(1, top, 7)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(plain))


def _weight(look: Look) -> float:
    return 0.6 if not look.name else 1.7 if look.is_base else 1.3


def _percent(nines: float) -> str:
    """Return a share in percent, with as many digits as it has nines."""
    return f"{100 * (1 - 10**-nines):.{max(round(nines) - 2, 0)}f} %"
