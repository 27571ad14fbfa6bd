"""Bars against the baseline: the leading figures of each run, with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.figures.style import INK, canvas, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cpsched.figures.looks import Look

_ROW, _HEAD, _BELOW = 0.24, 0.42, 0.35
_NARROW = 5
#: Bars end at these ratios; beyond them only the number shows the value.
_LEAST, _MOST = 1 / 16, 16
_MARKS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.8, 1, 1.25, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The ratio to the baseline's figure, with its 95 % interval if there is one."""

    value: float
    low: float | None = None
    high: float | None = None


def draw(
    looks: Sequence[Look], figures: Mapping[str, Sequence[Ratio | None]], width: float
) -> Figure:
    """
    Return a panel for each figure, with a bar for each run.

    Parameters
    ----------
    looks
        Of the runs.
    figures
        The ratio of each run by the figure's title; None where it is not known.
    """
    across = 1 if width < _NARROW else min(3, len(figures))
    down = -(-len(figures) // across)
    letters = 16 if width < _NARROW else 26
    names = [wrapped(look.name, letters) for look in looks]
    tall = max(len(name.splitlines()) for name in names)
    row = _ROW + 0.13 * (tall - 1)
    figure = canvas(width, _BELOW + down * (_HEAD + row * len(looks)))
    every = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flat
    known = [one for some in figures.values() for one in some if one is not None]
    ends = _ends(known)
    for at, (title, ratios) in enumerate(figures.items()):
        axes = every[at]
        axes.set_title(title)
        _panel(axes, looks, ratios, ends)
        axes.tick_params(axis="x", labelbottom=at + across >= len(figures))
    for axes in every[len(figures) :]:
        figure.delaxes(axes)
    every[0].set_yticks(range(len(looks)), names)
    every[0].set_ylim(len(looks) - 0.4, -0.6)
    for axes in every:
        axes.tick_params(axis="y", length=0)
    return figure


def _ends(known: Sequence[Ratio]) -> tuple[float, float]:
    """Return the ends of the axes: those of the bars, with room for the numbers."""
    values = [end for one in known for end in (one.value, one.low, one.high) if end is not None]
    low = max(min([0.8, *values]), _LEAST)
    high = min(max([1.25, *values]), _MOST)
    room = (high / low) ** 0.32
    return low / room, high * room


def _panel(
    axes: Axes, looks: Sequence[Look], ratios: Sequence[Ratio | None], ends: tuple[float, float]
) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    from cpsched.base.words import ratio as ratio_text

    for at, (look, one) in enumerate(zip(looks, ratios, strict=True)):
        if one is None:
            continue
        value = min(max(one.value, _LEAST), _MOST)
        axes.barh(at, math.log2(value), height=0.62, color=look.colour, alpha=0.85)
        edges = [value]
        if one.low is not None and one.high is not None:
            low, high = (min(max(end, ends[0]), ends[1]) for end in (one.low, one.high))
            axes.plot([math.log2(low), math.log2(high)], [at, at], color=INK, linewidth=1.3)
            edges += [low, high]
        right = one.value >= 1
        axes.annotate(
            ratio_text(one.value), (math.log2(max(edges) if right else min(edges)), at),
            (3 if right else -3, 0), textcoords="offset points", va="center",
            ha="left" if right else "right", fontsize=8,
        )  # fmt: skip
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlim(*(math.log2(end) for end in ends))
    marks = [mark for mark in _MARKS if ends[0] <= mark <= ends[1]]
    wide = math.log2(ends[1] / ends[0])
    if wide > 3:
        marks = [mark for mark in marks if mark not in (0.8, 1.25)]
    if wide > 6:
        marks = [mark for mark in marks if mark in (1 / 16, 1 / 4, 1, 4, 16)]
    axes.xaxis.set_major_locator(FixedLocator([math.log2(mark) for mark in marks]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"\u00d7{2**x:.3g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
