"""How decisions were come to, run by run: what dispatchers and predictors count themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cpsched.base.tables import Column, Number, Table

#: Keys in every dispatcher's record; all others are its own statistics.
_ALWAYS = frozenset({"decisions", "starts"})
_SKIPPED = "skipped_"
#: Reasons of decisions without the solver, the cheapest first.
_FIRST = ("skipped_all_fit", "skipped_none_fit", "skipped_bound")
_TIMES = (
    ("decision", "median"),
    ("decision", "p99"),
    ("decision", "max"),
    ("build", "median"),
    ("solve", "median"),
)
_Counts = Mapping[str, Any]
#: A run's dispatcher, predictor, decision counts and timing.
Row = tuple[str, str, _Counts, Mapping[str, float]]


def count_table(title: str, counts: Mapping[str, int], jobs: int) -> Table | None:
    """Return a predictor's own counts and their shares of the jobs; None where it has none."""
    if not counts:
        return None
    numbers = tuple(counts.values())
    return Table(
        title,
        (
            Column("count of", "", tuple(counts)),
            Column("number", "", numbers),
            Column("share", "%", tuple(100 * number / max(jobs, 1) for number in numbers), 1),
        ),
    )


def decision_table(rows: Sequence[Row]) -> Table | None:
    """
    Return the decision statistics of the runs that have any; None if none has.

    Parameters
    ----------
    rows
        For each run the dispatcher's and the predictor's name, and
        :attr:`~cpsched.simulation.simulate.Run.decisions` and ``timing`` of it. A solver's shares
        and means are over its calls; times are of all decisions, those without it too. Columns in
        which no run has anything are left out.
    """
    rows = [row for row in rows if row[2].keys() - _ALWAYS]
    if not rows:
        return None
    counts = [decisions for _, _, decisions, _ in rows]
    predictors = tuple(predictor for _, predictor, _, _ in rows)
    columns = [
        Column("dispatcher", "", tuple(dispatcher for dispatcher, _, _, _ in rows)),
        *([Column("predictor", "", predictors)] if len(set(predictors)) > 1 else []),
        *(
            Column(header, unit, tuple(map(value, counts)), decimals)
            for header, unit, decimals, value in _columns(counts)
        ),
        *(
            Column(
                f"{name} {part}", "ms", tuple(_milliseconds(row[3], part, name) for row in rows), 2
            )
            for part, name in _TIMES
        ),
    ]
    # A solver's numbers do not apply to dispatchers without one, nor do proposals.
    told = (column for column in columns if any(value is not None for value in column.values))
    return Table("; ".join(_unrepeatable(rows)), tuple(told))


def _columns(
    counts: Sequence[_Counts],
) -> list[tuple[str, str, int, Callable[[_Counts], Number]]]:
    """Return header, unit, decimals and value of each column of counts."""
    skipped = {key for one in counts for key in one if key.startswith(_SKIPPED)}
    reasons = [*(key for key in _FIRST if key in skipped), *sorted(skipped.difference(_FIRST))]
    return [
        _count("decisions"),
        _count("solver calls"),
        *(_count(reason.replace("_", " ")) for reason in reasons),
        ("proven optimal", "%", 1, lambda one: _mean(one, "proven_optimal", _solved(one), 100)),
        ("mean bound gap", "%", 1, lambda one: _mean(one, "bound_gap", _solved(one), 100)),
        _count("limit hits"),
        _count("windows shortened", "window_shortened"),
        # How ``plan`` (the first) and ``rollout`` decide if some but not all jobs fit.
        *(_count(f"decisions {way}", way) for way in ("planned", "agreed", "judged")),
        ("gain over first", "%", 1, lambda one: _mean(one, "gain_over_first", _weighed(one), 100)),
        ("mean variables", "", 1, lambda one: _mean(one, "model_variables", _calls(one))),
        ("mean constraints", "", 1, lambda one: _mean(one, "model_constraints", _calls(one))),
    ]


def _count(header: str, key: str = "") -> tuple[str, str, int, Callable[[_Counts], Number]]:
    return header, "", 0, lambda one: one.get(key or header.replace(" ", "_"))


def _calls(one: _Counts) -> int:
    return int(one.get("solver_calls", 0))


def _solved(one: _Counts) -> int:
    # Where a decision may take several programs, it is counted once.
    return int(one.get("solved", _calls(one)))


def _weighed(one: _Counts) -> int:
    return int(one.get("planned", 0)) + int(one.get("judged", 0))


def _mean(one: _Counts, key: str, number: int, scale: float = 1) -> Number:
    """Return a sum over a number of decisions, None where there is none."""
    return scale * one[key] / number if number and key in one else None


def _milliseconds(timing: Mapping[str, float], part: str, name: str) -> Number:
    seconds = timing.get(f"{part}_{name}_s")
    return None if seconds is None else 1000 * seconds


def _unrepeatable(rows: Sequence[Row]) -> list[str]:
    """Say which runs were affected by a wall-clock limit."""
    return [
        f"{dispatcher} is not repeatable: a wall-clock limit stopped {hits:,} solver calls"
        for dispatcher, _, decisions, _ in rows
        if (hits := int(decisions.get("wall_limit_hits", 0)))
    ]
