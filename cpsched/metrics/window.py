"""The period over which a schedule is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.model.schedule import JobOutcome
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule
    from cpsched.util.types import BoolArray, IntArray

#: Share of the jobs submitted before a steady window begins, and after it ends.
_WARM_UP = 0.05
#: With fewer jobs, a twentieth of them is a handful.
FEWEST_JOBS = 100


class Window(NamedTuple):
    """The seconds ``[start, end)``."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """Number of seconds."""
        return self.end - self.start


def ended(schedule: Schedule) -> BoolArray:
    """Tell which jobs ran to an end (completed, timed out or killed), shape ``(J,)``."""
    return np.isin(schedule.outcome, [JobOutcome.COMPLETED, JobOutcome.TIMEOUT, JobOutcome.KILLED])


def finished(schedule: Schedule) -> BoolArray:
    """
    Tell which jobs completed or timed out, shape ``(J,)``: those of the measures of jobs.

    A job that the dispatcher killed did not get done, and is only counted.
    """
    return np.isin(schedule.outcome, [JobOutcome.COMPLETED, JobOutcome.TIMEOUT])


def busy_window(schedule: Schedule) -> Window | None:
    """
    Return the window ``[first submit, last end)`` over which a schedule is measured.

    Rejected jobs do not count. In a simulation that was cut, jobs that still ran end at the cut.
    None if no job ran, or none for even a second from the first submit on.
    """
    entered = schedule.outcome != JobOutcome.REJECTED
    if not entered.any() or not (schedule.start != MISSING).any():
        return None
    start = int(schedule.workload.submit[entered].min())
    last = schedule.end[ended(schedule)].max(initial=start)
    end = int(schedule.segments.end.max(initial=last))
    return Window(start, end) if end > start else None


def steady_window(schedule: Schedule) -> Window | None:
    """
    Return the part of the window without warm-up and drain.

    It begins when 5 % of the jobs have been submitted and ends when 95 % have. Machine and queue
    start empty and the last jobs run on a machine that empties; between these two submits
    they do neither. Because the window follows from the jobs alone (the rejected ones left out),
    it is the same for all dispatchers.

    Returns
    -------
    Window or None
        None where the jobs have no steady part: fewer than 100 of them, or a window shorter than
        their mean runtime in the log, as where most are submitted in a burst; or where a
        simulation was cut before the window ends.
    """
    workload = schedule.workload
    entered = schedule.outcome != JobOutcome.REJECTED
    if entered.sum() < FEWEST_JOBS:
        return None
    start, end = submits_between(workload.submit[entered])
    if end - start < max(float(workload.runtime[entered].mean()), 1):
        return None
    return Window(start, end) if end <= horizon(schedule) else None


def submits_between(submit: IntArray) -> Window:
    """Return the submits by which 5 % and 95 % of some jobs have been submitted."""
    shares = [_WARM_UP, 1 - _WARM_UP]
    return Window(*np.quantile(submit, shares, method="inverted_cdf").tolist())


def horizon(schedule: Schedule) -> int:
    """
    Return the last second of which a schedule says anything.

    Jobs that had not started when a simulation was cut are taken to wait until then; with
    nothing recorded at all it is the last submit.
    """
    segments, submit = schedule.segments, schedule.workload.submit
    latest = [times.max(initial=MISSING) for times in (schedule.start, schedule.end, segments.end)]
    last = int(max(latest))
    return last if last != MISSING else int(np.max(submit, initial=0))
