"""
Plans on the machine as one pool: free capacity over time by resource kind, whatever the node.

A relaxation of what nodes allow (exact where the system is one pool), whose cost does not grow
with the machine. A timeline is ``times`` (S,) and ``level`` (S, R): segment i begins at
``times[i]`` and has ``level[i]`` free, the last one never ends.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import ZERO
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.model.columns import ALLOC_COUNT, ALLOC_FIRST, EXPECTED_END


@kernel
def pool_profile(now, cols, running, back, free):
    """
    Return free capacity over time as the running jobs end.

    Parameters
    ----------
    running
        Rows of the running jobs, by expected end; one that should have ended ends next second.
    back
        What each of them releases, see :func:`given_back`.
    free
        Free capacity of the machine now, shape ``(R,)``.

    Returns
    -------
    times, level
        Shapes ``(S,)`` and ``(S, R)``, levels never below 0.
    """
    num_kinds = len(free)
    times = np.empty(len(running) + 1, dtype=np.int64)
    level = np.empty((len(running) + 1, num_kinds), dtype=np.int64)
    times[0] = now
    for r in range(num_kinds):
        level[0, r] = free[r]
    last = 0
    for i in range(len(running)):
        end = max(cols[running[i], EXPECTED_END], now + 1)
        if end > times[last]:
            last += 1
            times[last] = end
            for r in range(num_kinds):
                level[last, r] = level[last - 1, r]
        for r in range(num_kinds):
            level[last, r] += back[i, r]
    return times[: last + 1], level[: last + 1]


@kernel
def given_back(running, cols, arena_amount):
    """Return what each running job releases when it ends, shape ``(B, R)``."""
    num_kinds = arena_amount.shape[1]
    back = np.zeros((len(running), num_kinds), dtype=np.int64)
    for i in range(len(running)):
        first = cols[running[i], ALLOC_FIRST]
        for k in range(first, first + cols[running[i], ALLOC_COUNT]):
            for r in range(num_kinds):
                back[i, r] += arena_amount[k, r]
    return back


@inner
def find_window(begin, duration, need, times, level, count):
    """Return the first segment from ``begin`` on where a job fits for its duration, or -1."""
    num_kinds = level.shape[1]
    at = begin
    last = begin
    while last < count:
        for r in range(num_kinds):
            if level[last, r] < need[r]:
                at = last + 1
                break
        last += 1
        if at < last and (last == count or times[last] >= times[at] + duration):
            return at
    return -1


@inner
def copied(times, level, more):
    """Return a timeline's copy with room for ``more`` segments, and its length."""
    count = len(times)
    own_times = np.empty(count + more, dtype=np.int64)
    own_level = np.empty((count + more, level.shape[1]), dtype=np.int64)
    for i in range(count):
        own_times[i] = times[i]
        for r in range(level.shape[1]):
            own_level[i, r] = level[i, r]
    return own_times, own_level, count


@leaf
def split_at(time, begin, times, level, count):
    """
    Let a segment begin at a time.

    Searched from segment ``begin`` on. Returns the first segment that does not begin before the
    time, and the timeline's new length; before the first one there is nothing to split.
    """
    at = begin
    while at < count and times[at] < time:
        at += 1
    if at > 0 and (at == count or times[at] > time):
        for i in range(count, at, -1):
            times[i] = times[i - 1]
            for r in range(level.shape[1]):
                level[i, r] = level[i - 1, r]
        times[at] = time
        for r in range(level.shape[1]):
            level[at, r] = level[at - 1, r]
        count += 1
    return at, count


@leaf
def occupy_pool(at, end, need, times, level, count):
    """Take a job's needs off a timeline from segment ``at`` to ``end``; return its new length."""
    last, count = split_at(end, at, times, level, count)
    for i in range(at, last):
        for r in range(level.shape[1]):
            level[i, r] -= need[r]
    return count


@kernel
def list_plan(order, duration, demand, ready, times, level):
    """
    Give jobs, in order, the first time from ``ready`` on at which they fit after those before them.

    Parameters
    ----------
    order
        Positions of the n jobs, best first.
    duration, demand, ready
        Seconds, amounts and earliest start of each job, shapes ``(n,)``, ``(n, R)``, ``(n,)``.
    times, level
        The timeline; not changed.

    Returns
    -------
    ndarray
        Planned start of each job (not in ``order``'s order), -1 where it never fits.
    """
    own_times, own_level, count = copied(times, level, 2 * len(order))
    start = np.empty(len(duration), dtype=np.int64)
    for j in range(len(start)):
        start[j] = -1
    for job in order:
        begin, count = split_at(ready[job], ZERO, own_times, own_level, count)
        at = find_window(begin, duration[job], demand[job], own_times, own_level, count)
        if at >= 0:
            start[job] = own_times[at]
            count = occupy_pool(
                at, own_times[at] + duration[job], demand[job], own_times, own_level, count
            )
    return start
