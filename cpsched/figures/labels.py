"""Names at the ends of lines and beside points, without overlaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.figures.style import SOFT, is_narrow, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    from cpsched.figures.looks import Look

_SIZE = 8.0
#: Letters of a line of a name beside lines; and points from the axes to a sample, and its length.
_LETTERS, _GAP, _SAMPLE = 29, 6, 16
#: Letters that two names beside each other may have in a narrow figure.
_BESIDE = 17
#: Places for a name around a point, in order of preference: direction, and how far away.
_AROUND = tuple(
    (dx, dy, far)
    for far in (1.0, 2.2, 3.6, 5.2, 7.0, 9.0, 12.0, 15.0, 18.0)
    for dx, dy in (
        *((1.0, 0.0), (1.0, 1.0), (1.0, -1.0), (-1.0, 0.0), (-1.0, 1.0), (-1.0, -1.0), (0.0, 1.0)),
        *((0.0, -1.0), (0.5, 1.0), (-0.5, 1.0), (0.5, -1.0), (-0.5, -1.0)),
    )
)


def name_lines(figure: Figure, axes: Axes, lines: Sequence[tuple[float, str, Look]]) -> None:
    """
    Write each line's name and figure beside the axes, about as high as the line.

    Parameters
    ----------
    lines
        For each where it is on the vertical axis, a figure of it as text, and its look; those
        without a name are left out.
    """
    from matplotlib.lines import Line2D
    from matplotlib.offsetbox import AnnotationBbox, DrawingArea, HPacker, TextArea

    named = sorted((one for one in lines if one[2].name), key=lambda one: -one[0])
    if is_narrow(figure.get_size_inches()[0]):
        _key_below(figure, [(value, look) for _, value, look in named])
        return
    boxes = []
    for at, value, look in named:
        sample = DrawingArea(_SAMPLE, _SIZE)
        sample.add_artist(
            Line2D([0, _SAMPLE], [_SIZE / 2] * 2, color=look.colour, linestyle=look.dash,
                   linewidth=1.8 if look.is_base else 1.4)
        )  # fmt: skip
        words = {"color": look.colour, "size": _SIZE, "linespacing": 1.05,
                 "weight": "bold" if look.is_base else "normal"}  # fmt: skip
        text = TextArea(wrapped(_with(look.label, value), _LETTERS), textprops=words)
        box = AnnotationBbox(
            HPacker(children=[sample, text], align="center", pad=0, sep=4), (1, at), (_GAP, 0),
            xycoords=axes.get_yaxis_transform(), boxcoords="offset points", frameon=False, pad=0,
            box_alignment=(0, 0.5), annotation_clip=False,
        )  # fmt: skip
        axes.add_artist(box)
        boxes.append(box)
    if not boxes:
        return
    # With the names in it, so that there is room for them.
    figure.draw_without_rendering()
    wanted = axes.transData.transform([(0, at) for at, _, _ in named])[:, 1]
    high = np.array([box.get_window_extent().height for box in boxes]) + 4
    middles = spread(wanted, high, axes.bbox.y0, axes.bbox.y1)
    for box, at, middle in zip(boxes, wanted, middles, strict=True):
        box.xybox = (_GAP, (middle - at) * 72 / figure.dpi)


def _key_below(figure: Figure, named: Sequence[tuple[str, Look]]) -> None:
    """Write names with samples of their lines below a narrow figure."""
    from matplotlib.lines import Line2D

    if not named:
        return
    names = [_with(look.label, value) for value, look in named]
    across = 2 if max(map(len, names)) <= _BESIDE else 1
    handles = [Line2D([], [], color=look.colour, linestyle=look.dash) for _, look in named]
    key = figure.legend(
        handles, names, loc="outside lower left", ncols=across, handlelength=2.2, labelspacing=0.35,
        borderpad=0, columnspacing=1.2,
    )  # fmt: skip
    for text, (_, look) in zip(key.get_texts(), named, strict=True):
        text.set_color(look.colour)
        text.set_fontweight("bold" if look.is_base else "normal")
    # As high as the key is, so that the axes keep their height.
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + 0.165 * -(-len(named) // across))


def _with(name: str, value: str) -> str:
    # A number and its unit stay together.
    return f"{name}: {value.replace(' ', chr(0xA0))}" if value else name


def spread(at: Any, high: Any, low: float, top: float) -> Any:
    """
    Return middles for boxes that do not overlap, near where they should be.

    Parameters
    ----------
    at, high
        Where the boxes should be, and how high each is.
    low, top
        Between these they stay, as long as there is room.
    """
    order = np.argsort(at, kind="stable")
    before = np.cumsum(high[order]) - high[order] / 2
    # Without the heights, the boxes only have to be in order: neighbours that are not are averaged.
    pools: list[list[float]] = []
    for value in (at[order] - before).tolist():
        pools.append([value, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (one, few), (other, more) = pools[-2:]
            pools[-2:] = [[(one * few + other * more) / (few + more), few + more]]
    begins = np.concatenate([np.full(int(number), value) for value, number in pools])
    begins = np.maximum(np.minimum(begins, top - float(high.sum())), low)
    found = np.empty(len(at))
    found[order] = begins + before
    return found


def name_points(
    figure: Figure, axes: Axes, points: Sequence[tuple[float, float, Look]], taken: Sequence[Bbox]
) -> None:
    """
    Write each point's name beside it, where it covers no other point, bar or name.

    Parameters
    ----------
    points
        Where they are, in the units of the axes.
    taken
        What else is not to be covered, in pixels.
    """
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()
    inside, scale = axes.bbox, figure.dpi / 72
    letters = max(12, int(figure.get_size_inches()[0] * 4))
    full = [*taken]
    pixels = axes.transData.transform([point[:2] for point in points])
    full += [Bbox.from_extents(x - 7, y - 7, x + 7, y + 7) for x, y in pixels]
    order = sorted(range(len(points)), key=lambda at: not points[at][2].is_base)
    for (x, y, look), (px, py) in ((points[at], pixels[at]) for at in order):
        text = axes.annotate(
            wrapped(look.label, letters), (x, y), (0, 0), textcoords="offset points",
            color=look.colour, fontsize=_SIZE, linespacing=1.05, ha="center", va="center",
            fontweight="bold" if look.is_base else "normal",
        )  # fmt: skip
        box = text.get_window_extent()
        wide, high = box.width + 3, box.height + 2

        def place(
            dx: float, dy: float, far: float, px: float = px, py: float = py,
            wide: float = wide, high: float = high,
        ) -> Bbox:  # fmt: skip
            gap = 6 * scale * far
            x, y = px + dx * (gap + wide / 2), py + dy * (gap * 0.8 + high / 2)
            return Bbox.from_bounds(x - wide / 2, y - high / 2, wide, high)

        def covered(box: Bbox) -> float:
            over = sum(_common(box, other) for other in full)
            return over + wide * high - _common(box, inside)  # noqa: B023

        boxes = [place(*one) for one in _AROUND]
        # An overlap justifies a more distant place, but not a small overlap.
        further = [0.05 * wide * high * far for _, _, far in _AROUND]
        best = boxes[
            int(np.argmin([covered(at) + by for at, by in zip(boxes, further, strict=True)]))
        ]
        full.append(best)
        dx, dy = (best.x0 + best.x1) / 2 - px, (best.y0 + best.y1) / 2 - py
        text.xyann = (dx / scale, dy / scale)
        # A line to the name if it is not next to its point.
        near = min(max(px, best.x0), best.x1), min(max(py, best.y0), best.y1)
        if max(abs(near[0] - px), abs(near[1] - py)) > 9 * scale:
            end = ((near[0] - px) / scale, (near[1] - py) / scale)
            axes.annotate(
                "", (x, y), end, textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": SOFT, "linewidth": 0.5, "shrinkA": 0,
                            "shrinkB": 3},
            )  # fmt: skip


def _common(one: Bbox, other: Bbox) -> float:
    """Return the area that two boxes share."""
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return float(max(width, 0.0) * max(height, 0.0))
