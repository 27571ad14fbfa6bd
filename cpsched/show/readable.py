"""The tables for people: for each workload and system, one a measure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cpsched.base.tables import Better, Column, Number, Table, decimals_for
from cpsched.base.words import duration
from cpsched.metrics.groups import SIZES
from cpsched.study.allocators import allocator_column
from cpsched.study.comparisons import base_name
from cpsched.study.folder import slug
from cpsched.study.results import (
    MEASURES,
    PLACE_SHARES,
    PLACES,
    QUEUE_STATISTICS,
    STATISTICS,
    USER_STATISTICS,
    column,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.study.tables import Cell, Rows, Tables

Row = dict[str, "Cell"]
#: Title, name and unit, as for the measures of jobs.
_QUEUE = ("queue size at every second", "queue", "jobs")
_OVERTAKEN = ("overtaken by jobs", "overtaken", "jobs")
#: Of a ratio.
_MOST_DECIMALS = 6
#: What tables of :mod:`cpsched.study.gains` are called.
GAINS = "who gains and who loses"
#: Groups of a kind at either end.
_MOST = 4
_SHARES = {
    "utilization": ("use", Better.HIGHER),
    "steady_utilization": ("use, steady", Better.HIGHER),
    "loss_of_capacity": ("lost", Better.LOWER),
}


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
    return {name: _headed(tables, some) for name, some in _readable(tables).items()}


def _headed(tables: Tables, some: list[Titled]) -> list[Titled]:
    """Call dispatchers scenarios where the study compares scenarios."""
    if not tables.results.by_group:
        return some
    return [
        replace(
            one,
            table=replace(
                one.table,
                columns=tuple(
                    replace(column, header="scenario") if column.header == "dispatcher" else column
                    for column in one.table.columns
                ),
            ),
        )
        for one in some
    ]


def _readable(tables: Tables) -> dict[str, list[Titled]]:
    return {
        "summary": [
            titled
            for place, rows in _places(tables.summary)
            for titled in (
                *(
                    _titled(place, title, rows, *_size(rows), *_statistics(rows, name, unit))
                    for title, name, unit in (*_measured(), _OVERTAKEN, _QUEUE)
                ),
                *_users(place, rows),
                _titled(place, "the machine", rows, *_size(rows), *_system(rows), *_tail(rows)),
                *_placement(place, rows),
            )
        ],
        "classes": [
            _titled(
                place,
                f"{title} by length",
                rows,
                _text(rows, "class"),
                _number(rows, "jobs", "jobs"),
                *_statistics(rows, name, unit),
            )
            for place, rows in _places(tables.classes)
            for title, name, unit in _measured()
        ],
        "sizes": [
            _titled(
                place,
                "wait by size",
                rows,
                _text(rows, "size"),
                Column("asks for", "", tuple(SIZES[str(row["size"])] for row in rows)),
                _number(rows, "jobs", "jobs"),
                *_statistics(rows, "wait", "s"),
            )
            for place, rows in _places(tables.sizes)
        ],
        "differences": [
            Titled(place, f"{title} against the baseline", table)
            for place, rows in _places(tables.differences)
            for title, name, unit in _measured()
            if (table := _differences(rows, name, unit)) is not None
        ],
        "gains": _gains(tables.gains),
        "timing": [
            _titled(place, "what the runs cost", rows, *_timing(rows))
            for place, rows in _places(tables.timing)
        ],
    }


def who_gains(tables: Tables) -> list[Titled]:
    """Return for whom each run is better or worse than the baseline, where a study asks."""
    return _headed(tables, _gains(tables.gains))


def _gains(rows: Rows) -> list[Titled]:
    """Return for whom each run is better or worse than the baseline, a table a run."""
    found = []
    for place, own in _places(rows):
        by_run: dict[tuple[str, str], list[Row]] = {}
        for row in own:
            by_run.setdefault((str(row["dispatcher"]), str(row["predictor"])), []).append(row)
        several = len({predictor for _, predictor in by_run}) > 1
        for (dispatcher, predictor), some in by_run.items():
            name = f"{dispatcher}, {predictor}" if several else dispatcher
            found.append(Titled(place, f"{GAINS}: {name}", _of_groups(some)))
    return found


def _most_changed(rows: Sequence[Row]) -> list[Row]:
    """Return the groups with the largest decrease and increase of total wait."""
    if len(rows) <= 2 * _MOST + 2:
        return list(rows)
    ranked = sorted(rows, key=lambda row: float(row["hours"] or 0))
    return [*ranked[:_MOST], *ranked[-_MOST:]]


def _of_groups(rows: Sequence[Row]) -> Table:
    """Return the groups of jobs of a run; of many of a kind those whose waits change most."""
    by_kind: dict[Cell, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    chosen = [row for some in by_kind.values() for row in _most_changed(some)]
    intervals = tuple(
        "-"
        if row["difference_low"] is None
        else f"{_signed(row['difference_low'])} to {_signed(row['difference_high'])}"
        for row in chosen
    )
    few = "; of many groups, those whose waits change most" if len(chosen) < len(rows) else ""
    sure: tuple[Column, ...] = ()
    how = "no intervals, which need eight days"
    if any(row["difference_low"] is not None for row in chosen):
        how = (
            "95 % intervals from a bootstrap over weeks of the log, or over days if there are few"
            " weeks"
        )
        sure = (
            Column("interval", "", intervals, sorted_by=_values(chosen, "difference"), joined=True),
            replace(_text(chosen, "verdict"), joined=True),
        )
    return Table(
        f"Jobs that ran in both runs; {how}; shorter and longer mean by a minute or more{few}",
        (
            _text(chosen, "kind"),
            _text(chosen, "group"),
            _number(chosen, "jobs", "jobs"),
            _spans(chosen, "wait_mean_s", "mean wait", duration),
            _spans(chosen, "base_wait_mean_s", "baseline", duration),
            _spans(chosen, "difference", "difference", _signed),
            *sure,
            _number(chosen, "shorter", "shorter", "%", 100, 1),
            _number(chosen, "longer", "longer", "%", 100, 1),
            _number(chosen, "hours", "all waits", "h", decimals=0),
        ),
    )


def _values(rows: Sequence[Row], name: str) -> tuple[Number, ...]:
    return tuple(_scaled(row[name], 1) for row in rows)


def _spans(rows: Sequence[Row], name: str, header: str, words: Callable[[float], str]) -> Column:
    """Return a column of time spans in words."""
    values = _values(rows, name)
    shown = tuple("-" if value is None else words(value) for value in values)
    return Column(header, "", shown, sorted_by=values)


def _signed(seconds: Cell) -> str:
    value = round(float(seconds or 0))
    return f"+{duration(value)}" if value > 0 else duration(value)


def _measured() -> list[tuple[str, str, str]]:
    return [(name.replace("_", " "), name, unit) for name, unit in MEASURES.values()]


def _places(rows: Rows) -> list[tuple[str, list[Row]]]:
    """Return the rows of each workload and system."""
    found: dict[str, list[Row]] = {}
    for row in rows.rows():
        found.setdefault(f"{row['workload']} on {row['system']}", []).append(row)
    return list(found.items())


def _titled(place: str, title: str, rows: Sequence[Row], *columns: Column) -> Titled:
    return Titled(place, title, _table("", rows, *columns))


def _table(said: str, rows: Sequence[Row], *columns: Column) -> Table:
    """Return a table of rows by dispatcher, predictor and, if they differ in it, allocator."""
    same, named = allocator_column([_optional(row["allocator"]) for row in rows])
    who = (_text(rows, "dispatcher"), _text(rows, "predictor"), *named)
    return Table("; ".join(filter(None, [said, same])), (*who, *columns))


def _optional(value: Cell) -> str | None:
    return None if value is None else str(value)


def _size(rows: Sequence[Row]) -> tuple[Column, ...]:
    names = ("simulated", "rejected", "repetitions")
    return tuple(_number(rows, name, {"simulated": "jobs"}.get(name, name)) for name in names)


def _text(rows: Sequence[Row], name: str) -> Column:
    return Column(name, "", tuple(str(row[name]) for row in rows))


def _number(
    rows: Sequence[Row],
    name: str,
    header: str,
    unit: str = "",
    scale: float = 1,
    decimals: int | None = None,
    better: Better | None = None,
) -> Column:
    """Return a column of figures, with as many decimals as the least of them needs."""
    values = tuple(_scaled(row.get(name), scale) for row in rows)
    digits = decimals_for(values, unit) if decimals is None else decimals
    return Column(header, unit, values, digits, better=better)


def _scaled(value: Cell, scale: float) -> Number:
    return value * scale if isinstance(value, int | float) else None


def _statistics(rows: Sequence[Row], name: str, unit: str) -> list[Column]:
    """Return a measure's statistics, and beside them what the longest wait was."""
    known = QUEUE_STATISTICS if name == "queue" else STATISTICS
    is_wait = name == "wait"
    columns = [
        _number(
            rows,
            column(name, one, unit),
            f"{one} wait" if is_wait else one,
            unit,
            better=Better.LOWER,
        )
        for one in known
    ]
    return columns if is_wait else [*columns, *_tail(rows)]


