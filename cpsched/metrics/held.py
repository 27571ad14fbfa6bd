"""How much of each wait is not the scheduler's: times in which a job may not start."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.base.types import MISSING
from cpsched.metrics.steps import released
from cpsched.metrics.window import horizon

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.model.schedule import Schedule


class Held(NamedTuple):
    """
    Seconds of each job's wait in which it may not start, shape ``(J,)``; 0 where it never started.

    Attributes
    ----------
    by_time
        Before its begin time, which is also when a log says that a hold was over.
    by_jobs
        After that, until what it depends on has come about, and while as many tasks of its array
        run as may run at once.
    """

    by_time: IntArray
    by_jobs: IntArray


def held(schedule: Schedule) -> Held:
    """Return how long each job that started was kept from starting."""
    workload, start = schedule.workload, schedule.start
    submit = workload.submit
    ran = start != MISSING
    latest = np.where(ran, start, submit)
    begun = np.clip(workload.begin, submit, latest)
    free = np.clip(released(schedule), begun, latest)
    return Held(begun - submit, free - begun + _behind_own_array(schedule, free, latest))


def _behind_own_array(schedule: Schedule, free: IntArray, latest: IntArray) -> IntArray:
    """
    Return for how long each array allowed no further task between two seconds of each job.

    An array of which more ran at once than may is one whose limit the dispatcher does not know.
    """
    workload = schedule.workload
    found = np.zeros(len(workload), dtype=np.int64)
    limited = np.flatnonzero((workload.array_limit > 0) & (workload.array.codes >= 0))
    end = np.where(schedule.end == MISSING, horizon(schedule), schedule.end)
    for code in np.unique(workload.array.codes[limited]):
        rows = limited[workload.array.codes[limited] == code]
        ran = rows[schedule.start[rows] != MISSING]
        times, order = np.unique(
            np.concatenate([schedule.start[ran], end[ran]]), return_inverse=True
        )
        changes = np.repeat([1, -1], len(ran))
        running = np.cumsum(np.bincount(order, weights=changes, minlength=len(times)))
        limit = int(workload.array_limit[rows].max())
        if len(times) and running.max() == limit:
            full = np.cumsum(np.diff(times, prepend=times[:1]) * np.roll(running == limit, 1))
            until = [np.interp(some[rows], times, full) for some in (free, latest)]
            found[rows] = np.rint(until[1] - until[0]).astype(np.int64)
    return found
