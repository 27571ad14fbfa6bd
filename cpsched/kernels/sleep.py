"""
Nodes that no job can use for long: left out of a plan until they matter.

A node *sleeps* while it has too little of some kind for every job that is planned. It is then in no
window that begins before some of its capacity is released, because a job that fits throughout a
window fits in its first second: a plan without it is the same up to then.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import FAR, ONE, ZERO
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.profile import GROUPS, SEGMENTS, Profile, group_from, group_places, grouped
from cpsched.model.columns import (
    ALLOC_COUNT,
    ALLOC_FIRST,
    EXPECTED_END,
    RUNTIME_ESTIMATE,
    SHAPE,
    SHAPE_REQUEST,
    UNITS,
)

#: How much more work than waits the machine could have done where the plan is guessed to end.
_MARGIN = 4.0


@kernel
def horizon(now, jobs, cols, shapes, free, running, arena_amount):
    """
    Guess a second before which all jobs will be planned to start; FAR if that is hard to estimate.

    By then what is free and what running jobs give back, as one pool, could have done a few times
    the work that waits, and has held the widest job for a moment. Only time depends on the guess.
    """
    num_nodes, num_kinds = free.shape
    have = np.zeros(num_kinds)
    work = np.zeros(num_kinds)
    widest = np.zeros(num_kinds)
    done = np.zeros(num_kinds)
    for n in range(num_nodes):
        for r in range(num_kinds):
            have[r] += max(free[n, r], 0)
    for job in jobs:
        for r in range(num_kinds):
            need = float(cols[job, UNITS]) * shapes[cols[job, SHAPE], SHAPE_REQUEST + r]
            work[r] += _MARGIN * need * max(cols[job, RUNTIME_ESTIMATE], 1)
            widest[r] = max(widest[r], need)
    second = float(now)
    for job in running:
        end = float(max(cols[job, EXPECTED_END], now + 1))
        until = _until(second, have, work, widest, done)
        if until < end:
            return np.int64(until) + 1
        for r in range(num_kinds):
            done[r] += have[r] * (end - second)
        second = end
        first = cols[job, ALLOC_FIRST]
        for k in range(first, first + cols[job, ALLOC_COUNT]):
            for r in range(num_kinds):
                have[r] += arena_amount[k, r]
    return FAR


@leaf
def _until(second, have, work, widest, done):
    """Return when all work will be done if nothing more is released, infinity for never."""
    until = second
    for r in range(len(have)):
        if have[r] < widest[r]:
            return np.inf
        if done[r] < work[r]:
            until = max(until, second + (work[r] - done[r]) / have[r])
    return until


@kernel
def sleeping(edge, now, distinct, cols, shapes, free, running, arena_node):
    """
    Find the nodes that sleep at least until ``edge``.

    Parameters
    ----------
    distinct
        Shapes of the jobs that are planned.

    Returns
    -------
    asleep, edge
        Shape ``(N,)``; and the edge, FAR where too few nodes sleep to be worth it (then none does).
    """
    num_nodes, num_kinds = free.shape
    asleep = np.zeros(num_nodes, dtype=np.bool_)
    if edge == FAR:
        return asleep, FAR
    for r in range(num_kinds):
        least = FAR
        for shape in distinct:
            need = shapes[shape, SHAPE_REQUEST + r] + shapes[shape, SHAPE_REQUEST + num_kinds + r]
            least = min(least, need)
        if least > 0:
            for n in range(num_nodes):
                asleep[n] |= free[n, r] < least
    for job in running:
        if max(cols[job, EXPECTED_END], now + 1) >= edge:
            break
        first = cols[job, ALLOC_FIRST]
        for k in range(first, first + cols[job, ALLOC_COUNT]):
            asleep[arena_node[k]] = False
    count = 0
    for n in range(num_nodes):
        count += asleep[n]
    if 2 * count < num_nodes:
        asleep[:] = False
        return asleep, FAR
    return asleep, edge


@inner
def wake(profile, begins, asleep, cols, free, running, arena_node, arena_amount, spare):
    """
    Return a profile with the nodes that slept; nothing is planned on them yet.

    Parameters
    ----------
    begins
        Where groups begin.
    spare
        Room for so many groups more.
    """
    others = grouped(profile.times[0], begins, ~asleep, free, ONE, ZERO)
    old, new = profile.num[GROUPS], others.num[GROUPS]
    num_kinds = free.shape[1]
    width = min(len(free), old + new + spare)
    first = np.empty(width, dtype=np.int64)
    size = np.empty(width, dtype=np.int64)
    line = np.empty(width, dtype=np.int64)
    levels = np.empty((len(profile.times), width, num_kinds), dtype=np.int64)
    fallen = np.zeros((len(profile.times), width), dtype=np.bool_)
    for g in range(old):
        first[g], size[g] = profile.first[g], profile.size[g]
    for g in range(new):
        first[old + g], size[old + g] = others.first[g], others.size[g]
    i = 0
    j = 0
    for k in range(old + new):
        if j == new or (i < old and profile.first[profile.line[i]] < others.first[j]):
            line[k] = profile.line[i]
            i += 1
        else:
            line[k] = old + j
            j += 1
    _fill_levels(
        profile, others, levels, fallen, cols, running, arena_node, arena_amount, len(free)
    )
    profile.num[GROUPS] = old + new
    return Profile(
        profile.num, profile.times, profile.rows, levels, profile.room, profile.falls, fallen,
        first, size, line,
    )  # fmt: skip


@inner
def _fill_levels(
    profile, others, levels, fallen, cols, running, arena_node, arena_amount, num_nodes
):
    """Put the levels of a profile side by side with those of other groups, as jobs end on them."""
    old, new = profile.num[GROUPS], others.num[GROUPS]
    num_kinds = profile.room.shape[1]
    places = group_places(others.first, new, num_nodes)
    has = others.levels[0]
    job = 0
    for i in range(profile.num[SEGMENTS]):
        while job < len(running):
            row = running[job]
            if max(cols[row, EXPECTED_END], profile.times[0] + 1) > profile.times[i]:
                break
            first = cols[row, ALLOC_FIRST]
            for k in range(first, first + cols[row, ALLOC_COUNT]):
                g = group_from(others.first, new, places, arena_node[k])
                if g >= 0:
                    for r in range(num_kinds):
                        has[g, r] += arena_amount[k, r]
            job += 1
        row = profile.rows[i]
        for g in range(old):
            fallen[row, g] = profile.fallen[row, g]
            for r in range(num_kinds):
                levels[row, g, r] = profile.levels[row, g, r]
        for g in range(new):
            for r in range(num_kinds):
                levels[row, old + g, r] = has[g, r]
                profile.room[row, r] += has[g, r] * others.size[g]