def _tail(rows: Sequence[Row]) -> list[Column]:
    """Return the 99.9th percentile and the longest of the waits, which are in every table."""
    return [
        _number(rows, f"wait_{one}_s", f"{one} wait", "s", better=Better.LOWER)
        for one in ("p99.9", "max")
    ]


def _users(place: str, rows: Sequence[Row]) -> list[Titled]:
    """Return the spread of the mean waits of users; nothing if no user is known."""
    if all(row["user_wait_mean_s"] is None for row in rows):
        return []
    names = {"mean": "mean", "median": "median", "p95": "p95", "max": "worst"}
    columns = (
        _number(rows, f"user_wait_{one}_s", f"{names[one]} user", "s", better=Better.LOWER)
        for one in USER_STATISTICS
    )
    index = _number(rows, "fairness_by_user", "Jain's index", decimals=3, better=Better.HIGHER)
    return [_titled(place, "mean wait of users", rows, *_size(rows), *columns, index, *_tail(rows))]


def _system(rows: Sequence[Row]) -> tuple[Column, ...]:
    shares = [
        _number(rows, name, f"{name.removeprefix(f'{kind}_')} {said}", "%", 100, 1, better)
        for kind, (said, better) in _SHARES.items()
        for name in rows[0]
        if name.startswith(f"{kind}_") and any(row[name] is not None for row in rows)
    ]
    return (
        *shares,
        _number(rows, "theoretical_utilization", "theoretical use", "%", 100, 1, Better.HIGHER),
        _number(rows, "makespan_s", "makespan", "h", 1 / 3600, 1, Better.LOWER),
        _number(rows, "throughput_jobs_per_hour", "throughput", "jobs/h", better=Better.HIGHER),
        _number(rows, "share_that_never_waited", "never waited", "%", 100, 1, Better.HIGHER),
    )


