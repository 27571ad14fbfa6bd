"""The tables for people: for each workload and system, one a measure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cpsched.metrics.groups import SIZES
from cpsched.study.comparisons import MetricDifference
from cpsched.study.folder import slug
from cpsched.study.measures import OF_ALL, OF_JOBS, OF_SIZES, TAIL, Measure
from cpsched.study.results import case_of
from cpsched.util.tables import Column, Number, Table, decimals_for
from cpsched.util.words import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cpsched.study.tables import Cell, Rows, Tables

Row = dict[str, "Cell"]
#: Of a ratio.
_MOST_DECIMALS = 6
#: What tables of :mod:`cpsched.study.gains` are called.
GAINS = "who gains and who loses"
#: Groups of a kind at either end.
_MOST = 4
#: Figures with the tail of the waits beside them already, or of other things than jobs.
_WITHOUT_TAIL = ("wait", "placement of jobs")
_SIZE = (
    Measure("simulated", (), "jobs"),
    Measure("rejected", (), "rejected"),
    Measure("repetitions", (), "repetitions"),
)
_JOBS = Measure("jobs", (), "jobs")
_COST = (
    Measure("seed", (), "seed"),
    Measure("loop_s", (), "simulation", "s", decimals=2),
    Measure("loop_cpu_s", (), "simulation, CPU", "s", decimals=2),
    *(
        Measure(f"decision_{one}_s", (), f"{one} decision", "ms", 1000, 2)
        for one in ("median", "p99", "max")
    ),
    Measure("solver_calls", (), "solver calls", optional=True),
    Measure("solver_improved", (), "with a better plan", "%", 100, 1, optional=True),
    Measure("solver_gain", (), "mean gain of its plans", "%", 100, 2, optional=True),
)
_GAINED = (
    Measure("shorter", (), "shorter", "%", 100, 1),
    Measure("longer", (), "longer", "%", 100, 1),
    Measure("hours", (), "all waits", "h", decimals=0),
)


@dataclass(frozen=True, slots=True)
class Titled:
    """A table, what it shows, and of which workload on which system."""

    place: str
    title: str
    table: Table

    @property
    def label(self) -> str:
        """For references to it."""
        return f"{slug(self.place)}-{slug(self.title)}"


def readable(tables: Tables) -> dict[str, list[Titled]]:
    """Return the tables for readers, by the name of the table they are made from."""
    made = {
        "summary": _of_all(tables.summary),
        "classes": _of_classes(tables.classes),
        "sizes": _of_sizes(tables.sizes),
        "differences": _of_differences(tables.differences),
        "gains": _of_gains(tables.gains),
        "timing": (
            _titled(place, "what the runs cost", rows, *_columns(rows, _COST))
            for place, rows in _places(tables.timing)
        ),
    }
    scenarios = tables.results.by_group
    return {
        name: [_of_scenarios(one) if scenarios else one for one in some]
        for name, some in made.items()
    }


def _of_scenarios(titled: Titled) -> Titled:
    """Call dispatchers scenarios."""
    columns = (
        replace(column, header="scenario") if column.header == "dispatcher" else column
        for column in titled.table.columns
    )
    return replace(titled, table=replace(titled.table, columns=tuple(columns)))


def _of_all(summary: Rows) -> Iterator[Titled]:
    for place, rows in _places(summary):
        for title, measures in OF_ALL.items():
            own = _columns(rows, measures)
            if _is_shown(title, own):
                tail = [] if title in _WITHOUT_TAIL else _columns(rows, TAIL)
                yield _titled(place, title, rows, *_columns(rows, _SIZE), *own, *tail)


def _is_shown(title: str, columns: Sequence[Column]) -> bool:
    """Whether a table has anything of its own: users, places, or lost work."""
    if title == "work lost":
        return any(value for column in columns if column.header != "goodput"
                   for value in column.values)  # fmt: skip
    return bool(columns)


def _of_classes(classes: Rows) -> Iterator[Titled]:
    for place, rows in _places(classes):
        for title, measures in OF_JOBS.items():
            tail = [] if title in _WITHOUT_TAIL else _columns(rows, TAIL)
            own = (_text(rows, "class"), *_columns(rows, (_JOBS, *measures)), *tail)
            yield _titled(place, f"{title} by length", rows, *own)


def _of_sizes(sizes: Rows) -> Iterator[Titled]:
    for place, rows in _places(sizes):
        asked = Column("asks for", "", tuple(SIZES[str(row["size"])] for row in rows))
        own = (_text(rows, "size"), asked, *_columns(rows, (_JOBS, *OF_SIZES)))
        yield _titled(place, "wait by size", rows, *own)


def _of_gains(gains: Rows) -> Iterator[Titled]:
    """Yield for whom each run is better or worse than the baseline, a table a run."""
    for place, own in _places(gains):
        by_run: dict[tuple[Cell, Cell], list[Row]] = {}
        for row in own:
            by_run.setdefault((row["dispatcher"], row["predictor"]), []).append(row)
        several = len({predictor for _, predictor in by_run}) > 1
        for (dispatcher, predictor), some in by_run.items():
            name = f"{dispatcher}, {predictor}" if several else dispatcher
            yield Titled(place, f"{GAINS}: {name}", _of_groups(some))


def most_changed(rows: Sequence[Row], most: int) -> list[Row]:
    """Return the groups with the largest decrease and increase of total wait, of many."""
    if len(rows) <= most:
        return list(rows)
    ranked = sorted(rows, key=lambda row: float(row["hours"] or 0))
    return [*ranked[:_MOST], *ranked[-_MOST:]]


def _of_groups(rows: Sequence[Row]) -> Table:
    """Return the groups of jobs of a run; of many of a kind those whose waits change most."""
    by_kind: dict[Cell, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    chosen = [row for some in by_kind.values() for row in most_changed(some, 2 * _MOST + 2)]
    few = "; of many groups, those whose waits change most" if len(chosen) < len(rows) else ""
    sure: tuple[Column, ...] = ()
    how = "no intervals, which need repetitions or eight days"
    if any(row["difference_low"] is not None for row in chosen):
        how = "95 % intervals over the repetitions and the days of the log"
        intervals = tuple(
            "-"
            if row["difference_low"] is None
            else f"{_signed(row['difference_low'])} to {_signed(row['difference_high'])}"
            for row in chosen
        )
        values = _values(chosen, "difference")
        sure = (Column("interval", "", intervals, sorted_by=values, joined=True),)
    return Table(
        f"Jobs that ran in both runs; {how}; shorter and longer mean by a minute or more{few}",
        (
            *(_text(chosen, "kind"), _text(chosen, "group"), *_columns(chosen, [_JOBS])),
            _spans(chosen, "wait_mean_s", "mean wait", duration),
            _spans(chosen, "base_wait_mean_s", "baseline", duration),
            *(_spans(chosen, "difference", "difference", _signed), *sure),
            replace(_text(chosen, "verdict"), joined=True),
            *_columns(chosen, _GAINED),
        ),
    )


def _spans(rows: Sequence[Row], name: str, header: str, words: Callable[[float], str]) -> Column:
    """Return a column of time spans in words."""
    values = _values(rows, name)
    shown = tuple("-" if value is None else words(value) for value in values)
    return Column(header, "", shown, sorted_by=values)


def _signed(seconds: Cell) -> str:
    value = round(float(seconds or 0))
    return f"+{duration(value)}" if value > 0 else duration(value)


def _places(rows: Rows) -> list[tuple[str, list[Row]]]:
    """Return the rows of each workload and system."""
    found: dict[str, list[Row]] = {}
    for row in rows.rows():
        found.setdefault(case_of(row), []).append(row)
    return list(found.items())


def _titled(
    place: str, title: str, rows: Sequence[Row], *columns: Column, caption: str = ""
) -> Titled:
    """Return a table of rows by dispatcher, predictor and, if they differ in it, allocator."""
    allocators = [row["allocator"] for row in rows]
    who, said = [_text(rows, "dispatcher"), _text(rows, "predictor")], [caption]
    if len(set(allocators)) > 1:
        who.append(Column("allocator", "", tuple(str(one or "-") for one in allocators)))
    elif allocators[0]:
        said.append(f"allocator: {allocators[0]}")
    return Titled(place, title, Table("; ".join(filter(None, said)), (*who, *columns)))


def _text(rows: Sequence[Row], name: str) -> Column:
    return Column(name, "", tuple(str(row[name]) for row in rows))


def _columns(rows: Sequence[Row], measures: Sequence[Measure]) -> list[Column]:
    """Return columns of measures; those that are optional only where somebody has them."""
    return [
        _number(rows, name, header, one)
        for one in measures
        for name, header in one.among(rows[0])
        if not one.optional or any(row.get(name) is not None for row in rows)
    ]


def _number(rows: Sequence[Row], name: str, header: str, of: Measure) -> Column:
    """Return a column of figures, with as many decimals as the least of them needs."""
    values = _values(rows, name, of.scale)
    digits = decimals_for(values, of.unit) if of.decimals is None else of.decimals
    return Column(header, of.unit, values, digits, better=of.better)


def _values(rows: Sequence[Row], name: str, scale: float = 1) -> tuple[Number, ...]:
    found = (row.get(name) for row in rows)
    return tuple(one * scale if isinstance(one, int | float) else None for one in found)


def _of_differences(differences: Rows) -> Iterator[Titled]:
    """Yield the differences in the mean of each measure, for all jobs and by class."""
    for place, rows in _places(differences):
        for title, (mean, *_) in OF_JOBS.items():
            chosen = [row for row in rows if row["figure"] == mean.column]
            if chosen:
                yield _against(place, f"{title} against the baseline", chosen, rows, mean.unit)


def _against(
    place: str, title: str, chosen: Sequence[Row], rows: Sequence[Row], unit: str
) -> Titled:
    # The same in both columns: one is divided by the other.
    both = [*_values(chosen, "value"), *_values(chosen, "base_value")]
    mean = Measure("", (), unit=unit, decimals=decimals_for(both, unit))
    wait = Measure("", (), unit="s")
    longest = _of_figure(rows, chosen, "wait_max_s")
    names = tuple(map(_base, chosen))
    same = len(set(names)) == 1
    return _titled(
        place,
        title,
        chosen,
        *([] if same else [Column("against", "", names)]),
        _text(chosen, "class"),
        _number(chosen, "value", "mean", mean),
        _number(chosen, "base_value", "baseline", mean),
        _ratios_of("ratio", chosen, "ratio"),
        replace(_ratios_of("ratio over days", chosen, "daily_ratio"), joined=True),
        replace(_text(chosen, "verdict"), joined=True),
        _number(longest, "value", "max wait", wait),
        replace(_number(longest, "base_value", "baseline's", wait), joined=True),
        caption=f"{f'Against {names[0]}. ' if same else ''}Intervals are 95 %, from the repetitions"
        " and from the days of the log. Lower and higher: the repetitions exclude every change"
        " below 1 %. (this log): the days do not confirm it. One run each has no verdict",
    )


def _of_figure(rows: Sequence[Row], chosen: Sequence[Row], figure: str) -> list[Row]:
    """Return the rows about a figure of the same runs and jobs as some rows; empty without one."""
    keys = ("dispatcher", "predictor", "class")
    there = {tuple(row[key] for key in keys): row for row in rows if row["figure"] == figure}
    return [there.get(tuple(row[key] for key in keys), {}) for row in chosen]


def _base(row: Row) -> str:
    """Return what a row is compared with, with its allocator where that is another."""
    name, placing = MetricDifference(row).base_name, row["base_allocator"]
    return name if placing in (None, row["allocator"]) else f"{name} ({placing})"


def _ratios_of(header: str, rows: Sequence[Row], name: str) -> Column:
    """Return a column of ratios with their intervals, sorted by their middle."""
    shown = tuple(_ratio(row, name) for row in rows)
    # An interval over days is of the same ratio.
    middles = _values(rows, "ratio")
    known = (None if text == "-" else one for text, one in zip(shown, middles, strict=True))
    return Column(header, "", shown, sorted_by=tuple(known))


def _ratio(row: Row, name: str) -> str:
    """Return a ratio and its interval, with more decimals where they would say nothing."""
    middle, low, high = (row.get(key) for key in (name, f"{name}_low", f"{name}_high"))
    known = [abs(one) for one in (middle, low) if isinstance(one, float) and one]
    decimals = 3
    while known and decimals < _MOST_DECIMALS and min(known) < 5 * 10**-decimals:
        decimals += 1
    shown = f"{middle:.{decimals}f}" if isinstance(middle, float) else ""
    if isinstance(low, float) and isinstance(high, float):
        shown = f"{shown} ({low:.{decimals}f} to {high:.{decimals}f})".strip()
    return shown or "-"
