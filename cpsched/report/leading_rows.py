"""
Rows of the results table: runs with their metrics, as ratios to the baseline.

Its columns are defined in :mod:`cpsched.metrics.results_table_columns`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING

from cpsched.metrics.results_table_columns import BY_NAME, LEADING
from cpsched.metrics.waits import MEANING
from cpsched.report.findings import lost
from cpsched.study.comparisons import key_of
from cpsched.study.results import case_of
from cpsched.study.verdicts import EQUAL
from cpsched.util.tables import BEST, WORST, Better, Column, Table
from cpsched.util.words import counted, escaped, estimate
from cpsched.util.words import ratio as times

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from cpsched.study.comparisons import MetricDifference
    from cpsched.study.results import RunKey
    from cpsched.study.tables import Cell, Tables

#: With fewer runs, the worst is not marked.
_FEWEST_FOR_WORST = 3
_UNCLEAR = "~"
_REPEATED = "r"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """
    A leading figure of a run.

    Attributes
    ----------
    name
        In :class:`~cpsched.metrics.results_table_columns.Figures`.
    value
        Seconds, a number, or a share; None where nothing was measured.
    ratio
        To the baseline's; None for the baseline itself, and where there is none.
    interval
        The 95 % interval of the ratio, see :func:`~cpsched.study.verdicts.shown`.
    of_repetitions
        Whether that interval is over repetitions alone.
    clear
        Whether the verdict is lower or higher (:mod:`cpsched.study.verdicts`), which one run each
        never has; None without a ratio, and where nothing differs.
    mark
        ``*`` for the best of its column, ``!`` for the worst, else nothing.
    """

    name: str
    value: float | None
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    of_repetitions: bool = False
    clear: bool | None = None
    mark: str = ""

    @property
    def shown(self) -> str:
        """The value for people."""
        return BY_NAME[self.name].shown(self.value)

    @property
    def times(self) -> str:
        """The ratio for people, empty if there is none."""
        return "" if self.ratio is None else times(self.ratio)

    @property
    def sure(self) -> str:
        """Whether it is ``better`` or ``worse`` than the baseline's by its verdict, or empty."""
        if not self.clear or self.ratio is None:
            return ""
        lower = BY_NAME[self.name].better is Better.LOWER
        return "better" if (self.ratio < 1) == lower else "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leading:
    """
    The leading figures of one run, or the means of its repetitions.

    Attributes
    ----------
    jobs, attempts
        Distinct jobs that were simulated, and rows of the log that are further attempts of these.
    fates
        Of which more of its jobs than of the baseline's have it, see
        :func:`~cpsched.report.findings.lost`.
    """

    dispatcher: str
    predictor: str
    allocator: str | None
    repetitions: int
    jobs: float
    rejected: float
    knows_runtimes: bool
    is_baseline: bool
    figures: tuple[Measured, ...]
    fates: tuple[str, ...] = ()
    never_started: float = 0
    attempts: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadingRows:
    """
    The leading figures of all runs of a workload on a system.

    Attributes
    ----------
    place
        ``workload on system``.
    against
        What the ratios refer to, in words; empty if there is nothing to compare.
    """

    place: str
    against: str
    rows: tuple[Leading, ...]

    def known(self) -> list[int]:
        """Return the positions of the figures that some run has."""
        return [
            at
            for at, _ in enumerate(LEADING)
            if any(row.figures[at].value is not None for row in self.rows)
        ]

    def table(self, form: Callable[[Sequence[Measured]], Sequence[str]], first: str) -> Table:
        """
        Return a table of the figures that some run has.

        Parameters
        ----------
        form
            Makes the cells of a figure's column.
        first
            What the rows are: ``dispatcher`` or ``scenario``.
        """
        columns = [Column(first, "", tuple(escaped(row.dispatcher) for row in self.rows))]
        estimates = tuple(escaped(estimate(row.predictor)) for row in self.rows)
        if len({row.predictor for row in self.rows}) > 1:
            columns.append(Column("runtime\u00a0estimate", "", estimates))
        if len({row.allocator for row in self.rows}) > 1:
            placed = tuple(row.allocator or "-" for row in self.rows)
            columns.append(Column("allocator", "", placed))
        for at in self.known():
            figures = [row.figures[at] for row in self.rows]
            *most, last = LEADING[at].title.split(" ")
            columns.append(
                Column(
                    f"{chr(160).join(most)} {last}",
                    "",
                    tuple(form(figures)),
                    sorted_by=tuple(one.value for one in figures),
                    better=LEADING[at].better,
                    marks=tuple(one.mark for one in figures),
                )
            )
        return Table("", tuple(columns))


