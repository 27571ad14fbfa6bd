"""Bars with names: who gains and who loses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpsched.report.figures.style import BAD, BEHIND, GOOD, INK, WIDE, canvas, wrapped
from cpsched.util.words import duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cpsched.study.paired import Estimate

#: Inches of a bar's row, of a panel's title and of what is below.
_ROW, _HEAD, _BELOW = 0.24, 0.34, 0.5


class Change(NamedTuple):
    """
    How a group's mean wait changes: seconds longer, or shorter where negative, a job.

    ``clear`` is whether the verdict confirms it.
    """

    group: str
    seconds: Estimate
    clear: bool


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
    figure = canvas(WIDE, max(heights) + _BELOW)
    ends = [
        end
        for some in kinds.values()
        for one in some
        for end in (one.seconds.mean, *_interval(one.seconds))
    ]
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
    return _HEAD + _ROW * len(some)


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
        colour = (GOOD if seconds < 0 else BAD) if one.clear else BEHIND
        _bar(axes, at, seconds, _interval(one.seconds), text, colour)
    axes.axvline(0, color=INK, linewidth=0.8)
    names = [wrapped(one.group, 22).partition("\n") for one in changes]
    axes.set_yticks(
        range(len(names)), [f"{first}\u2026" if rest else first for first, _, rest in names]
    )
    # The first above.
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_title(kind)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
