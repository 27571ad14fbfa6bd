"""Quality against the tail: the gain of each run, and its cost for the jobs that wait longest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from cpsched.report.figures.labels import name_points
from cpsched.report.figures.style import (
    FAINT,
    SOFT,
    SPANS,
    canvas,
    number_marks,
    plain,
    span_step,
)
from cpsched.util.words import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    from cpsched.report.figures.looks import Look
    from cpsched.study.paired import Estimate

#: Inches of a figure that stands beside text.
_WIDTH = 6.4
#: From this ratio of values on, an axis is logarithmic.
_WIDE_RANGE = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """
    A run: its mean bounded slowdown, and its 99.9th percentile of the wait in seconds.

    ``is_real`` is False for runs that know the runtimes, which are not forecasts.
    """

    look: Look
    slowdown: Estimate
    tail: Estimate
    is_real: bool = True


def _ends(one: Estimate) -> tuple[float, float]:
    """Return the interval, or the mean twice."""
    return (one.mean, one.mean) if one.low is None or one.high is None else (one.low, one.high)


def front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other point beats in both figures, by slowdown."""
    found: list[Point] = []
    for point in sorted(points, key=lambda one: (one.slowdown.mean, one.tail.mean)):
        if not found or point.tail.mean < found[-1].tail.mean:
            found.append(point)
    return found


def draw_tradeoff(points: Sequence[Point]) -> Figure:
    """Return the picture; lower and further left is better."""
    figure = canvas(_WIDTH, 4.1)
    axes = figure.subplots()
    _axis(axes, "x", [end for one in points for end in _ends(one.slowdown)])
    _axis(axes, "y", [end for one in points for end in _ends(one.tail)])
    axes.set_xlabel("mean bounded slowdown")
    axes.set_ylabel("p99.9 wait")
    real = [point for point in points if point.is_real] or list(points)
    best = front(real)
    if len(points) > 1:
        # A point of the front beats everything above and to the right of it.
        axes.step([one.slowdown.mean for one in best], [one.tail.mean for one in best],
                  where="post", color=SOFT, linewidth=0.9, linestyle=(0, (2, 2)))  # fmt: skip
        axes.text(0.012, 0.016, "\u2199 better", transform=axes.transAxes, color=SOFT, fontsize=8)
    for one in points:
        low, high = _ends(one.slowdown)
        below, above = _ends(one.tail)
        for xs, ys in (
            ((low, high), [one.tail.mean] * 2),
            ([one.slowdown.mean] * 2, (below, above)),
        ):
            axes.plot(
                xs, ys, color=one.look.colour, linewidth=1.4, alpha=0.7, solid_capstyle="butt"
            )
        axes.plot(one.slowdown.mean, one.tail.mean, one.look.marker, color=one.look.colour,
                  markersize=8 if one.look.is_base else 6.5, zorder=4,
                  markerfacecolor=one.look.colour if one.is_real else FAINT)  # fmt: skip
    name_points(figure, axes, [(o.slowdown.mean, o.tail.mean, o.look) for o in points],
                _bars(figure, axes, points, best))  # fmt: skip
    return figure


def _bars(figure: Figure, axes: Axes, points: Sequence[Point], best: Sequence[Point]) -> list[Bbox]:
    """Return where intervals, the front and the words in the corner are, in pixels."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()
    found = [text.get_window_extent() for text in axes.texts]
    corners = [(one.slowdown.mean, one.tail.mean) for one in best]
    steps = [corner for one, other in pairwise(corners) for corner in ((other[0], one[1]), other)]
    for (x0, y0), (x1, y1) in pairwise(axes.transData.transform([corners[0], *steps]).tolist()):
        found.append(Bbox.from_extents(x0, y1, x1, y0).padded(1.5))
    for one in points:
        for x, y in (
            (_ends(one.slowdown), (one.tail.mean, one.tail.mean)),
            ((one.slowdown.mean, one.slowdown.mean), _ends(one.tail)),
        ):
            (x0, y0), (x1, y1) = axes.transData.transform(list(zip(x, y, strict=True)))
            found.append(Bbox.from_extents(x0 - 1, y0 - 1, x1 + 1, y1 + 1))
    return found


def _axis(axes: Axes, name: str, values: Sequence[float]) -> None:
    """Give an axis room around its values, and readable marks."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    low, high = min(values), max(values)
    axis, spans = getattr(axes, f"{name}axis"), name == "y"
    shown = FuncFormatter((lambda one, _: duration(round(one))) if spans else plain)
    if low > 0 and high / low > _WIDE_RANGE:
        getattr(axes, f"set_{name}scale")("log")
        room = (high / low) ** 0.12
        ends = low / room, high * room
        inner = [one for one in _SPAN_MARKS if ends[0] <= one <= ends[1]]
        # A number at the very end of the axis would be cut off.
        marks = (
            inner[:: -(-len(inner) // 7)] if spans else number_marks(ends[0], high * room**0.75, 7)
        )
        axis.set_major_locator(FixedLocator(marks))
        axis.set_minor_locator(NullLocator())
    else:
        room = 0.16 * (high - low) or 0.1 * high or 1.0
        ends = low - room, high + room
        if spans:
            step = span_step((ends[1] - ends[0]) / 5)
            first = -(-ends[0] // step)
            marks = [step * (first + at) for at in range(12) if step * (first + at) <= ends[1]]
            axis.set_major_locator(FixedLocator([mark for mark in marks if mark >= 0]))
        else:
            marks = [one for one in MaxNLocator(6).tick_values(*ends) if ends[0] <= one <= ends[1]]
            # As many decimals as the steps have, so that no two marks read the same.
            digits = max(0, -math.floor(math.log10(marks[1] - marks[0]) + 1e-9)) if marks[1:] else 2
            axis.set_major_locator(FixedLocator(marks))
            shown = FuncFormatter(lambda one, _: f"{one:,.{digits}f}")
    axis.set_major_formatter(shown)
    getattr(axes, f"set_{name}lim")(*ends)


_SPAN_MARKS = sorted({*SPANS, 30, 120, 300, 1200, 1800, 7200, 3 * 3600, 12 * 3600, 2 * 86400,
                      8 * 86400, 32 * 86400})  # fmt: skip
