"""How decisions were made, run by run: what dispatchers and predictors count themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cpsched.cp.stats import NO_LIST_PLAN, SOLVER_CALLS, WRONGLY_INFEASIBLE
from cpsched.report.views import View
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
#: A run's name, decision counts and timing.
Row = tuple[str, _Counts, Mapping[str, float]]


def count_view(title: str, counts: Mapping[str, int], jobs: int) -> View | None:
    """Return a predictor's own counts and their shares of the jobs; None where it has none."""
    if not counts:
        return None
    rows = [
        [name, f"{number:,}", f"{100 * number / max(jobs, 1):.1f} %"]
        for name, number in counts.items()
    ]
    return View("", title, ["count of", "number", "share"], rows)


def decision_view(rows: Sequence[Row]) -> View | None:
    """
    Return the decision statistics of the runs that have any; None if none has.

    Parameters
    ----------
    rows
        For each run its name, and :attr:`~cpsched.simulation.simulate.Run.decisions` and ``timing``
        of it. Means are over solver calls or decisions that planned; times are of all decisions.
        Columns in which no run has anything are left out.
    """
    rows = [row for row in rows if row[1].keys() - _ALWAYS]
    if not rows:
        return None
    keys = dict.fromkeys(key for _, counts, _ in rows for key in counts)
    columns = {
        **{
            key.replace("_", " "): [_count(counts.get(key)) for _, counts, _ in rows]
            for key in keys
            if key not in _MEANS
        },
        **{
            f"mean {key.replace('_', ' ')}": [_mean(counts, key) for _, counts, _ in rows]
            for key in _MEANS
        },
        **{
            f"{name} {part}": [_milliseconds(timing, part, name) for _, _, timing in rows]
            for part, name in _TIMES
        },
    }
    # A solver's numbers do not apply to dispatchers without one.
    known = {header: cells for header, cells in columns.items() if any(cells)}
    cells = [
        [name, *(texts[at] or "-" for texts in known.values())]
        for at, (name, *_) in enumerate(rows)
    ]
    return View("", "decisions", ["dispatcher", *known], cells)


def solver_notes(runs: Iterable[tuple[str, _Counts]]) -> Iterator[str]:
    """
    Give a line for each dispatcher whose solver answered that there is no plan.

    If the model is the user's, the cause is a constraint that list plans do not keep. Otherwise the
    answer is wrong.

    Parameters
    ----------
    runs
        The dispatcher's name and the decision counts of each run.
    """
    wrong: Counter[str] = Counter()
    own: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for dispatcher, counts in runs:
        wrong[dispatcher] += int(counts.get(WRONGLY_INFEASIBLE, 0))
        own[dispatcher] += int(counts.get(NO_LIST_PLAN, 0))
        calls[dispatcher] += int(counts.get(SOLVER_CALLS, 0))
    for dispatcher, number in own.items():
        if number:
            yield (
                f"{escaped(dispatcher)}: the model allows no list plan in {number:,} of"
                f" {counted(calls[dispatcher], 'solver call')}. A constraint added in model() does"
                " not bind list plans and filling. Use own_limits() of CpPool."
            )
    for dispatcher, number in wrong.items():
        if number:
            yield (
                f"Wrong solver answers: in {number:,} of"
                f" {counted(calls[dispatcher], 'solver call')} of {escaped(dispatcher)} the solver"
                " reported no solution, although the list plan is one. The list plan was followed."
            )


def _count(number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.2f}"


def _mean(counts: _Counts, key: str) -> str:
    """Return a sum over a number of decisions; empty where there is none."""
    unit, scale, over = _MEANS[key]
    number = next((int(counts[name]) for name in over if name in counts), 0)
    if not number or key not in counts:
        return ""
    return f"{scale * counts[key] / number:,.1f} {unit}".rstrip()


def _milliseconds(timing: Mapping[str, float], part: str, name: str) -> str:
    seconds = timing.get(f"{part}_{name}_s")
    return "" if seconds is None else f"{1000 * seconds:.2f} ms"
