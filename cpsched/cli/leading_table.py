"""The table of leading figures that every comparison shows first, as wide as the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

import typer

from cpsched.base.words import counted, escaped, estimate, ratio
from cpsched.metrics.leading import LEADING, shown_figure
from cpsched.study.leading import BEST, WORST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.study.leading import Leading, LeadingRows, Measured

_GAP = 2
#: Names are not shortened below this; they get a line of their own instead.
_NARROWEST = 16
_UNCLEAR = "~"
_COLOURS = {BEST: typer.colors.GREEN, WORST: typer.colors.RED}


def leading_text(found: LeadingRows, width: int, *, scenarios: bool, colour: bool = False) -> str:
    """
    Return the leading figures of runs as a table of at most ``width`` characters, and a legend.

    The ratio of each figure is beside it where there is room, else below it; so are intervals.

    Parameters
    ----------
    scenarios
        Whether rows are scenarios, and not dispatchers.
    colour
        Whether colours (ANSI) also mark the best and the worst.
    """
    names, heads = _names(found.rows, "scenario" if scenarios else "dispatcher")
    shown = [at for at, _ in enumerate(LEADING) if any(r.figures[at].value for r in found.rows)]
    legend = [line for text in _legend(found) for line in wrap(text, width, break_on_hyphens=False)]
    layout = next(one for one in _layouts(found, names, heads, shown, width) if one is not None)
    return "\n".join([*legend, "", *layout.lines(colour=colour)])


def _legend(found: LeadingRows) -> Iterator[str]:
    """Say what is the same in all rows, and what the marks mean."""
    rows = found.rows
    jobs, rejected = ({row.jobs for row in rows}, {row.rejected for row in rows})
    most = max(row.repetitions for row in rows)
    same = [
        f"{_range(jobs)} {'job' if jobs == {1} else 'jobs'} simulated, {_range(rejected)} rejected",
        "one run each" if most == 1 else f"means of {counted(most, 'repetition')}",
    ]
    if len({row.predictor for row in rows}) == 1:
        same.append(f"runtime estimate: {escaped(estimate(rows[0].predictor))}")
    if len({row.allocator for row in rows}) == 1 and rows[0].allocator:
        same.append(f"allocator: {rows[0].allocator}")
    if any(row.figures[-1].value is not None for row in rows):
        same.append("core use: in the steady window")
    yield "; ".join(same)
    figures = [one for row in rows for one in row.figures]
    parts = []
    if found.against:
        parts.append(f"×: ratio to {escaped(found.against)}")
        if any(one.interval for one in figures):
            parts[-1] += f", with its 95 % interval; {_UNCLEAR}: no clear difference"
    marks = {one.mark for one in figures}
    parts += [
        f"{mark} {word}" for mark, word in ((BEST, "best"), (WORST, "worst")) if mark in marks
    ]
    if parts:
        yield "; ".join(parts)


def _range(numbers: set[float]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"


def _names(rows: Sequence[Leading], first: str) -> tuple[list[list[str]], list[str]]:
    """Return what distinguishes the runs, and the names of these columns."""
    columns = {first: [row.dispatcher for row in rows]}
    if len({row.predictor for row in rows}) > 1:
        columns["runtime estimate"] = [estimate(row.predictor) for row in rows]
    if len({row.allocator for row in rows}) > 1:
        columns["allocator"] = [row.allocator or "-" for row in rows]
    cells = zip(*columns.values(), strict=True)
    return [[escaped(one) for one in row] for row in cells], list(columns)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Cells of several lines each, ready to be aligned; ``marks`` colour the first line."""

    heads: list[list[str]]
    rows: list[list[list[str]]]
    marks: list[list[str]]
    names: int
    title_lines: list[str]

    def widths(self) -> list[int]:
        columns = zip(*self.rows, strict=True)
        return [
            max(len(line) for cell in (head, *cells) for line in cell)
            for head, cells in zip(self.heads, columns, strict=True)
        ]

    def total(self) -> int:
        widths = self.widths()
        return sum(widths) + _GAP * (len(widths) - 1)

    def lines(self, *, colour: bool) -> list[str]:
        widths = self.widths()
        depth = max(map(len, self.heads))
        padded = [[""] * (depth - len(head)) + head for head in self.heads]
        lines = [self._line([cell[at] for cell in padded], widths) for at in range(depth)]
        lines.append((" " * _GAP).join("-" * size for size in widths))
        for at, row in enumerate(self.rows):
            if self.title_lines:
                lines.append(self.title_lines[at])
            for number in range(max(map(len, row))):
                texts = [cell[number] if number < len(cell) else "" for cell in row]
                marks = self.marks[at] if colour and not number else None
                lines.append(self._line(texts, widths, marks))
        return lines

    def _line(
        self, texts: Sequence[str], widths: Sequence[int], marks: Sequence[str] | None = None
    ) -> str:
        cells = []
        for at, (text, size) in enumerate(zip(texts, widths, strict=True)):
            cell = text.ljust(size) if at < self.names else text.rjust(size)
            mark = marks[at] if marks is not None else ""
            cells.append(typer.style(cell, fg=_COLOURS[mark], bold=True) if mark else cell)
        return (" " * _GAP).join(cells).rstrip()


