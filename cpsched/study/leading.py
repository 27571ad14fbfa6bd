"""The leading figures of a study's runs, each with its ratio to the baseline's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cpsched.base.words import estimate
from cpsched.metrics.leading import LEADING, shown_figure
from cpsched.study.comparisons import EQUAL, HIGHER, LOWER, UNKNOWN, base_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.study.tables import Cell, Tables

Row = dict[str, "Cell"]
#: The key of a run's row in a table of figures.
_KEYS = ("workload", "system", "dispatcher", "predictor")
#: Figures for which more is better.
_HIGHER = ("core_use",)
#: With fewer runs, the worst is not marked.
_FEWEST_FOR_WORST = 3
BEST, WORST = "*", "!"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """
    A leading figure of a run.

    Attributes
    ----------
    name
        In :class:`~cpsched.metrics.leading.Figures`.
    value
        Seconds, a number, or a share; None where nothing was measured.
    ratio
        To the baseline's; None for the baseline itself, and where there is none.
    interval
        The widest of the 95 % intervals of the ratio: over repetitions, and over weeks of the log.
    clear
        Whether every interval excludes "no difference"; None without an
        interval, and where nothing differs.
    mark
        ``*`` for the best of its column, ``!`` for the worst, else nothing.
    """

    name: str
    value: float | None
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    clear: bool | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leading:
    """The leading figures of one run, or the means of its repetitions."""

    dispatcher: str
    predictor: str
    allocator: str | None
    repetitions: int
    jobs: float
    rejected: float
    knows_runtimes: bool
    is_baseline: bool
    figures: tuple[Measured, ...]


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


def leading(tables: Tables) -> list[LeadingRows]:
    """Return the leading figures of each workload and system, in the order of the study."""
    compared: dict[tuple[Cell, ...], dict[str, Row]] = {}
    bases: set[tuple[Cell, ...]] = set()
    for row in tables.differences.rows():
        if row["class"] == "all":
            compared.setdefault(_key(row), {})[str(row["figure"])] = row
            bases.add(tuple(row[f"base_{key}"] for key in _KEYS))
    places: dict[str, list[Row]] = {}
    for row in tables.summary.rows():
        places.setdefault(f"{row['workload']} on {row['system']}", []).append(row)
    found = []
    for place, rows in places.items():
        told = [_row(row, compared.get(_key(row), {}), _key(row) in bases) for row in rows]
        against = [some for row in rows if (some := compared.get(_key(row)))]
        found.append(LeadingRows(place=place, against=_against(against), rows=_marked(told)))
    return found


def _key(row: Mapping[str, Cell]) -> tuple[Cell, ...]:
    return tuple(row[key] for key in _KEYS)


def _row(row: Row, compared: Mapping[str, Row], is_baseline: bool) -> Leading:
    allocator = row["allocator"]
    return Leading(
        dispatcher=str(row["dispatcher"]),
        predictor=str(row["predictor"]),
        allocator=None if allocator is None else str(allocator),
        repetitions=int(row["repetitions"] or 0),
        jobs=_number(row["simulated"]) or 0,
        rejected=_number(row["rejected"]) or 0,
        knows_runtimes=bool(row["knows_runtimes"]),
        is_baseline=is_baseline,
        figures=tuple(
            _measured(one.name, row.get(one.column), compared.get(one.column)) for one in LEADING
        ),
    )


def _measured(name: str, value: Cell, against: Row | None) -> Measured:
    if against is None:
        return Measured(name=name, value=_number(value))
    lows = [_number(against[key]) for key in ("ratio_low", "week_ratio_low")]
    highs = [_number(against[key]) for key in ("ratio_high", "week_ratio_high")]
    ends = [one for one in lows if one is not None], [one for one in highs if one is not None]
    verdict = str(against["verdict"])
    return Measured(
        name=name,
        value=_number(value),
        ratio=_number(against["ratio"]),
        interval=(min(ends[0]), max(ends[1])) if all(ends) else None,
        clear=None if verdict in (UNKNOWN, EQUAL) else verdict.startswith((LOWER, HIGHER)),
    )


def _number(value: Cell) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _against(compared: Sequence[Mapping[str, Row]]) -> str:
    """Return in words what the ratios refer to."""
    rows = [next(iter(one.values())) for one in compared]
    if not rows:
        return ""
    if len({base_name(row) for row in rows}) == 1:
        dispatcher, predictor = (str(rows[0][f"base_{key}"]) for key in ("dispatcher", "predictor"))
        elsewhere = base_name(rows[0]).removeprefix(f"{dispatcher} {predictor}")
        if all(row["predictor"] == predictor for row in rows):
            return f"{dispatcher}{elsewhere}"
        return f"{dispatcher} with {estimate(predictor)}{elsewhere}"
    names = {(row["base_dispatcher"], row["base_system"]) for row in rows}
    if len(names) == 1 and all(row["base_predictor"] == row["predictor"] for row in rows):
        return f"{rows[0]['base_dispatcher']} with the same runtime estimate"
    return "the run that each is compared with (see the tables)"


def _marked(rows: Sequence[Leading]) -> tuple[Leading, ...]:
    """
    Return the rows with the best and the worst of each figure marked.

    Runs that know the runtimes are not ranked beside others that do not.
    """
    ranked = [row for row in rows if not row.knows_runtimes] or list(rows)
    marks = [_marks([row.figures[at] for row in ranked]) for at, _ in enumerate(LEADING)]
    return tuple(
        replace(
            row,
            figures=tuple(
                replace(one, mark=found.get(shown_figure(one.name, one.value), ""))
                for one, found in zip(row.figures, marks, strict=True)
            ),
        )
        if row in ranked
        else row
        for row in rows
    )


def _marks(figures: Sequence[Measured]) -> dict[str, str]:
    """Return the marks of a column; values that are shown alike are marked alike."""
    known = sorted(one.value for one in figures if one.value is not None)
    if not known:
        return {}
    name = figures[0].name
    best, worst = (known[-1], known[0]) if name in _HIGHER else (known[0], known[-1])
    shown = shown_figure(name, best), shown_figure(name, worst)
    if shown[0] == shown[1]:
        return {}
    return {shown[0]: BEST, **({shown[1]: WORST} if len(figures) >= _FEWEST_FOR_WORST else {})}
