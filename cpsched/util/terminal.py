"""Text for a terminal: aligned tables, rendered by rich."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from cpsched.util.words import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Characters of a line of sentences, however wide the terminal is.
LONGEST_LINE = 99
#: Styles of cells, by effect; not significant is dim.
STYLES = {"better": "green bold", "worse": "red bold", "": ""}


def table_text(
    headers: Sequence[str],
    rows: Iterable[Sequence[str | tuple[str, str]]],
    *,
    width: int = 120,
    names: int = 1,
    unbroken: int = 0,
    colour: bool = False,
) -> str:
    """
    Return rows as an aligned table, without a newline at the end.

    Parameters
    ----------
    headers
        A line above each column.
    rows
        Texts, or pairs of a text and a style of rich; a text may have several lines.
    width
        The most characters of a line: names are wrapped to keep it, numbers are not.
    names
        How many columns are names (aligned left); the others are numbers (aligned right).
    unbroken
        How many of the first names are never wrapped.
    colour
        Whether styles are shown (ANSI).
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for at, header in enumerate(headers):
        name = at < names
        table.add_column(
            Text(_safe(header)),
            justify="left" if name else "right",
            vertical="top",
            overflow="fold",
            no_wrap=not name or at < unbroken,
            min_width=min(12, len(header)) if name else None,
        )
    narrowest = [_width(header) if at >= names else min(12, len(header))
                 for at, header in enumerate(headers)]  # fmt: skip
    for row in rows:
        cells = [cell if isinstance(cell, tuple) else (cell, "") for cell in row]
        table.add_row(*(Text(_safe(text), style) for text, style in cells))
        for at, (text, _) in enumerate(cells):
            if at >= names or at < unbroken:
                narrowest[at] = max(narrowest[at], _width(text))
    out = io.StringIO()
    console = Console(
        file=out,
        # A table that cannot fit is wider: numbers are never cut.
        width=max(width, sum(narrowest) + 2 * len(narrowest)),
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))


def _width(text: str) -> int:
    """Return the characters of the longest line."""
    return max(map(len, _safe(text).split("\n")))


def _safe(text: str) -> str:
    """Return text from outside with escapes for what is not printable; line ends stay."""
    return "\n".join(map(escaped, text.split("\n")))
