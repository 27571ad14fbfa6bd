"""How many units of a job go on each of some nodes, given in an order of preference."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import sort_by
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner


@inner
def _take_greedy(caps, order, count, units, nodes_min, nodes_max, takes):
    """Fill nodes in the given order, leaving a unit for each node still owed to ``nodes_min``."""
    left = units
    used = 0
    for i in range(count):
        if left == 0 or used == nodes_max:
            break
        owed = max(nodes_min - used - 1, 0)
        take = min(caps[order[i]], left - owed)
        takes[order[i]] = take
        left -= take
        used += 1
    if left == 0:
        return True
    for i in range(used):
        takes[order[i]] = 0
    return False


@inner
def _take_even(caps, order, count, units, nodes_min, nodes_max, takes):
    """Put the same number of units on each of as few nodes as the bounds allow."""
    for num in range(nodes_min, min(nodes_max, units, count) + 1):
        if units % num:
            continue
        each = units // num
        found = 0
        for i in range(count):
            if caps[order[i]] >= each:
                takes[order[i]] = each
                found += 1
                if found == num:
                    return True
        for i in range(count):
            takes[order[i]] = 0
    return False


@kernel
def take_where_the_rest_will_do(caps, order, count, units, nodes_min, nodes_max, takes):
    """
    Take each node in order beside which the roomiest behind it can still hold what is left.

    That is the first placement in order of preference among all that keep the bounds on the
    number of nodes. ``inside`` nodes behind the present one, as many as may be used besides and
    the roomiest of them, hold ``best`` units; they are those up to place ``edge`` by room that
    are still behind.
    """
    key = np.empty(count)
    by_room = np.empty(count, dtype=np.int64)
    for i in range(count):
        key[i] = -caps[order[i]]
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
        best += caps[order[by_room[k]]]
    if best < units:
        return False
    left = units
    used = 0
    for i in range(count):
        cap = caps[order[i]]
        behind[place_by_room[i]] = False
        if place_by_room[i] <= edge:
            best -= cap
            inside -= 1
            k = edge + 1
            while k < count and not behind[k]:
                k += 1
            if k < count:
                edge = k
                best += caps[order[by_room[k]]]
                inside += 1
        others, last, fewer = best, edge, inside
        if inside == nodes_max - used:
            # If this node is taken, one fewer may be used besides.
            while not behind[last]:
                last -= 1
            others -= caps[order[by_room[last]]]
            last -= 1
            fewer -= 1
        owed = max(nodes_min - used - 1, 0)
        take = min(cap, left - owed)
        if left - take > others:
            continue
        takes[order[i]] = take
        left -= take
        if left == 0:
            break
        used += 1
        best, edge, inside = others, last, fewer
    return True


@inner
def take_run(caps, units, nodes_min, nodes_max, even, takes):
    """Use the shortest, then first run of consecutive nodes that holds the job; all are used."""
    num_nodes = len(caps)
    most = min(nodes_max, units, num_nodes)
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


@kernel
def choose_nodes(caps, order, count, units, nodes_min, nodes_max, split, contiguous, takes):
    """
    Put a job's units on nodes in order of preference; ``takes`` must come in as zeros.

    A node is passed over only if with it the job would no longer fit within its bounds on the
    number of nodes, so a job is placed whenever any choice of nodes can hold it. Returns whether
    it was.
    """
    if units < nodes_min or count < nodes_min:
        return False
    if contiguous:
        return take_run(caps, units, nodes_min, nodes_max, split != 0, takes)
    if split != 0:
        return _take_even(caps, order, count, units, nodes_min, nodes_max, takes)
    if _take_greedy(caps, order, count, units, nodes_min, nodes_max, takes):
        return True
    if nodes_max >= count:
        return False
    return take_where_the_rest_will_do(caps, order, count, units, nodes_min, nodes_max, takes)
