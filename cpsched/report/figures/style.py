"""How every figure looks, and how it becomes a file."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.study.folder import slug
from cpsched.util.words import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
#: Inches of a chart: its letters keep nine pixels where a phone gives it 340.
WIDE, HIGH = 4.8, 3.0
#: Colours of the background, of text and axes, and of grid lines.
PAPER, INK, FAINT = "#ffffff", "#24292f", "#d0d4d9"
#: Differences that are not significant: contrast 3 on white.
BEHIND = "#8a929b"
#: Dispatchers in their order: distinguishable for colour-blind readers, with a contrast of at least
#: 4.5 on white. A page has lighter ones when it is dark.
COLOURS = ("#0b62b0", "#b84a00", "#00755a", "#8e3b9e", "#7a6000", "#00728c", "#4d6b1f", "#5b5fc7")
#: Shorter and longer waits.
GOOD, BAD = "#00704e", "#a63a01"
#: Line styles of predictors, distinguishable in print without colour.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1, 1.5)))
#: The classes of waits in charts of nodes: up to how many seconds, colour, words. They are the same
#: in every chart, and seen on a light and on a dark background.
WAITS = (
    (60, "#a9b3bc", "less than 1 min"),
    (600, "#8cc5e3", "1 to 10 min"),
    (3600, "#3b8bc4", "10 min to 1 h"),
    (6 * 3600, "#f0c04a", "1 to 6 h"),
    (86400, "#e67e22", "6 h to 1 d"),
    (float("inf"), "#c4161c", "more than 1 d"),
)
_DAY = 86400
_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "figure.dpi": 100,
    "figure.facecolor": PAPER,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureFile:
    """
    A figure.

    Attributes
    ----------
    name
        Of its file, without the ending.
    title, caption
        For readers; the caption says what is left out.
    alt
        What it shows, in a sentence for screen readers.
    content
        Of its files, by form: ``svg``, ``png``, ``pdf``.
    """

    name: str
    title: str
    caption: str
    alt: str
    content: Mapping[str, bytes]

    @classmethod
    def of(
        cls,
        case: str,
        title: str,
        draw: Callable[[], Figure],
        forms: Collection[str],
        *,
        caption: str = "",
        alt: str = "",
    ) -> FigureFile:
        """Draw a figure of a case (``workload on system``) in some formats."""
        name = slug(f"{case} {title}")
        with styled(name):
            figure = draw()
            content = {form: save(figure, form) for form in forms}
        return cls(name=name, title=title, caption=caption, alt=alt or title, content=content)


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
            f"figures need matplotlib ({error}). Install it with: pip install 'cpsched[plots]'"
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
        # Of a span of dates for which no number of ticks is exact.
        warnings.filterwarnings("ignore", message="AutoDateLocator was unable to pick")
        figure.savefig(out, format=form, metadata=_METADATA[form])
    return out.getvalue()


def colour(index: int) -> str:
    """Return the colour at a position."""
    return COLOURS[index % len(COLOURS)]


def wrapped(name: str, width: int) -> str:
    """Return a name on lines of at most ``width`` characters: options and numbers stay unbroken."""
    lines = [""]
    for piece in re.split(r"(?<=[,:;/= ])(?!(?<=\d,)\d)", name):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(part for line in lines for part in textwrap.wrap(line, width))


def plain(value: float, _: object = None) -> str:
    """Return a number for an axis: ``0.5``, ``10``, ``2,000``."""
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.3g}"


def legend_below(figure: Figure, axes: Axes, columns: int = 2) -> None:
    """Put the legend of the axes below them."""
    handles, labels = axes.get_legend_handles_labels()
    texts = [wrapped(label, 32) for label in labels]
    figure.legend(handles, texts, loc="outside lower left", ncols=min(columns, len(texts) or 1))


#: Where an axis of time spans with a logarithm has its marks.
_SPANS = (1, 10, 60, 600, 3600, 6 * 3600, _DAY, 4 * _DAY, 16 * _DAY, 64 * _DAY)
#: Round spans, seconds.
_ROUND = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 4 * 3600, 6 * 3600, 12 * 3600,
          *(days * _DAY for days in (1, 2, 7, 14, 28, 56, 140, 364)))  # fmt: skip


def round_span(least: float) -> float:
    """Return a round span of at least so many seconds."""
    return next((span for span in _ROUND if span >= least), least)


def wait_axis(axes: Axes, top: float) -> None:
    """Make the vertical axis one of waits up to ``top`` seconds, with a logarithm from a minute."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MultipleLocator

    # Waits of seconds only need no logarithm, and would have no mark on it.
    if top > 120:
        axes.set_yscale("symlog", linthresh=60)
        marks = [0, *(mark for mark in _SPANS if 60 <= mark <= 1.8 * top)]
        axes.yaxis.set_major_locator(FixedLocator(marks))
    else:
        axes.yaxis.set_major_locator(MultipleLocator(round_span(max(top, 1) / 7)))
    axes.set_ylim(0, 1.8 * max(top, 1))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: duration(seconds)))


def in_axis_units(seconds: Iterable[float], epoch: int | None) -> list[Any]:
    """Return seconds as an axis over time has them: dates, or hours since the start of the log."""
    if epoch is None:
        return [second / 3600 for second in seconds]
    return [datetime.fromtimestamp(epoch + second, UTC) for second in seconds]


def time_axis(axes: Axes, epoch: int | None) -> None:
    """Mark the horizontal axis with dates, or hours since the start of the log."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    if epoch is None:
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.4, 4.8, 10]))
        axes.set_xlabel("hours since the start of the log")
        return
    locator: Any = AutoDateLocator(tz=UTC, minticks=3, maxticks=6)  # type: ignore[no-untyped-call]
    formats = ["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%S s"]
    zero = ["", "%Y", "%d %b", "%d %b", "%H:%M", "%H:%M"]
    offsets = ["", "%Y", "%Y", "%d %b %Y", "%d %b %Y", "%d %b %Y %H:%M"]
    axes.xaxis.set_major_locator(locator)
    formatter: Any = ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator, tz=UTC, formats=formats, zero_formats=zero, offset_formats=offsets
    )
    axes.xaxis.set_major_formatter(formatter)
