"""Plan the whole queue: the first window for every job, behind those before it."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.compiling import kernel
from cpsched.kernels.fit import FAR, MANY, filled, sort_by
from cpsched.kernels.passes import packed
from cpsched.kernels.profile import (
    GROUPS,
    SEGMENTS,
    Profile,
    add_ends,
    alike,
    grouped,
    num_splits,
    occupy_groups,
    split,
    widened,
)
from cpsched.kernels.sleep import awoken, horizon, sleeping
from cpsched.kernels.windows import (
    Machine,
    Request,
    find_window,
    group_room,
    group_total,
)
from cpsched.model.columns import (
    NODES_MAX,
    NODES_MIN,
    PLAN,
    SHAPE,
    SHAPE_REQUEST,
    SHAPE_SPLIT,
    UNITS,
)

#: Planned jobs of one request that are remembered, and how many more groups there is room for.
_SEEN = 8
_SPARE = 64


@kernel
def _numbered(jobs, cols, num_shapes):
    """Number the distinct requests of jobs; return each job's number, and the requests."""
    known = filled(num_shapes, -1)
    number = np.empty(len(jobs), dtype=np.int64)
    distinct = np.empty(len(jobs), dtype=np.int64)
    count = 0
    for i in range(len(jobs)):
        shape = cols[jobs[i], SHAPE]
        if known[shape] < 0:
            known[shape] = count
            distinct[count] = shape
            count += 1
        number[i] = known[shape]
    return number, distinct[:count]


@kernel
def _totals_now(machine, profile, distinct):
    """Return how many units of each request fit now."""
    totals = filled(len(distinct), 0)
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
            totals[d] = group_total(machine, profile.levels[0], profile, shape)
    return totals


@kernel
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
                room = group_room(level, g, first[g], capacity, eligible, shapes, distinct[d], MANY)
                totals[d] += sign * room * pieces[p, 1]


@kernel
def _note_start(log, used, row, profile, pieces):
    """Append a start to the log of a pass as ``passes.note_start`` does, with its new length."""
    count = 0
    held = 0
    key = np.empty(len(pieces))
    order = np.empty(len(pieces), dtype=np.int64)
    for p in range(len(pieces)):
        if pieces[p, 2] > 0:
            key[held] = profile.first[pieces[p, 0]]
            order[held] = p
            held += 1
            count += pieces[p, 1]
    sort_by(key, order, held)
    needed = used + 2 + 2 * count
    if needed > len(log):
        grown = np.empty(2 * needed, dtype=np.int64)
        for i in range(used):
            grown[i] = log[i]
        log = grown
    log[used] = row
    log[used + 1] = count
    used += 2
    for i in range(held):
        p = order[i]
        first = profile.first[pieces[p, 0]]
        for node in range(first, first + pieces[p, 1]):
            log[used] = node
            log[used + 1] = pieces[p, 2]
            used += 2
    return log, used


@kernel
def nothing_seen(num_requests):
    """Return room for what is known of each request's jobs: see :func:`remember`."""
    return np.empty((num_requests, _SEEN, 6), dtype=np.int64)


@kernel
def _is_plain(request, shapes, num_nodes):
    """Say whether fewer units are never harder to place; bounds and even splits can make it so."""
    return (
        request.nodes_min == 1
        and request.nodes_max >= num_nodes
        and shapes[request.shape, SHAPE_SPLIT] == 0
    )


@kernel
def seen_start(seen, num_seen, request, shapes, num_nodes, start):
    """Return a second before which a job cannot start, after those planned of its request."""
    plain = _is_plain(request, shapes, num_nodes)
    for i in range(min(num_seen, _SEEN)):
        if seen[i, 1] > request.duration or seen[i, 2] <= start:
            continue
        same = seen[i, 3] == request.nodes_min and seen[i, 4] == request.nodes_max
        fewer = plain and seen[i, 5] == 1 and seen[i, 0] <= request.units
        if fewer or (same and seen[i, 0] == request.units):
            start = seen[i, 2]
    return start


