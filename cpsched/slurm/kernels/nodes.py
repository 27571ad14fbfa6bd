"""On which nodes Slurm puts a job: best-fitting parts of the line, or under the lowest switch."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import FAR, ONE, ZERO
from cpsched.kernels.filling import fill_greedily, fill_with_lookahead, split_evenly, use_a_run
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.parts import PARTS_SCRATCH, best_part, find_parts, is_confined, order_in
from cpsched.kernels.placing import choose, is_even, is_run
from cpsched.kernels.rooms import MANY, Request, room_on
from cpsched.kernels.windows import needs_room_alone
from cpsched.model.columns import SHAPE_REQUEST

#: Rows of scratch for a choice: rooms, an order, and what makes that.
SCRATCH = 2 + PARTS_SCRATCH


@leaf
def _usable(groups, caps, least, order):
    """List the groups whose nodes hold ``least`` units or more along the line; return how many."""
    count = ZERO
    for g in groups.line:
        if caps[g] >= least:
            order[count] = g
            count += 1
    return count


@inner
def _tight_run(machine, groups, caps, request, tried, order):
    """
    Put the next best run of nodes behind the ``tried`` best ones that hold a job into ``order``.

    Returns how many groups it is, 0 if there is none.
    """
    count = _usable(groups, caps, ONE, order)
    line = order[:count].copy()
    begin = np.empty(count, dtype=np.int64)
    end = np.empty(count, dtype=np.int64)
    units = np.empty(count, dtype=np.int64)
    nodes = np.empty(count, dtype=np.int64)
    weight = np.empty(count, dtype=np.int64)
    num = find_parts(
        machine.levels, machine.weights, groups, caps, ZERO, False, line, count, begin, end, units,
        nodes, weight,
    )  # fmt: skip
    used = np.zeros(num, dtype=np.bool_)
    while True:
        p = best_part(num, units, nodes, weight, used, request.units, request.nodes_min)
        if p < 0:
            return 0
        if units[p] < request.units or nodes[p] < request.nodes_min:
            # Of the lowest weight left; heavier ones may be enough.
            used[p] = True
            continue
        used[p] = True
        if tried == 0:
            break
        tried -= 1
    for i in range(begin[p], end[p]):
        order[i - begin[p]] = line[i]
    return end[p] - begin[p]


@leaf
def _smallest_from(caps, num_groups, least):
    """Return the smallest room of at least ``least``, ``FAR`` if there is none."""
    smallest = FAR
    for g in range(num_groups):
        if caps[g] >= least:
            smallest = min(smallest, caps[g])
    return smallest


@inner
def _split_as_slurm(machine, groups, request, scratch, pieces):
    """
    Put the same number of units on each of as few nodes as the bounds allow.

    Nodes that hold fewer are out before parts and switches are compared, and others count for no
    more than that number.
    """
    caps, order, rest = scratch[0], scratch[1], scratch[2:]
    usable = 0
    for g in groups.line:
        if caps[g] > 0:
            usable += groups.size[g]
    share = np.empty(len(caps), dtype=np.int64)
    units = request.units
    for num in range(request.nodes_min, min(request.nodes_max, units, usable) + 1):
        if units % num:
            continue
        for g in groups.line:
            share[g] = units // num if caps[g] >= units // num else 0
        exact = Request(request.shape, units, request.duration, num, num)
        count = _usable(groups, share, ONE, order)
        order_in(machine, machine.policy, groups, exact, share, order, count, rest)
        k = split_evenly(groups.size, exact, share, order, count, pieces)
        if k > 0:
            return k
    return 0


@leaf
def _tightest_first(request, caps, order, count):
    """Put the group whose nodes have the least room, but enough for the job, before the others."""
    best = -1
    for i in range(count):
        enough = caps[order[i]] >= request.units
        if enough and (best < 0 or caps[order[i]] < caps[order[best]]):
            best = i
    if best > 0:
        chosen = order[best]
        for i in range(best, 0, -1):
            order[i] = order[i - 1]
        order[0] = chosen


@leaf
def _note_rooms(machine, level, groups, request, caps):
    """Note how many units of a job fit on a node of each group."""
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, shape = groups.first, request.shape
    need = shapes[shape, SHAPE_REQUEST]
    for g in range(len(groups.line)):
        caps[g] = 0
        if level[g, 0] >= need:
            caps[g] = room_on(level, g, first[g], capacity, eligible, shapes, shape, MANY)


@leaf
def choose_by_room(machine, level, groups, request, tight, scratch, pieces):
    """
    Place a job that minds only how much room there is, as :func:`choose_as_slurm`.

    Parameters
    ----------
    scratch, pieces
        Room: ``SCRATCH`` rows as wide as there are groups, and the placement.

    Returns
    -------
    int
        How many pieces that is; 0: it fits only with fewer units on some nodes than they have
        room for, if at all.
    """
    caps, order, rest = scratch[0], scratch[1], scratch[2:]
    _note_rooms(machine, level, groups, request, caps)
    # A job that gets too few units on its nodes is tried without the nodes that hold fewest.
    least = ONE
    while least <= MANY:
        count = _usable(groups, caps, least, order)
        _, best = order_in(machine, machine.policy, groups, request, caps, order, count, rest)
        if tight and request.nodes_min == 1:
            _tightest_first(request, caps, order, best)
        k = fill_greedily(groups.size, request, caps, order, count, pieces)
        if k > 0:
            return k
        least = _smallest_from(caps, len(groups.line), least) + 1
    return ZERO


@inner
def choose_as_slurm(machine, level, groups, request, tight):
    """
    Place a job on what is free on groups as Slurm does; see :mod:`cpsched.slurm.dispatch.plain`.

    If ``tight``, a job that one node of the best part holds gets the one with the least room.

    Returns
    -------
    ndarray
        Rows of (group, nodes, units on each) as by ``placing.choose``; no rows where the
        job does not fit.
    """
    if is_confined(machine, request):
        return choose(machine, level, groups, request)
    num_groups = len(groups.line)
    scratch = np.empty((SCRATCH, num_groups), dtype=np.int64)
    caps, order = scratch[0], scratch[1]
    pieces = np.empty((4 * num_groups + 4, 3), dtype=np.int64)
    if needs_room_alone(machine, request):
        k = choose_by_room(machine, level, groups, request, tight, scratch, pieces)
        if k > 0:
            return pieces[:k]
        count = _usable(groups, caps, ONE, order)
        order_in(machine, machine.policy, groups, request, caps, order, count, scratch[2:])
        return pieces[: fill_with_lookahead(groups.size, request, caps, order, count, pieces)]
    _note_rooms(machine, level, groups, request, caps)
    even = is_even(machine, request)
    if is_run(machine, request):
        tried = 0
        while not even:
            count = _tight_run(machine, groups, caps, request, tried, order)
            if count == 0:
                break
            k = fill_greedily(groups.size, request, caps, order, count, pieces)
            if k > 0:
                return pieces[:k]
            tried += 1
        # What is tightest in all has too many nodes.
        return pieces[: use_a_run(groups, request, caps, even, len(machine.capacity), pieces)]
    return pieces[: _split_as_slurm(machine, groups, request, scratch, pieces)]
