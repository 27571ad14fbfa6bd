"""Fit units to nodes: how many go where, and on which nodes an allocator puts them."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import sort_by
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner
from cpsched.kernels.taking import choose_nodes
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