@kernel
def remember(seen, num_seen, request, shapes, num_nodes, start):
    """Note when a job was planned, in place of one that says less; return how many were noted."""
    plain = int(_is_plain(request, shapes, num_nodes))
    slot = -1
    for i in range(min(num_seen, _SEEN)):
        if seen[i, 1] >= request.duration and seen[i, 2] <= start and seen[i, 5] == plain:
            same = seen[i, 3] == request.nodes_min and seen[i, 4] == request.nodes_max
            if (seen[i, 0] == request.units and same) or (plain and seen[i, 0] >= request.units):
                slot = i
                break
    if slot < 0:
        slot = num_seen % _SEEN
        num_seen += 1
    seen[slot, 0], seen[slot, 1], seen[slot, 2] = request.units, request.duration, start
    seen[slot, 3], seen[slot, 4], seen[slot, 5] = request.nodes_min, request.nodes_max, plain
    return num_seen


@kernel
def plan_pass(
    policy, now, jobs, depth, full, cols, shapes, eligible, capacity, scarce, free,
    running, arena_node, arena_amount,
):  # fmt: skip
    """
    Give jobs, in the order given, the first window in which they fit behind those before them.

    Parameters
    ----------
    jobs
        Rows of the job store, in order.
    depth
        How many of the jobs that cannot start now get a reservation; jobs behind them only start
        where they disturb none.
    full
        1: plan every job. 0: stop as soon as no job behind could start now.
    running
        Rows of the running jobs, by expected end; one that has passed counts as the next second.

    Returns
    -------
    packed, planned
        Starts, packed as by :func:`cpsched.kernels.passes.packed` with no head; and the planned
        start of each job, -1 where it was not planned.
    """
    num_nodes, num_kinds = free.shape
    machine = Machine(policy, shapes, eligible, capacity, scarce)
    planned = filled(len(jobs), -1)
    log = np.empty(64, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int64)
    used = 0
    begins = alike(jobs, cols, shapes, eligible, capacity, free, running, arena_node, arena_amount)
    number, distinct = _numbered(jobs, cols, len(shapes))
    edge = horizon(now, jobs, cols, shapes, free, running, arena_amount)
    asleep, edge = sleeping(edge, now, distinct, cols, shapes, free, running, arena_node)
    profile = grouped(now, begins, asleep, free, 2 + len(running) + len(jobs), _SPARE)
    totals = _totals_now(machine, profile, distinct)
    last = len(jobs) - 1
    if full == 0:
        while last >= 0 and totals[number[last]] < cols[jobs[last], UNITS]:
            last -= 1
    if last < 0:
        return packed(log, used, cols, shapes, capacity, -1, 0, nothing), planned
    add_ends(profile, cols, running, arena_node, arena_amount, num_nodes)
    pending = filled(len(distinct), 0)
    for i in range(last + 1):
        pending[number[i]] += 1
    most = np.empty((len(distinct), len(profile.times)), dtype=np.int64)
    for d in range(len(distinct)):
        for i in range(len(profile.times)):
            most[d, i] = FAR
    low = np.empty(num_nodes * num_kinds, dtype=np.int64)
    # Planning only takes capacity away: of two jobs of one request, the one planned later that
    # is as hard to place and at least as long can start no earlier.
    seen = nothing_seen(len(distinct))
    num_seen = filled(len(distinct), 0)
    reserved = 0
    i = 0
    while i <= last:
        row = jobs[i]
        d = number[i]
        pending[d] -= 1
        request = Request(
            cols[row, SHAPE], cols[row, UNITS], max(cols[row, PLAN], 1),
            cols[row, NODES_MIN], cols[row, NODES_MAX],
        )  # fmt: skip
        # Without a reservation to give, only a start now matters.
        if reserved >= depth and full == 0 and totals[d] < request.units:
            i += 1
            continue
        count = profile.num[SEGMENTS]
        start = seen_start(seen[d], num_seen[d], request, shapes, num_nodes, now)
        if start > now and reserved >= depth and full == 0:
            i += 1
            continue
        begin = np.searchsorted(profile.times[:count], start)
        until = count if reserved < depth or full != 0 else 1
        awake = np.searchsorted(profile.times[:count], edge)
        at, pieces = find_window(machine, request, begin, min(until, awake), profile, most[d], low)
        if at < 0 and awake < until:
            profile = awoken(
                profile, begins, asleep, cols, free, running, arena_node, arena_amount, _SPARE
            )
            edge = FAR
            for e in range(len(distinct)):
                for k in range(len(profile.times)):
                    most[e, k] = FAR
            at, pieces = find_window(
                machine, request, max(begin, awake), until, profile, most[d], low
            )
        if at >= 0:
            start = profile.times[at]
            planned[i] = start
        else:
            start = FAR if until == count else profile.times[until]
        if pending[d] > 0:
            num_seen[d] = remember(seen[d], num_seen[d], request, shapes, num_nodes, start)
        if at == 0 or (at > 0 and reserved < depth):
            more = num_splits(profile, pieces)
            if (profile.num[GROUPS] + more) * num_kinds > profile.levels.shape[1]:
                profile = widened(profile, min(num_nodes, 2 * (profile.num[GROUPS] + more)))
            split(profile, pieces)
            if at == 0 and full == 0:
                _add_totals(-1, totals, pending, machine, profile, distinct, pieces)
            source = occupy_groups(
                profile, at, start + request.duration, pieces, request.shape, shapes, capacity
            )
            if source >= 0:
                for e in range(len(distinct)):
                    most[e, count] = most[e, source]
            if at == 0:
                log, used = _note_start(log, used, row, profile, pieces)
                if full == 0:
                    _add_totals(1, totals, pending, machine, profile, distinct, pieces)
                    while last > i and totals[number[last]] < cols[jobs[last], UNITS]:
                        last -= 1
                        pending[number[last + 1]] -= 1
            else:
                reserved += 1
        i += 1
    return packed(log, used, cols, shapes, capacity, -1, 0, nothing), planned


