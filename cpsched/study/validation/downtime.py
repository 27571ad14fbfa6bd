"""Intervals in which the machine was probably down: nothing ran although jobs waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics.steps import StepFunction, distinct
from cpsched.util.types import MISSING
from cpsched.util.words import counted, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.schedule import Schedule

#: A machine may be idle for shorter without being down: jobs take time to start.
SHORTEST = 3600


def downtimes(schedule: Schedule) -> list[tuple[int, int]]:
    """
    Return the intervals ``[start, end)`` in which no recorded job ran though some waited.

    Each is at least an hour long; seconds of the log's clock. Parts of a machine that were down
    cannot be seen in this way.
    """
    workload = schedule.workload
    rows = np.flatnonzero(workload.recorded_start != MISSING)
    start, runtime = workload.recorded_start[rows], workload.runtime[rows]
    since = np.maximum(workload.submit, workload.begin)[rows]
    runs, waits = StepFunction.over(start, start + runtime), StepFunction.over(since, start)
    times = distinct(runs.times, waits.times)
    idle = (runs.at(times) == 0) & (waits.at(times) > 0)
    # Neighbouring steps are one interval.
    edges = np.flatnonzero(np.diff(np.concatenate([[False], idle, [False]]).astype(np.int64)))
    intervals = [
        (int(times[first]), int(times[last]))
        for first, last in edges.reshape(-1, 2).tolist()
        if last < len(times)
    ]
    return [(begin, end) for begin, end in intervals if end - begin >= SHORTEST]


def downtime_sentence(intervals: Sequence[tuple[int, int]]) -> str:
    """Return a sentence about the intervals; there is one at least."""
    total = sum(end - start for start, end in intervals)
    return (
        f"The cluster was probably down in {counted(len(intervals), 'interval')} of an hour or"
        f" more, {duration(total)} in all: jobs waited and no recorded job ran."
    )


def outage_table(
    schedule: Schedule, intervals: Sequence[tuple[int, int]]
) -> dict[str, list[str | int]]:
    """Return the intervals as columns of outages of all nodes (``--outages table:file=``)."""
    names = schedule.system.node_names
    return {
        "node": [name for _ in intervals for name in names],
        "from": [start for start, _ in intervals for _ in names],
        "to": [end for _, end in intervals for _ in names],
    }