def _layouts(
    found: LeadingRows, names: list[list[str]], heads: list[str], shown: list[int], width: int
) -> Iterator[_Layout | None]:
    """Give layouts of the table, the best first; None for those that are too wide."""
    titles = [LEADING[at].title.rsplit(" ", 1) for at in shown]
    figures = [[row.figures[at] for at in shown] for row in found.rows]
    marks = [[one.mark for one in row] for row in figures]
    beside = any(one.ratio is not None for row in figures for one in row)
    for intervals in ("beside", "below") if beside else ():
        columns = [_beside(column, intervals) for column in zip(*figures, strict=True)]
        rows = [list(row) for row in zip(*columns, strict=True)]
        yield _named(names, heads, rows, titles, marks, width)
    stacked = [[_stacked(one) for one in row] for row in figures]
    yield _named(names, heads, stacked, titles, marks, width)
    lines = [_shortened(", ".join(row), width) for row in names]
    yield _Layout(titles, stacked, marks, 0, lines)


def _named(
    names: list[list[str]],
    heads: list[str],
    rows: list[list[list[str]]],
    titles: list[list[str]],
    marks: list[list[str]],
    width: int,
) -> _Layout | None:
    """Return a layout with the names in front, shortened if necessary; None if it is too wide."""
    bare = _Layout(titles, rows, marks, 0, [])
    room = width - bare.total() - _GAP * len(heads)
    sizes = [max(map(len, column)) for column in zip(*names, strict=True)]
    while sum(sizes) > room:
        longest = max(range(len(sizes)), key=sizes.__getitem__)
        if sizes[longest] <= _NARROWEST:
            return None
        sizes[longest] -= 1
    if sum(max(size, len(head)) for size, head in zip(sizes, heads, strict=True)) > room:
        heads = [head.rsplit(" ", 1)[-1] for head in heads]
        if sum(max(size, len(head)) for size, head in zip(sizes, heads, strict=True)) > room:
            return None
    told = [
        [[_shortened(name, size)] for name, size in zip(row, sizes, strict=True)] for row in names
    ]
    return _Layout(
        [[head] for head in heads] + titles,
        [[*name, *row] for name, row in zip(told, rows, strict=True)],
        [[""] * len(heads) + row for row in marks],
        len(heads),
        [],
    )


def _shortened(name: str, size: int) -> str:
    """Return a name of at most this many characters, made of its beginning and its end."""
    if len(name) <= size:
        return name
    end = size // 3
    return f"{name[: size - end - 2]}..{name[len(name) - end :]}"


def _value(one: Measured) -> str:
    """Return a value with its mark, or with a blank."""
    return f"{shown_figure(one.name, one.value)}{one.mark or ' '}"


def _ratio(one: Measured) -> str:
    if one.ratio is None:
        return ""
    return f"{ratio(one.ratio)}{_UNCLEAR if one.clear is False else ' '}"


def _interval(one: Measured) -> str:
    if one.interval is None:
        return ""
    low, high = (ratio(end).removeprefix("×") for end in one.interval)
    return f"{low}-{high} "


def _beside(column: Sequence[Measured], intervals: str) -> list[list[str]]:
    """Return the cells of a column with ratios beside the values."""
    sizes = [max(len(_value(one)) for one in column), max(len(_ratio(one)) for one in column)]
    sizes.append(max(len(_interval(one)) for one in column))
    cells = []
    for one in column:
        cell = f"{_value(one):>{sizes[0]}} {_ratio(one):>{sizes[1]}}"
        between = _interval(one)
        if sizes[2] and intervals == "beside":
            cells.append([f"{cell} {f'({between.rstrip()})' if between else '':>{sizes[2] + 1}}"])
        else:
            cells.append([cell, between] if between else [cell])
    return cells


def _stacked(one: Measured) -> list[str]:
    """Return the cell of a figure with its ratio and the interval below it."""
    return [_value(one), *(text for text in (_ratio(one), _interval(one)) if text)]