def _placement(place: str, rows: Sequence[Row]) -> list[Titled]:
    """Return the placement of jobs on nodes, mean and deviation over jobs; nothing on pools."""
    columns = [
        _number(rows, column(name, one), f"{name.replace('_', ' ')}{said}", "", 1, 2)
        for name in PLACES
        for one, said in (("mean", ""), ("std", ", deviation"))
        if any(row.get(column(name, one)) is not None for row in rows)
    ]
    columns += [
        _number(rows, column(name, of), f"{name}{said}", "%", 100, 1)
        for name in PLACE_SHARES
        for of, said in (("jobs", ""), ("node_time", ", node time"))
        if any(row.get(column(name, of)) is not None for row in rows)
    ]
    return [_titled(place, "placement of jobs", rows, *_size(rows), *columns)] if columns else []


def _differences(rows: Sequence[Row], name: str, unit: str) -> Table | None:
    """Return the differences in the mean of a measure, for all jobs and by class."""
    chosen = [row for row in rows if row["figure"] == column(name, "mean", unit)]
    if not chosen:
        return None
    # The same in both columns: one is divided by the other.
    both = [_scaled(row[key], 1) for key in ("value", "base_value") for row in chosen]
    decimals = decimals_for(both, unit)
    longest = _of_figure(rows, chosen, "wait_max_s")
    said, against = _against(chosen)
    return _table(
        f"{said}Intervals are 95 %, from the repetitions and from a bootstrap over weeks of the"
        " log; a difference is significant only if every interval excludes zero",
        chosen,
        *against,
        _text(chosen, "class"),
        _number(chosen, "value", "mean", unit, decimals=decimals),
        _number(chosen, "base_value", "baseline", unit, decimals=decimals),
        _ratios_of("ratio", chosen, "ratio"),
        replace(_ratios_of("ratio over weeks", chosen, "week_ratio"), joined=True),
        replace(_text(chosen, "verdict"), joined=True),
        _number(longest, "value", "max wait", "s"),
        replace(_number(longest, "base_value", "baseline's", "s"), joined=True),
    )


