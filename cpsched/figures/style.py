"""How every figure looks, and how it becomes a file."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
#: Letters that fit beside each other above a figure.
_LEGEND = 92
#: Colours of the background, of text and axes, and of grid lines.
PAPER, INK, FAINT = "#ffffff", "#24292f", "#d0d4d9"
#: Predictors in their order. After Okabe and Ito (2008), without the green that marks means:
#: distinct for the colour-blind, and of different lightness in print.
COLOURS = ("#56b4e9", "#e69f00", "#b0578d", "#0072b2", "#d55e00", "#8c8c8c")
MEAN = "#00845f"
#: Told apart in print without colour, in the same order.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1, 1.5)))
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
#: What a file says of itself; no dates, so that equal figures are equal files.
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
    """Return the colour of the predictor at a position."""
    return COLOURS[index % len(COLOURS)]


def dash(index: int) -> Any:
    """Return the line style of the predictor at a position."""
    return DASHES[index % len(DASHES)]


def wrapped(name: str, width: int) -> str:
    """Return a name on lines of at most ``width`` characters, broken between its options."""
    lines = [""]
    for piece in re.split(r"(?<=[,:;/ ])", name):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(part for line in lines for part in textwrap.wrap(line, width))


def plain(value: float, _: object = None) -> str:
    """Return a number for an axis: ``0.5``, ``10``, ``2,000``."""
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.3g}"


#: Where an axis of time spans has its marks.
SPANS = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 4 * 86400, 16 * 86400, 64 * 86400)


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

        axis.set_major_locator(MultipleLocator(_step(top)))


def _step(top: float) -> float:
    """Return a round span, so that four to eight of it reach up to ``top`` seconds."""
    steps = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 4 * 3600, 6 * 3600)
    days = (0.5, 1, 2, 5, 7, 14, 28, 70, 140, 365)
    for step in (*steps, *(day * 86400 for day in days)):
        if top / step <= 7:
            return step
    return top / 5


def moments(axes: Axes, epoch: int | None, start: float, end: float) -> None:
    """Mark the horizontal axis, in seconds since the epoch, with dates or numbered days."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    from cpsched.figures.calendar import marks

    places, texts = marks(epoch, start, end)
    named = dict(zip(places, texts, strict=True))
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: named.get(round(x), "")))
    axes.set_xlim(start, end)


def legend(figure: Figure, names: Sequence[str]) -> None:
    """Put a legend above a figure, unless there is only one name."""
    from matplotlib.lines import Line2D

    if len(names) < 2:
        return
    lines = [
        Line2D([], [], color=colour(index), linestyle=dash(index), linewidth=2.4)
        for index in range(len(names))
    ]
    shown = [wrapped(name, _LEGEND // 2) for name in names]
    widest = max(len(line) for name in shown for line in name.splitlines())
    # A handle and the gap to the next take the room of some eight letters.
    beside = max(1, min(len(names), _LEGEND // (widest + 8)))
    figure.legend(lines, shown, loc="outside upper right", ncols=beside, handlelength=2.6)
