"""The first window in which a job can be placed on groups of nodes, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.kernels.compiling import kernel
from cpsched.kernels.fit import (
    BEST_FIT,
    FAR,
    FIRST_FIT,
    MANY,
    _take_run,
    filled,
    preference,
    sort_by,
    take_where_the_rest_will_do,
    waste,
)
from cpsched.kernels.profile import GROUPS, SEGMENTS
from cpsched.model.columns import (
    SHAPE_CLASS,
    SHAPE_CONTIGUOUS,
    SHAPE_EXCLUSIVE,
    SHAPE_REQUEST,
    SHAPE_SPLIT,
)

if TYPE_CHECKING:
    from cpsched.model.types import BoolArray, IntArray

#: What :func:`shortage` returns of a job that fits.
FITS = -1


class Machine(NamedTuple):
    """What does not change while a queue is planned; ``scarce``: what every node has."""

    policy: int
    shapes: IntArray
    eligible: BoolArray
    capacity: IntArray
    scarce: IntArray


class Request(NamedTuple):
    """What one job asks for."""

    shape: int
    units: int
    duration: int
    nodes_min: int
    nodes_max: int


@kernel
def group_room(level, g, node, capacity, eligible, shapes, shape, most):
    """
    Return how many units of a request fit on a node of a group, ``most`` if more do.

    It takes arrays, not the tuples that hold them: out of a tuple each is counted as in use anew,
    which would cost more than the rest.
    """
    if not eligible[shapes[shape, SHAPE_CLASS], node]:
        return 0
    num_kinds = capacity.shape[1]
    exclusive = shapes[shape, SHAPE_EXCLUSIVE] != 0
    room = most
    for r in range(num_kinds):
        have = level[g * num_kinds + r]
        if exclusive and have != capacity[node, r]:
            return 0
        left = have - shapes[shape, SHAPE_REQUEST + num_kinds + r]
        if left < 0:
            return 0
        need = shapes[shape, SHAPE_REQUEST + r]
        if need == 1:
            room = min(room, left)
        # Dividing is slow, and most kinds are plenty.
        elif need > 1 and (most == MANY or need * room > left):
            room = min(room, left // need)
        if room == 0:
            return 0
    return room


@kernel
def group_total(machine, level, profile, shape):
    """Return how many units of a request fit on all nodes together."""
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, size = profile.first, profile.size
    total = 0
    for g in range(profile.num[GROUPS]):
        total += size[g] * group_room(level, g, first[g], capacity, eligible, shapes, shape, MANY)
    return total


@kernel
def shortage(machine, level, profile, request, rooms):
    """
    Say whether some choice of ``nodes_min`` to ``nodes_max`` nodes holds a job's units.

    Fills ``rooms`` with the units that fit on a node of each group, no more than all; 0 for those
    along the line behind the first ones that are enough.

    Returns
    -------
    int
        ``FITS``, or how many units would fit (FAR where units are not what is short).
    """
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, size, line = profile.first, profile.size, profile.line
    units, shape = request.units, request.shape
    num_groups = profile.num[GROUPS]
    total = 0
    count = 0
    for i in range(num_groups):
        g = line[i]
        room = group_room(level, g, first[g], capacity, eligible, shapes, shape, units)
        rooms[g] = room
        if room > 0:
            total += size[g] * room
            count += size[g]
            if total >= units and count >= request.nodes_min and request.nodes_max >= units:
                for k in range(i + 1, num_groups):
                    rooms[line[k]] = 0
                return FITS if units >= request.nodes_min else FAR
    if total < units:
        return total
    return FITS if _within_bounds(profile, rooms, request) else FAR


@kernel
def _roomiest(profile, rooms, most, request):
    """Say whether the roomiest ``nodes_max`` nodes hold a job; ``most`` is the largest room."""
    left = request.nodes_max
    if most * left < request.units:
        return False
    held = 0
    # From one room to the next smaller: nodes are many, how much room they have takes few values.
    room = most
    while room > 0 and left > 0 and held < request.units:
        count = 0
        smaller = 0
        for g in range(profile.num[GROUPS]):
            if rooms[g] == room:
                count += profile.size[g]
            elif rooms[g] < room:
                smaller = max(smaller, rooms[g])
        taken = min(count, left)
        held += taken * room
        left -= taken
        room = smaller
    return held >= request.units


@kernel
def _within_bounds(profile, rooms, request):
    """Say whether nodes with room for all units together are enough, and not too many."""
    count = 0
    most = 0
    for g in range(profile.num[GROUPS]):
        if rooms[g] > 0:
            count += profile.size[g]
            most = max(most, rooms[g])
    if count < request.nodes_min or request.units < request.nodes_min:
        return False
    few = request.nodes_max < min(request.units, count)
    return not few or _roomiest(profile, rooms, most, request)


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
        if bounded and not _within_bounds(profile, rooms, request):
            return s
        s -= 1
        level = profile.levels[profile.rows[s]]
        total -= _lower(machine, low, level, profile, request, rooms)
    return s


@kernel
def _rank(machine, level, profile, request, caps, order):
    """
    Put the groups that hold at least a unit a node into an allocator's order; see ``fit``.

    Fills ``caps`` with how many units that is.
    """
    policy, eligible = machine.policy, machine.eligible
    capacity, shapes, scarce = machine.capacity, machine.shapes, machine.scarce
    line, first, shape = profile.line, profile.first, request.shape
    num_kinds = capacity.shape[1]
    per_node = SHAPE_REQUEST + num_kinds
    count = 0
    for i in range(profile.num[GROUPS]):
        g = line[i]
        caps[g] = group_room(level, g, first[g], capacity, eligible, shapes, shape, MANY)
        if caps[g] > 0:
            order[count] = g
            count += 1
    if policy == FIRST_FIT or count < 2:
        return count
    key = np.empty(count)
    for i in range(count):
        g = order[i]
        if policy == BEST_FIT:
            key[i] = caps[g]
            continue
        idle = 0.0
        wasted = 0.0
        for r in range(num_kinds):
            free, whole = level[g * num_kinds + r], capacity[first[g], r]
            if whole > 0:
                idle += free / whole
                asked = shapes[shape, SHAPE_REQUEST + r] + shapes[shape, per_node + r]
                wasted += waste(policy, asked, scarce[r], whole, free, num_kinds)
        key[i] = preference(policy, wasted, idle, num_kinds)
    sort_by(key, order, count)
    return count


@kernel
def _greedy(profile, request, caps, order, count, pieces):
    """Fill groups in order, leaving a unit for each node still owed; return the pieces used."""
    size = profile.size
    left = request.units
    used = 0
    k = 0
    for i in range(count):
        g = order[i]
        cap = caps[g]
        nodes = min(size[g], request.nodes_max - used)
        while nodes > 0 and left > 0:
            owed = max(request.nodes_min - used - 1, 0)
            take = min(cap, left - owed)
            # How many nodes in a row take as much.
            same = 1
            if take == 1 and left == owed + 1:
                same = min(nodes, left)
            elif take == cap:
                # While nodes are owed, each node filled makes room for one unit less than it took.
                if cap == 1:
                    same = min(nodes, owed) if owed > 0 else min(nodes, left)
                else:
                    same = min(nodes, owed, 1 + (left - owed - cap) // (cap - 1))
                    if owed == 0:
                        same = min(nodes, left // cap)
                same = max(same, 1)
            pieces[k, 0] = g
            pieces[k, 1] = same
            pieces[k, 2] = take
            if k > 0 and pieces[k - 1, 0] == g and pieces[k - 1, 2] == take:
                pieces[k - 1, 1] += same
            else:
                k += 1
            left -= same * take
            used += same
            nodes -= same
        if left == 0:
            return k
        if used == request.nodes_max:
            return 0
    return 0


@kernel
def _even(profile, request, caps, order, count, pieces):
    """Put the same number of units on each of as few nodes as the bounds allow."""
    size = profile.size
    able = 0
    for i in range(count):
        able += size[order[i]]
    units = request.units
    for num in range(request.nodes_min, min(request.nodes_max, units, able) + 1):
        if units % num:
            continue
        each = units // num
        left = num
        k = 0
        for i in range(count):
            g = order[i]
            if caps[g] >= each:
                pieces[k, 0] = g
                pieces[k, 1] = min(size[g], left)
                pieces[k, 2] = each
                left -= pieces[k, 1]
                k += 1
                if left == 0:
                    return k
    return 0


@kernel
def _run(machine, profile, request, caps, pieces):
    """Use the first run of neighbouring nodes that holds the job; node by node."""
    num_nodes = machine.capacity.shape[0]
    of_node = filled(num_nodes, 0)
    takes = filled(num_nodes, 0)
    num_groups = profile.num[GROUPS]
    for g in range(num_groups):
        for n in range(profile.first[g], profile.first[g] + profile.size[g]):
            of_node[n] = caps[g]
    even = machine.shapes[request.shape, SHAPE_SPLIT] != 0
    if not _take_run(of_node, request.units, request.nodes_min, request.nodes_max, even, takes):
        return 0
    k = 0
    for i in range(num_groups):
        g = profile.line[i]
        own = k
        for n in range(profile.first[g], profile.first[g] + profile.size[g]):
            if k > own and pieces[k - 1, 2] == takes[n]:
                pieces[k - 1, 1] += 1
            else:
                pieces[k, 0] = g
                pieces[k, 1] = 1
                pieces[k, 2] = takes[n]
                k += 1
        if k == own + 1 and pieces[own, 2] == 0:
            k = own
    return k


@kernel
def _where_the_rest_will_do(profile, request, caps, order, count, pieces):
    """Pass over nodes beside which the job would not fit within its bounds; node by node."""
    num_nodes = 0
    for i in range(count):
        num_nodes += profile.size[order[i]]
    of_node = np.empty(num_nodes, dtype=np.int64)
    line = np.empty(num_nodes, dtype=np.int64)
    at = 0
    for i in range(count):
        for _ in range(profile.size[order[i]]):
            of_node[at] = caps[order[i]]
            line[at] = at
            at += 1
    takes = filled(num_nodes, 0)
    if not take_where_the_rest_will_do(
        of_node, line, num_nodes, request.units, request.nodes_min, request.nodes_max, takes
    ):
        return 0
    # Of equal nodes none is passed over before one that is taken, nor given less.
    k = 0
    at = 0
    for i in range(count):
        own = k
        for _ in range(profile.size[order[i]]):
            if takes[at] > 0:
                if k > own and pieces[k - 1, 2] == takes[at]:
                    pieces[k - 1, 1] += 1
                else:
                    pieces[k, 0] = order[i]
                    pieces[k, 1] = 1
                    pieces[k, 2] = takes[at]
                    k += 1
            at += 1
    return k


@kernel
def choose_groups(machine, level, profile, request, rooms):
    """
    Place a job on what is free on groups: the nodes that ``fit.place`` would choose.

    Parameters
    ----------
    rooms
        As :func:`shortage` left them.

    Returns
    -------
    ndarray
        Rows of (group, nodes, units on each), those of a group from its first node on; no rows
        where the job does not fit.
    """
    num_groups = profile.num[GROUPS]
    order = np.empty(num_groups, dtype=np.int64)
    # What is full, what is left, one for each node owed, nothing; and a run has two ends.
    pieces = np.empty((4 * num_groups + 4, 3), dtype=np.int64)
    run = machine.shapes[request.shape, SHAPE_CONTIGUOUS] != 0
    even = machine.shapes[request.shape, SHAPE_SPLIT] != 0
    if machine.policy == FIRST_FIT and request.nodes_max >= request.units and not (run or even):
        count = 0
        for i in range(num_groups):
            if rooms[profile.line[i]] > 0:
                order[count] = profile.line[i]
                count += 1
        return pieces[: _greedy(profile, request, rooms, order, count, pieces)]
    caps = np.empty(num_groups, dtype=np.int64)
    count = _rank(machine, level, profile, request, caps, order)
    if run:
        return pieces[: _run(machine, profile, request, caps, pieces)]
    if even:
        return pieces[: _even(profile, request, caps, order, count, pieces)]
    k = _greedy(profile, request, caps, order, count, pieces)
    if k == 0:
        k = _where_the_rest_will_do(profile, request, caps, order, count, pieces)
    return pieces[:k]


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
