"""On which nodes Slurm puts a job: best-fitting parts of the line, or under the lowest switch."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import FAR
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.placing import (
    fill_greedily,
    fill_with_lookahead,
    is_even,
    is_run,
    split_evenly,
    use_a_run,
)
from cpsched.kernels.rooms import MANY, Request, room_on


@leaf
def _parts(groups, caps, least, leaf_size, begin, end, units, nodes):
    """
    Cut the nodes that hold ``least`` units or more into parts; return how many there are.

    Parts are runs of consecutive nodes where ``leaf_size`` is 0, else what lies under one leaf
    switch: the groups at places ``[begin, end)`` of the line, the first of them usable.
    """
    line, first, size = groups.line, groups.first, groups.size
    count = 0
    leaf = -1
    for i in range(len(line)):
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


@leaf
def _lowest_switch(groups, request, sizes, count, begin, units, nodes):
    """
    Return the nodes ``[low, high)`` under the lowest switch that can hold a job.

    Of several on one level that with the fewest nodes to give. ``sizes`` holds the nodes under a
    switch of each level but the root, which is implied.
    """
    line, first = groups.line, groups.first
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


@leaf
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


@inner
def _in_order(groups, caps, least, request, sizes, contiguous, tried, order):
    """
    Put usable groups into the order in which Slurm takes them; return how many there are.

    Best-fitting parts until there is enough, then all others along the line (which matters only
    for jobs that cannot have as many nodes as they like). A contiguous job gets a single part:
    the next best behind the ``tried`` best ones.
    """
    num_groups = len(groups.line)
    line, first = groups.line, groups.first
    begin = np.empty(num_groups, dtype=np.int64)
    end = np.empty(num_groups, dtype=np.int64)
    units = np.empty(num_groups, dtype=np.int64)
    nodes = np.empty(num_groups, dtype=np.int64)
    tree = len(sizes) > 0 and not contiguous
    count = _parts(groups, caps, least, sizes[0] if tree else 0, begin, end, units, nodes)
    used = np.zeros(count, dtype=np.bool_)
    if tree:
        low, high = _lowest_switch(groups, request, sizes, count, begin, units, nodes)
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


@leaf
def _smallest_from(caps, num_groups, least):
    """Return the smallest room of at least ``least``, ``FAR`` if there is none."""
    smallest = FAR
    for g in range(num_groups):
        if caps[g] >= least:
            smallest = min(smallest, caps[g])
    return smallest


@inner
def _split_as_slurm(groups, request, caps, sizes, order, pieces):
    """
    Put the same number of units on each of as few nodes as the bounds allow.

    Nodes that hold fewer are out before parts and switches are compared, and others count for no
    more than that number.
    """
    num_groups = len(groups.line)
    usable = 0
    for g in range(num_groups):
        if caps[g] > 0:
            usable += groups.size[g]
    share = np.empty(num_groups, dtype=np.int64)
    units = request.units
    for num in range(request.nodes_min, min(request.nodes_max, units, usable) + 1):
        if units % num:
            continue
        for g in range(num_groups):
            share[g] = units // num if caps[g] >= units // num else 0
        exact = Request(request.shape, units, request.duration, num, num)
        count = _in_order(groups, share, 1, exact, sizes, False, 0, order)
        k = split_evenly(groups.size, exact, share, order, count, pieces)
        if k > 0:
            return k
    return 0


@inner
def choose_as_slurm(machine, level, groups, request, sizes):
    """
    Place a job on what is free on groups as Slurm does; see :mod:`cpsched.dispatch.slurm_backfill`.

    Parameters
    ----------
    sizes
        Nodes under a switch of each level, the root left out; none: the nodes are a line.

    Returns
    -------
    ndarray
        Rows of (group, nodes, units on each) as by ``placing.choose``; no rows where the
        job does not fit.
    """
    num_groups = len(groups.line)
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, shape = groups.first, request.shape
    contiguous = is_run(machine, request)
    even = is_even(machine, request)
    caps = np.empty(num_groups, dtype=np.int64)
    order = np.empty(num_groups, dtype=np.int64)
    pieces = np.empty((4 * num_groups + 4, 3), dtype=np.int64)
    for g in range(num_groups):
        caps[g] = room_on(level, g, first[g], capacity, eligible, shapes, shape, MANY)
    if contiguous:
        tried = 0
        while not even:
            count = _in_order(groups, caps, 1, request, sizes, True, tried, order)
            if count == 0:
                break
            k = fill_greedily(groups.size, request, caps, order, count, pieces)
            if k > 0:
                return pieces[:k]
            tried += 1
        # What is tightest in all has too many nodes.
        return pieces[: use_a_run(groups, request, caps, even, len(capacity), pieces)]
    if even:
        return pieces[: _split_as_slurm(groups, request, caps, sizes, order, pieces)]
    # A job that gets too few units on its nodes is tried without the nodes that hold fewest.
    least = 1
    while True:
        count = _in_order(groups, caps, least, request, sizes, False, 0, order)
        k = fill_greedily(groups.size, request, caps, order, count, pieces)
        if k > 0:
            return pieces[:k]
        least = _smallest_from(caps, num_groups, least) + 1
        if least > MANY or _smallest_from(caps, num_groups, least) == FAR:
            break
    count = _in_order(groups, caps, 1, request, sizes, False, 0, order)
    return pieces[: fill_with_lookahead(groups.size, request, caps, order, count, pieces)]
