"""
Below what no schedule can go: the machine as one fast processor, on which jobs may be interrupted.

A job of area ``a`` (cores times runtime) takes ``a / m`` seconds on a processor as fast as the
``m`` cores together. Any schedule of the machine is one of that processor in which job ``j`` has
the mean busy time ``end - runtime / 2``. The sum of weighted mean busy times is least when the job
with the highest weight per area goes first and is interrupted by any with a higher one (Goemans,
Queyranne, Schulz, Skutella and Wang 2002, "Single machine scheduling with release dates", lemma
3.1), so what that schedule has is a bound for every other.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.util.types import FloatArray, IntArray

_TAU = 10


def mean_busy_times(submit: IntArray, area: FloatArray, weight: FloatArray) -> FloatArray:
    """
    Return the mean busy time of each job when the highest weight per area goes first.

    Parameters
    ----------
    submit
        Seconds, in ascending order.
    area
        Seconds that a job takes on the whole machine, above 0.
    weight
        Above 0.
    """
    order = (-weight / area).tolist()
    left, busy = area.tolist(), np.zeros(len(submit))
    ready: list[tuple[float, int]] = []
    now, arrivals = 0.0, [*submit.tolist(), np.inf]
    arrived = 0
    while arrived < len(submit) or ready:
        if not ready:
            now = max(now, arrivals[arrived])
        while arrivals[arrived] <= now:
            heapq.heappush(ready, (order[arrived], arrived))
            arrived += 1
        job = ready[0][1]
        until = min(now + left[job], arrivals[arrived])
        # The mean over the time that it is busy, added up piece by piece.
        busy[job] += (until - now) * (until + now) / 2
        left[job] -= until - now
        if until < arrivals[arrived] or left[job] <= 0:
            heapq.heappop(ready)
        now = until
    return busy / area


def lower_bounds(
    submit: IntArray, runtime: IntArray, cores: IntArray, machine: int
) -> tuple[float, float]:
    """
    Return bounds of the mean bounded slowdown and of the area-weighted response, seconds.

    Parameters
    ----------
    submit, runtime, cores
        Of each job, in order of submits; runtimes as they were simulated.
    machine
        Cores.
    """
    ran = np.maximum(runtime, 1).astype(np.float64)
    work = ran * cores
    area = work / machine
    weight = 1 / np.maximum(ran, _TAU)
    # Neither is it above the job's own: it cannot be busy before its submit.
    response = mean_busy_times(submit, area, weight) + ran / 2 - submit
    slowdown = max(1.0, float((weight * response).sum()) / len(submit))
    response = mean_busy_times(submit, area, work) + ran / 2 - submit
    alone = float((work * ran).sum())
    return slowdown, max(float((work * response).sum()), alone) / float(work.sum())
