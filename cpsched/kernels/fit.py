"""Fit units to nodes: how many go where, and on which nodes an allocator puts them."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner
from cpsched.model.columns import (
    NODES_MAX,
    NODES_MIN,
    SHAPE,
    SHAPE_CLASS,
    SHAPE_CONTIGUOUS,
    SHAPE_EXCLUSIVE,
    SHAPE_REQUEST,
    SHAPE_SPLIT,
    UNITS,
)

#: Node orders of the built-in allocators.
FIRST_FIT, BEST_FIT, CONSOLIDATE, BALANCED, FRUGAL = 0, 1, 2, 3, 4

#: A job that asks for nothing fits this often on a node; sums over 2^16 nodes stay in 64 bits.
MANY = 2**46
FAR = 2**62


@kernel
def sort_by(key, order, count):
    """
    Sort the first ``count`` entries of ``order`` by their ``key`` (aligned with it), stably.

    A bottom-up merge sort: numpy's own takes several seconds to compile. ``key`` is sorted along.
    """
    spare_key = np.empty_like(key)
    spare_order = np.empty_like(order)
    width = 1
    while width < count:
        low = 0
        while low < count:
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or key[i] <= key[j]):
                    spare_key[k] = key[i]
                    spare_order[k] = order[i]
                    i += 1
                else:
                    spare_key[k] = key[j]
                    spare_order[k] = order[j]
                    j += 1
            low = high
        for k in range(count):
            key[k] = spare_key[k]
            order[k] = spare_order[k]
        width *= 2


@kernel
def node_capacity(free, capacity, eligible, shapes, shape, n):
    """
    Return how many units of a request fit on a node.

    An exclusive job fits where nothing is taken: a job that asks for nothing takes nothing, so the
    two can be on one node.
    """
    num_kinds = free.shape[1]
    if not eligible[shapes[shape, SHAPE_CLASS], n]:
        return 0
    exclusive = shapes[shape, SHAPE_EXCLUSIVE] != 0
    room = MANY
    for r in range(num_kinds):
        if exclusive and free[n, r] != capacity[n, r]:
            return 0
        left = free[n, r] - shapes[shape, SHAPE_REQUEST + num_kinds + r]
        if left < 0:
            return 0
        need = shapes[shape, SHAPE_REQUEST + r]
        if need == 1:
            room = min(room, left)
        elif need > 1:
            room = min(room, left // need)
        if room == 0:
            return 0
    return room


@kernel
def unit_capacity(free, capacity, eligible, shapes, shape, caps):
    """Fill ``caps`` with the units of a request that fit on each node; return their sum."""
    total = 0
    for n in range(free.shape[0]):
        caps[n] = node_capacity(free, capacity, eligible, shapes, shape, n)
        total += caps[n]
    return total


@inner
def waste(policy, asked, scarce, whole, free, num_kinds):
    """
    Return what it counts against a node that it has more of a kind than a unit of a job needs.

    That is more (``whole``) than every node has (``scarce``), where a unit could do with that. A
    kind of which other nodes have nothing always counts; for ``frugal`` it counts a little more
    where some of the kind is free, and what all have, but not as much of, counts only there.
    """
    if asked > scarce or whole <= scarce:
        return 0.0
    always = num_kinds + 1.0 if scarce == 0 else 0.0
    return always + 1.0 if policy == FRUGAL and free > scarce else always


@inner
def preference(policy, wasted, idle, num_kinds):
    """Return by what nodes are sorted that waste so much and are idle by a sum of shares."""
    if policy == CONSOLIDATE:
        return idle
    # Nodes differ by at most num_kinds in idleness, so waste always outweighs it.
    if policy == BALANCED:
        return min(wasted, 1.0) * (num_kinds + 1) - idle
    return wasted * (num_kinds + 1) + idle


@kernel
def rank_nodes(policy, nodes, caps, free, capacity, scarce, shapes, shape, order):
    """Put those of some nodes that hold a unit or more into ``order`` as an allocator has them."""
    num_kinds = free.shape[1]
    count = 0
    for n in nodes:
        if caps[n] > 0:
            order[count] = n
            count += 1
    if policy == FIRST_FIT or count < 2:
        return count
    per_node = SHAPE_REQUEST + num_kinds
    key = np.empty(count)
    for i in range(count):
        n = order[i]
        if policy == BEST_FIT:
            key[i] = caps[n]
            continue
        idle = 0.0
        wasted = 0.0
        for r in range(num_kinds):
            if capacity[n, r] > 0:
                idle += free[n, r] / capacity[n, r]
                asked = shapes[shape, SHAPE_REQUEST + r] + shapes[shape, per_node + r]
                wasted += waste(policy, asked, scarce[r], capacity[n, r], free[n, r], num_kinds)
        key[i] = preference(policy, wasted, idle, num_kinds)
    sort_by(key, order, count)
    return count


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
def _take_run(caps, units, nodes_min, nodes_max, even, takes):
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
        return _take_run(caps, units, nodes_min, nodes_max, split != 0, takes)
    if split != 0:
        return _take_even(caps, order, count, units, nodes_min, nodes_max, takes)
    if _take_greedy(caps, order, count, units, nodes_min, nodes_max, takes):
        return True
    if nodes_max >= count:
        return False
    return take_where_the_rest_will_do(caps, order, count, units, nodes_min, nodes_max, takes)


@inner
def _fill_room(nodes, free, capacity, eligible, shapes, shape, caps):
    """Fill ``caps`` with the units that fit on each of some nodes; return their sum."""
    total = 0
    for n in nodes:
        caps[n] = node_capacity(free, capacity, eligible, shapes, shape, n)
        total += caps[n]
    return total


@kernel
def place_among(
    policy, cols, row, shapes, eligible, capacity, scarce, free, nodes, caps, order, takes
):
    """
    Place a job on some of the nodes given, which are in their order; return whether it fits.

    ``takes`` must come in as zeros there; what the job gets is in it. For a job that asks for
    contiguity all nodes must be given.
    """
    shape = cols[row, SHAPE]
    units = cols[row, UNITS]
    if _fill_room(nodes, free, capacity, eligible, shapes, shape, caps) < units:
        return False
    count = rank_nodes(policy, nodes, caps, free, capacity, scarce, shapes, shape, order)
    return choose_nodes(
        caps,
        order,
        count,
        units,
        cols[row, NODES_MIN],
        cols[row, NODES_MAX],
        shapes[shape, SHAPE_SPLIT],
        shapes[shape, SHAPE_CONTIGUOUS] != 0,
        takes,
    )


@kernel
def all_nodes(num_nodes, takes):
    """Return the numbers of all nodes, and set ``takes`` to zero."""
    nodes = np.empty(num_nodes, dtype=np.int64)
    for n in range(num_nodes):
        nodes[n] = n
        takes[n] = 0
    return nodes


@kernel
def place(policy, cols, row, shapes, eligible, capacity, scarce, free, caps, order, takes):
    """Place a job on ``free``: units by node in ``takes`` (zeroed here); return whether it fits."""
    nodes = all_nodes(len(free), takes)
    return place_among(
        policy, cols, row, shapes, eligible, capacity, scarce, free, nodes, caps, order, takes
    )


@kernel
def place_preferring(
    policy, cols, row, shapes, eligible, capacity, scarce, free, preferred, caps, order, takes
):
    """Place a job as :func:`place_preferring_among` does, on any nodes."""
    nodes = all_nodes(len(free), takes)
    return place_preferring_among(
        policy, cols, row, shapes, eligible, capacity, scarce, free, preferred, nodes, caps, order,
        takes,
    )  # fmt: skip


@kernel
def place_preferring_among(
    policy, cols, row, shapes, eligible, capacity, scarce, free, preferred, nodes, caps, order,
    takes,
):  # fmt: skip
    """
    Place a job on some of the nodes given, using up ``preferred`` (a part of ``free``) first.

    A reservation takes what is busy now before it takes what is free, and a backfilled job that
    ends in time takes what is reserved first: both leave the most for others. For one-core units
    this makes any layout of nodes equal to one counted pool.
    """
    shape = cols[row, SHAPE]
    units = cols[row, UNITS]
    num_nodes, num_kinds = free.shape
    plain = (
        cols[row, NODES_MIN] == 1
        and cols[row, NODES_MAX] >= min(units, num_nodes)
        and shapes[shape, SHAPE_SPLIT] == 0
        and shapes[shape, SHAPE_CONTIGUOUS] == 0
        and shapes[shape, SHAPE_EXCLUSIVE] == 0
    )
    for r in range(num_kinds):
        if shapes[shape, SHAPE_REQUEST + num_kinds + r] > 0:
            plain = False
    if _fill_room(nodes, free, capacity, eligible, shapes, shape, caps) < units:
        return False
    count = rank_nodes(policy, nodes, caps, free, capacity, scarce, shapes, shape, order)
    first = np.empty(count, dtype=np.int64)
    for i in range(count):
        first[i] = node_capacity(preferred, capacity, eligible, shapes, shape, order[i])
    if plain:
        left = units
        for i in range(count):
            take = min(first[i], left)
            takes[order[i]] = take
            left -= take
        for i in range(count):
            take = min(caps[order[i]] - takes[order[i]], left)
            takes[order[i]] += take
            left -= take
        return True
    ranked = np.empty(count, dtype=np.int64)
    k = 0
    for wanted in (True, False):
        for i in range(count):
            if (first[i] > 0) == wanted:
                ranked[k] = order[i]
                k += 1
    return choose_nodes(
        caps,
        ranked,
        count,
        units,
        cols[row, NODES_MIN],
        cols[row, NODES_MAX],
        shapes[shape, SHAPE_SPLIT],
        shapes[shape, SHAPE_CONTIGUOUS] != 0,
        takes,
    )


@kernel
def amount_on(shapes, shape, capacity, node, units, r):
    """Return how much of kind r a job with some units on a node takes of it."""
    if shapes[shape, SHAPE_EXCLUSIVE] != 0:
        return capacity[node, r]
    num_kinds = capacity.shape[1]
    return units * shapes[shape, SHAPE_REQUEST + r] + shapes[shape, SHAPE_REQUEST + num_kinds + r]


@kernel
def subtract(takes, shapes, shape, capacity, free):
    """Take a placed job's amounts off ``free``."""
    num_nodes, num_kinds = free.shape
    for n in range(num_nodes):
        if takes[n] > 0:
            for r in range(num_kinds):
                free[n, r] -= amount_on(shapes, shape, capacity, n, takes[n], r)


@kernel
def copied(source):
    """Return a writable copy of a matrix."""
    copy = np.empty(source.shape, dtype=np.int64)
    for n in range(source.shape[0]):
        for r in range(source.shape[1]):
            copy[n, r] = source[n, r]
    return copy


@kernel
def filled(length, value):
    """Return an array of one value."""
    array = np.empty(length, dtype=np.int64)
    for i in range(length):
        array[i] = value
    return array


@kernel
def total_of(values):
    """Return the sum of an array."""
    total = 0
    for value in values:
        total += value
    return total