def leading(tables: Tables) -> list[LeadingRows]:
    """Return the leading figures of each workload and system, in the order of the study."""
    compared = tables.compared
    bases = {one.base_key for figures in compared.values() for one in figures.values()}
    places: dict[str, list[Mapping[str, Cell]]] = {}
    for row in tables.summary.rows():
        places.setdefault(case_of(row), []).append(row)
    found = []
    by_key = {key_of(row): row for rows in places.values() for row in rows}
    for place, rows in places.items():
        told = [_row(row, compared.get(key_of(row), {}), by_key, bases) for row in rows]
        against = [next(iter(some.values())) for row in rows if (some := compared.get(key_of(row)))]
        found.append(LeadingRows(place=place, against=_against(against), rows=_marked(told)))
    return found


def _row(
    row: Mapping[str, Cell],
    compared: Mapping[str, MetricDifference],
    by_key: Mapping[RunKey, Mapping[str, Cell]],
    bases: Collection[RunKey],
) -> Leading:
    allocator = row["allocator"]
    base = next((by_key.get(one.base_key) for one in compared.values()), None)
    return Leading(
        dispatcher=str(row["dispatcher"]),
        predictor=str(row["predictor"]),
        allocator=None if allocator is None else str(allocator),
        repetitions=int(row["repetitions"] or 0),
        jobs=(_number(row["simulated"]) or 0) - (_number(row["attempts"]) or 0),
        attempts=_number(row["attempts"]) or 0,
        rejected=_number(row["rejected"]) or 0,
        never_started=_number(row.get("never_started")) or 0,
        knows_runtimes=bool(row["knows_runtimes"]),
        is_baseline=key_of(row) in bases,
        figures=tuple(
            _measured(one.name, row.get(one.column), compared.get(one.column)) for one in LEADING
        ),
        fates=() if base is None else tuple(lost(row, base)),
    )


def _measured(name: str, value: Cell, against: MetricDifference | None) -> Measured:
    if against is None:
        return Measured(name=name, value=_number(value))
    return Measured(
        name=name,
        value=_number(value),
        ratio=against.ratio,
        interval=against.interval,
        of_repetitions=against.is_of_repetitions,
        clear=None if against.ratio is None or against.verdict == EQUAL else against.is_clear,
    )


def _number(value: Cell) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _against(compared: Sequence[MetricDifference]) -> str:
    """Return in words what the ratios refer to."""
    if not compared:
        return ""
    first = compared[0]
    dispatcher, predictor = first.base_key[2:]
    if len({one.base_name for one in compared}) == 1:
        if all(one.key[3] == predictor for one in compared):
            return f"{dispatcher}{first.elsewhere}"
        return f"{dispatcher} with {estimate(predictor)}{first.elsewhere}"
    names = {one.base_key[1:3] for one in compared}
    if len(names) == 1 and all(one.base_key[3] == one.key[3] for one in compared):
        return f"{dispatcher} with the same runtime estimate"
    return "the run that each is compared with (see the tables)"


def _marked(rows: Sequence[Leading]) -> tuple[Leading, ...]:
    """
    Return the rows with the best and the worst of each figure marked, where verdicts confirm them.

    Runs that know the runtimes, or lose more jobs than the baseline, are not ranked beside others.
    """
    ranked = [row for row in rows if not (row.knows_runtimes or row.fates)] or list(rows)
    marks = [_marks(ranked, at) for at, _ in enumerate(LEADING)]
    return tuple(
        replace(
            row,
            figures=tuple(
                replace(one, mark=_mark(one, row, found))
                for one, found in zip(row.figures, marks, strict=True)
            ),
        )
        if row in ranked
        else row
        for row in rows
    )


def _marks(rows: Sequence[Leading], at: int) -> dict[str, tuple[str, str]]:
    """
    Return by the shown value of a column's best and worst the mark, and the verdict it needs.

    A run needs its own verdict against the baseline; the baseline needs all others'.
    """
    known = sorted(
        (one for row in rows if (one := row.figures[at]).value is not None),
        key=lambda one: one.value or 0,
    )
    if not known:
        return {}
    if LEADING[at].better is Better.HIGHER:
        known.reverse()
    best, worst = known[0].shown, known[-1].shown
    if best == worst:
        return {}
    others = {row.figures[at].sure for row in rows if not row.is_baseline}
    against = others.pop() if len(others) == 1 else ""
    found = {best: (BEST, against)}
    return found if len(rows) < _FEWEST_FOR_WORST else {**found, worst: (WORST, against)}


def _mark(one: Measured, row: Leading, marks: Mapping[str, tuple[str, str]]) -> str:
    """Return the mark of a figure: nothing where it is neither best nor worst for certain."""
    mark, others = marks.get(one.shown, ("", ""))
    if row.is_baseline:
        confirmed = others == ("worse" if mark == BEST else "better")
    else:
        confirmed = one.sure == ("better" if mark == BEST else "worse")
    return mark if confirmed else ""


