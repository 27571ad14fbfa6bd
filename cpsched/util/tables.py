"""Tables: aligned text for a terminal, Markdown, and HTML for notebooks."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING

from cpsched.util.words import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A number may be missing: nothing was measured.
Number = int | float | None
_GAP = "  "
_NARROWEST = 12
#: Where names are broken: between options, or if that is not enough, within one.
_BREAKS = (re.compile(r"(?<=[,:;/ ])"), re.compile(r"(?<=[=_-])"))
#: So many seconds need no parts of them.
_SECONDS = 10
#: Marks of the best and the worst value of a column.
BEST, WORST = "*", "!"
#: How a terminal shows marked values: bold green and red.
_COLOURS = {BEST: "\x1b[32m\x1b[1m{}\x1b[0m", WORST: "\x1b[31m\x1b[1m{}\x1b[0m"}


class Better(StrEnum):
    """Which values of a column are better."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True)
class Column:
    """
    One column of a comparison.

    Attributes
    ----------
    header
        What it shows, without the unit.
    unit
        Unit of all its values, or ''.
    values
        Texts (names, aligned left) or numbers (aligned right), one a row.
    decimals
        Of the numbers, the same for the whole column.
    sorted_by
        Of texts that show numbers: these.
    better
        Which values are better, where that can be said.
    joined
        Whether it says nothing without the column before it, such as a verdict: the two are never
        torn apart.
    marks
        Of each value, :data:`BEST`, :data:`WORST` or nothing, where it is marked.
    """

    header: str
    unit: str
    values: tuple[str, ...] | tuple[Number, ...]
    decimals: int = 0
    sorted_by: tuple[Number, ...] = ()
    better: Better | None = None
    joined: bool = False
    marks: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether it holds names."""
        return any(isinstance(value, str) for value in self.values)

    def in_words(self) -> Column:
        """Return a column of seconds as time spans in one or two units (``1 h 24 min``)."""
        if self.unit != "s" or self.is_text:
            return self
        shown = tuple(
            duration(value) if isinstance(value, int | float) else "-" for value in self.values
        )
        numbers = tuple(None if isinstance(value, str) else value for value in self.values)
        return replace(self, unit="", values=shown, sorted_by=numbers)

    def cells(self) -> list[str]:
        """Return the values as shown: thousands in groups, ``-`` where nothing was measured."""
        return [
            value
            if isinstance(value, str)
            else ("-" if value is None else f"{value:,.{self.decimals}f}")
            for value in self.values
        ]


@dataclass(frozen=True, slots=True)
class Table:
    """
    A comparison of runs; one value a run in every column.

    Attributes
    ----------
    caption
        What is the same in all rows.
    columns
        In order.
    """

    caption: str
    columns: tuple[Column, ...]

    def text(self, width: int = 120, *, colour: bool = False, titles: Sequence[str] = ()) -> str:
        """
        Return the table aligned for a terminal, without a newline at the end.

        Long names are wrapped to keep within ``width`` characters, down to 12 a line; numbers
        are never cut. If that is not enough, the table goes on below with the names again.
        Cells may be of several lines.

        Parameters
        ----------
        colour
            Whether marked values are coloured (ANSI).
        titles
            Of each row, a line above it; empty: none.
        """
        columns = [_Laid(column) for column in self.columns]
        _narrow(columns, width)
        parts = [columns]
        if _total(columns) > width:
            parts = _parts(columns, width)
        lines = [_lines(part, titles, colour=colour) for part in parts]
        return "\n".join([*self._above(), "\n\n".join(map("\n".join, lines))])

    def fits(self, width: int) -> bool:
        """Whether a terminal of this width shows all columns side by side."""
        columns = [_Laid(column) for column in self.columns]
        _narrow(columns, width)
        return _total(columns) <= width

    def in_words(self) -> Table:
        """Return the table as people read it on a screen, its seconds as time spans."""
        return replace(self, columns=tuple(column.in_words() for column in self.columns))

    def markdown(self) -> str:
        """Return the table as GitHub's Markdown, without a newline at the end."""
        heads = [" ".join(_heading(column)) for column in self.columns]
        rules = [":---" if column.is_text else "---:" for column in self.columns]
        rows = zip(*(column.cells() for column in self.columns), strict=True)
        lines = ["| " + " | ".join(map(_escaped, row)) + " |" for row in (heads, rules, *rows)]
        return "\n".join([*self._above(), *lines])

    def html(self) -> str:
        """Return the table as text of a fixed width for notebooks, escaped."""
        return f"<pre>{escape(self.text())}</pre>"

    def _above(self) -> list[str]:
        return [self.caption, ""] if self.caption else []


def decimals_for(values: Sequence[Number], unit: str = "") -> int:
    """
    Return how many decimals a column of measures shows: none of whole numbers.

    About four digits of its least value: where the largest decided, 1.2 beside 16,900 would be 1.
    Of seconds (``unit`` is ``s``) none if all are ten or more.
    """
    known = [abs(value) for value in values if value]
    if all(isinstance(value, int) for value in known):
        return 0
    least = min(known, default=0)
    if unit == "s" and least >= _SECONDS:
        return 0
    return 2 if least < 100 else 1 if least < 1000 else 0


