"""Plan the whole queue: the first window for every job, after those before it."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import FAR, NONE, ONE, ZERO, filled
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.profile import (
    GROUPS,
    SEGMENTS,
    SPARE,
    Profile,
    add_ends,
    expected_ends,
    group_starts,
    grouped,
    groups_of,
    occupy_groups,
    split_groups,
)
from cpsched.kernels.rooms import (
    MANY,
    Request,
    group_total,
    machine_at,
    request_of,
    room_on,
    single_nodes,
)
from cpsched.kernels.sleep import horizon, sleeping, wake
from cpsched.kernels.start_bounds import (
    asks_of,
    forget,
    numbered,
    occupy_known,
    remember,
    seen_start,
)
from cpsched.kernels.start_log import note_start, packed
from cpsched.kernels.windows import find_window
from cpsched.model.columns import NODES_MAX, NODES_MIN, SHAPE, SHAPE_REQUEST, UNITS


@inner
def _totals_now(machine, profile, distinct):
    """Return how many units of each request fit now."""
    totals = np.zeros(len(distinct), dtype=np.int64)
    num_kinds = machine.capacity.shape[1]
    for d in range(len(distinct)):
        shape = distinct[d]
        some = True
        for r in range(num_kinds):
            need = machine.shapes[shape, SHAPE_REQUEST + r]
            besides = machine.shapes[shape, SHAPE_REQUEST + num_kinds + r]
            if need + besides > 0 and profile.room[0, r] < need + besides:
                some = False
        if some:
            totals[d] = group_total(machine, profile.levels[0], groups_of(profile), shape)
    return totals


@leaf
def _add_totals(sign, totals, pending, machine, profile, distinct, pieces):
    """Add what fits now on the groups of a placement to the totals of requests still to come."""
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    level, first = profile.levels[0], profile.first
    for d in range(len(distinct)):
        if pending[d] == 0:
            continue
        for p in range(len(pieces)):
            if pieces[p, 2] > 0:
                g = pieces[p, 0]
                room = room_on(level, g, first[g], capacity, eligible, shapes, distinct[d], MANY)
                totals[d] += sign * room * pieces[p, 1]


@leaf
def _last_candidate(first, last, jobs, number, cols, totals, pending):
    """
    Return the last place after ``first`` and up to ``last`` whose job could start now alone.

    That is ``first`` if there is none. Jobs after it are no longer pending.
    """
    while last > first and totals[number[last]] < cols[jobs[last], UNITS]:
        pending[number[last]] -= 1
        last -= 1
    return last


@kernel
def plan_pass(
    policy, now, jobs, depth, full, cols, shapes, eligible, capacity, scarce, places, free,
    running, arena_node, arena_amount,
):  # fmt: skip
    """
    Give jobs, in the order given, the first window in which they fit after those before them.

    Parameters
    ----------
    jobs
        Rows of the job store, in order.
    depth
        How many of the jobs that cannot start now get a reservation; later jobs only start if they
        delay none of these.
    full
        1: plan every job. 0: stop as soon as no later job could start now.
    running
        Rows of the running jobs, by expected end; one that has passed counts as the next second.

    Returns
    -------
    packed, planned
        Starts, packed as by :func:`cpsched.kernels.start_log.packed` with no head; and the planned
        start of each job, -1 where it was not planned.
    """
    num_nodes, num_kinds = free.shape
    machine = machine_at(policy, shapes, eligible, capacity, scarce, places)
    planned = filled(len(jobs), NONE)
    log = np.empty(64, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int64)
    used = ZERO
    begins = group_starts(jobs, cols, machine, free, running, arena_node, arena_amount)
    number, distinct = numbered(jobs, cols, len(shapes))
    edge = horizon(now, jobs, cols, shapes, free, running, arena_amount)
    asleep, edge = sleeping(edge, now, distinct, cols, shapes, free, running, arena_node)
    profile = grouped(now, begins, asleep, free, 2 + len(running) + len(jobs), SPARE)
    totals = _totals_now(machine, profile, distinct)
    pending = np.zeros(len(distinct), dtype=np.int64)
    for d in number:
        pending[d] += 1
    last = len(jobs) - 1
    if full == 0:
        last = _last_candidate(NONE, last, jobs, number, cols, totals, pending)
    if last < 0:
        return packed(log, used, cols, shapes, capacity, NONE, ZERO, nothing), planned
    ends = expected_ends(cols, running)
    add_ends(profile, cols, running, ends, arena_node, arena_amount, num_nodes)
    asks = asks_of(number, distinct, len(profile.times))
    most, seen, num_seen = asks.most, asks.seen, asks.num_seen
    low = np.empty((num_nodes, num_kinds), dtype=np.int64)
    reserved = 0
    for i in range(len(jobs)):
        if i > last:
            break
        row, d = jobs[i], number[i]
        pending[d] -= 1
        request = request_of(cols, row)
        # Without a reservation to give, only a start now matters.
        now_only = full == 0 and reserved >= depth
        if now_only and totals[d] < request.units:
            continue
        start = seen_start(seen[d], num_seen[d], request, shapes, num_nodes, now)
        if now_only and start > now:
            continue
        count = profile.num[SEGMENTS]
        begin = np.searchsorted(profile.times[:count], start)
        awake = np.searchsorted(profile.times[:count], edge)
        until = 1 if now_only else count
        at, pieces = find_window(
            machine, request, begin, min(until, awake), profile, most[d], low, ONE
        )
        if at < 0 and awake < until:
            profile = wake(
                profile, begins, asleep, cols, free, running, arena_node, arena_amount, SPARE
            )
            edge = FAR
            forget(most)
            at, pieces = find_window(
                machine, request, max(begin, awake), until, profile, most[d], low, ONE
            )
        if at >= 0:
            start = profile.times[at]
            planned[i] = start
        else:
            start = FAR if until == count else profile.times[until]
        if pending[d] > 0:
            num_seen[d] = remember(seen[d], num_seen[d], request, shapes, num_nodes, start)
        if at < 0 or (at > 0 and reserved >= depth):
            continue
        profile = split_groups(profile, pieces)
        if at > 0 or full != 0:
            occupy_known(profile, most, at, request, pieces, shapes, capacity)
            reserved += at > 0
        else:
            _add_totals(NONE, totals, pending, machine, profile, distinct, pieces)
            occupy_known(profile, most, at, request, pieces, shapes, capacity)
            _add_totals(ONE, totals, pending, machine, profile, distinct, pieces)
            last = _last_candidate(i, last, jobs, number, cols, totals, pending)
        if at == 0:
            log, used = note_start(log, used, row, profile.first, pieces)
    return packed(log, used, cols, shapes, capacity, NONE, ZERO, nothing), planned


@inner
def _of_nodes(times, rows, levels, room, count):
    """Return a profile whose groups are single nodes."""
    num_nodes = levels.shape[1]
    num = np.empty(2, dtype=np.int64)
    num[SEGMENTS], num[GROUPS] = count, num_nodes
    falls = np.ones(len(times), dtype=np.bool_)
    fallen = np.ones((len(times), num_nodes), dtype=np.bool_)
    nodes = single_nodes(num_nodes)
    return Profile(
        num, times, rows, levels, room, falls, fallen, nodes.first, nodes.size, nodes.line
    )


@kernel
def first_window(
    policy, job, duration, begin, until, times, rows, levels, room, count,
    cols, shapes, eligible, capacity, scarce, places, low, takes,
):  # fmt: skip
    """
    Find the first segment in ``[begin, until)`` at which a job fits for its whole duration.

    For a profile of single nodes: ``levels`` of shape ``(rows, N, R)``, ``room`` their sums over
    the nodes, ``low`` room for a level. Returns the segment (or -1), with the placement in
    ``takes``.
    """
    profile = _of_nodes(times, rows, levels, room, count)
    request = Request(
        cols[job, SHAPE], cols[job, UNITS], duration, cols[job, NODES_MIN], cols[job, NODES_MAX]
    )
    at, pieces = find_window(
        machine_at(policy, shapes, eligible, capacity, scarce, places), request, begin, until,
        profile, filled(len(times), FAR), low, ONE,
    )  # fmt: skip
    takes[:] = 0
    for p in range(len(pieces)):
        takes[pieces[p, 0]] = pieces[p, 2]
    return at


@kernel
def occupy(at, end, takes, shape, shapes, capacity, times, rows, levels, room, count):
    """Take a placement off a profile of single nodes; return its new number of segments."""
    profile = _of_nodes(times, rows, levels, room, count)
    pieces = np.empty((len(takes), 3), dtype=np.int64)
    for n in range(len(takes)):
        pieces[n, 0], pieces[n, 1], pieces[n, 2] = n, 1, takes[n]
    occupy_groups(profile, at, end, pieces, shape, shapes, capacity)
    return profile.num[SEGMENTS]
