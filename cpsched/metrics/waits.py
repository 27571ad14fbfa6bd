"""
The wait of a job, recorded and simulated: from its submit to its first start.

The time until a job could start at all (its begin time; in logs of Slurm ``Eligible``) is part of
its wait. :func:`held` returns that part, which no dispatcher can change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.schedule import Leaving
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule, Segments
    from cpsched.model.workload import Workload
    from cpsched.util.types import IntArray

#: What every recorded and every simulated wait is, where one is printed.
MEANING = "from submit to first start"


def began(schedule: Schedule) -> IntArray:
    """
    Return the second at which the wait of each job ended, ``MISSING`` for none; shape ``(J,)``.

    A job that was suspended began at its first start: it keeps what it has done. A job that was
    queued again began at the first start after that.
    """
    segments = schedule.segments
    suspended = np.unique(segments.job[segments.leaving == Leaving.SUSPENDED])
    if not len(suspended):
        return schedule.start
    first = schedule.start.copy()
    own = segments.take(np.flatnonzero(np.isin(segments.job, suspended)))
    rows = np.searchsorted(suspended, own.job)
    since = _last_requeue(own, rows, len(suspended))
    never = np.iinfo(np.int64).max
    last = first[suspended]
    start = np.where(last == MISSING, never, last)
    later = own.start >= since[rows]
    np.minimum.at(start, rows[later], own.start[later])
    first[suspended] = np.where(start == never, MISSING, start)
    return first


def _last_requeue(segments: Segments, rows: IntArray, number: int) -> IntArray:
    """Return when each job was last queued again without its work, ``MISSING`` for never."""
    since = np.full(number, MISSING, dtype=np.int64)
    again = segments.leaving == Leaving.REQUEUED
    np.maximum.at(since, rows[again], segments.end[again])
    return since


def recorded_wait(workload: Workload) -> IntArray:
    """Return the wait that the log recorded of each job, ``MISSING`` where it is unknown."""
    start = workload.recorded_start
    waits: IntArray = np.where(start == MISSING, MISSING, start - workload.submit)
    return waits


def held(workload: Workload) -> IntArray:
    """Return the seconds from the submit to the earliest possible start of each job, ``(J,)``."""
    seconds: IntArray = np.maximum(workload.begin, workload.submit) - workload.submit
    return seconds
