"""Plan the whole queue: free capacity over time, and the first window for every job."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.compiling import kernel
from cpsched.kernels.fit import (
    FAR,
    MANY,
    amount_on,
    filled,
    place,
    unit_capacity,
)
from cpsched.kernels.passes import (
    fits_now,
    note_start,
    packed,
)
from cpsched.model.columns import (
    ALLOC_COUNT,
    ALLOC_FIRST,
    EXPECTED_END,
    NODES_MAX,
    NODES_MIN,
    PLAN,
    SHAPE,
    SHAPE_REQUEST,
    SHAPE_SPLIT,
    UNITS,
)


@kernel
def build_profile(now, cols, running, arena_node, arena_amount, free, room_for):
    """
    Return free capacity over time as running jobs end, with room for more segments.

    Returns
    -------
    times, rows, levels, room, count
        Segment i begins at ``times[i]``; ``levels[rows[i]]`` is what is free then, shape
        ``(N, R)``, and ``room[rows[i]]`` its sum over the nodes. The last one never ends. Rows
        are numbers into ``levels``, so that a new segment moves no level.
    """
    num_nodes, num_kinds = free.shape
    size = len(running) + 1 + room_for
    times = np.empty(size, dtype=np.int64)
    rows = np.empty(size, dtype=np.int64)
    levels = np.empty((size, num_nodes, num_kinds), dtype=np.int64)
    room = np.empty((size, num_kinds), dtype=np.int64)
    times[0] = now
    count = 1
    for r in range(num_kinds):
        room[0, r] = 0
    for n in range(num_nodes):
        for r in range(num_kinds):
            levels[0, n, r] = free[n, r]
            room[0, r] += free[n, r]
    for job in running:
        end = cols[job, EXPECTED_END]
        if end > times[count - 1]:
            times[count] = end
            for r in range(num_kinds):
                room[count, r] = room[count - 1, r]
            for n in range(num_nodes):
                for r in range(num_kinds):
                    levels[count, n, r] = levels[count - 1, n, r]
            count += 1
        first = cols[job, ALLOC_FIRST]
        for k in range(first, first + cols[job, ALLOC_COUNT]):
            for r in range(num_kinds):
                levels[count - 1, arena_node[k], r] += arena_amount[k, r]
                room[count - 1, r] += arena_amount[k, r]
    for i in range(count):
        rows[i] = i
    return times, rows, levels, room, count


@kernel
def _within_bounds(caps, units, nodes_min, nodes_max):
    """Say whether some choice of ``nodes_min`` to ``nodes_max`` nodes holds the units."""
    total = 0
    count = 0
    for n in range(len(caps)):
        if caps[n] > 0:
            total += caps[n]
            count += 1
    if total < units or count < nodes_min or units < nodes_min:
        return False
    if nodes_max >= count:
        return True
    # Sum of the roomiest nodes, by counting nodes of each room.
    of_room = filled(units + 1, 0)
    for n in range(len(caps)):
        of_room[min(caps[n], units)] += 1
    held = 0
    left = nodes_max
    for room in range(units, 0, -1):
        taken = min(of_room[room], left)
        held += taken * room
        left -= taken
        if held >= units:
            return True
        if left == 0:
            return False
    return False


@kernel
def first_window(
    policy, job, duration, begin, until, times, rows, levels, room, count,
    cols, shapes, eligible, capacity, scarce, low, caps, least, order, takes,
):  # fmt: skip
    """
    Find the first segment in ``[begin, until)`` at which a job fits for its whole duration.

    Returns the segment (or -1), with the placement in ``takes``.

    The units that fit on a node throughout a window are the least that fit in any of its
    segments, so ``least`` is kept up segment by segment and given up as soon as it is too little.
    """
    num_nodes, num_kinds = capacity.shape
    shape = cols[job, SHAPE]
    units = cols[job, UNITS]
    nodes_min = cols[job, NODES_MIN]
    nodes_max = cols[job, NODES_MAX]
    at = begin
    while at < until:
        end = times[at] + duration
        for n in range(num_nodes):
            least[n] = MANY
        blocked = -1
        alone = False
        last = at
        while last < count and times[last] < end:
            row = rows[last]
            alone = True
            for r in range(num_kinds):
                if room[row, r] < units * shapes[shape, SHAPE_REQUEST + r]:
                    blocked = last
            if blocked >= 0:
                break
            unit_capacity(levels[row], capacity, eligible, shapes, shape, caps)
            if not _within_bounds(caps, units, nodes_min, nodes_max):
                blocked = last
                break
            alone = False
            for n in range(num_nodes):
                least[n] = min(least[n], caps[n])
            if not _within_bounds(least, units, nodes_min, nodes_max):
                blocked = last
                break
            last += 1
        if blocked >= 0:
            # A segment in which the job does not fit by itself is in no window at all.
            at = blocked + 1 if alone else at + 1
            continue
        for n in range(num_nodes):
            for r in range(num_kinds):
                low[n, r] = levels[rows[at], n, r]
        for i in range(at + 1, last):
            for n in range(num_nodes):
                for r in range(num_kinds):
                    low[n, r] = min(low[n, r], levels[rows[i], n, r])
        if place(policy, cols, job, shapes, eligible, capacity, scarce, low, caps, order, takes):
            return at
        at += 1
    return -1


@kernel
def occupy(at, end, takes, shape, shapes, capacity, times, rows, levels, room, count):
    """Take a placement off the profile from segment ``at`` to ``end``; return the new count."""
    num_nodes, num_kinds = capacity.shape
    last = at
    while last < count and times[last] < end:
        last += 1
    if last == count or times[last] > end:
        # Split the segment that holds ``end``.
        for i in range(count, last, -1):
            times[i] = times[i - 1]
            rows[i] = rows[i - 1]
        times[last] = end
        rows[last] = count
        source = rows[last - 1]
        for r in range(num_kinds):
            room[count, r] = room[source, r]
        for n in range(num_nodes):
            for r in range(num_kinds):
                levels[count, n, r] = levels[source, n, r]
        count += 1
    for n in range(num_nodes):
        if takes[n] > 0:
            for r in range(num_kinds):
                amount = amount_on(shapes, shape, capacity, n, takes[n], r)
                for i in range(at, last):
                    levels[rows[i], n, r] -= amount
                    room[rows[i], r] -= amount
    return count


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

    Returns
    -------
    packed, planned
        Starts, packed as by :func:`packed` with no head; and the planned start of each job, -1
        where it was not planned.
    """
    num_nodes, num_kinds = free.shape
    caps = np.empty(num_nodes, dtype=np.int64)
    order = np.empty(num_nodes, dtype=np.int64)
    takes = np.empty(num_nodes, dtype=np.int64)
    low = np.empty((num_nodes, num_kinds), dtype=np.int64)
    planned = filled(len(jobs), -1)
    log = np.empty(64, dtype=np.int64)
    used = 0
    fits = fits_now(jobs, cols, shapes, eligible, capacity, free)
    last = len(jobs) - 1
    if full == 0:
        while last >= 0 and not fits[last]:
            last -= 1
    if last < 0:
        return packed(log, used, cols, shapes, capacity, -1, 0, takes[:0]), planned
    times, rows, levels, room, count = build_profile(
        now, cols, running, arena_node, arena_amount, free, min(len(jobs), last + 1)
    )
    least = np.empty(num_nodes, dtype=np.int64)
    # Of the last job of each request planned: a later one at least as large and long can start
    # no earlier, because planning only takes capacity away.
    seen_units = filled(len(shapes), FAR)
    seen_duration = filled(len(shapes), FAR)
    seen_start = filled(len(shapes), now)
    reserved = 0
    i = 0
    while i <= last:
        job = jobs[i]
        shape = cols[job, SHAPE]
        # Without a reservation to give, only a start now matters.
        if reserved >= depth and full == 0 and not fits[i]:
            i += 1
            continue
        duration = max(cols[job, PLAN], 1)
        begin = 0
        if cols[job, UNITS] >= seen_units[shape] and duration >= seen_duration[shape]:
            while begin < count and times[begin] < seen_start[shape]:
                begin += 1
        at = first_window(
            policy, job, duration, begin, count if reserved < depth or full != 0 else 1,
            times, rows, levels, room, count,
            cols, shapes, eligible, capacity, scarce, low, caps, least, order, takes,
        )  # fmt: skip
        if at >= 0:
            planned[i] = times[at]
            # Node bounds and even splits can make the smaller job the harder one to place.
            if (
                cols[job, NODES_MIN] == 1
                and cols[job, NODES_MAX] >= num_nodes
                and shapes[shape, SHAPE_SPLIT] == 0
            ):
                seen_units[shape] = cols[job, UNITS]
                seen_duration[shape] = duration
                seen_start[shape] = times[at]
            if at == 0 or reserved < depth:
                count = occupy(
                    at, times[at] + duration, takes, shape, shapes, capacity,
                    times, rows, levels, room, count,
                )  # fmt: skip
            if at == 0:
                log, used = note_start(log, used, job, takes)
                if full == 0:
                    fits = fits_now(jobs, cols, shapes, eligible, capacity, levels[rows[0]])
                    while last > i and not fits[last]:
                        last -= 1
            else:
                reserved += 1
        i += 1
    return packed(log, used, cols, shapes, capacity, -1, 0, takes[:0]), planned
