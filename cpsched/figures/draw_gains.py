"""Who gains and who loses: the change of the mean wait of groups of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.base.words import duration
from cpsched.figures.style import BAD, GOOD, INK, canvas, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _HEAD, _BELOW, _NARROW = 0.24, 0.34, 0.5, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """
    How a group's mean wait changes.

    Attributes
    ----------
    group
        Its name.
    seconds
        Longer, or shorter where negative; a job.
    low, high
        The 95 % interval; None where there is none.
    """

    group: str
    seconds: float
    low: float | None = None
    high: float | None = None


def draw(kinds: Mapping[str, Sequence[Change]], width: float) -> Figure:
    """
    Return a panel for each kind of groups, with a bar for each group.

    Parameters
    ----------
    kinds
        The groups by what they are: ``size``, ``queue``, ``user``.
    """
    across = 1 if width < _NARROW else min(2, len(kinds))
    columns = _columns(kinds, across)
    heights = [sum(_HEAD + _ROW * len(kinds[kind]) for kind in column) for column in columns]
    figure = canvas(width, max(heights) + _BELOW)
    ends = [
        end
        for some in kinds.values()
        for one in some
        for end in (one.seconds, one.low, one.high)
        if end is not None
    ]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = (0.8 if width < _NARROW else 0.34) * (high - low) or 1.0
    parts = figure.subfigures(1, across, squeeze=False)[0]
    for part, column, tall in zip(parts, columns, heights, strict=True):
        ratios = [_HEAD + _ROW * len(kinds[kind]) for kind in column]
        spare = max(heights) - tall
        grid = part.subplots(
            len(column) + (spare > 0.01), 1, sharex=True, squeeze=False,
            gridspec_kw={"height_ratios": [*ratios, *([spare] if spare > 0.01 else [])]},
        )[:, 0]  # fmt: skip
        for axes in grid[len(column) :]:
            axes.set_axis_off()
        for axes, kind in zip(grid, column, strict=False):
            _panel(axes, kind, kinds[kind], width)
            axes.set_xlim(low - room, high + room)
            axes.tick_params(axis="x", labelbottom=False, length=0)
    return figure


def _columns(kinds: Mapping[str, Sequence[Change]], across: int) -> list[list[str]]:
    """Distribute the kinds over columns of about equal height."""
    columns: list[list[str]] = [[] for _ in range(across)]
    high = [0.0] * across
    for kind, some in kinds.items():
        least = high.index(min(high))
        columns[least].append(kind)
        high[least] += _HEAD + _ROW * len(some)
    return columns


def _panel(axes: Axes, kind: str, changes: Sequence[Change], width: float) -> None:
    letters = 12 if width < _NARROW else 22
    for at, one in enumerate(changes):
        colour = GOOD if one.seconds < 0 else BAD
        axes.barh(at, one.seconds, height=0.62, color=colour, alpha=0.85)
        edges = [one.seconds, 0.0]
        if one.low is not None and one.high is not None:
            axes.plot([one.low, one.high], [at, at], color=INK, linewidth=1.2)
            edges += [one.low, one.high]
        left = one.seconds < 0
        sign = "\N{MINUS SIGN}" if left else "+"
        axes.annotate(
            f"{sign}{duration(abs(one.seconds))}" if one.seconds else "0 s",
            (min(edges) if left else max(edges), at), (-3 if left else 3, 0),
            textcoords="offset points", va="center", ha="right" if left else "left", fontsize=8,
        )  # fmt: skip
    axes.axvline(0, color=INK, linewidth=0.8)
    names = [wrapped(one.group, letters).partition("\n") for one in changes]
    texts = [f"{first}\u2026" if rest else first for first, _, rest in names]
    axes.set_yticks(range(len(changes)), texts)
    axes.set_ylim(len(changes) - 0.4, -0.6)
    axes.set_title(kind)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
