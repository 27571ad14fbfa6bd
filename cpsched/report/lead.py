"""
The beginning of a report: six figures of each run compared with the baseline's, and two charts.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from cpsched import figures
from cpsched.figures.draw_gains import Change
from cpsched.figures.draw_relative import Ratio
from cpsched.figures.draw_tradeoff import Point, Value
from cpsched.metrics.leading import LEADING
from cpsched.show.leading import leading
from cpsched.show.sentences import QUALITY
from cpsched.study.gains import gains
from cpsched.study.paired import difference
from cpsched.study.tables import grouped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cpsched.figures import FigureFile, Look
    from cpsched.figures.looks import Who
    from cpsched.metrics.leading import Figure
    from cpsched.show.leading import Leading, Measured
    from cpsched.study.results import Results, RunResult
    from cpsched.study.tables import Cell, Tables

Row = dict[str, "Cell"]
_TAIL = "wait_p99.9_s"
#: Kinds of groups that have an order of their own.
_ORDERED = {"length", "size", "GPU"}
#: Most groups of a kind in a chart: those whose waits change most, in either direction.
_AT_EITHER_END = 4


def base_runs(results: Results, place: str | None = None) -> set[Who]:
    """Return the dispatchers and predictors that others are compared with, at a place or at any."""
    base = {name: one for name, one in asdict(results.baseline).items() if one is not None}
    return {
        (run.dispatcher, run.predictor)
        for run in results.runs
        if place in (None, _place(run.labels))
        and all(run.labels[name] == one for name, one in base.items())
    }


def looks_at(results: Results, place: str) -> dict[Who, Look]:
    """Return the looks of the runs of a place, with the baselines of this place."""
    every = figures.looks(
        ((run.dispatcher, run.predictor) for run in results.runs), base_runs(results)
    )
    bases = base_runs(results, place)
    return {who: replace(look, is_base=who in bases) for who, look in every.items()}


def lead_table(tables: Tables, place: str) -> dict[str, Any]:
    """Return the table of the six leading figures of a place, for the template."""
    found = next(found for found in leading(tables) if found.place == place)
    known = found.known()
    return {
        "heads": [_head(LEADING[at]) for at in known],
        "rows": [(row, [row.figures[at] for at in known]) for row in found.rows],
    }


def tradeoff(
    tables: Tables, place: str, looks: Mapping[Who, Look], forms: Collection[str]
) -> FigureFile | None:
    """Return the chart of quality against the tail; None if no two runs have both."""
    points = []
    for of in grouped(run for run in tables.results.runs if _place(run.labels) == place):
        quality, tail = (_value([run.figures.get(name) for run in of]) for name in (QUALITY, _TAIL))
        if quality is not None and tail is not None:
            look = looks[of[0].dispatcher, of[0].predictor]
            points.append(
                Point(look=look, slowdown=quality, tail=tail, is_real=not of[0].knows_runtimes)
            )
    return figures.draw_tradeoffs(place, points, forms) if len(points) > 1 else None


def ratios(
    tables: Tables, place: str, looks: Mapping[Who, Look], forms: Collection[str]
) -> FigureFile | None:
    """Return the bars against the baseline; None if nothing is compared."""
    rows = [
        row for row in _leading(tables, place) if any(one.ratio is not None for one in row.figures)
    ]
    found = {
        _head(item): [_ratio(row.figures[at]) for row in rows]
        for at, item in enumerate(LEADING)
        if any(row.figures[at].ratio is not None for row in rows)
    }
    if not found:
        return None
    own = [looks[row.dispatcher, row.predictor] for row in rows]
    return figures.draw_ratios(place, own, found, forms)


def changes(
    tables: Tables,
    place: str,
    about: Iterable[Who],
    looks: Mapping[Who, Look],
    forms: Collection[str],
) -> list[FigureFile]:
    """Return the groups that gain and lose under some runs of a place."""
    found = []
    for who in about:
        kinds: dict[str, list[Row]] = {}
        for row in _gains(tables, place, who):
            if row["kind"] != "all":
                kinds.setdefault(str(row["kind"]), []).append(row)
        some = {kind: [_change(row) for row in _most_changed(rows)] for kind, rows in kinds.items()}
        for kind in some.keys() - _ORDERED:
            some[kind].sort(key=lambda one: one.seconds)
        if some:
            found.append(figures.draw_changes(place, looks[who].name, some, forms))
    return found


def _gains(tables: Tables, place: str, who: Who) -> Sequence[Row]:
    """Return the rows about a run; computed from the runs if the study does not ask for them."""
    if len(tables.gains):
        return [row for row in tables.gains.rows() if _place(row) == place and _who(row) == who]
    results = tables.results
    bases = base_runs(results)
    both = [
        of
        for of in grouped(results.runs)
        if (of[0].dispatcher, of[0].predictor) in bases | {who}
        and (_place(of[0].labels) == place or (of[0].dispatcher, of[0].predictor) in bases)
    ]
    rows = gains(both, results.baseline)
    return [row for row in rows if _place(row) == place and _who(row) == who]


def _most_changed(rows: Sequence[Row]) -> Sequence[Row]:
    """Return all groups if they are few, else those with the largest changes of total wait."""
    if len(rows) <= 2 * _AT_EITHER_END:
        return rows
    ranked = sorted(rows, key=lambda row: float(row["hours"] or 0))
    return [*ranked[:_AT_EITHER_END], *ranked[-_AT_EITHER_END:]]


def _change(row: Row) -> Change:
    low, high = (_float(row[f"difference_{end}"]) for end in ("low", "high"))
    return Change(
        group=str(row["group"]), seconds=float(row["difference"] or 0), low=low, high=high
    )


def _leading(tables: Tables, place: str) -> Sequence[Leading]:
    return next((found.rows for found in leading(tables) if found.place == place), ())


def _head(item: Figure) -> str:
    title = "core use, steady window" if item.name == "core_use" else item.title
    # A name such as p99.9 stays as it is.
    return title if title[1].isdigit() else title[:1].upper() + title[1:]


def _ratio(one: Measured) -> Ratio | None:
    if one.ratio is None:
        return None
    low, high = one.interval or (None, None)
    return Ratio(value=one.ratio, low=low, high=high)


def _value(values: Sequence[float | None]) -> Value | None:
    """Return the mean over repetitions with its interval; None where one has no value."""
    known = [float(value) for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    found = difference(known, [0.0] * len(known))
    assert found is not None, "there are values"
    return Value(mean=found.mean, low=found.low, high=found.high)


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['workload']} on {row['system']}"


def _who(row: Mapping[str, Any]) -> Who:
    return str(row["dispatcher"]), str(row["predictor"])


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def importance(results: Results, about: Collection[Who]) -> Any:
    """Return a sort key of runs: baselines, runs of the finding, then by slowdown."""
    bases = base_runs(results)

    def key(run: RunResult) -> tuple[bool, bool, float]:
        who, slowdown = (run.dispatcher, run.predictor), run.figures.get(QUALITY)
        return who not in bases, who not in about, float("inf") if slowdown is None else slowdown

    return key
