"""How often jobs are overtaken in the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.base.types import MISSING
from cpsched.metrics.steps import released
from cpsched.metrics.window import finished

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.model.schedule import Schedule


def overtaken(schedule: Schedule) -> IntArray:
    """
    Return by how many jobs each job that ended was overtaken, shape ``(num_ended,)``.

    Job k overtakes job j if it was submitted in a later second, started in an earlier one, and j
    could have been started then: k's start is not before j's begin time and the end of the job
    that j depends on. Whether j would have found room on the machine is not asked, nor whether
    it would have started earlier without k. O(n log n).
    """
    workload = schedule.workload
    started = np.flatnonzero(schedule.start != MISSING)
    submit, start = workload.submit[started], schedule.start[started]
    free = released(schedule)[started]
    # What started while a job was held did not overtake it: count, and subtract.
    held = np.flatnonzero(free > submit)
    counts = later_and_below(
        np.concatenate([submit, submit[held]]),
        np.concatenate([start, np.minimum(free, start)[held]]),
        len(started),
    )
    counts[held] -= counts[len(started) :]
    return counts[: len(started)][finished(schedule)[started]]


def later_and_below(time: IntArray, value: IntArray, counted: int) -> IntArray:
    """
    Return for each point how many of the first ``counted`` have a later time and a smaller value.

    Parameters
    ----------
    time, value
        Integers, shape ``(n,)``.

    Returns
    -------
    ndarray
        Shape ``(n,)``. Equal times are not later, equal values not smaller.

    Notes
    -----
    Points are ranked by value, and put in the order of time. From the highest bit of the ranks to
    the lowest, they are split into groups that agree in all higher bits: of a point with a 1, the
    points behind it in its group that have a 0 are later and below. As ranks are 0 to n - 1, the
    groups lie at known places.
    """
    number = len(time)
    # Ties in time go by value and ties in value by time, so that neither counts.
    order = np.lexsort((value, time))
    by_value = np.argsort(value[order], kind="stable")
    counts = order[by_value] < counted
    # Half as wide as usual: moving them about is all the work there is.
    ranks = np.empty(number, dtype=np.int32)
    ranks[by_value] = np.arange(number, dtype=np.int32)
    found = np.zeros(number, dtype=np.int64)
    for bit in reversed(range(max(number - 1, 0).bit_length())):
        is_high = (ranks >> bit & 1).astype(np.bool_)
        low, high = ranks[~is_high], ranks[is_high]
        in_front = np.zeros(number + 1, dtype=np.int32)
        np.cumsum(~is_high & counts[ranks], out=in_front[1:])
        behind_group = np.minimum((high | ((2 << bit) - 1)) + 1, number)
        found[high] += in_front[behind_group] - in_front[np.flatnonzero(is_high)]
        # Half of every group but the last have a 0, and so has half of the last if any has a 1.
        split = np.empty_like(ranks)
        split[(low >> (bit + 1) << bit) + np.arange(len(low))] = low
        split[(high >> (bit + 1) << bit) + (1 << bit) + np.arange(len(high))] = high
        ranks = split
    answer = np.empty(number, dtype=np.int64)
    answer[order[by_value]] = found
    return answer
