"""On which groups of nodes a job goes: what :mod:`cpsched.kernels.fit` does, a group at a time."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import filled, sort_by
from cpsched.kernels.compiling import kernel
from cpsched.kernels.fit import BEST_FIT, FIRST_FIT, MANY, preference, waste
from cpsched.kernels.profile import GROUPS
from cpsched.kernels.rooms import group_room
from cpsched.kernels.taking import take_run, take_where_the_rest_will_do
from cpsched.model.columns import SHAPE_CONTIGUOUS, SHAPE_REQUEST, SHAPE_SPLIT


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
def fill_greedily(profile, request, caps, order, count, pieces):
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
def split_evenly(profile, request, caps, order, count, pieces):
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
def use_a_run(machine, profile, request, caps, pieces):
    """Use the first run of neighbouring nodes that holds the job; node by node."""
    num_nodes = machine.capacity.shape[0]
    of_node = filled(num_nodes, 0)
    takes = filled(num_nodes, 0)
    num_groups = profile.num[GROUPS]
    for g in range(num_groups):
        for n in range(profile.first[g], profile.first[g] + profile.size[g]):
            of_node[n] = caps[g]
    even = machine.shapes[request.shape, SHAPE_SPLIT] != 0
    if not take_run(of_node, request.units, request.nodes_min, request.nodes_max, even, takes):
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
def use_where_the_rest_will_do(profile, request, caps, order, count, pieces):
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
        return pieces[: fill_greedily(profile, request, rooms, order, count, pieces)]
    caps = np.empty(num_groups, dtype=np.int64)
    count = _rank(machine, level, profile, request, caps, order)
    if run:
        return pieces[: use_a_run(machine, profile, request, caps, pieces)]
    if even:
        return pieces[: split_evenly(profile, request, caps, order, count, pieces)]
    k = fill_greedily(profile, request, caps, order, count, pieces)
    if k == 0:
        k = use_where_the_rest_will_do(profile, request, caps, order, count, pieces)
    return pieces[:k]