def _of_figure(rows: Sequence[Row], chosen: Sequence[Row], figure: str) -> list[Row]:
    """Return the rows about a figure of the same runs and jobs as some rows; empty without one."""
    keys = ("dispatcher", "predictor", "class")
    there = {tuple(row[key] for key in keys): row for row in rows if row["figure"] == figure}
    return [there.get(tuple(row[key] for key in keys), {}) for row in chosen]


def _against(rows: Sequence[Row]) -> tuple[str, list[Column]]:
    """Return words for a caption if all rows have the same baseline, else a column."""
    names = tuple(map(_base, rows))
    if len(set(names)) == 1:
        return f"Against {names[0]}. ", []
    return "", [Column("against", "", names)]


def _base(row: Row) -> str:
    """Return what a row is compared with, with its allocator where that is another."""
    name, placing = base_name(row), row["base_allocator"]
    return name if placing in (None, row["allocator"]) else f"{name} ({placing})"


def _ratios_of(header: str, rows: Sequence[Row], name: str, decimals: int = 3) -> Column:
    """Return a column of ratios with their intervals, sorted by their middle."""
    shown = tuple(_ratio(row, name, decimals) for row in rows)
    # An interval over the weeks is of the same ratio.
    middle = tuple(
        None if text == "-" else _scaled(row.get("ratio"), 1)
        for text, row in zip(shown, rows, strict=True)
    )
    return Column(header, "", shown, sorted_by=middle)


def _ratio(row: Row, name: str, decimals: int = 3) -> str:
    """Return a ratio and its interval, with more decimals where they would say nothing."""
    middle, low, high = (row.get(key) for key in (name, f"{name}_low", f"{name}_high"))
    known = [abs(one) for one in (middle, low) if isinstance(one, float) and one]
    while known and decimals < _MOST_DECIMALS and min(known) < 5 * 10**-decimals:
        decimals += 1
    shown = f"{middle:.{decimals}f}" if isinstance(middle, float) else ""
    if isinstance(low, float) and isinstance(high, float):
        shown = f"{shown} ({low:.{decimals}f} to {high:.{decimals}f})".strip()
    return shown or "-"


def _timing(rows: Sequence[Row]) -> tuple[Column, ...]:
    return (
        _number(rows, "seed", "seed"),
        _number(rows, "loop_s", "simulation", "s", 1, 2),
        _number(rows, "loop_cpu_s", "simulation, CPU", "s", 1, 2),
        *(
            _number(rows, f"decision_{name}_s", f"{name} decision", "ms", 1000, 2)
            for name in ("median", "p99", "max")
        ),
    )
