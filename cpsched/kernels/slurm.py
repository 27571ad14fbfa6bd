"""Slurm's scheduling of a queue: the main pass, the backfill pass, and its choice of nodes."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.compiling import kernel
from cpsched.kernels.fit import FAR, FIRST_FIT, MANY, amount_on, filled
from cpsched.kernels.passes import packed
from cpsched.kernels.planning import _note_start, _numbered, nothing_seen, remember, seen_start
from cpsched.kernels.profile import (
    GROUPS,
    SEGMENTS,
    add_ends,
    alike,
    grouped,
    num_splits,
    occupy_groups,
    split,
    widened,
)
from cpsched.kernels.windows import (
    FITS,
    Machine,
    Request,
    _even,
    _greedy,
    _run,
    _where_the_rest_will_do,
    find_window,
    group_room,
    group_total,
    shortage,
)
from cpsched.model.columns import (
    NODES_MAX,
    NODES_MIN,
    PLAN,
    QUEUE,
    SHAPE,
    SHAPE_CONTIGUOUS,
    SHAPE_SPLIT,
    UNITS,
)

#: How many more groups a profile has room for at first.
_SPARE = 64


@kernel
def _parts(profile, caps, least, leaf_size, begin, end, units, nodes):
    """
    Cut the nodes that hold ``least`` units or more into parts; return how many there are.

    Parts are runs of consecutive nodes where ``leaf_size`` is 0, else what lies under one leaf
    switch: the groups at places ``[begin, end)`` of the line, the first of them usable.
    """
    line, first, size = profile.line, profile.first, profile.size
    count = 0
    leaf = -1
    for i in range(profile.num[GROUPS]):
        g = line[i]
        if caps[g] < least:
            continue
        own = first[g] // leaf_size if leaf_size > 0 else 0
        if count == 0 or own != leaf or (leaf_size == 0 and end[count - 1] != i):
            begin[count] = i
            units[count] = 0
            nodes[count] = 0
            count += 1
        leaf = own
        end[count - 1] = i + 1
        units[count - 1] += size[g] * caps[g]
        nodes[count - 1] += size[g]
    return count


@kernel
def _lowest_switch(profile, request, sizes, count, begin, units, nodes):
    """
    Return the nodes ``[low, high)`` under the lowest switch that can hold a job.

    Of several on one level that with the fewest nodes to give. ``sizes`` holds the nodes under a
    switch of each level but the root, which is implied.
    """
    line, first = profile.line, profile.first
    for level in range(len(sizes)):
        best, fewest = -1, FAR
        p = 0
        while p < count:
            switch = first[line[begin[p]]] // sizes[level]
            held, wide = 0, 0
            while p < count and first[line[begin[p]]] // sizes[level] == switch:
                held += units[p]
                wide += nodes[p]
                p += 1
            if held >= request.units and wide >= request.nodes_min and wide < fewest:
                best, fewest = switch, wide
        if best >= 0:
            return best * sizes[level], (best + 1) * sizes[level]
    return 0, FAR


@kernel
def _best_part(count, units, nodes, used, left, owed):
    """Return the tightest part that is enough, the largest where none is; -1 if all are used."""
    best = -1
    best_is_enough = False
    for p in range(count):
        if used[p]:
            continue
        enough = units[p] >= left and nodes[p] >= owed
        if best >= 0 and best_is_enough:
            better = enough and units[p] < units[best]
        else:
            better = best < 0 or enough or units[p] > units[best]
        if better:
            best, best_is_enough = p, enough
    return best


@kernel
def _in_order(profile, caps, least, request, sizes, contiguous, tried, order):
    """
    Put usable groups into the order in which Slurm takes them; return how many there are.

    Best-fitting parts until there is enough, then all others along the line (which matters only
    for jobs that cannot have as many nodes as they like). A contiguous job gets a single part:
    the next best behind the ``tried`` best ones.
    """
    num_groups = profile.num[GROUPS]
    line, first = profile.line, profile.first
    begin = np.empty(num_groups, dtype=np.int64)
    end = np.empty(num_groups, dtype=np.int64)
    units = np.empty(num_groups, dtype=np.int64)
    nodes = np.empty(num_groups, dtype=np.int64)
    tree = len(sizes) > 0 and not contiguous
    count = _parts(profile, caps, least, sizes[0] if tree else 0, begin, end, units, nodes)
    used = np.zeros(count, dtype=np.bool_)
    if tree:
        low, high = _lowest_switch(profile, request, sizes, count, begin, units, nodes)
        for p in range(count):
            used[p] = not low <= first[line[begin[p]]] < high
    left, owed = request.units, request.nodes_min
    k = 0
    while left > 0 or owed > 0:
        p = _best_part(count, units, nodes, used, left, owed)
        if p < 0:
            break
        used[p] = True
        if contiguous:
            if units[p] < left or nodes[p] < owed:
                return 0
            if tried > 0:
                tried -= 1
                continue
        left -= units[p]
        owed -= nodes[p]
        for i in range(begin[p], end[p]):
            if caps[line[i]] >= least:
                order[k] = line[i]
                k += 1
        if contiguous:
            return k
    if contiguous:
        return 0
    taken = np.zeros(num_groups, dtype=np.bool_)
    for i in range(k):
        taken[order[i]] = True
    for i in range(num_groups):
        if caps[line[i]] >= least and not taken[line[i]]:
            order[k] = line[i]
            k += 1
    return k


@kernel
def _smallest_from(caps, num_groups, least):
    """Return the smallest room of at least ``least``, ``FAR`` if there is none."""
    smallest = FAR
    for g in range(num_groups):
        if caps[g] >= least:
            smallest = min(smallest, caps[g])
    return smallest


@kernel
def choose_as_slurm(machine, level, profile, request, sizes):
    """
    Place a job on what is free on groups as Slurm does; see :mod:`cpsched.dispatch.slurm_backfill`.

    Parameters
    ----------
    sizes
        Nodes under a switch of each level, the root left out; none: the nodes are a line.

    Returns
    -------
    ndarray
        Rows of (group, nodes, units on each) as by ``windows.choose_groups``; no rows where the
        job does not fit.
    """
    num_groups = profile.num[GROUPS]
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, shape = profile.first, request.shape
    contiguous = shapes[shape, SHAPE_CONTIGUOUS] != 0
    even = shapes[shape, SHAPE_SPLIT] != 0
    caps = np.empty(num_groups, dtype=np.int64)
    order = np.empty(num_groups, dtype=np.int64)
    pieces = np.empty((4 * num_groups + 4, 3), dtype=np.int64)
    for g in range(num_groups):
        caps[g] = group_room(level, g, first[g], capacity, eligible, shapes, shape, MANY)
    if contiguous:
        tried = 0
        while not even:
            count = _in_order(profile, caps, 1, request, sizes, True, tried, order)
            if count == 0:
                break
            k = _greedy(profile, request, caps, order, count, pieces)
            if k > 0:
                return pieces[:k]
            tried += 1
        # What is tightest in all has too many nodes.
        return pieces[: _run(machine, profile, request, caps, pieces)]
    # A job that gets too few units on its nodes is tried without the nodes that hold fewest.
    least = 1
    while True:
        count = _in_order(profile, caps, least, request, sizes, False, 0, order)
        if even:
            k = _even(profile, request, caps, order, count, pieces)
        else:
            k = _greedy(profile, request, caps, order, count, pieces)
        if k > 0:
            return pieces[:k]
        if even:
            return pieces[:0]
        least = _smallest_from(caps, num_groups, least) + 1
        if least > MANY or _smallest_from(caps, num_groups, least) == FAR:
            break
    count = _in_order(profile, caps, 1, request, sizes, False, 0, order)
    return pieces[: _where_the_rest_will_do(profile, request, caps, order, count, pieces)]


@kernel
def _request_of(cols, row):
    return Request(
        cols[row, SHAPE], cols[row, UNITS], max(cols[row, PLAN], 1),
        cols[row, NODES_MIN], cols[row, NODES_MAX],
    )  # fmt: skip


@kernel
def _roomy(profile, pieces):
    """Split the groups that a placement uses in part, in a profile with room for that."""
    num_kinds = profile.room.shape[1]
    more = num_splits(profile, pieces)
    if (profile.num[GROUPS] + more) * num_kinds > profile.levels.shape[1]:
        profile = widened(profile, max(more, profile.num[GROUPS]))
    split(profile, pieces)
    return profile


@kernel
def _take(profile, pieces, shape, shapes, capacity):
    """Take a placement on whole groups off a profile of one segment."""
    num_kinds = capacity.shape[1]
    for p in range(len(pieces)):
        g, nodes, units = pieces[p, 0], pieces[p, 1], pieces[p, 2]
        if units > 0:
            for r in range(num_kinds):
                amount = amount_on(shapes, shape, capacity, profile.first[g], units, r)
                profile.levels[0, g * num_kinds + r] -= amount
                profile.room[0, r] -= amount * nodes


@kernel
def _close(profile, at, end, pieces):
    """Leave nothing of the nodes of a placement to anybody, from segment ``at`` until ``end``."""
    times, rows, levels, room = profile.times, profile.rows, profile.levels, profile.room
    num_kinds = room.shape[1]
    i = at
    while i < profile.num[SEGMENTS] and times[i] < end:
        row = rows[i]
        for p in range(len(pieces)):
            if pieces[p, 2] > 0:
                for k in range(pieces[p, 0] * num_kinds, (pieces[p, 0] + 1) * num_kinds):
                    room[row, k % num_kinds] -= levels[row, k] * pieces[p, 1]
                    # Less than nothing: a job that asks for nothing must not go there either.
                    levels[row, k] = -1
        i += 1


@kernel
def _append(list_, used, pieces, row):
    """Append a row, a count and that many pieces to a growing list; return it and its length."""
    needed = used + 2 + 3 * len(pieces)
    if needed > len(list_):
        grown = np.empty(2 * needed, dtype=np.int64)
        for i in range(used):
            grown[i] = list_[i]
        list_ = grown
    list_[used] = row
    list_[used + 1] = len(pieces)
    used += 2
    for p in range(len(pieces)):
        for k in range(3):
            list_[used] = pieces[p, k]
            used += 1
    return list_, used


@kernel
def _last_that_fits(jobs, cols, shapes, machine, profile):
    """Return the place of the last of some jobs that could start now on its own, or -1."""
    known = filled(len(shapes), -1)
    last = -1
    for i in range(len(jobs)):
        shape = cols[jobs[i], SHAPE]
        if known[shape] < 0:
            known[shape] = group_total(machine, profile.levels[0], profile, shape)
        if known[shape] >= cols[jobs[i], UNITS]:
            last = i
    return last


@kernel
def slurm_pass(
    now, rows, backfill, depth, window, close, sizes, cols, shapes, eligible, capacity, scarce,
    free, running, arena_node, arena_amount,
):  # fmt: skip
    """
    Start jobs in order until one of their queue does not fit, and backfill around the others.

    Parameters
    ----------
    rows
        Rows of the job store in order of priority.
    backfill
        Whether there is a backfill pass behind the main one.
    depth
        How many jobs the backfill pass looks at.
    window
        A job gets no reservation later than so many seconds from now.
    close
        Whether a reservation leaves nothing of its nodes to others.
    sizes
        Nodes under a switch of each level, the root left out; none: the nodes are a line.
    running
        Rows of the running jobs, by expected end; one that has passed counts as the next second.

    Returns
    -------
    packed, left, planned
        Starts, packed as by :func:`cpsched.kernels.passes.packed` with no head; the rows the
        backfill pass has looked at, and the planned start of each, -1 where it has none.
    """
    num_nodes, num_kinds = free.shape
    machine = Machine(FIRST_FIT, shapes, eligible, capacity, scarce)
    begins = alike(rows, cols, shapes, eligible, capacity, free, running, arena_node, arena_amount)
    if len(sizes) > 0:
        for n in range(0, num_nodes, sizes[0]):
            begins[n] = True
    asleep = np.zeros(num_nodes, dtype=np.bool_)
    profile = grouped(now, begins, asleep, free, 1, _SPARE)
    most_queue = 0
    for row in rows:
        most_queue = max(most_queue, cols[row, QUEUE])
    blocked = np.zeros(most_queue + 2, dtype=np.bool_)
    left = np.empty(len(rows), dtype=np.int64)
    num_left = 0
    log = np.empty(64, dtype=np.int64)
    used = 0
    placed = np.empty(64, dtype=np.int64)
    num_placed = 0
    started = 0
    for row in rows:
        # Jobs without a queue have code -1 and are in one queue too.
        queue = cols[row, QUEUE] + 1
        if not blocked[queue]:
            request = _request_of(cols, row)
            rooms = np.empty(profile.num[GROUPS], dtype=np.int64)
            pieces = np.empty((0, 3), dtype=np.int64)
            if shortage(machine, profile.levels[0], profile, request, rooms) == FITS:
                pieces = choose_as_slurm(machine, profile.levels[0], profile, request, sizes)
            if len(pieces) > 0:
                placed, num_placed = _append(placed, num_placed, pieces, row)
                profile = _roomy(profile, pieces)
                _take(profile, pieces, request.shape, shapes, capacity)
                log, used = _note_start(log, used, row, profile, pieces)
                started += 1
                continue
            blocked[queue] = True
        left[num_left] = row
        num_left += 1
    left = left[: min(num_left, depth)]
    planned = filled(len(left), -1)
    nothing = np.empty(0, dtype=np.int64)
    last = -1
    if backfill:
        last = _last_that_fits(left, cols, shapes, machine, profile)
    if last < 0:
        return packed(log, used, cols, shapes, capacity, -1, 0, nothing), left[:0], planned[:0]
    # The same groups anew, with all that is to come; then what starts now, in the same steps.
    profile = grouped(now, begins, asleep, free, 2 + len(running) + started + last + 1, _SPARE)
    add_ends(profile, cols, running, arena_node, arena_amount, num_nodes)
    at = 0
    while at < num_placed:
        request = _request_of(cols, placed[at])
        count = placed[at + 1]
        pieces = placed[at + 2 : at + 2 + 3 * count].copy().reshape(count, 3)
        profile = _roomy(profile, pieces)
        occupy_groups(profile, 0, now + request.duration, pieces, request.shape, shapes, capacity)
        at += 2 + 3 * count
    number, distinct = _numbered(left, cols, len(shapes))
    most = np.empty((len(distinct), len(profile.times)), dtype=np.int64)
    for d in range(len(distinct)):
        for i in range(len(profile.times)):
            most[d, i] = FAR
    low = np.empty(num_nodes * num_kinds, dtype=np.int64)
    seen = nothing_seen(len(distinct))
    num_seen = filled(len(distinct), 0)
    for i in range(last + 1):
        row, d = left[i], number[i]
        request = _request_of(cols, row)
        count = profile.num[SEGMENTS]
        start = seen_start(seen[d], num_seen[d], request, shapes, num_nodes, now)
        begin = np.searchsorted(profile.times[:count], start)
        until = np.searchsorted(profile.times[:count], now + window + 1)
        at, _ = find_window(machine, request, begin, until, profile, most[d], low)
        start = FAR if at < 0 else profile.times[at]
        num_seen[d] = remember(seen[d], num_seen[d], request, shapes, num_nodes, start)
        if at < 0:
            continue
        planned[i] = profile.times[at]
        pieces = choose_as_slurm(machine, low, profile, request, sizes)
        profile = _roomy(profile, pieces)
        end = profile.times[at] + request.duration
        source = occupy_groups(profile, at, end, pieces, request.shape, shapes, capacity)
        if source >= 0:
            for e in range(len(distinct)):
                most[e, count] = most[e, source]
        if at == 0:
            log, used = _note_start(log, used, row, profile, pieces)
        elif close:
            _close(profile, at, end, pieces)
    return (
        packed(log, used, cols, shapes, capacity, -1, 0, nothing),
        left[: last + 1],
        planned[: last + 1],
    )
