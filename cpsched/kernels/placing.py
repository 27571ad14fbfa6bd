"""
Placement of a job: an allocator's order of nodes, and the units on each.

A placement is an array of *pieces*, rows of (group, nodes, units on each). The nodes of a piece
follow each other from the first node of its group on, after those of the previous piece if that is
of the same group.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import ZERO, sort_by
from cpsched.kernels.compiling import kernel
from cpsched.kernels.filling import (
    fill_greedily,
    fill_in_order,
    fill_loosely,
    fill_preferring,
    spread_over,
)
from cpsched.kernels.inner import inner, leaf, used_where
from cpsched.kernels.parts import (
    FEWEST_GROUPS,
    group_of,
    is_confined,
    keeps_together,
    order_by_parts,
    take_segments,
)
from cpsched.kernels.rooms import (
    MANY,
    Request,
    amount_on,
    machine_at,
    may_confine,
    request_of,
    room_on,
    single_nodes,
)
from cpsched.model.columns import (
    SHAPE_CONTIGUOUS,
    SHAPE_EXCLUSIVE,
    SHAPE_REQUEST,
    SHAPE_SEGMENT,
    SHAPE_SPLIT,
    SHAPE_SWITCHES,
)

#: Node orders of the allocators that go by what nodes have; for others see ``parts``.
FIRST_FIT, BEST_FIT, CONSOLIDATE, BALANCED, FRUGAL = 0, 1, 2, 3, 4
#: It goes by what others ask for, too, and is compiled with what few runs need.
LEAST_LOSS = np.int64(8)
#: What spreading over idle nodes counts, as a share of all that could be lost.
_SPREAD = 1e-2


# --- in which order ------------------------------------------------------------------------------


@leaf
def _waste(policy, asked, scarce, whole, free, num_kinds):
    """
    Return what it counts against a node that it has more of a kind than a unit of a job needs.

    That is more (``whole``) than every node has (``scarce``), where a unit could do with that. A
    kind of which other nodes have nothing always counts; for ``spare-scarce`` it counts a little
    more where some of the kind is free, and what all have, but not as much of, counts only there.
    """
    if asked > scarce or whole <= scarce:
        return 0.0
    always = num_kinds + 1.0 if scarce == 0 else 0.0
    return always + 1.0 if policy == FRUGAL and free > scarce else always


@leaf
def _preference(policy, wasted, idle, num_kinds):
    """Return by what nodes are sorted that waste so much and are idle by a sum of shares."""
    if policy == CONSOLIDATE:
        return idle
    # Nodes differ by at most num_kinds in idleness, so waste always outweighs it.
    if policy == BALANCED:
        return min(wasted, 1.0) * (num_kinds + 1) - idle
    return wasted * (num_kinds + 1) + idle


def _no_loss(machine, level, groups, request, caps, order, count):
    """Stand for :func:`order_by_loss` where no order goes by what others ask for."""


@used_where(may_confine, _no_loss)
def order_by_loss(machine, level, groups, request, caps, order, count):
    """
    Put usable groups into order by what other jobs lose where this one takes a node of theirs.

    ``machine.worth`` has, the heaviest first, the shapes asked for, how many units of each have to
    be on one node, and weights. What is lost is how often that fits on a node before and not after,
    for each unit of this job; its weight is divided by one more than how often it fits on all.
    """
    capacity, shapes, eligible, worth = (
        machine.capacity, machine.shapes, machine.eligible, machine.worth
    )  # fmt: skip
    first, num_kinds = groups.first, capacity.shape[1]
    after = np.empty((count, num_kinds), dtype=np.int64)
    takes, spread, loss = np.empty(count), np.zeros(count), np.zeros(count)
    for i in range(count):
        g = order[i]
        units = min(caps[g], -(-request.units // request.nodes_min))
        takes[i] = units
        for r in range(num_kinds):
            whole = capacity[first[g], r]
            after[i, r] = level[g, r] - amount_on(
                shapes, request.shape, capacity, first[g], units, r
            )
            if whole > 0:
                spread[i] += (level[g, r] / whole) ** 2 - (after[i, r] / whole) ** 2
    total = 0.0
    fits = np.empty(count, dtype=np.int64)
    for at in range(num_kinds, len(worth), 3):
        shape, together = worth[at], worth[at + 1]
        if worth[at + 2] == 0:
            break
        in_all = ZERO
        for i in range(count):
            g = order[i]
            room = room_on(level, g, first[g], capacity, eligible, shapes, shape, MANY)
            fits[i] = room // together
            in_all += fits[i] * groups.size[g]
        weight = worth[at + 2] / (1 + in_all)
        total += weight
        for i in range(count):
            if fits[i] > 0:
                node = first[order[i]]
                room = room_on(after, i, node, capacity, eligible, shapes, shape, MANY)
                loss[i] += weight * (fits[i] - room // together)
    for i in range(count):
        loss[i] = (loss[i] - _SPREAD * total * spread[i]) / takes[i]
    sort_by(loss, order, count)


@inner
def rank(machine, level, groups, request, caps, order):
    """
    Put the groups that hold a unit or more on a node into ``order`` as an allocator has them.

    Fills ``caps`` with how many units each of their nodes holds; returns how many groups there are.
    """
    policy, eligible, shape = machine.policy, machine.eligible, request.shape
    capacity, shapes, scarce = machine.capacity, machine.shapes, machine.worth
    first = groups.first
    num_kinds = capacity.shape[1]
    per_node = SHAPE_REQUEST + num_kinds
    count = ZERO
    for g in groups.line:
        caps[g] = room_on(level, g, first[g], capacity, eligible, shapes, shape, MANY)
        if caps[g] > 0:
            order[count] = g
            count += 1
    if policy == FIRST_FIT or count < 2:
        return count
    if keeps_together(policy):
        order_by_parts(machine, policy, groups, request, caps, order, count)
        return count
    if policy == LEAST_LOSS:
        order_by_loss(machine, level, groups, request, caps, order, count)
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
            free, whole = level[g, r], capacity[first[g], r]
            if whole > 0:
                idle += free / whole
                asked = shapes[shape, SHAPE_REQUEST + r] + shapes[shape, per_node + r]
                wasted += _waste(policy, asked, scarce[r], whole, free, num_kinds)
        key[i] = _preference(policy, wasted, idle, num_kinds)
    sort_by(key, order, count)
    return count


# --- both ----------------------------------------------------------------------------------------


@leaf
def is_run(machine, request):
    """Say whether a job must have consecutive nodes."""
    return machine.shapes[request.shape, SHAPE_CONTIGUOUS] != 0


@leaf
def is_even(machine, request):
    """Say whether a job must have the same number of units on each of its nodes."""
    return machine.shapes[request.shape, SHAPE_SPLIT] != 0


@inner
def choose(machine, level, groups, request):
    """Place a job on what is free on groups; return its pieces, none if it does not fit."""
    width = len(groups.first)
    caps = np.empty(width, dtype=np.int64)
    order = np.empty(width, dtype=np.int64)
    # What is full, what is left, one for each node owed, nothing; and a run has two ends.
    pieces = np.empty((4 * width + 4, 3), dtype=np.int64)
    if is_confined(machine, request):
        return _choose_confined(machine, level, groups, request, caps, order, pieces)
    count = rank(machine, level, groups, request, caps, order)
    return pieces[: _fill(machine, groups, request, caps, order, count, pieces)]


def _fill_loosely(machine, groups, request, caps, order, count, pieces):  # noqa: ARG001
    """Do the same where a job's units may be distributed in any way."""
    if request.units < request.nodes_min:
        return ZERO
    return fill_loosely(groups, request, caps, order, count, pieces)


