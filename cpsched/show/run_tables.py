"""How the machine was used, run by run, and parts of other tables of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from cpsched.base.tables import Column, Table, decimals_for
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
