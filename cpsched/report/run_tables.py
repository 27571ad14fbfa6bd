"""Summaries of runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from cpsched.metrics.front import headline, on_front
from cpsched.metrics.groups import SIZES
from cpsched.metrics.lost import Reason
from cpsched.study.allocators import allocator_column
from cpsched.tables import Column, Table, decimals_for
from cpsched.words import estimate

_HOUR = 3600


#: For each run the dispatcher's name, the predictor's name and what
#: :func:`~cpsched.metrics.summary.summarize` gave.
Rows = Sequence[tuple[str, str, Mapping[str, Any]]]


def comparison(
    rows: Rows, allocators: Sequence[str | None] = (), knowing: Sequence[bool] = ()
) -> Table:
    """
    Return a comparison of runs.

    First the figures that runs are compared by, the longest wait beside them, and which runs no
    other beats in them (:mod:`cpsched.metrics.front`); then what else jobs saw.

    Parameters
    ----------
    rows
        Name of the dispatcher, name of the predictor, and summary of each run.
    allocators
        Of each run, None where its dispatcher takes none; nothing: not said.
    knowing
        Whether its predictor knows the runtimes
        (:func:`~cpsched.metrics.predictions.knows_runtimes`); nothing: that of none does.

    Notes
    -----
    The numbers of jobs and of rejected jobs become columns where the runs differ in them, else they
    are said once above; so are the predictor and the allocator.
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
    caption, who = _who(caption, rows, allocators)
    # A run must not look good for what it killed.
    counted = _column(summaries, "killed", "", "counts", "killed")
    killed = [counted] if any(counted.values) else []
    return Table(
        caption, (*who, *sizes, *killed, *_headline(summaries, knowing), *_waits(summaries))
    )


def groups_table(rows: Rows, allocators: Sequence[str | None] = ()) -> Table | None:
    """
    Return mean waits by size of job and by user, and by how many jobs a job was overtaken.

    None where no run has any of this, as runs of before.

    Parameters
    ----------
    rows, allocators
        As for :func:`comparison`.
    """
    summaries = [summary for _, _, summary in rows]
    column = partial(_column, summaries)
    columns = [
        *(column(name, "s", "wait_by_size_s", name, "mean") for name in SIZES),
        column("mean user", "s", "wait_by_user_s", "mean"),
        column("p95 user", "s", "wait_by_user_s", "p95"),
        column("worst user", "s", "wait_by_user_s", "max"),
        column("mean overtaken by", "jobs", "overtaken_by_jobs", "mean"),
        column("max overtaken by", "jobs", "overtaken_by_jobs", "max"),
    ]
    found = _measured(columns)
    if not found:
        return None
    caption, who = _who("mean waits by size and by user, and overtaking", rows, allocators)
    return Table(caption, (*who, *found, *_tail(summaries)))


def machine_table(rows: Rows, allocators: Sequence[str | None] = ()) -> Table:
    """
    Return how the machine was used, and the queue.

    Parameters
    ----------
    rows, allocators
        As for :func:`comparison`. A column of GPUs only if a machine has some, of a steady window
        only where there is one, and of what was lost only where something was.
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
    lost = [
        column(f"lost, {why}", "%", "lost", why, scale=100, digits=2)
        for why in Reason
        if any(_at(one, "lost", why) for one in summaries)
    ]
    if any(_at(one, "restarts", "jobs") for one in summaries):
        lost.insert(0, column("starts cut short", "", "restarts", "starts_cut_short"))
    if lost:
        lost.insert(0, column("goodput", "%", "goodput", scale=100, digits=1))
    caption, who = _who("the machine", rows, allocators)
    return Table(caption, (*who, *_measured(use), *_measured(lost), *queue, *_tail(summaries)))


def placement_table(rows: Rows, allocators: Sequence[str | None] = ()) -> Table | None:
    """
    Return how jobs lie on the nodes: means over jobs; None if no run is on a machine of nodes.

    Parameters
    ----------
    rows, allocators
        As for :func:`comparison`. Columns of switches only if a machine has some.
    """
    summaries = [summary for _, _, summary in rows]
    column = partial(_column, [summary.get("placement") for summary in summaries])
    columns = [
        column("mean nodes", "", "nodes", "mean", digits=2),
        column("packing factor", "", "packing_factor", "mean", digits=3),
        column("mean fragmentation", "", "fragmentation", "mean", digits=2),
        column("mean spread", "", "spread", "mean", digits=2),
        column("mean span", "nodes", "span_nodes", "mean", digits=1),
        column("mean switch level", "", "lowest_common_switch", "mean", digits=2),
        column("within one leaf", "%", "by_switch_level", "0", "jobs", digits=1, scale=100),
        column("mean groups", "", "groups_touched", "mean", digits=2),
        column("mean distance", "hops", "distance_hops", "mean", digits=2),
        column("contiguous", "%", "contiguous", "jobs", digits=1, scale=100),
        column("compact", "%", "compact", "jobs", digits=1, scale=100),
    ]
    columns = _measured(columns)
    if not columns:
        return None
    caption, who = _who("where jobs lie", rows, allocators)
    return Table(caption, (*who, *columns))


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


def _headline(summaries: Sequence[Mapping[str, Any]], knowing: Sequence[bool]) -> list[Column]:
    """Return the figures that runs are compared by, and which of several are on the front."""
    column = partial(_column, summaries)
    columns = [
        column("area-weighted response", "s", "response_by_area_s"),
        *_tail(summaries),
        column("mean bounded slowdown", "", "bounded_slowdown", "all", "mean"),
    ]
    if len(summaries) > 1:
        kinds = knowing or [False] * len(summaries)
        found = on_front([headline(summary) for summary in summaries], kinds)
        told = tuple("-" if one is None else "yes" if one else "no" for one in found)
        columns.append(Column("Pareto front", "", told))
    return columns


def _tail(summaries: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the 99.9th percentile and the longest of the waits, which are in every table."""
    return [
        _column(summaries, f"{one} wait", "s", "wait_s", "all", one) for one in ("p99.9", "max")
    ]


def _waits(summaries: Sequence[Mapping[str, Any]]) -> list[Column]:
    column = partial(_column, summaries)
    return [
        column("mean wait", "s", "wait_s", "all", "mean"),
        column("p99 wait", "s", "wait_s", "all", "p99"),
        column("mean slowdown", "", "slowdown", "all", "mean"),
        column("p99 bounded slowdown", "", "bounded_slowdown", "all", "p99"),
    ]


def _measured(columns: Sequence[Column]) -> list[Column]:
    """Return the columns in which something was measured."""
    return [one for one in columns if any(value is not None for value in one.values)]


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