def leading_text(found: LeadingRows, width: int, *, scenarios: bool, colour: bool = False) -> str:
    """
    Return the leading figures of runs as a table of at most ``width`` characters, and a legend.

    The ratio of each figure is beside it where there is room, else below it; intervals are below.

    Parameters
    ----------
    scenarios
        Whether rows are scenarios, and not dispatchers.
    colour
        Whether colours (ANSI) also mark the best and the worst.
    """
    first = "scenario" if scenarios else "dispatcher"
    tables = [found.table(form, first) for form in (_between, _stacked)]
    table = next((one for one in tables if one.fits(width)), None)
    legend = [
        line
        for text in _legend(found, scenarios=scenarios)
        for line in wrap(text, width, break_on_hyphens=False)
    ]
    if table is not None:
        return "\n".join([*legend, "", table.text(width, colour=colour)])
    # Names stand on lines of their own.
    figures = [column for column in tables[-1].columns if column.sorted_by]
    names = [column.cells() for column in tables[-1].columns if not column.sorted_by]
    titles = ["\n".join(wrap(", ".join(row), width)) for row in zip(*names, strict=True)]
    text = Table("", tuple(figures)).text(width, colour=colour, titles=titles)
    return "\n".join([*legend, "", text])


def _legend(found: LeadingRows, *, scenarios: bool) -> Iterator[str]:
    """Say what is the same in all rows, and what the marks mean."""
    rows = found.rows
    jobs, rejected = ({row.jobs for row in rows}, {row.rejected for row in rows})
    never = {row.never_started for row in rows}
    most = max(row.repetitions for row in rows)
    starts = {row.jobs + row.attempts for row in rows}
    again = f" ({_range(starts)} attempts)" if starts != jobs else ""
    same = [
        f"{_range(jobs)} {'job' if jobs == {1} else 'jobs'}{again} simulated,"
        f" {_range(rejected)} rejected",
        _repeated(most, compared=bool(found.against)),
    ]
    if any(never):
        same.insert(1, f"{_range(never)} never started")
    if len({row.predictor for row in rows}) == 1:
        same.append(f"runtime estimate: {escaped(estimate(rows[0].predictor))}")
    if len({row.allocator for row in rows}) == 1 and rows[0].allocator:
        same.append(f"allocator: {rows[0].allocator}")
    same.append(f"waits: {MEANING}")
    if any(
        figure.name == "core_use" and figure.value is not None
        for row in rows
        for figure in row.figures
    ):
        same.append("utilization: in the steady window")
    yield "; ".join(same)
    if parts := list(_of_marks(found)):
        yield "; ".join(parts)
    if scenarios and len(jobs) > 1:
        yield "the table is of all jobs of each scenario, sentences of those that ran in both"
    for row in rows:
        if row.fates:
            yield f"not ranked: {escaped(row.dispatcher)}, {'; '.join(row.fates)}"


def _of_marks(found: LeadingRows) -> Iterator[str]:
    """Yield what ratios refer to, and what the marks mean."""
    figures = [one for row in found.rows for one in row.figures]
    if found.against:
        interval = ", with its 95 % interval" if any(one.interval for one in figures) else ""
        yield f"×: ratio to {escaped(found.against)}{interval}"
        if any(one.clear is False for one in figures):
            yield f"{_UNCLEAR}: not significant"
        if any(one.of_repetitions for one in figures):
            yield f"{_REPEATED}: by the repetitions, not by the days of the log"
    marks = {one.mark for one in figures}
    for mark, word in ((BEST, "best"), (WORST, "worst")):
        if mark in marks:
            yield f"{mark} {word}"


def _repeated(most: int, *, compared: bool) -> str:
    """Say how often each run was made; one run each has no verdict."""
    if most > 1:
        return f"means of {counted(most, 'repetition')}"
    return f"one run each{' (repeat to confirm a difference)' if compared else ''}"


def _range(numbers: set[float]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"


def _parts(one: Measured) -> list[str]:
    """Return a value with its mark, its ratio and the interval of it; a blank for no mark."""
    ratio = one.times and f"{one.times}{_UNCLEAR if one.clear is False else ' '}"
    ends = [times(end).removeprefix("×") for end in one.interval or ()]
    of = _REPEATED if one.of_repetitions else " "
    return [f"{one.shown}{one.mark or ' '}", ratio, f"{'-'.join(ends)}{of}" if ends else ""]


def _between(column: Sequence[Measured]) -> list[str]:
    """Return cells with ratios beside the values, and intervals below."""
    parts = [_parts(one) for one in column]
    value, ratio = (max(len(part[at]) for part in parts) for at in (0, 1))
    cells = [f"{one:>{value}} {other:>{ratio}}" if ratio else one for one, other, _ in parts]
    return [
        f"{cell}\n{part[2]}" if part[2] else cell for cell, part in zip(cells, parts, strict=True)
    ]


def _stacked(column: Sequence[Measured]) -> list[str]:
    """Return cells with ratios and intervals below the values."""
    return [
        "\n".join([value, *(part for part in (ratio, between) if part)])
        for value, ratio, between in map(_parts, column)
    ]