def _heading(column: Column) -> list[str]:
    """Return a header as lines: one word each, unless no-break spaces join them; the unit last."""
    words = [word.replace("\u00a0", " ") for word in column.header.split(" ") if word]
    return [*words, *([f"[{column.unit}]"] if column.unit else [])]


class _Laid:
    """A column as a terminal shows it: the lines of its heading, its cells, and how wide it is."""

    def __init__(self, column: Column) -> None:
        self.heading = _heading(column)
        self.cells = column.cells()
        self.is_name = column.is_text and not column.sorted_by
        self.joined = column.joined
        self.marks = column.marks
        lines = (line for cell in self.cells for line in cell.split("\n"))
        self.widest = self.width = max(map(len, [*self.heading, *lines]))
        # Words that fit beside each other do not need lines of their own.
        words, self.heading = self.heading, [""]
        for word in words:
            together = f"{self.heading[-1]} {word}".lstrip()
            fits = len(together) <= self.width
            self.heading[-1:] = [together] if fits else [self.heading[-1], word]

    def line(self, part: str) -> str:
        """Return a part of a cell, aligned."""
        return part.ljust(self.width) if self.is_name else part.rjust(self.width)

    def row(self, at: int) -> list[str]:
        """Return the lines of a cell; only names are wrapped."""
        cell = self.cells[at]
        return _wrapped(cell, self.width) if self.is_name else cell.split("\n")

    def colour(self, at: int) -> str:
        """Return how a cell is coloured, '' if it is not."""
        return _COLOURS.get(self.marks[at], "") if self.marks else ""


def _total(columns: Sequence[_Laid]) -> int:
    return sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1)


def _narrow(columns: Sequence[_Laid], width: int) -> None:
    """Let names give way if a table would be too wide."""
    for column in columns:
        column.width = column.widest
    names = [column for column in columns if column.is_name]
    for _ in range(_total(columns) - width):
        longest = max(names, key=lambda column: column.width, default=None)
        if longest is None or longest.width <= _NARROWEST:
            break
        longest.width -= 1


def _parts(columns: Sequence[_Laid], width: int) -> list[list[_Laid]]:
    """Return the columns of each part of a table that is too wide: the names, and some others."""
    value_positions = (index for index, laid in enumerate(columns) if not laid.is_name)
    num_names = next(value_positions, len(columns))
    names, others = columns[:num_names], columns[num_names:]
    # Names may have half of each part, so that the other half has numbers.
    _narrow(names, width // 2)
    groups: list[list[_Laid]] = []
    for column in others:
        column.width = column.widest
        if groups and column.joined:
            groups[-1].append(column)
        else:
            groups.append([column])
    parts = [[*names]]
    for group in groups:
        if len(parts[-1]) > num_names and _total([*parts[-1], *group]) > width:
            parts.append([*names])
        parts[-1].extend(group)
    return parts


def _lines(part: Sequence[_Laid], titles: Sequence[str], *, colour: bool) -> list[str]:
    """Return headers, a rule and the rows of some of the columns; numbers begin in the first."""
    depth = max((len(column.heading) for column in part), default=0)
    heads = [[""] * (depth - len(column.heading)) + column.heading for column in part]
    lines = [_line(part, words) for words in zip(*heads, strict=True)]
    lines.append(_GAP.join("-" * column.width for column in part))
    for at in range(len(part[0].cells) if part else 0):
        lines.extend(titles[at : at + 1])
        colours = [column.colour(at) if colour else "" for column in part]
        for words in zip_longest(*(column.row(at) for column in part), fillvalue=""):
            lines.append(_line(part, words, colours))
            colours = []
    return lines


def _line(part: Sequence[_Laid], words: Sequence[str], colours: Sequence[str] = ()) -> str:
    aligned = [column.line(word) for column, word in zip(part, words, strict=True)]
    if any(colours):
        pairs = zip(aligned, colours, strict=True)
        aligned = [colour.format(word) if colour else word for word, colour in pairs]
    return _GAP.join(aligned).rstrip()


def _wrapped(name: str, size: int) -> list[str]:
    """Break a name between its options, within one, or anywhere if that is not enough."""
    options, within = _BREAKS
    pieces: list[str] = []
    for option in options.split(name):
        pieces.extend([option] if len(option) <= size else within.split(option))
    lines = [""]
    for piece in pieces:
        if len(lines[-1]) + len(piece) > size:
            lines.extend(piece[at : at + size] for at in range(0, len(piece), size))
        else:
            lines[-1] += piece
    return lines if lines[0] or len(lines) == 1 else lines[1:]


def _escaped(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
    # Within a word Markdown takes underscores as they are.
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", plain)