@kernel
def _of_nodes(times, rows, levels, room, count):
    """Return a profile whose groups are single nodes."""
    num_nodes, num_kinds = levels.shape[1], levels.shape[2]
    num = np.empty(2, dtype=np.int64)
    num[SEGMENTS], num[GROUPS] = count, num_nodes
    first = np.empty(num_nodes, dtype=np.int64)
    for n in range(num_nodes):
        first[n] = n
    flat = levels.reshape(levels.shape[0], num_nodes * num_kinds)
    falls = np.ones(len(times), dtype=np.bool_)
    fallen = np.ones((len(times), num_nodes), dtype=np.bool_)
    size = filled(num_nodes, 1)
    return Profile(num, times, rows, flat, room, falls, fallen, first, size, first)


@kernel
def first_window(
    policy, job, duration, begin, until, times, rows, levels, room, count,
    cols, shapes, eligible, capacity, scarce, low, _caps, _least, _order, takes,
):  # fmt: skip
    """
    Find the first segment in ``[begin, until)`` at which a job fits for its whole duration.

    For a profile of single nodes: ``levels`` of shape ``(rows, N, R)``, ``room`` their sums over
    the nodes, ``low`` room for a level. Returns the segment (or -1), with the placement in
    ``takes``.
    """
    num_nodes, num_kinds = capacity.shape
    profile = _of_nodes(times, rows, levels, room, count)
    request = Request(
        cols[job, SHAPE], cols[job, UNITS], duration, cols[job, NODES_MIN], cols[job, NODES_MAX]
    )
    at, pieces = find_window(
        Machine(policy, shapes, eligible, capacity, scarce), request, begin, until, profile,
        filled(len(times), FAR), low.reshape(num_nodes * num_kinds),
    )  # fmt: skip
    for n in range(num_nodes):
        takes[n] = 0
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
