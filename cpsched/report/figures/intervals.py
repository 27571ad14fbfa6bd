"""Points with intervals: metrics as ratios to the baseline, and changes of groups of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpsched.metrics.definitions import title_of
from cpsched.report.figures.style import BAD, BEHIND, GOOD, INK, WIDE, canvas, plain, round_span
from cpsched.report.figures.style import wrapped as on_lines
from cpsched.report.findings import signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cpsched.study.comparisons import Result

#: Inches of a forest plot over the width of a page, of its rows, and of a row of groups.
_PAGE, _ROW, _GROUP_ROW = 11.0, 0.3, 0.19
#: Marks of an axis of ratios: coarse ones, and those of one that spans less than twice.
_COARSE = [digit * 10.0**power for power in range(-3, 5) for digit in (1, 2, 5)]
_FINE = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0]


class Point(NamedTuple):
    """A ratio to the baseline, its 95 % interval or None, ``better``, ``worse`` or empty."""

    ratio: float
    interval: tuple[float, float] | None
    effect: str


def draw_forest(
    runs: Mapping[str, Sequence[Point | None]], titles: Sequence[str], base: str, *, narrow: bool
) -> Figure:
    """
    Return ratios to the baseline with their intervals: a row a run, a column a metric.

    Parameters
    ----------
    runs
        The metrics of each run, by its name.
    titles
        Of the metrics.
    base
        Name of the baseline.
    narrow
        Whether the columns stand below each other.
    """
    high = _ROW * len(runs) + 0.35
    down, across = (len(titles), 1) if narrow else (1, len(titles))
    figure = canvas(WIDE - 1 if narrow else _PAGE, down * high + 0.4)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for at, (axes, title) in enumerate(zip(grid, titles, strict=True)):
        axes.set_title(title, fontweight="normal")
        axes.axvline(1, color=INK, linewidth=0.8)
        for row, points in enumerate(runs.values()):
            if (point := points[at]) is not None:
                _point(axes, row, *point)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
    _ratio_axis(grid[0], [point for points in runs.values() for point in points if point])
    grid[0].set_ylim(len(runs) - 0.4, -0.6)
    grid[0].set_yticks(range(len(runs)), [on_lines(name, 22) for name in runs])
    figure.supxlabel(f"ratio to {base}", fontsize=8.5)
    return figure


def draw_changes(rows: Iterable[Result]) -> Figure:
    """Return by how much the mean wait of groups of jobs changes, the worst first."""
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    ordered = sorted(rows, key=lambda row: -(row.difference or 0))
    figure = canvas(WIDE, _GROUP_ROW * len(ordered) + 0.7)
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=0.8)
    for at, row in enumerate(ordered):
        _point(axes, at, row.difference or 0.0, row.difference_interval, row.effect)
    names = [_short(title_of(row.group)) for row in ordered]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(MultipleLocator(round_span((high - low) / 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: signed(seconds)))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("change of the mean wait")
    return figure


def _short(name: str) -> str:
    """Return the name of a group without its definition, in one line."""
    first, _, rest = on_lines(name.partition(" (")[0], 30).partition("\n")
    return f"{first}..." if rest else first


def _point(
    axes: Axes, at: int, value: float, interval: tuple[float, float] | None, effect: str
) -> None:
    colour = {"better": GOOD, "worse": BAD}.get(effect, BEHIND)
    if interval is not None:
        axes.plot(interval, [at, at], color=colour, linewidth=2, solid_capstyle="butt")
    axes.plot([value], [at], "o", color=colour, markersize=5.5)


def _ratio_axis(axes: Axes, points: Sequence[Point]) -> None:
    """Give an axis of ratios a logarithm and round marks."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ends = [end for of in points for end in (of.ratio, *(of.interval or ())) if end > 0]
    low, high = min([1.0, *ends]), max([1.0, *ends])
    margin = max((high / low) ** 0.06, 1.02)
    low, high = low / margin, high * margin
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    marks = [mark for mark in (_COARSE if high / low > 2 else _FINE) if low <= mark <= high]
    axes.xaxis.set_major_locator(FixedLocator(marks[:: -(-len(marks) // 8)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
