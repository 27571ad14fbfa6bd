"""Summaries of runs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from cpsched.tables import Column, Table, decimals_for
from cpsched.words import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

_HOUR = 3600


def comparison(rows: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Table:
    """
    Return a comparison of runs.

    Parameters
    ----------
    rows
        For each run the dispatcher's name, the predictor's name and what
        :func:`~cpsched.metrics.summary.summarize` gave. The numbers of jobs and of rejected jobs
        become columns where the runs differ in them, else they are said once above; so is the
        predictor.
    """
    summaries = [summary for _, _, summary in rows]
    sizes = [
        Column("jobs", "", tuple(_at(s, "counts", "simulated") for s in summaries)),
        Column("rejected", "", tuple(_at(s, "counts", "rejected") for s in summaries)),
    ]
    same = bool(rows) and all(len(set(column.values)) == 1 for column in sizes)
    caption = ""
    if same:
        jobs, rejected = (column.cells()[0] for column in sizes)
        caption = f"{jobs} {'job' if jobs == '1' else 'jobs'} simulated, {rejected} rejected"
        sizes = []
    predicted, named = common_predictor(tuple(predictor for _, predictor, _ in rows))
    columns = (
        Column("dispatcher", "", tuple(dispatcher for dispatcher, _, _ in rows)),
        *named,
        *sizes,
        *_measures(summaries),
    )
    return Table("; ".join(filter(None, [caption, predicted])), columns)


def placement_table(rows: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Table | None:
    """
    Return how jobs lie on the nodes: means over jobs; None if no run is on a machine of nodes.

    Parameters
    ----------
    rows
        As for :func:`comparison`. Columns of switches only if a machine has some.
    """
    summaries = [summary for _, _, summary in rows]
    predicted, named = common_predictor(tuple(predictor for _, predictor, _ in rows))
    column = partial(_column, [summary.get("placement") for summary in summaries])
    columns = [
        column("mean nodes", "", "nodes", "mean", digits=2),
        column("packing factor", "", "packing_factor", "mean", digits=3),
        column("mean fragmentation", "", "fragmentation", "mean", digits=2),
        column("mean spread", "", "spread", "mean", digits=2),
        column("mean span", "nodes", "span_nodes", "mean", digits=1),
        column("mean switch level", "", "lowest_common_switch", "mean", digits=2),
        column("within one leaf", "%", "by_switch_level", "0", "jobs", digits=1, scale=100),
    ]
    columns = [item for item in columns if any(value is not None for value in item.values)]
    if not columns:
        return None
    who = Column("dispatcher", "", tuple(dispatcher for dispatcher, _, _ in rows))
    caption = "; ".join(filter(None, ["where jobs lie", predicted]))
    return Table(caption, (who, *named, *columns))


def common_predictor(predictors: tuple[str, ...]) -> tuple[str, list[Column]]:
    """Return words for a caption if all runs share a predictor, else a column."""
    if len(set(predictors)) == 1:
        return f"runtime estimate: {estimate(predictors[0])}", []
    return "", [Column("predictor", "", predictors)]


def _measures(summaries: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the columns of numbers; a column of GPUs only if a machine has some."""
    column = partial(_column, summaries)
    columns = [
        column("mean wait", "s", "wait_s", "all", "mean"),
        column("p99 wait", "s", "wait_s", "all", "p99"),
        column("max wait", "s", "wait_s", "all", "max"),
        column("mean slowdown", "", "slowdown", "all", "mean"),
        column("mean bounded slowdown", "", "bounded_slowdown", "all", "mean"),
        column("p99 bounded slowdown", "", "bounded_slowdown", "all", "p99"),
        column("mean queue", "jobs", "queue_jobs", "mean"),
        column("max queue", "jobs", "queue_jobs", "max"),
        column("core use", "%", "utilization", "core", scale=100, digits=1),
        column("gpu use", "%", "utilization", "gpu", scale=100, digits=1),
        column("makespan", "h", "makespan_s", scale=1 / _HOUR, digits=1),
    ]
    return [item for item in columns if item.header != "gpu use" or any(item.values)]


def _column(
    summaries: Sequence[Any], header: str, unit: str, *path: str, scale: float = 1, digits: int = 0
) -> Column:
    """Return what lies at a path in each summary, with as many decimals as it needs or is told."""
    found = [_at(summary, *path) for summary in summaries]
    values = tuple(None if value is None else value * scale for value in found)
    return Column(header, unit, values, digits or decimals_for(values, unit))


def _at(summary: Any, *path: str) -> Any:
    """Return what lies at a path of keys, None where there is no such key."""
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
