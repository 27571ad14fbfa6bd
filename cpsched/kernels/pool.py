"""
Plans on the machine as one pool: free capacity over time by resource kind, whatever the node.

A relaxation of what nodes allow (exact where the system is one pool), whose cost does not grow
with the machine. A timeline is ``times`` (S,) and ``level`` (S, R): segment i begins at
``times[i]`` and has ``level[i]`` free, the last one never ends.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.compiling import kernel
from cpsched.model.columns import ALLOC_COUNT, ALLOC_FIRST, EXPECTED_END


@kernel
def sum_of(free, nodes):
    """Return what some nodes have free in all, shape ``(R,)``; overdrawn nodes count as empty."""
    num_kinds = free.shape[1]
    total = np.zeros(num_kinds, dtype=np.int64)
    for n in nodes:
        for r in range(num_kinds):
            total[r] += max(free[n, r], 0)
    return total


@kernel
def pool_profile(now, cols, running, back, free):
    """
    Return free capacity over time as the running jobs end.

    Parameters
    ----------
    running
        Rows of the running jobs, by expected end; one that should have ended ends next second.
    back
        What each of them gives back, see :func:`given_back`.
    free
        What the machine has to give now, shape ``(R,)``.

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
    """Return what each running job gives back when it ends, shape ``(B, R)``."""
    num_kinds = arena_amount.shape[1]
    back = np.zeros((len(running), num_kinds), dtype=np.int64)
    for i in range(len(running)):
        first = cols[running[i], ALLOC_FIRST]
        for k in range(first, first + cols[running[i], ALLOC_COUNT]):
            for r in range(num_kinds):
                back[i, r] += arena_amount[k, r]
    return back


@kernel
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


@kernel
def occupy_pool(at, end, need, times, level, count):
    """Take a job's needs off a timeline from segment ``at`` to ``end``; return its new length."""
    num_kinds = level.shape[1]
    last = at
    while last < count and times[last] < end:
        last += 1
    if last == count or times[last] > end:
        for i in range(count, last, -1):
            times[i] = times[i - 1]
            for r in range(num_kinds):
                level[i, r] = level[i - 1, r]
        times[last] = end
        for r in range(num_kinds):
            level[last, r] = level[last - 1, r]
        count += 1
    for i in range(at, last):
        for r in range(num_kinds):
            level[i, r] -= need[r]
    return count


@kernel
def list_plan(order, duration, demand, times, level):
    """
    Give jobs, in order, the first time they fit for their duration behind those before them.

    Parameters
    ----------
    order
        Positions of the n jobs, best first.
    duration, demand
        Seconds and amounts of each job, shapes ``(n,)`` and ``(n, R)``.
    times, level
        The timeline; not changed.

    Returns
    -------
    ndarray
        Planned start of each job (not in ``order``'s order), -1 where it never fits.
    """
    num_kinds = level.shape[1]
    count = len(times)
    size = count + len(order)
    own_times = np.empty(size, dtype=np.int64)
    own_level = np.empty((size, num_kinds), dtype=np.int64)
    for i in range(count):
        own_times[i] = times[i]
        for r in range(num_kinds):
            own_level[i, r] = level[i, r]
    start = np.empty(len(duration), dtype=np.int64)
    for j in range(len(start)):
        start[j] = -1
    for job in order:
        at = find_window(0, duration[job], demand[job], own_times, own_level, count)
        if at >= 0:
            start[job] = own_times[at]
            count = occupy_pool(
                at, own_times[at] + duration[job], demand[job], own_times, own_level, count
            )
    return start


@kernel
def pool_left(start, duration, demand, taken, times, level):
    """
    Return the timeline that some planned jobs leave.

    Parameters
    ----------
    start, duration, demand
        Of n planned jobs, shapes ``(n,)``, ``(n,)``, ``(n, R)``; start -1: not planned.
    taken
        bool, shape ``(n,)``: which of them count.

    Returns
    -------
    times, level
        Levels may rise and fall.
    """
    num_kinds = level.shape[1]
    count = len(times)
    size = count + 2 * len(start)
    own_times = np.empty(size, dtype=np.int64)
    own_level = np.empty((size, num_kinds), dtype=np.int64)
    for i in range(count):
        own_times[i] = times[i]
        for r in range(num_kinds):
            own_level[i, r] = level[i, r]
    for j in range(len(start)):
        if not taken[j] or start[j] < 0:
            continue
        at = 0
        while at < count and own_times[at] < start[j]:
            at += 1
        if at == count or own_times[at] > start[j]:
            for i in range(count, at, -1):
                own_times[i] = own_times[i - 1]
                for r in range(num_kinds):
                    own_level[i, r] = own_level[i - 1, r]
            own_times[at] = start[j]
            for r in range(num_kinds):
                own_level[at, r] = own_level[at - 1, r]
            count += 1
        count = occupy_pool(at, start[j] + duration[j], demand[j], own_times, own_level, count)
    return own_times[:count], own_level[:count]