@used_where(may_confine, _fill_loosely)
def _fill(machine, groups, request, caps, order, count, pieces):
    """Put a job's units on groups in order, as they may be; return the pieces used."""
    return fill_in_order(
        groups, request, caps, order, count, is_even(machine, request), is_run(machine, request),
        len(machine.capacity), pieces,
    )  # fmt: skip


def _no_place(machine, level, groups, request, caps, order, pieces):  # noqa: ARG001
    """Stand for :func:`_choose_confined` where no job must keep to segments or few groups."""
    return pieces[:0]


@used_where(may_confine, _no_place)
def _choose_confined(machine, level, groups, request, caps, order, pieces):
    """Place a job that must keep to segments or few groups."""
    even = is_even(machine, request)
    count = rank(machine, level, groups, request, caps, order)
    if is_run(machine, request):
        return pieces[: _fill_confined_run(machine, groups, request, caps, even, pieces)]
    if not even:
        return pieces[: _fill_confined(machine, groups, request, caps, order, count, pieces)]
    # A unit for as many of them as each node has: all nodes are alike then.
    share = np.zeros(len(caps), dtype=np.int64)
    tried = np.empty(count, dtype=np.int64)
    for num in range(request.nodes_min, min(request.nodes_max, request.units) + 1):
        if request.units % num:
            continue
        each = request.units // num
        usable = ZERO
        for i in range(count):
            share[order[i]] = min(caps[order[i]] // each, 1)
            if share[order[i]] > 0:
                tried[usable] = order[i]
                usable += 1
        exact = Request(request.shape, num, request.duration, num, num)
        k = _fill_confined(machine, groups, exact, share, tried, usable, pieces)
        if k > 0:
            for p in range(k):
                pieces[p, 2] *= each
            return pieces[:k]
    return pieces[:0]


@inner
def _fill_confined(machine, groups, request, caps, order, count, pieces):
    """Fill groups in order, in few groups of the lowest level and in segments; see ``choose``."""
    shapes = machine.shapes
    tried = order[:count].copy()
    used = count
    if shapes[request.shape, SHAPE_SWITCHES] > 0:
        used = ZERO
        for g in groups.line:
            if caps[g] > 0:
                tried[used] = g
                used += 1
        parts, used = order_by_parts(machine, FEWEST_GROUPS, groups, request, caps, tried, used)
        if parts > shapes[request.shape, SHAPE_SWITCHES]:
            used = ZERO
    size = np.empty(len(groups.size), dtype=np.int64)
    segments = shapes[request.shape, SHAPE_SEGMENT] > 0
    if not segments:
        k = fill_loosely(groups, request, caps, tried, used, pieces)
        if k > 0:
            return k
    for by_room in range(not segments, 2):
        if by_room == 1:
            if _are_equal(caps, order, count):
                return 0
            tried, used = order, count
        used, nodes = take_segments(machine, groups, request, caps, tried, used, by_room, size)
        if used > 0:
            exact = Request(request.shape, request.units, request.duration, nodes, nodes)
            return fill_greedily(size, exact, caps, tried, used, pieces)
    return 0


@leaf
def _are_equal(caps, order, count):
    """Say whether all usable nodes hold as many units."""
    for i in range(1, count):
        if caps[order[i]] != caps[order[0]]:
            return False
    return True


@inner
def _fill_confined_run(machine, groups, request, caps, even, pieces):
    """Use the shortest, then first run of nodes that keeps to segments and few groups."""
    num_nodes = len(machine.capacity)
    segment = max(machine.shapes[request.shape, SHAPE_SEGMENT], 1)
    switches = machine.shapes[request.shape, SHAPE_SWITCHES]
    of_node = np.zeros(num_nodes, dtype=np.int64)
    takes = np.zeros(num_nodes, dtype=np.int64)
    for g in groups.line:
        for n in range(groups.first[g], groups.first[g] + groups.size[g]):
            of_node[n] = min(caps[g], request.units)
    fewest = -(-request.nodes_min // segment) * segment
    for num in range(fewest, min(request.nodes_max, request.units) + 1, segment):
        if even and request.units % num != 0:
            continue
        least = request.units // num if even else 1
        begin = 0
        held = 0
        for n in range(num_nodes):
            held += of_node[n]
            while n - begin >= num:
                held -= of_node[begin]
                begin += 1
            if of_node[n] < least:
                begin, held = n + 1, 0
            if n - begin + 1 < num or held < request.units:
                continue
            if _keeps_segments(machine.levels, begin, n + 1, segment, switches):
                left = request.units
                for m in range(begin, n + 1):
                    takes[m] = least if even else min(of_node[m], left - (n - m))
                    left -= takes[m]
                return spread_over(groups, takes, pieces)
    return 0


@leaf
def _keeps_segments(levels, begin, end, segment, switches):
    """Say whether a run has whole segments in each group of the lowest level, in few groups."""
    groups = 1
    own = 0
    for n in range(begin, end):
        if n > begin and group_of(levels, ZERO, n) != group_of(levels, ZERO, n - 1):
            if own % segment != 0:
                return False
            groups += 1
            own = 0
        own += 1
    return own % segment == 0 and (switches == 0 or groups <= switches)


@leaf
def _may_spread(machine, request):
    """Whether a job's units may be distributed in any way, and take only their request."""
    num_nodes, num_kinds = machine.capacity.shape
    shapes, shape = machine.shapes, request.shape
    if request.nodes_min > 1 or request.nodes_max < min(request.units, num_nodes):
        return False
    for r in range(num_kinds):
        if shapes[shape, SHAPE_REQUEST + num_kinds + r] > 0:
            return False
    loose = not is_even(machine, request) and not is_run(machine, request)
    return loose and shapes[shape, SHAPE_EXCLUSIVE] == 0


@inner
def choose_preferring(machine, level, preferred, groups, request):
    """
    Place a job on groups, using up ``preferred`` (a part of what is free) first.

    A reservation uses busy capacity before free capacity, and a backfilled job that ends in time
    uses reserved capacity first: both leave the most for others. A job whose units may be on any
    nodes fills that part of each node, in the allocator's order, then the rest. Any other job first
    uses the nodes where that part holds a unit of it. For one-core units this makes any layout of
    nodes equal to one counted pool. A job placed compactly, because of its request or the
    allocator, is placed as by :func:`choose`.
    """
    if keeps_together(machine.policy) or is_confined(machine, request):
        return choose(machine, level, groups, request)
    eligible, capacity, shapes = machine.eligible, machine.capacity, machine.shapes
    shape, first, size = request.shape, groups.first, groups.size
    width = len(first)
    caps = np.empty(width, dtype=np.int64)
    inside = np.empty(width, dtype=np.int64)
    ranked = np.empty(width, dtype=np.int64)
    pieces = np.empty((4 * width + 4, 3), dtype=np.int64)
    count = rank(machine, level, groups, request, caps, ranked)
    total = 0
    for i in range(count):
        g = ranked[i]
        total += caps[g] * size[g]
        room = room_on(preferred, g, first[g], capacity, eligible, shapes, shape, MANY)
        inside[g] = min(room, caps[g])
    if total < request.units:
        return pieces[:0]
    if _may_spread(machine, request):
        return pieces[: fill_preferring(size, request, caps, inside, ranked, count, pieces)]
    # First those where a unit fits inside; then the others, each in order.
    order = np.empty(count, dtype=np.int64)
    k = 0
    for outside in range(2):
        for i in range(count):
            if (inside[ranked[i]] == 0) == (outside == 1):
                order[k] = ranked[i]
                k += 1
    return pieces[: _fill(machine, groups, request, caps, order, count, pieces)]


# --- for Python ----------------------------------------------------------------------------------


@inner
def _spread(pieces, takes):
    """Write the units on each node, each a group of its own; say whether there are any."""
    takes[:] = 0
    for p in range(len(pieces)):
        takes[pieces[p, 0]] = pieces[p, 2]
    return len(pieces) > 0


@kernel
def place(policy, cols, row, shapes, eligible, capacity, worth, places, free, takes):
    """Place a job on ``free``: units by node in ``takes`` (zeroed here); return whether it fits."""
    machine = machine_at(policy, shapes, eligible, capacity, worth, places)
    groups = single_nodes(len(free))
    return _spread(choose(machine, free, groups, request_of(cols, row)), takes)


@kernel
def place_preferring(
    policy, cols, row, shapes, eligible, capacity, worth, places, free, preferred, takes
):
    """Place a job as :func:`place` does, but as :func:`choose_preferring` chooses."""
    machine = machine_at(policy, shapes, eligible, capacity, worth, places)
    groups, request = single_nodes(len(free)), request_of(cols, row)
    return _spread(choose_preferring(machine, free, preferred, groups, request), takes)


@kernel
def place_in_order(caps, order, request, even, run, takes):
    """
    Put a job's units on nodes in a given order of preference; return whether it fits.

    Parameters
    ----------
    caps
        How many units each node holds, shape ``(N,)``.
    order
        The nodes that hold one or more.
    takes
        Units by node, filled here.
    """
    groups = single_nodes(len(caps))
    pieces = np.empty((4 * len(caps) + 4, 3), dtype=np.int64)
    k = fill_in_order(groups, request, caps, order, len(order), even, run, len(caps), pieces)
    return _spread(pieces[:k], takes)
