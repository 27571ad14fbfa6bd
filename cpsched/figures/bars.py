"""Bars with names: against the baseline, and who gains and who loses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from cpsched.base.words import duration
from cpsched.base.words import ratio as times
from cpsched.figures.style import BAD, GOOD, INK, WIDE, canvas, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cpsched.figures.looks import Look
    from cpsched.study.paired import Estimate

#: Inches of a bar's row, of a panel's title and of what is below.
_ROW, _HEAD, _BELOW, _BELOW_CHANGES = 0.24, 0.42, 0.35, 0.5
_HEAD_OF_KIND = 0.34
#: Bars of ratios end at these; beyond them only the number shows the value.
_LEAST, _MOST = 1 / 16, 16
_MARKS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.8, 1, 1.25, 2, 4, 8, 16)
_FEW_MARKS = (1 / 16, 1 / 4, 1, 4, 16)


class Change(NamedTuple):
    """How a group's mean wait changes: seconds longer, or shorter where negative, a job."""

    group: str
    seconds: Estimate


def draw_ratios(looks: Sequence[Look], figures: Mapping[str, Sequence[Estimate | None]]) -> Figure:
    """
    Return a panel for each figure, with a bar for each run.

    Parameters
    ----------
    looks
        Of the runs.
    figures
        The ratio of each run by the figure's title; None where it is not known.
    """
    across = min(3, len(figures))
    down = -(-len(figures) // across)
    names = [wrapped(look.name, 26) for look in looks]
    row = _ROW + 0.13 * (max(len(name.splitlines()) for name in names) - 1)
    figure = canvas(WIDE, _BELOW + down * (_HEAD + row * len(looks)))
    every = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flat
    ends = _ends([end for some in figures.values() for one in some if one for end in _all(one)])
    for at, (title, ratios) in enumerate(figures.items()):
        axes = every[at]
        axes.set_title(title)
        for place, (look, one) in enumerate(zip(looks, ratios, strict=True)):
            if one is not None:
                value = math.log2(min(max(one.mean, _LEAST), _MOST))
                span = [math.log2(min(max(end, ends[0]), ends[1])) for end in _interval(one)]
                _bar(axes, place, value, span, times(one.mean), look.colour)
        _ratio_axis(axes, ends)
        axes.tick_params(axis="x", labelbottom=at + across >= len(figures))
    for axes in every[len(figures) :]:
        figure.delaxes(axes)
    for axes in every:
        _rows(axes)
    _names(every[0], names)
    return figure


def _all(one: Estimate) -> list[float]:
    return [one.mean, *_interval(one)]


def _interval(one: Estimate) -> list[float]:
    return [] if one.low is None or one.high is None else [one.low, one.high]


def _bar(axes: Axes, at: int, value: float, span: Sequence[float], text: str, colour: str) -> None:
    """Draw a bar with its interval, and its number beside it."""
    axes.barh(at, value, height=0.62, color=colour, alpha=0.85)
    if span:
        axes.plot(span, [at, at], color=INK, linewidth=1.3)
    right = value >= 0
    end = max([value, *span]) if right else min([value, *span])
    axes.annotate(
        text, (end, at), (3 if right else -3, 0), textcoords="offset points", va="center",
        ha="left" if right else "right", fontsize=8,
    )  # fmt: skip


def _rows(axes: Axes) -> None:
    """Make the vertical axis one of rows: no grid and no marks."""
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def _names(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows, the first above."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the axes: those of the bars, with room for the numbers."""
    low = max(min([0.8, *values]), _LEAST)
    high = min(max([1.25, *values]), _MOST)
    room = (high / low) ** 0.32
    return low / room, high * room


def _ratio_axis(axes: Axes, ends: tuple[float, float]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlim(*(math.log2(end) for end in ends))
    wide = math.log2(ends[1] / ends[0])
    close = (0.8, 1.25) if wide > 3 else ()
    known = _FEW_MARKS if wide > 6 else _MARKS
    marks = [one for one in known if ends[0] <= one <= ends[1] and one not in close]
    axes.xaxis.set_major_locator(FixedLocator([math.log2(mark) for mark in marks]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"\u00d7{2**x:.3g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.spines["left"].set_visible(False)


def draw_changes(kinds: Mapping[str, Sequence[Change]]) -> Figure:
    """
    Return a panel for each kind of groups, with a bar for each group.

    Parameters
    ----------
    kinds
        The groups by what they are: ``size``, ``queue``, ``user``.
    """
    across = min(2, len(kinds))
    columns = _columns(kinds, across)
    heights = [sum(_height(kinds[kind]) for kind in column) for column in columns]
    figure = canvas(WIDE, max(heights) + _BELOW_CHANGES)
    ends = [end for some in kinds.values() for one in some for end in _all(one.seconds)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.34 * (high - low) or 1.0
    parts = figure.subfigures(1, across, squeeze=False)[0]
    for part, column, tall in zip(parts, columns, heights, strict=True):
        spare = [max(heights) - tall] if max(heights) - tall > 0.01 else []
        grid = part.subplots(
            len(column) + len(spare), 1, sharex=True, squeeze=False,
            gridspec_kw={"height_ratios": [*(_height(kinds[kind]) for kind in column), *spare]},
        )[:, 0]  # fmt: skip
        for axes in grid[len(column) :]:
            axes.set_axis_off()
        for axes, kind in zip(grid, column, strict=False):
            _panel(axes, kind, kinds[kind])
            axes.set_xlim(low - room, high + room)
            axes.tick_params(axis="x", labelbottom=False, length=0)
    return figure


def _height(some: Sequence[Change]) -> float:
    return _HEAD_OF_KIND + _ROW * len(some)


def _columns(kinds: Mapping[str, Sequence[Change]], across: int) -> list[list[str]]:
    """Distribute the kinds over columns of about equal height."""
    columns: list[list[str]] = [[] for _ in range(across)]
    high = [0.0] * across
    for kind, some in kinds.items():
        least = high.index(min(high))
        columns[least].append(kind)
        high[least] += _height(some)
    return columns


def _panel(axes: Axes, kind: str, changes: Sequence[Change]) -> None:
    for at, one in enumerate(changes):
        seconds = one.seconds.mean
        sign = "\N{MINUS SIGN}" if seconds < 0 else "+"
        text = f"{sign}{duration(abs(seconds))}" if seconds else "0 s"
        _bar(axes, at, seconds, _interval(one.seconds), text, GOOD if seconds < 0 else BAD)
    axes.axvline(0, color=INK, linewidth=0.8)
    names = [wrapped(one.group, 22).partition("\n") for one in changes]
    _names(axes, [f"{first}\u2026" if rest else first for first, _, rest in names])
    axes.set_title(kind)
    _rows(axes)
    axes.grid(visible=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
