"""How the machine was used, run by run, and how decisions were come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from cpsched.base.tables import Column, Number, Table, decimals_for
from cpsched.base.words import estimate
from cpsched.metrics.lost import Reason
from cpsched.study.allocators import allocator_column

_HOUR = 3600

#: For each run the dispatcher's name, the predictor's name and what
#: :func:`~cpsched.metrics.summary.summarize` gave.
Rows = Sequence[tuple[str, str, Mapping[str, Any]]]


def machine_table(rows: Rows, allocators: Sequence[str | None] = ()) -> Table:
    """
    Return how the machine was used, and the queue.

    Parameters
    ----------
    rows
        Name of the dispatcher, name of the predictor, and summary of each run.
    allocators
        Of each run, None if its dispatcher takes none; empty: not shown.

    Notes
    -----
    Columns of GPUs, of a steady window, and of killed or lost work appear only if they have values.
    """
    summaries = [summary for _, _, summary in rows]
    column = partial(_column, summaries)
    use = [
        column("core use", "%", "utilization", "core", scale=100, digits=1),
        column("core use, steady", "%", "steady_utilization", "core", scale=100, digits=1),
        column("node use", "%", "node_utilization", scale=100, digits=1),
        column("gpu use", "%", "utilization", "gpu", scale=100, digits=1),
        column("gpu use, steady", "%", "steady_utilization", "gpu", scale=100, digits=1),
    ]
    queue = (
        column("makespan", "h", "makespan_s", scale=1 / _HOUR, digits=1),
        column("mean queue", "jobs", "queue_jobs", "mean"),
        column("max queue", "jobs", "queue_jobs", "max"),
    )
    killed = column("killed", "jobs", "counts", "killed")
    lost = [
        column(f"lost, {why}", "%", "lost", why, scale=100, digits=2)
        for why in Reason
        if any(_at(one, "lost", why) for one in summaries)
    ]
    if any(_at(one, "restarts", "jobs") for one in summaries):
        lost.insert(0, column("starts cut short", "", "restarts", "starts_cut_short"))
    if lost:
        lost.insert(0, column("goodput", "%", "goodput", scale=100, digits=1))
    if any(killed.values):
        # A run must not look good because it killed jobs.
        lost.insert(0, killed)
    caption, who = _who("the machine", rows, allocators)
    return Table(caption, (*who, *_measured(use), *_measured(lost), *queue, *_tail(summaries)))


def common_predictor(predictors: tuple[str, ...]) -> tuple[str, list[Column]]:
    """Return words for a caption if all runs share a predictor, else a column."""
    if len(set(predictors)) == 1:
        return f"runtime estimate: {estimate(predictors[0])}", []
    return "", [Column("predictor", "", predictors)]


def _who(said: str, rows: Rows, allocators: Sequence[str | None]) -> tuple[str, tuple[Column, ...]]:
    """Return the caption and the columns that name a run; what is the same is in the caption."""
    predicted, predictors = common_predictor(tuple(predictor for _, predictor, _ in rows))
    placed, placing = allocator_column(allocators) if allocators else ("", [])
    dispatchers = Column("dispatcher", "", tuple(dispatcher for dispatcher, _, _ in rows))
    caption = "; ".join(filter(None, [said, predicted, placed]))
    return caption, (dispatchers, *predictors, *placing)


def _tail(summaries: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the 99.9th percentile and the longest of the waits, which are in every table."""
    return [
        _column(summaries, f"{one} wait", "s", "wait_s", "all", one) for one in ("p99.9", "max")
    ]


def _measured(columns: Sequence[Column]) -> list[Column]:
    """Return the columns in which something was measured."""
    return [one for one in columns if any(value is not None for value in one.values)]


def _column(
    summaries: Sequence[Any], header: str, unit: str, *path: str, scale: float = 1, digits: int = 0
) -> Column:
    """Return the value at a path in each summary, with the necessary or given decimals."""
    found = [_at(summary, *path) for summary in summaries]
    values = tuple(None if value is None else value * scale for value in found)
    return Column(header, unit, values, digits or decimals_for(values, unit))


def _at(summary: Any, *path: str) -> Any:
    """Return the value at a path of keys, None if there is no such key."""
    found: Any = summary
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


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
