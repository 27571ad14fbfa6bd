"""How decisions were come to, run by run: what dispatchers and predictors count themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cpsched.cp.stats import SOLVER_CALLS, WRONGLY_INFEASIBLE
from cpsched.util.tables import Column, Number, Table, decimals_for
from cpsched.util.words import counted, escaped

#: Keys in every dispatcher's record; all others are its own statistics.
_ALWAYS = frozenset({"decisions", "starts"})
#: Sums that are shown as means: unit, scale, and over which counts (the first that is there).
_MEANS = {
    "bound_gap": ("%", 100, ("solved", "solver_calls")),
    "improved": ("%", 100, ("solver_calls", "solves")),
    "gain": ("%", 100, ("solver_calls",)),
    "gain_over_first": ("%", 100, ("planned",)),
    "model_variables": ("", 1, ("solver_calls",)),
    "model_constraints": ("", 1, ("solver_calls",)),
}
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
        :attr:`~cpsched.simulation.simulate.Run.decisions` and ``timing`` of it. Means are over
        solver calls or decisions that planned; times are of all decisions. Columns in
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
            _counted(key, tuple(one.get(key) for one in counts))
            for key in dict.fromkeys(key for one in counts for key in one)
            if key not in _MEANS
        ),
        *(
            Column(
                f"mean {key.replace('_', ' ')}", unit, tuple(_mean(one, key) for one in counts), 1
            )
            for key, (unit, _, _) in _MEANS.items()
        ),
        *(
            Column(
                f"{name} {part}", "ms", tuple(_milliseconds(row[3], part, name) for row in rows), 2
            )
            for part, name in _TIMES
        ),
    ]
    # A solver's numbers do not apply to dispatchers without one.
    told = (column for column in columns if any(value is not None for value in column.values))
    return Table("", tuple(told))


def solver_notes(runs: Iterable[tuple[str, _Counts]]) -> Iterator[str]:
    """
    Give a line for each dispatcher whose solver answered wrongly that there is no plan.

    Parameters
    ----------
    runs
        The dispatcher's name and the decision counts of each run.
    """
    wrong: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for dispatcher, counts in runs:
        wrong[dispatcher] += int(counts.get(WRONGLY_INFEASIBLE, 0))
        calls[dispatcher] += int(counts.get(SOLVER_CALLS, 0))
    for dispatcher, number in wrong.items():
        if number:
            yield (
                f"wrong answers of the solver: {escaped(dispatcher)} was told in {number:,} of"
                f" {counted(calls[dispatcher], 'solver call')} that there is no solution, though a"
                " list plan is one. The list plan was followed."
            )


def _counted(key: str, values: tuple[Number, ...]) -> Column:
    return Column(key.replace("_", " "), "", values, decimals_for(values))


def _mean(one: _Counts, key: str) -> Number:
    """Return a sum over a number of decisions, None where there is none."""
    _, scale, over = _MEANS[key]
    number = next((int(one[name]) for name in over if name in one), 0)
    return scale * one[key] / number if number and key in one else None


def _milliseconds(timing: Mapping[str, float], part: str, name: str) -> Number:
    seconds = timing.get(f"{part}_{name}_s")
    return None if seconds is None else 1000 * seconds
