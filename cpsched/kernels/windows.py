"""The first window in which a job can be placed on groups of nodes."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import ZERO
from cpsched.kernels.filling import fill_greedily
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.linking import trailing_zeros
from cpsched.kernels.parts import is_confined
from cpsched.kernels.placing import FIRST_FIT, choose, is_even, is_run
from cpsched.kernels.profile import SEGMENTS, groups_of
from cpsched.kernels.rooms import FITS, room_on, shortage, within_bounds
from cpsched.model.columns import SHAPE_REQUEST


@leaf
def _lower(machine, low, level, groups, request, rooms):
    """Lower one level to another, with the rooms on it; return by how much their sum fell."""
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, size = groups.first, groups.size
    shape = request.shape
    fallen = 0
    for g in range(len(groups.line)):
        changed = False
        for r in range(capacity.shape[1]):
            if level[g, r] < low[g, r]:
                low[g, r] = level[g, r]
                changed = True
        if changed and rooms[g] > 0:
            room = room_on(low, g, first[g], capacity, eligible, shapes, shape, rooms[g])
            fallen += (rooms[g] - room) * size[g]
            rooms[g] = room
    return fallen


@leaf
def _last_too_little(machine, request, known, profile, groups, low, rooms, most):
    """
    Return the last segment from which on a job does not fit until segment ``known``.

    There must be one. Spoils ``low`` and ``rooms``.
    """
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, size = groups.first, groups.size
    units, shape = request.units, request.shape
    total = 0
    level = profile.levels[profile.rows[known - 1]]
    for g in range(len(groups.line)):
        for r in range(capacity.shape[1]):
            low[g, r] = level[g, r]
        rooms[g] = 0
        if level[g, 0] >= shapes[shape, SHAPE_REQUEST]:
            rooms[g] = room_on(level, g, first[g], capacity, eligible, shapes, shape, units)
        total += rooms[g] * size[g]
    s = known - 1
    if total < units:
        most[profile.rows[s]] = min(most[profile.rows[s]], total)
        return s
    bounded = request.nodes_min > 1 or request.nodes_max < units
    while total >= units:
        if bounded and not within_bounds(groups, rooms, request):
            return s
        s -= 1
        level = profile.levels[profile.rows[s]]
        total -= _lower(machine, low, level, groups, request, rooms)
    return s


@leaf
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


@leaf
def least_in(profile, at, known, num_groups, low):
    """
    Fill ``low`` with the least of the levels from segment ``at`` to before ``known``.

    Says whether that may be less than the first of them.
    """
    rows, levels = profile.rows, profile.levels
    falls, fallen = profile.falls, profile.fallen
    num_kinds = levels.shape[2]
    row = rows[at]
    for g in range(num_groups):
        for r in range(num_kinds):
            low[g, r] = levels[row, g, r]
    falls_once = False
    for s in range(at + 1, known):
        row = rows[s]
        if falls[row]:
            falls_once = True
            for word in range(fallen.shape[1]):
                rest = fallen[row, word]
                while rest != 0:
                    g = 64 * word + trailing_zeros(rest)
                    rest &= rest - 1
                    for r in range(num_kinds):
                        low[g, r] = min(low[g, r], levels[row, g, r])
    return falls_once


@leaf
def _next_enough(machine, request, at, until, profile, groups, most, rooms):
    """
    Return the first segment behind ``at``, which is too little, that may be enough by itself.

    And whether it is for sure. Up to where a planned start takes something away, there is only ever
    more: steps that double, then halves. Spoils ``rooms``.
    """
    rows, levels, falls = profile.rows, profile.levels, profile.falls
    fits, low = False, at
    high = at + 1
    step = 1
    while high < until and not falls[rows[high]]:
        row = rows[high]
        if most[row] >= request.units:
            short = shortage(machine, levels[row], groups, request, rooms)
            if short == FITS:
                fits = True
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
            short = shortage(machine, levels[row], groups, request, rooms)
            if short != FITS:
                most[row] = min(most[row], short)
        if short == FITS:
            high, fits = middle, True
        else:
            low = middle
    return high, fits


@leaf
def needs_room_alone(machine, request):
    """Say whether a job can be placed wherever there is room for it within its bounds."""
    confined = is_run(machine, request) or is_confined(machine, request)
    return not (confined or is_even(machine, request))


@inner
def _choose_fitting(machine, level, groups, request, rooms):
    """Place a job as ``choose`` does, for less where room is all that matters. Spoils ``rooms``."""
    bounded = request.nodes_max < request.units
    if machine.policy != FIRST_FIT or bounded or not needs_room_alone(machine, request):
        return choose(machine, level, groups, request)
    line = groups.line
    order = np.empty(len(line), dtype=np.int64)
    count = ZERO
    rooms[:] = 0
    shortage(machine, level, groups, request, rooms)
    for i in range(len(line)):
        if rooms[line[i]] > 0:
            order[count] = line[i]
            count += 1
    pieces = np.empty((4 * count + 4, 3), dtype=np.int64)
    return pieces[: fill_greedily(groups.size, request, rooms, order, count, pieces)]


@leaf
def next_window(
    machine, request, at, known, sure, until, profile, groups, most, low, rooms
):  # fmt: skip
    """
    Find the next segment from ``at`` on in which there is room for a job for its whole duration.

    Segments in [at, known) have room in all; those in [at, sure) fit the job by themselves. Returns
    the three anew, -1 first where there is none before ``until``. Spoils ``rooms``.
    """
    rows, levels, times = profile.rows, profile.levels, profile.times
    num_groups = len(groups.line)
    fits = False
    while at < until:
        end = times[at] + request.duration
        known, enough = _pool_until(machine, request, at, max(known, at), end, profile, most)
        if not enough:
            at, fits = known + 1, False
            continue
        row = rows[at]
        is_sure = sure > at
        if not (is_sure or fits):
            # Often the first segment is what is too little.
            short = shortage(machine, levels[row], groups, request, rooms)
            if short != FITS:
                most[row] = min(most[row], short)
                at, fits = _next_enough(machine, request, at, until, profile, groups, most, rooms)
                continue
        falls_once = least_in(profile, at, known, num_groups, low)
        if not (falls_once or is_sure) or shortage(machine, low, groups, request, rooms) == FITS:
            return at, known, sure
        if at + 1 == until:
            break
        sure, fits = known, False
        at = 1 + _last_too_little(machine, request, known, profile, groups, low, rooms, most)
    return -1, known, sure


@inner
def find_window(machine, request, begin, until, profile, most, low, chooses):
    """
    Find the first segment in ``[begin, until)`` at which a job fits for its whole duration.

    What fits throughout a window fits the least of each level in it (``low``). If that is too
    little, the window's shortest end that is too little by itself tells where the next can begin.

    Parameters
    ----------
    most
        Upper bounds, by row of the profile, of the units that fit; lowered here.
    low
        Room for a level; filled with what is free throughout the window.
    chooses
        Whether the caller wants to know where, too.

    Returns
    -------
    at, pieces
        -1 and no pieces where there is none.
    """
    groups = groups_of(profile)
    rooms = np.empty(len(groups.line), dtype=np.int64)
    is_enough = not chooses and needs_room_alone(machine, request)
    at = known = sure = begin
    while True:
        at, known, sure = next_window(
            machine, request, at, known, sure, until, profile, groups, most, low, rooms
        )
        if at < 0 or is_enough:
            return at, np.empty((0, 3), dtype=np.int64)
        pieces = _choose_fitting(machine, low, groups, request, rooms)
        if len(pieces) > 0:
            return at, pieces
        # An even split, or a job that must lie together, asks for more than room.
        at += 1
