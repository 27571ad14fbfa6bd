"""How dispatchers that plan or solve came to their decisions, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.base.tables import Column, Number, Table
from cpsched.show.run_tables import common_predictor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Keys in every dispatcher's record; all others are its own statistics.
_ALWAYS = frozenset({"decisions", "starts"})
_SKIPPED = "skipped_"
_FIRST = ("skipped_all_fit", "skipped_none_fit", "skipped_bound")
#: How ``plan`` (the first) and ``rollout`` decide if some but not all jobs fit.
_WAYS = ("planned", "agreed", "judged")

#: A run's dispatcher, predictor, decision counts and timing.
Row = tuple[str, str, "Mapping[str, Any]", "Mapping[str, float]"]


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
    timings = [timing for _, _, _, timing in rows]
    _, named = common_predictor(tuple(predictor for _, predictor, _, _ in rows))
    # Where a decision may take several programs, it is counted once.
    solved = [{"solved": one.get("solver_calls", 0), **one} for one in counts]
    columns = (
        Column("dispatcher", "", tuple(dispatcher for dispatcher, _, _, _ in rows)),
        *named,
        _counts("decisions", "decisions", counts),
        _counts("solver calls", "solver_calls", counts),
        *(_counts(reason.replace("_", " "), reason, counts) for reason in _reasons(counts)),
        _shares("proven optimal", "proven_optimal", ("solved",), solved),
        _shares("mean bound gap", "bound_gap", ("solved",), solved),
        _counts("limit hits", "limit_hits", counts),
        _counts("windows shortened", "window_shortened", counts),
        *_proposals(counts),
        *_sizes(counts),
        *(_times(part, name, timings) for part, name in _TIMES),
    )
    # A solver's numbers do not apply to dispatchers without one, nor do proposals.
    told = (column for column in columns if any(value is not None for value in column.values))
    return Table("; ".join(_unrepeatable(rows)), tuple(told))


def _proposals(counts: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return how often plans were followed and proposals judged, and the gain."""
    return [
        *(_counts(f"decisions {way}", way, counts) for way in _WAYS),
        _shares("gain over first", "gain_over_first", ("planned", "judged"), counts),
    ]


def _reasons(counts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the reasons of decisions without the solver, the cheapest first."""
    found = {key for one in counts for key in one if key.startswith(_SKIPPED)}
    return [*(key for key in _FIRST if key in found), *sorted(found.difference(_FIRST))]


_TIMES = (
    ("decision", "median"),
    ("decision", "p99"),
    ("decision", "max"),
    ("build", "median"),
    ("solve", "median"),
)


def _unrepeatable(rows: Sequence[Row]) -> list[str]:
    """Say which runs were affected by a wall-clock limit."""
    return [
        f"{dispatcher} is not repeatable: a wall-clock limit stopped {hits:,} solver calls"
        for dispatcher, _, decisions, _ in rows
        if (hits := int(decisions.get("wall_limit_hits", 0)))
    ]


def _counts(header: str, key: str, counts: Sequence[Mapping[str, Any]]) -> Column:
    return Column(header, "", tuple(one.get(key) for one in counts))


def _shares(
    header: str, part: str, wholes: Sequence[str], counts: Sequence[Mapping[str, Any]]
) -> Column:
    """Return one sum as a percentage of several together, None if these are 0."""
    values: list[Number] = []
    for one in counts:
        whole = sum(one.get(key, 0) for key in wholes)
        values.append(100 * one[part] / whole if whole and part in one else None)
    return Column(header, "%", tuple(values), 1)


def _sizes(counts: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return how large a decision's programs are on average, where dispatchers say so."""
    return [
        Column(
            f"mean {what}",
            "",
            tuple(
                one[key] / one["solver_calls"] if one.get("solver_calls") and key in one else None
                for one in counts
            ),
            1,
        )
        for what, key in (("variables", "model_variables"), ("constraints", "model_constraints"))
    ]


def _times(part: str, name: str, timings: Sequence[Mapping[str, float]]) -> Column:
    seconds = [timing.get(f"{part}_{name}_s") for timing in timings]
    milliseconds = tuple(None if value is None else 1000 * value for value in seconds)
    return Column(f"{name} {part}", "ms", milliseconds, 2)
