"""Summaries side by side, as aligned text for a terminal and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: A number may be missing: nothing was measured.
Number = int | float | None
_GAP = "  "
_NARROWEST = 12
#: Where names are broken: between options, or if that is not enough, within one.
_BREAKS = (re.compile(r"(?<=[,:;/ ])"), re.compile(r"(?<=[=_-])"))
_HOUR = 3600
#: So many seconds need no parts of them.
_SECONDS = 10


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
    """

    header: str
    unit: str
    values: tuple[str, ...] | tuple[Number, ...]
    decimals: int = 0
    sorted_by: tuple[Number, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether it holds names."""
        return any(isinstance(value, str) for value in self.values)

    def cells(self) -> list[str]:
        """Return the values as shown: thousands in groups, ``-`` where nothing was measured."""
        return [
            value if isinstance(value, str) else _shown(value, self.decimals)
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

    def text(self, width: int = 120) -> str:
        """
        Return the table aligned for a terminal, without a newline at the end.

        Long names are wrapped to keep within ``width`` characters, down to 12 a line; numbers
        are never cut.
        """
        columns = [(_heading(column), column.cells()) for column in self.columns]
        widths = _widths(self.columns, columns, width)
        left = [column.is_text for column in self.columns]
        depth = max((len(heading) for heading, _ in columns), default=0)
        heads = [[""] * (depth - len(heading)) + heading for heading, _ in columns]
        lines = [_line(parts, widths, left) for parts in zip(*heads, strict=True)]
        lines.append(_GAP.join("-" * size for size in widths))
        for row in zip(*(cells for _, cells in columns), strict=True):
            lines.extend(_row(row, widths, left))
        return "\n".join([*self._above(), *lines])

    def markdown(self) -> str:
        """Return the table as GitHub's Markdown, without a newline at the end."""
        heads = [" ".join(_heading(column)) for column in self.columns]
        rules = [":---" if column.is_text else "---:" for column in self.columns]
        rows = zip(*(column.cells() for column in self.columns), strict=True)
        lines = ["| " + " | ".join(map(_escaped, row)) + " |" for row in (heads, rules, *rows)]
        return "\n".join([*self._above(), *lines])

    def _above(self) -> list[str]:
        return [self.caption, ""] if self.caption else []


def comparison(rows: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Table:
    """
    Return a comparison of runs.

    Parameters
    ----------
    rows
        For each run the dispatcher's name, the predictor's name and what
        :func:`~cpsched.metrics.summary.summarize` gave. The numbers of jobs and of rejected jobs
        become columns where the runs differ in them, else they are said once above; so is the
        predictor.
    """
    summaries = [summary for _, _, summary in rows]
    sizes = [
        Column("jobs", "", tuple(_at(s, "counts", "simulated") for s in summaries)),
        Column("rejected", "", tuple(_at(s, "counts", "rejected") for s in summaries)),
    ]
    same = bool(rows) and all(len(set(column.values)) == 1 for column in sizes)
    caption = ""
    if same:
        jobs, rejected = (column.cells()[0] for column in sizes)
        caption = f"{jobs} {'job' if jobs == '1' else 'jobs'} simulated, {rejected} rejected"
        sizes = []
    predicted, named = common_predictor(tuple(predictor for _, predictor, _ in rows))
    columns = (
        Column("dispatcher", "", tuple(dispatcher for dispatcher, _, _ in rows)),
        *named,
        *sizes,
        *_measures(summaries),
    )
    return Table("; ".join(filter(None, [caption, predicted])), columns)


def placement_table(rows: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Table | None:
    """
    Return how jobs lie on the nodes: means over jobs; None if no run is on a machine of nodes.

    Parameters
    ----------
    rows
        As for :func:`comparison`. Columns of switches only if a machine has some.
    """
    summaries = [summary for _, _, summary in rows]
    predicted, named = common_predictor(tuple(predictor for _, predictor, _ in rows))

    def column(header: str, unit: str, *path: str, digits: int = 2, scale: float = 1) -> Column:
        found = [_at(summary, "placement", *path) for summary in summaries]
        return Column(header, unit, tuple(None if v is None else v * scale for v in found), digits)

    level = ("lowest_common_switch", "mean")
    columns = [
        column("mean nodes", "", "nodes", "mean"),
        column("packing factor", "", "packing_factor", "mean", digits=3),
        column("mean fragmentation", "", "fragmentation", "mean"),
        column("mean spread", "", "spread", "mean"),
        column("mean span", "nodes", "span_nodes", "mean", digits=1),
        column("mean switch level", "", *level),
        column("within one leaf", "%", "by_switch_level", "0", "jobs", digits=1, scale=100),
    ]
    columns = [item for item in columns if any(value is not None for value in item.values)]
    if not columns:
        return None
    who = Column("dispatcher", "", tuple(dispatcher for dispatcher, _, _ in rows))
    caption = "; ".join(filter(None, ["where jobs lie", predicted]))
    return Table(caption, (who, *named, *columns))


def common_predictor(predictors: tuple[str, ...]) -> tuple[str, list[Column]]:
    """Return words for a caption if all runs share a predictor, else a column."""
    if len(set(predictors)) == 1:
        return f"runtimes predicted by {predictors[0]}", []
    return "", [Column("predictor", "", predictors)]


def _measures(summaries: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the columns of numbers; a column of GPUs only if a machine has some."""

    def column(header: str, unit: str, *path: str, scale: float = 1, digits: int = 0) -> Column:
        values = [_at(summary, *path) for summary in summaries]
        scaled = tuple(None if value is None else value * scale for value in values)
        return Column(header, unit, scaled, digits or decimals_for(scaled, unit))

    columns = [
        column("mean wait", "s", "wait_s", "all", "mean"),
        column("p99 wait", "s", "wait_s", "all", "p99"),
        column("max wait", "s", "wait_s", "all", "max"),
        column("mean slowdown", "", "slowdown", "all", "mean"),
        column("mean bounded slowdown", "", "bounded_slowdown", "all", "mean"),
        column("p99 bounded slowdown", "", "bounded_slowdown", "all", "p99"),
        column("mean queue", "jobs", "queue_jobs", "mean"),
        column("max queue", "jobs", "queue_jobs", "max"),
        column("core use", "%", "utilization", "core", scale=100, digits=1),
        column("gpu use", "%", "utilization", "gpu", scale=100, digits=1),
        column("makespan", "h", "makespan_s", scale=1 / _HOUR, digits=1),
    ]
    return [item for item in columns if item.header != "gpu use" or any(item.values)]


def _at(summary: Mapping[str, Any], *path: str) -> Any:
    """Return what lies at a path of keys, None where there is no such key."""
    found: Any = summary
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


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


def _shown(value: Number, decimals: int) -> str:
    return "-" if value is None else f"{value:,.{decimals}f}"


def _heading(column: Column) -> list[str]:
    """Return a header as lines: one word each, the unit last."""
    return [*column.header.split(), *([f"[{column.unit}]"] if column.unit else [])]


def _widths(
    columns: Sequence[Column], shown: Sequence[tuple[list[str], list[str]]], width: int
) -> list[int]:
    """Return the width of each column; names give way if the table would be too wide."""
    widths = [max(map(len, [*heading, *cells])) for heading, cells in shown]
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    names = [index for index, column in enumerate(columns) if column.is_text]
    while excess > 0 and names:
        longest = max(names, key=lambda index: widths[index])
        if widths[longest] <= _NARROWEST:
            break
        widths[longest] -= 1
        excess -= 1
    return widths


def _row(cells: Sequence[str], widths: Sequence[int], left: Sequence[bool]) -> list[str]:
    """Return the lines of one row; numbers stand in the first."""
    wrapped = [
        _wrapped(cell, size) if name else [cell]
        for cell, size, name in zip(cells, widths, left, strict=True)
    ]
    height = max(map(len, wrapped), default=0)
    lines = [[*part, *[""] * (height - len(part))] for part in wrapped]
    return [_line(parts, widths, left) for parts in zip(*lines, strict=True)]


def _line(parts: Sequence[str], widths: Sequence[int], left: Sequence[bool]) -> str:
    aligned = [
        part.ljust(size) if name else part.rjust(size)
        for part, size, name in zip(parts, widths, left, strict=True)
    ]
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
