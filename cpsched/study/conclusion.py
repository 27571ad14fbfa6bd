"""What a study came to, in a few lines for each workload and system: the front, and its costs."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

from cpsched.study.gains import NOTICED
from cpsched.study.results import AREA
from cpsched.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cpsched.study.study import Baseline
    from cpsched.study.tables import Cell, Tables

Row = dict[str, "Cell"]
#: What is said of a run, and what it is called. The longest wait stands with the rest, because a
#: dispatcher can buy good means by letting a few jobs wait very long.
_SAID = (
    (AREA, "area-weighted response"),
    ("wait_p99.9_s", "p99.9 wait"),
    ("wait_max_s", "longest wait"),
    ("bounded_slowdown_mean", "mean bounded slowdown"),
)
#: What a scenario is told from others by, and the kinds of groups of which one is named.
_WHICH = ("workload", "system", "dispatcher", "predictor")
_KINDS = ("queue", "account")
#: Runs of a front that are named; tables have all.
_MOST = 6


def conclusions(tables: Tables) -> list[str]:
    """
    Return lines for each workload and system with a baseline and something to compare.

    Of scenarios there is one for each. Otherwise they name the runs on the Pareto front with the
    figures it is made of and the longest wait, and what these are against the baseline's. Means
    over repetitions.
    """
    if tables.results.by_group:
        return list(_scenarios(tables.gains.rows(), tables.results.measure_from))
    baseline = tables.results.baseline
    found: list[str] = []
    for (workload, system), group in groupby(
        tables.summary.rows(), key=lambda row: (row["workload"], row["system"])
    ):
        rows = [row for row in group if row["on_front"] is not None]
        base = next((row for row in rows if _is(row, baseline)), None)
        if base is not None and len(rows) > 1:
            found.append(f"{workload} on {system}: {_name(base)}, the baseline, has {_told(base)}.")
            found.extend(_front(base, rows))
    return found


def _scenarios(gains: Iterable[Row], start: int | str | None) -> Iterator[str]:
    """Say of each scenario in a sentence what it changes."""
    several = sure = False
    for (_, _, name, _), group in groupby(gains, key=lambda row: tuple(row[key] for key in _WHICH)):
        rows = list(group)
        whole = rows[0]
        several = True
        sure |= whole["difference_low"] is not None
        yield f"{name}: {_changes(whole)}{_for_whom(rows)}."
    if several and start is not None:
        yield f"Of jobs submitted from {start} on; tables of whole runs have all."
    if several and not sure:
        yield "No intervals, which take eight days: small differences may be chance."


def _changes(row: Row) -> str:
    """Say what a scenario changes for all jobs that ran in both."""
    wait, base = _number(row, "wait_mean_s"), _number(row, "base_wait_mean_s")
    shorter, longer = _number(row, "shorter"), _number(row, "longer")
    if wait == base and not (shorter or longer):
        return "changes nothing, nobody waits longer or shorter"
    interval = ""
    if row["difference_low"] is not None:
        low, high = (_signed(_number(row, f"difference_{end}")) for end in ("low", "high"))
        interval = f", 95 % interval of the difference {low} to {high}"
    return (
        f"mean wait {_time(wait)} instead of {_time(base)} ({_change(base, wait)}{interval});"
        f" {shorter:.0%} of the jobs wait shorter by a minute or more, {longer:.0%} longer"
    )


def _for_whom(rows: Sequence[Row]) -> str:
    """Say for which group waits change most, in all."""
    some = [row for row in rows if row["kind"] in _KINDS]
    if not some:
        return ""
    most = max(some, key=lambda row: abs(_number(row, "hours")))
    change = _number(most, "difference")
    if abs(change) < NOTICED:
        return ""
    return f"; most for {most['kind']} {most['group']} ({_signed(change)} each)"


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{_time(abs(seconds))}"


def _front(base: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Say who is on the front, and who of them buys what at which cost."""
    alike = [row for row in rows if row["knows_runtimes"] == base["knows_runtimes"]]
    others = [row for row in alike if row["on_front"] and row is not base]
    whether = "is on" if base["on_front"] else "is not on"
    noise = "" if _repeated(rows) else " (one run each: differences may be noise)"
    yield f"It {whether} the Pareto front of {_three()}{noise}."
    for row in others[:_MOST]:
        yield f"  on the front: {_name(row)} has {_told(row, base)}."
    if len(others) > _MOST:
        yield f"  and {len(others) - _MOST} more; see the tables."
    if not others:
        yield "  Nothing else is on it."
    if len(alike) < len(rows):
        yield "  Runs that know the runtimes and runs that do not have fronts of their own."


def _three() -> str:
    names = [name for figure, name in _SAID if figure != "wait_max_s"]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _is(row: Row, baseline: Baseline) -> bool:
    return all(name in (None, row[key]) for key, name in asdict(baseline).items())


def _repeated(rows: Sequence[Row]) -> bool:
    return any(_number(row, "repetitions") > 1 for row in rows)


def _name(row: Mapping[str, Cell]) -> str:
    return f"{row['dispatcher']} with {row['predictor']}"


def _told(row: Row, base: Row | None = None) -> str:
    """Return a run's figures, each with the change against the baseline's."""
    said = []
    for figure, name in _SAID:
        value = _number(row, figure)
        shown = _plain(value) if figure == "bounded_slowdown_mean" else _time(value)
        change = "" if base is None else f" ({_change(_number(base, figure), value)})"
        said.append(f"{name} {shown}{change}")
    return ", ".join(said)


def _number(row: Mapping[str, Cell], name: str) -> float:
    value = row[name]
    assert isinstance(value, int | float), "a run that may be on the front has these figures"
    return float(value)


def _plain(value: float) -> str:
    return f"{value:,.{0 if value >= 1000 else 1 if value >= 100 else 2}f}"


def _time(seconds: float) -> str:
    """Return a time span with a unit, also where it is none at all."""
    return duration(seconds) if seconds else "0 s"


def _change(before: float, after: float) -> str:
    """Return by how much something became smaller or larger."""
    if before == after:
        return "the same"
    if not before:
        return "it was 0"
    share = 100 * (after / before - 1)
    if abs(share) < 1:
        return "less than 1 % less" if share < 0 else "less than 1 % more"
    return f"{abs(share):.0f} % {'less' if share < 0 else 'more'}"
