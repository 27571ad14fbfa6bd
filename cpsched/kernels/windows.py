"""The first window in which a job can be placed on groups of nodes."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.choosing import choose_groups
from cpsched.kernels.compiling import kernel
from cpsched.kernels.profile import GROUPS, SEGMENTS
from cpsched.kernels.rooms import FITS, group_room, shortage, within_bounds
from cpsched.model.columns import SHAPE_REQUEST


@kernel
def _lower(machine, low, level, profile, request, rooms):
    """Lower one level to another, with the rooms on it; return by how much their sum fell."""
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, size = profile.first, profile.size
    num_kinds = capacity.shape[1]
    shape = request.shape
    fallen = 0
    for g in range(profile.num[GROUPS]):
        changed = False
        for k in range(g * num_kinds, (g + 1) * num_kinds):
            if level[k] < low[k]:
                low[k] = level[k]
                changed = True
        if changed and rooms[g] > 0:
            room = group_room(low, g, first[g], capacity, eligible, shapes, shape, rooms[g])
            fallen += (rooms[g] - room) * size[g]
            rooms[g] = room
    return fallen


@kernel
def _last_too_little(machine, request, known, profile, low, rooms, most):
    """
    Return the last segment from which on a job does not fit until segment ``known``.

    There must be one. Spoils ``low`` and ``rooms``.
    """
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, size = profile.first, profile.size
    num_groups = profile.num[GROUPS]
    units, shape = request.units, request.shape
    total = 0
    level = profile.levels[profile.rows[known - 1]]
    for i in range(num_groups * capacity.shape[1]):
        low[i] = level[i]
    for g in range(num_groups):
        rooms[g] = group_room(level, g, first[g], capacity, eligible, shapes, shape, units)
        total += rooms[g] * size[g]
    s = known - 1
    if total < units:
        most[profile.rows[s]] = min(most[profile.rows[s]], total)
        return s
    bounded = request.nodes_min > 1 or request.nodes_max < units
    while total >= units:
        if bounded and not within_bounds(profile, rooms, request):
            return s
        s -= 1
        level = profile.levels[profile.rows[s]]
        total -= _lower(machine, low, level, profile, request, rooms)
    return s


@kernel
def _pool_until(machine, request, at, known, end, profile, most):
    """
    Return up to which segment, from ``known`` on, all nodes together have room until ``end``.

    Also whether that is all the way. The window begins at ``at``.
    """
    times, rows, room, falls = profile.times, profile.rows, profile.room, profile.falls
    shapes, shape = machine.shapes, request.shape
    count = profile.num[SEGMENTS]
    while known < count and times[known] < end:
        row = rows[known]
        if known == at or falls[row]:
            if most[row] < request.units:
                return known, False
            for r in range(room.shape[1]):
                need = shapes[shape, SHAPE_REQUEST + r]
                if room[row, r] < request.units * need:
                    return known, False
        known += 1
    return known, True


@kernel
def _least(profile, at, known, num_kinds, low):
    """Fill ``low`` with the least of the levels from segment ``at`` to before ``known``."""
    rows, levels = profile.rows, profile.levels
    falls, fallen = profile.falls, profile.fallen
    num_groups = profile.num[GROUPS]
    row = rows[at]
    for i in range(num_groups * num_kinds):
        low[i] = levels[row, i]
    for s in range(at + 1, known):
        row = rows[s]
        if falls[row]:
            for g in range(num_groups):
                if fallen[row, g]:
                    for k in range(g * num_kinds, (g + 1) * num_kinds):
                        low[k] = min(low[k], levels[row, k])


@kernel
def _next_enough(machine, request, at, until, profile, most, rooms):
    """
    Return the first segment behind ``at``, which is too little, that may be enough by itself.

    Up to where a planned start takes something away, there is only ever more: steps that double,
    then halves. Spoils ``rooms``.
    """
    rows, levels, falls = profile.rows, profile.levels, profile.falls
    low = at
    high = at + 1
    step = 1
    while high < until and not falls[rows[high]]:
        row = rows[high]
        if most[row] >= request.units:
            short = shortage(machine, levels[row], profile, request, rooms)
            if short == FITS:
                break
            most[row] = min(most[row], short)
        low = high
        # No further than the next planned start.
        for _ in range(step):
            high += 1
            if high == until or falls[rows[high]]:
                break
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        row = rows[middle]
        short = most[row]
        if short >= request.units:
            short = shortage(machine, levels[row], profile, request, rooms)
            if short != FITS:
                most[row] = min(most[row], short)
        if short == FITS:
            high = middle
        else:
            low = middle
    return high


@kernel
def find_window(machine, request, begin, until, profile, most, low):
    """
    Find the first segment in ``[begin, until)`` at which a job fits for its whole duration.

    What fits throughout a window fits the least of each level in it (``low``). If that is too
    little, the window's shortest end that is too little by itself tells where the next can begin.

    Parameters
    ----------
    most
        Upper bounds, by row of the profile, of the units that fit; lowered here.
    low
        Room for a level.

    Returns
    -------
    at, pieces
        -1 and no pieces where there is none.
    """
    rows, levels = profile.rows, profile.levels
    num_kinds = machine.capacity.shape[1]
    rooms = np.empty(profile.num[GROUPS], dtype=np.int64)
    at = begin
    # Segments in [at, known) have room in all; those in [at, sure) fit the job by themselves.
    known = begin
    sure = begin
    while at < until:
        end = profile.times[at] + request.duration
        known, enough = _pool_until(machine, request, at, max(known, at), end, profile, most)
        if not enough:
            at = known + 1
            continue
        row = rows[at]
        short = FITS
        if sure <= at:
            # Often the first segment is what is too little.
            short = shortage(machine, levels[row], profile, request, rooms)
            if short != FITS:
                most[row] = min(most[row], short)
                at = _next_enough(machine, request, at, until, profile, most, rooms)
                continue
        _least(profile, at, known, num_kinds, low)
        if shortage(machine, low, profile, request, rooms) != FITS:
            if at + 1 == until:
                break
            sure = known
            at = 1 + _last_too_little(machine, request, known, profile, low, rooms, most)
            continue
        pieces = choose_groups(machine, low, profile, request, rooms)
        if len(pieces) > 0:
            return at, pieces
        # An even split or a run asks for more than room.
        at += 1
    return -1, np.empty((0, 3), dtype=np.int64)
