"""How every figure looks, and how it becomes a file."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.util.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
#: Inches of a figure over the width of a page.
WIDE = 10.0
#: Colours of the background, of text and axes, and of grid lines.
PAPER, INK, FAINT = "#ffffff", "#24292f", "#d0d4d9"
#: Secondary text, and background elements: contrast 4.5 and 3 on white.
SOFT, BEHIND = "#5c6773", "#8a929b"
#: Dispatchers or predictors in their order: distinguishable for colour-blind readers, with a
#: contrast of at least 4.5 on white, because names are written in them. A page has lighter ones
#: when it is dark.
COLOURS = ("#0b62b0", "#b84a00", "#00755a", "#8e3b9e", "#7a6000", "#00728c", "#b3265e", "#5b5fc7")
#: Shorter and longer waits.
GOOD, BAD = "#00704e", "#a63a01"
#: Distinguishable in print without colour, in the same order.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "figure.dpi": 100,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    # Text stays text: it can be searched and selected, and takes the page's colour in a report.
    "svg.fonttype": "none",
    "text.color": INK,
    # Labels come from studies and logs: a dollar sign in them is a dollar sign.
    "text.parse_math": False,
    "xtick.color": INK,
    "xtick.labelsize": 8,
    "ytick.color": INK,
    "ytick.labelsize": 8,
}
#: Metadata of a file; no dates, so that equal figures are equal files.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "cpsched"},
    "png": {"Software": "cpsched"},
    "pdf": {"Creator": "cpsched", "Producer": None, "CreationDate": None},
}


@contextmanager
def styled(name: str) -> Iterator[None]:
    """
    Draw and save in our style while the block runs; identifiers in SVG depend on ``name`` only.

    Raises
    ------
    ConfigError
        If matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ConfigError(
            f"figures need matplotlib ({error}); install it with: pip install 'cpsched[plots]'"
        ) from error
    settings: Any = _SETTINGS | {"svg.hashsalt": name}
    with mpl.rc_context(settings):
        yield


def canvas(width: float, height: float) -> Figure:
    """Return an empty figure, sizes in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, form: str) -> bytes:
    """Return a figure as a file's content; called in :func:`styled`."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        # Of letters the font does not have; a box is drawn for them.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(out, format=form, metadata=_METADATA[form])
    return out.getvalue()


def colour(index: int) -> str:
    """Return the colour at a position."""
    return COLOURS[index % len(COLOURS)]


def dash(index: int) -> Any:
    """Return the line style at a position."""
    return DASHES[index % len(DASHES)]


def wrapped(name: str, width: int) -> str:
    """Return a name on lines of at most ``width`` characters: options and numbers stay whole."""
    lines = [""]
    for piece in re.split(r"(?<=[,:;/= ])(?!(?<=\d,)\d)", name):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(part for line in lines for part in textwrap.wrap(line, width))


def plain(value: float, _: object = None) -> str:
    """Return a number for an axis: ``0.5``, ``10``, ``2,000``."""
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.3g}"


#: Where an axis of time spans has its marks.
SPANS = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 4 * 86400, 16 * 86400, 64 * 86400)


def number_marks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from ``low`` to ``high`` for an axis with a logarithm."""
    for steps in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        marks = [one * 10.0**power for power in range(-4, 9) for one in steps]
        marks = [mark for mark in marks if low <= mark <= high]
        if len(marks) <= most:
            return marks
    return marks[:: -(-len(marks) // most)]


def span_axis(axes: Axes, name: str, top: float, *, log: bool) -> None:
    """Make an axis (``x`` or ``y``) one of time spans up to ``top`` seconds."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis = getattr(axes, f"{name}axis")
    axis.set_major_formatter(FuncFormatter(lambda seconds, _: duration(seconds)))
    if log:
        marks = [mark for mark in SPANS if mark <= top * 1.05] or [1]
        axis.set_major_locator(FixedLocator(marks))
        axis.set_minor_locator(NullLocator())
    else:
        from matplotlib.ticker import MultipleLocator

        axis.set_major_locator(MultipleLocator(span_step(top / 7)))


def span_step(least: float) -> float:
    """Return a round span of at least so many seconds."""
    steps = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 4 * 3600, 6 * 3600)
    days = (0.5, 1, 2, 5, 7, 14, 28, 70, 140, 365)
    every = (*steps, *(day * _DAY for day in days))
    return next((step for step in every if step >= least), least)


def moments(axes: Axes, epoch: int | None, start: float, end: float, most: int = 8) -> None:
    """Mark the horizontal axis, in seconds since the epoch, with dates or numbered days."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    places, texts = marks(epoch, start, end, most)
    named = dict(zip(places, texts, strict=True))
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: named.get(round(x), "")))
    axes.set_xlim(start, end)


_DAY = 86400
#: One of the next longer unit, by what dateutil calls months, hours, minutes and seconds.
_LONGEST_STEPS = {1: 12, 4: 24, 5: 60, 6: 60}
#: Of years, months, days, hours, minutes and seconds; and of the first of each.
_FORMATS = ["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%H:%M:%S"]
_FIRSTS = ["", "%Y", "%d %b", "%d %b", "%H:%M", "%H:%M"]


def marks(
    epoch: int | None, start: float, end: float, most: int = 8
) -> tuple[list[int], list[str]]:
    """
    Return where an axis from ``start`` to ``end`` (seconds) has marks, and their texts.

    Parameters
    ----------
    epoch
        Unix time of second 0; without it days are counted, from 1.
    most
        Marks there is room for.
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    base = epoch or 0
    first, last = start + base, max(end, start + 1) + base
    if epoch is None and last - first > 2 * _DAY:
        days = MaxNLocator(most, integer=True).tick_values(first / _DAY, last / _DAY)
        at = [round(day) * _DAY for day in days if first <= day * _DAY <= last]
        return at, [f"day {1 + moment // _DAY}" for moment in at]
    locator: Any = AutoDateLocator(tz=UTC, minticks=min(3, most), maxticks=most)  # type: ignore[no-untyped-call]
    # Where there is room for a few marks only, the locator's own steps are too short.
    for unit, longest in _LONGEST_STEPS.items():
        locator.intervald[unit] = [*locator.intervald[unit], longest]
    dates = locator.tick_values(*(datetime.fromtimestamp(one, UTC) for one in (first, last)))
    found = {round(date * _DAY): date for date in dates if first <= round(date * _DAY) <= last}
    # A few minutes may lie between two marks.
    found = found or {round(first): first / _DAY}
    at = [moment - base for moment in found]
    if epoch is None:
        texts = [
            f"{moment % _DAY // 3600:02}:{moment % 3600 // 60:02}"
            if moment % _DAY
            else f"day {1 + moment // _DAY}"
            for moment in at
        ]
        return at, texts
    named: Any = ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator, tz=UTC, formats=_FORMATS, zero_formats=_FIRSTS
    )
    return at, list(named.format_ticks(list(found.values())))
