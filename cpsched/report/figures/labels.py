"""Names at the ends of lines and beside points, without overlaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.report.figures.style import SOFT, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    from cpsched.report.figures.looks import Look
    from cpsched.util.types import FloatArray

_SIZE = 8.0
#: Letters of a line of a name beside lines; and points from the axes to a sample, and its length.
_LETTERS, _GAP, _SAMPLE = 29, 6, 16
#: Places for a name around a point, in order of preference: direction, and how far away.
_AROUND = np.array(
    [
        (dx, dy, far)
        for far in (1.0, 2.2, 3.6, 5.2, 7.0, 9.0, 12.0, 15.0, 18.0)
        for dx, dy in (
            *(
                (1.0, 0.0),
                (1.0, 1.0),
                (1.0, -1.0),
                (-1.0, 0.0),
                (-1.0, 1.0),
                (-1.0, -1.0),
                (0.0, 1.0),
            ),
            *((0.0, -1.0), (0.5, 1.0), (-0.5, 1.0), (0.5, -1.0), (-0.5, -1.0)),
        )
    ]
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
    figure.draw_without_rendering()
    scale = figure.dpi / 72
    letters = max(12, int(figure.get_size_inches()[0] * 4))
    pixels = axes.transData.transform([point[:2] for point in points])
    full = [*(box.extents for box in taken), *np.hstack([pixels - 7, pixels + 7])]
    for at in sorted(range(len(points)), key=lambda at: not points[at][2].is_base):
        (x, y, look), pixel = points[at], pixels[at]
        text = axes.annotate(
            wrapped(look.label, letters), (x, y), (0, 0), textcoords="offset points",
            color=look.colour, fontsize=_SIZE, linespacing=1.05, ha="center", va="center",
            fontweight="bold" if look.is_base else "normal",
        )  # fmt: skip
        box = text.get_window_extent()
        best = _free(pixel, np.array([box.width + 3, box.height + 2]), scale, full, axes.bbox)
        full.append(best)
        middle = (best[:2] + best[2:]) / 2
        text.xyann = tuple((middle - pixel) / scale)
        # A line to the name if it is not next to its point.
        near = np.clip(pixel, best[:2], best[2:]) - pixel
        if np.abs(near).max() > 9 * scale:
            axes.annotate(
                "", (x, y), tuple(near / scale), textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": SOFT, "linewidth": 0.5, "shrinkA": 0,
                            "shrinkB": 3},
            )  # fmt: skip


def _free(
    pixel: FloatArray, size: FloatArray, scale: float, full: Sequence[FloatArray], inside: Bbox
) -> FloatArray:
    """Return the ends of the box around a point that covers least, and is inside the axes."""
    ways, far = _AROUND[:, :2], _AROUND[:, 2]
    gap = 6 * scale * far[:, None] * (1, 0.8)
    middle = pixel + ways * (gap + size / 2)
    boxes = np.hstack([middle - size / 2, middle + size / 2])
    area = size.prod()
    covered = _common(boxes[:, None], np.array(full)).sum(axis=1)
    outside = area - _common(boxes, np.array(inside.extents))
    # An overlap justifies a more distant place, but not a small overlap.
    best: FloatArray = boxes[np.argmin(covered + outside + 0.05 * area * far)]
    return best


def _common(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the areas that boxes share, by their ends."""
    ends = np.minimum(one[..., 2:], other[..., 2:]) - np.maximum(one[..., :2], other[..., :2])
    shared: FloatArray = np.maximum(ends, 0).prod(axis=-1)
    return shared
