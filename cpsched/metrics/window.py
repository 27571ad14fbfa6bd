"""The period over which a schedule is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.model.schedule import JobOutcome
from cpsched.model.types import MISSING

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule
    from cpsched.model.types import BoolArray


class Window(NamedTuple):
    """The seconds ``[start, end)``."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """Number of seconds."""
        return self.end - self.start


def ended(schedule: Schedule) -> BoolArray:
    """Tell which jobs ran to an end (completed or timed out), shape ``(J,)``."""
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


def horizon(schedule: Schedule) -> int:
    """
    Return the last second of which a schedule says anything.

    Jobs that had not started when a simulation was cut are taken to wait until then; with
    nothing recorded at all it is the last submit.
    """
    segments, submit = schedule.segments, schedule.workload.submit
    found = [times.max(initial=MISSING) for times in (schedule.start, schedule.end, segments.end)]
    last = int(max(found))
    return last if last != MISSING else int(np.max(submit, initial=0))
