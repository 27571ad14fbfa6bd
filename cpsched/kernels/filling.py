"""
The number of units of a job on each node, given an order of nodes and the room on each.

Placements are arrays of pieces, see :mod:`cpsched.kernels.placing`.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import ZERO, sort_by
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.rooms import within_bounds


@leaf
def fill_greedily(size, request, caps, order, count, pieces):
    """Fill groups in order, leaving a unit for each node still owed; return the pieces used."""
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
                    same = min(min(nodes, owed), 1 + (left - owed - cap) // (cap - 1))
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


@leaf
def split_evenly(size, request, caps, order, count, pieces):
    """Put the same number of units on each of as few nodes as the bounds allow."""
    usable = 0
    for i in range(count):
        usable += size[order[i]]
    units = request.units
    for num in range(request.nodes_min, min(min(request.nodes_max, units), usable) + 1):
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


@leaf
def _pieces_of(takes, size, order, count, pieces):
    """
    Collect pieces from the units on each of the nodes of some groups, one group after another.

    Nodes of a group without units come in only before others of the group that have some.
    """
    k = 0
    at = 0
    for i in range(count):
        own = k
        empty = 0
        for _ in range(size[order[i]]):
            if takes[at] == 0:
                empty += 1
            else:
                if empty > 0:
                    pieces[k, 0], pieces[k, 1], pieces[k, 2] = order[i], empty, 0
                    k += 1
                    empty = 0
                if k > own and pieces[k - 1, 2] == takes[at]:
                    pieces[k - 1, 1] += 1
                else:
                    pieces[k, 0], pieces[k, 1], pieces[k, 2] = order[i], 1, takes[at]
                    k += 1
            at += 1
    return k


@leaf
def spread_over(groups, takes, pieces):
    """Collect pieces from the units on each node; ``takes`` is spoilt."""
    line, first, size = groups.line, groups.first, groups.size
    at = 0
    for g in line:
        for n in range(first[g], first[g] + size[g]):
            takes[at] = takes[n]
            at += 1
    return _pieces_of(takes, size, line, len(line), pieces)


@inner
def use_a_run(groups, request, caps, even, num_nodes, pieces):
    """Use the shortest, then first run of consecutive nodes that holds the job; all are used."""
    of_node = np.zeros(num_nodes, dtype=np.int64)
    takes = np.zeros(num_nodes, dtype=np.int64)
    line, first, size = groups.line, groups.first, groups.size
    for g in line:
        for n in range(first[g], first[g] + size[g]):
            of_node[n] = caps[g]
    if not _take_run(of_node, request.units, request.nodes_min, request.nodes_max, even, takes):
        return 0
    return spread_over(groups, takes, pieces)


@leaf
def _take_run(caps, units, nodes_min, nodes_max, even, takes):
    num_nodes = len(caps)
    most = min(min(nodes_max, units), num_nodes)
    if even:
        for num in range(nodes_min, most + 1):
            if units % num:
                continue
            run = 0
            for n in range(num_nodes):
                run = run + 1 if caps[n] >= units // num else 0
                if run == num:
                    for m in range(n - num + 1, n + 1):
                        takes[m] = units // num
                    return True
        return False
    best = most + 1
    begin = 0
    low = 0
    held = 0
    for n in range(num_nodes):
        if caps[n] < 1:
            low = n + 1
            held = 0
            continue
        held += caps[n]
        while n - low + 1 > nodes_min and held - caps[low] >= units:
            held -= caps[low]
            low += 1
        if held >= units and nodes_min <= n - low + 1 < best:
            best = n - low + 1
            begin = low
    if best > most:
        return False
    left = units
    for k in range(best):
        take = min(caps[begin + k], left - (best - 1 - k))
        takes[begin + k] = take
        left -= take
    return True


@inner
def fill_with_lookahead(size, request, caps, order, count, pieces):
    """
    Take each node in order if the roomiest nodes after it can still hold the rest.

    That is the first placement in order of preference among all that keep the bounds on the
    number of nodes. Of equal nodes, none is skipped before one that is taken, nor gets less.
    """
    num_nodes = 0
    for i in range(count):
        num_nodes += size[order[i]]
    of_node = np.empty(num_nodes, dtype=np.int64)
    at = 0
    for i in range(count):
        for _ in range(size[order[i]]):
            of_node[at] = caps[order[i]]
            at += 1
    takes = np.zeros(num_nodes, dtype=np.int64)
    if not _look_ahead(of_node, request.units, request.nodes_min, request.nodes_max, takes):
        return 0
    return _pieces_of(takes, size, order, count, pieces)


@inner
def _look_ahead(caps, units, nodes_min, nodes_max, takes):
    """
    The same for single nodes, in order of preference.

    ``inside`` nodes behind the present one, as many as may be used besides and the roomiest of
    them, hold ``best`` units; they are those up to place ``edge`` by room that are still behind.
    """
    count = len(caps)
    key = np.empty(count)
    by_room = np.empty(count, dtype=np.int64)
    for i in range(count):
        key[i] = -caps[i]
        by_room[i] = i
    sort_by(key, by_room, count)
    place_by_room = np.empty(count, dtype=np.int64)
    behind = np.empty(count, dtype=np.bool_)
    for k in range(count):
        place_by_room[by_room[k]] = k
        behind[k] = True
    inside = min(nodes_max, count)
    edge = inside - 1
    best = 0
    for k in range(inside):
        best += caps[by_room[k]]
    if best < units:
        return False
    left = units
    used = 0
    for i in range(count):
        cap = caps[i]
        behind[place_by_room[i]] = False
        if place_by_room[i] <= edge:
            best -= cap
            inside -= 1
            k = edge + 1
            while k < count and not behind[k]:
                k += 1
            if k < count:
                edge = k
                best += caps[by_room[k]]
                inside += 1
        others, last, fewer = best, edge, inside
        if inside == nodes_max - used:
            # If this node is taken, one fewer of the others may be used.
            while not behind[last]:
                last -= 1
            others -= caps[by_room[last]]
            last -= 1
            fewer -= 1
        owed = max(nodes_min - used - 1, 0)
        take = min(cap, left - owed)
        if left - take > others:
            continue
        takes[i] = take
        left -= take
        if left == 0:
            break
        used += 1
        best, edge, inside = others, last, fewer
    return True


@inner
def fill_in_order(groups, request, caps, order, count, even, run, num_nodes, pieces):
    """
    Put a job's units on groups in order of preference; return the pieces used.

    A node is passed over only if with it the job would no longer fit within its bounds on the
    number of nodes, so a job is placed whenever any choice of nodes can hold it.
    """
    if request.units < request.nodes_min:
        return 0
    size = groups.size
    if run:
        return use_a_run(groups, request, caps, even, num_nodes, pieces)
    if even:
        return split_evenly(size, request, caps, order, count, pieces)
    return fill_loosely(groups, request, caps, order, count, pieces)


@inner
def fill_loosely(groups, request, caps, order, count, pieces):
    """The same for a job whose units may be distributed in any way."""
    size = groups.size
    k = fill_greedily(size, request, caps, order, count, pieces)
    if k > 0 or request.nodes_max >= request.units:
        return k
    if not within_bounds(groups, caps, request):
        return 0
    return fill_with_lookahead(size, request, caps, order, count, pieces)


@inner
def fill_preferring(size, request, caps, inside, order, count, pieces):
    """Fill what is to be used first of each node (``inside``), in order; then the rest."""
    left = request.units
    usable = ZERO
    for i in range(count):
        if inside[order[i]] > 0:
            left -= min(left, inside[order[i]] * size[order[i]])
            usable += 1
    if left == 0:
        first = np.empty(usable, dtype=np.int64)
        usable = ZERO
        for i in range(count):
            if inside[order[i]] > 0:
                first[usable] = order[i]
                usable += 1
        return fill_greedily(size, request, inside, first, usable, pieces)
    k = 0
    for i in range(count):
        g = order[i]
        more = caps[g] - inside[g]
        full = min(size[g], left // more) if more > 0 else 0
        rest = size[g] - full
        left -= full * more
        if full > 0:
            pieces[k, 0], pieces[k, 1], pieces[k, 2] = g, full, caps[g]
            k += 1
        if rest > 0 and 0 < left < more:
            pieces[k, 0], pieces[k, 1], pieces[k, 2] = g, 1, inside[g] + left
            left = 0
            rest -= 1
            k += 1
        if rest > 0 and inside[g] > 0:
            pieces[k, 0], pieces[k, 1], pieces[k, 2] = g, rest, inside[g]
            k += 1
    return k if left == 0 else 0
