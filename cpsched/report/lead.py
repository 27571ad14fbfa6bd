"""What a report leads with: the six figures of each run beside the baseline's, and two pictures."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from cpsched import figures
from cpsched.figures.draw_gains import Change
from cpsched.figures.draw_relative import Ratio
from cpsched.figures.draw_tradeoff import Point, Value
from cpsched.study.comparisons import HIGHER, LOWER
from cpsched.study.conclusion import LEADING, QUALITY, compared
from cpsched.study.gains import gains
from cpsched.study.paired import difference
from cpsched.study.tables import grouped
from cpsched.words import duration, ratio

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cpsched.figures import FigureFile, Look
    from cpsched.figures.looks import Who
    from cpsched.study.conclusion import Compared
    from cpsched.study.results import Results, RunResult
    from cpsched.study.tables import Cell, Tables

Row = dict[str, "Cell"]
#: Titles of the leading figures as headings.
HEADS = {figure: name[:1].upper() + name[1:] for figure, name in LEADING.items()} | {
    "wait_p99.9_s": "p99.9 wait",
    "steady_utilization_core": "Core use, steady window",
}
#: The figures that a larger value is better of.
_HIGHER = frozenset({"steady_utilization_core"})
_TAIL = "wait_p99.9_s"
#: Kinds of groups that have an order of their own.
_ORDERED = {"length", "size", "GPU"}
#: Groups of a kind in a picture: those whose waits change most, at either end.
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
    """Return how the runs of a place look: as everywhere, with the baselines of this place."""
    every = figures.looks(
        ((run.dispatcher, run.predictor) for run in results.runs), base_runs(results)
    )
    bases = base_runs(results, place)
    return {who: replace(look, is_base=who in bases) for who, look in every.items()}


def lead_table(tables: Tables, place: str, looks: Mapping[Who, Look]) -> dict[str, Any]:
    """
    Return the table of the six leading figures of a place, for the template.

    Each cell has the figure (``shown``), what it is sorted by, and where the run is compared with
    a baseline its ratio, the interval of that, and whether it is ``better`` or ``worse`` for
    certain.
    """
    rows = [row for row in tables.summary.rows() if _place(row) == place]
    known = [name for name in LEADING if any(row.get(name) is not None for row in rows)]
    against = {_who(next(iter(one.values()))): one for one in compared(tables).get(place, [])}
    return {
        "heads": [HEADS[name] for name in known],
        "rows": [
            {
                "look": looks[_who(row)],
                "cells": [_cell(row, name, against.get(_who(row), {})) for name in known],
            }
            for row in rows
        ],
    }


def tradeoff(
    tables: Tables, place: str, looks: Mapping[Who, Look], forms: Collection[str]
) -> FigureFile | None:
    """Return the picture of quality against the tail; None where no two runs have both."""
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
    """Return the bars against the baseline; None where nothing is compared."""
    runs = compared(tables).get(place, [])
    found = {
        HEADS[name]: [_ratio(one.get(name)) for one in runs]
        for name in LEADING
        if any(_ratio(one.get(name)) is not None for one in runs)
    }
    if not found:
        return None
    own = [looks[_who(next(iter(one.values())))] for one in runs]
    return figures.draw_ratios(place, own, found, forms)


def changes(
    tables: Tables,
    place: str,
    about: Iterable[Who],
    looks: Mapping[Who, Look],
    forms: Collection[str],
) -> list[FigureFile]:
    """Return who gains and who loses under some runs of a place."""
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
    """Return the rows about a run; read from the runs where the study does not ask for them."""
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
    """Return all groups if they are few, else those at either end by the hours of their waits."""
    if len(rows) <= 2 * _AT_EITHER_END:
        return rows
    ranked = sorted(rows, key=lambda row: float(row["hours"] or 0))
    return [*ranked[:_AT_EITHER_END], *ranked[-_AT_EITHER_END:]]


def _change(row: Row) -> Change:
    low, high = (_float(row[f"difference_{end}"]) for end in ("low", "high"))
    return Change(
        group=str(row["group"]), seconds=float(row["difference"] or 0), low=low, high=high
    )


def _cell(row: Row, name: str, against: Compared) -> dict[str, Any]:
    value, other = _float(row.get(name)), against.get(name)
    one = _ratio(other)
    verdict = "" if other is None else str(other["verdict"])
    better, worse = (HIGHER, LOWER) if name in _HIGHER else (LOWER, HIGHER)
    return {
        "name": HEADS[name],
        "value": value,
        "shown": shown(name, value),
        "ratio": "" if one is None else ratio(one.value),
        "interval": ""
        if one is None or one.low is None or one.high is None
        else f"{one.low:.2f} to {one.high:.2f}",
        "sure": "better" if verdict.startswith(better) else "worse"
        if verdict.startswith(worse) else "",
    }  # fmt: skip


def shown(name: str, value: float | None) -> str:
    """Return a leading figure as people read it."""
    if value is None:
        return "-"
    if name in _HIGHER:
        return f"{100 * value:.1f} %"
    if name != QUALITY:
        return duration(value)
    return f"{value:,.{0 if value >= 1000 else 1 if value >= 100 else 2}f}"


def _ratio(row: Row | None) -> Ratio | None:
    """Return a ratio with its widest interval; None where it is not defined."""
    if row is None or not isinstance(row["ratio"], float):
        return None
    lows = [_float(row[name]) for name in ("ratio_low", "week_ratio_low")]
    highs = [_float(row[name]) for name in ("ratio_high", "week_ratio_high")]
    return Ratio(
        value=row["ratio"],
        low=min((low for low in lows if low is not None), default=None),
        high=max((high for high in highs if high is not None), default=None),
    )


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
    """Return a key that sorts runs: baselines, those that are spoken of, then by slowdown."""
    bases = base_runs(results)

    def key(run: RunResult) -> tuple[bool, bool, float]:
        who, slowdown = (run.dispatcher, run.predictor), run.figures.get(QUALITY)
        return who not in bases, who not in about, float("inf") if slowdown is None else slowdown

    return key
