"""The busiest day of a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics.steps import waiting
from cpsched.metrics.window import Window, busy_window

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule

DAY = 86400


def busiest(schedule: Schedule, length: int = DAY) -> Window | None:
    """
    Return the day (or period of another length) with the longest queue on average.

    Days begin at midnight UTC where the log says when its second 0 was. A schedule shorter than
    that is returned whole; None if no job ran.
    """
    window = busy_window(schedule)
    if window is None or window.length <= length:
        return window
    offset = (window.start + (schedule.workload.epoch or 0)) % length
    edges = np.arange(window.start - offset, window.end + length, length)
    most = int(np.argmax(waiting(schedule).means(edges)))
    return Window(max(int(edges[most]), window.start), min(int(edges[most]) + length, window.end))
