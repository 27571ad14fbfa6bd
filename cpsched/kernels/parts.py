"""
Connected parts of the free nodes, and jobs restricted to such parts.

A part is a run of consecutive nodes, or the nodes of one group of the topology's lowest level. A
job is placed on the smallest part that holds it, else on the largest, and the rest of it in the
same way. A job with segments uses in each group of the lowest level a whole number of segments of
nodes, so a group counts for what its whole segments hold.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import FAR, ZERO, sort_by
from cpsched.kernels.inner import inner, leaf, used_where
from cpsched.kernels.rooms import may_confine
from cpsched.model.columns import SHAPE_SEGMENT, SHAPE_SWITCHES

#: Node orders of the allocators that use the topology.
LOWEST_SWITCH, FEWEST_GROUPS, CONTIGUOUS = (np.int64(policy) for policy in range(5, 8))

#: Rows of scratch for an order.
PARTS_SCRATCH = 8


@leaf
def keeps_together(policy):
    """Whether an allocator uses the topology."""
    return LOWEST_SWITCH <= policy <= CONTIGUOUS


@leaf
def is_confined(machine, request):
    """Say whether a job must keep to segments or to few groups."""
    shapes, shape = machine.shapes, request.shape
    return shapes[shape, SHAPE_SEGMENT] > 0 or shapes[shape, SHAPE_SWITCHES] > 0


@leaf
def group_of(levels, level, node):
    """Return the group of a node at a level; above the highest all nodes are one group."""
    return levels[level, node] if level < len(levels) else 0


@leaf
def find_parts(
    levels, weights, groups, caps, segment, by_group, order, count, begin, end, units, nodes, weight
):
    """
    Cut usable groups of nodes into parts; return how many there are.

    A run of nodes ends where their weight changes, if they have weights.

    Parameters
    ----------
    segment
        Nodes in a segment: a part counts for its whole segments only; 0 for a job without.
    by_group
        Whether a part is a group of the lowest level, or a run of nodes.
    order, count
        The usable groups of nodes in node order.
    begin, end, units, nodes, weight
        Filled: the places ``[begin, end)`` of each part in ``order``, what is on its nodes, and
        their lowest weight.
    """
    first, size = groups.first, groups.size
    num = 0
    behind = -1
    own = -1
    before = ZERO
    for i in range(count):
        g = order[i]
        group = group_of(levels, ZERO, first[g])
        heavy = weights[first[g]] if len(weights) > 0 else ZERO
        apart = first[g] != behind or heavy != before
        if num == 0 or (group != own if by_group else apart):
            begin[num] = i
            units[num] = 0
            nodes[num] = 0
            weight[num] = heavy
            num += 1
        own = group
        before = heavy
        weight[num - 1] = min(weight[num - 1], heavy)
        behind = first[g] + size[g]
        end[num - 1] = i + 1
        units[num - 1] += size[g] * caps[g]
        nodes[num - 1] += size[g]
    if segment > 0:
        for p in range(num):
            nodes[p] -= nodes[p] % segment
            left = nodes[p]
            units[p] = 0
            for i in range(begin[p], end[p]):
                used = min(size[order[i]], left)
                units[p] += used * caps[order[i]]
                left -= used
    return num


@leaf
def best_part(num, units, nodes, weight, used, left, owed):
    """
    Return the tightest part that is enough, the largest where none is; -1 if all are used.

    Among those of the lowest weight.
    """
    best = -1
    best_is_enough = False
    for p in range(num):
        if used[p] or nodes[p] == 0:
            continue
        enough = units[p] >= left and nodes[p] >= owed
        if best >= 0 and weight[p] != weight[best]:
            better = weight[p] < weight[best]
        elif best >= 0 and best_is_enough:
            better = enough and units[p] < units[best]
        else:
            better = best < 0 or enough or units[p] > units[best]
        if better:
            best, best_is_enough = p, enough
    return best


@leaf
def _lowest_switch(levels, groups, request, order, num, begin, units, nodes):
    """Return the lowest level with a group that can hold a job, and the fullest such group."""
    first = groups.first
    for level in range(len(levels)):
        best, fewest = -1, FAR
        p = 0
        while p < num:
            group = levels[level, first[order[begin[p]]]]
            held, wide = 0, 0
            while p < num and levels[level, first[order[begin[p]]]] == group:
                held += units[p]
                wide += nodes[p]
                p += 1
            if held >= request.units and wide >= request.nodes_min and wide < fewest:
                best, fewest = group, wide
        if best >= 0:
            return level, best
    return len(levels), 0


@leaf
def order_in(machine, policy, groups, request, caps, order, count, scratch):
    """Do as :func:`order_by_parts` in scratch of ``PARTS_SCRATCH`` rows of that many groups."""
    levels, first = machine.levels, groups.first
    segment = machine.shapes[request.shape, SHAPE_SEGMENT]
    by_group = policy in (LOWEST_SWITCH, FEWEST_GROUPS) and len(levels) > 0
    line, begin, end, units = scratch[0], scratch[1], scratch[2], scratch[3]
    nodes, weight, used, taken = scratch[4], scratch[5], scratch[6], scratch[7]
    for i in range(count):
        line[i] = order[i]
        used[i] = taken[i] = 0
    num = find_parts(
        levels, machine.weights, groups, caps, segment, by_group, line, count, begin, end, units,
        nodes, weight,
    )  # fmt: skip
    if policy == LOWEST_SWITCH and by_group:
        level, group = _lowest_switch(levels, groups, request, line, num, begin, units, nodes)
        for p in range(num):
            used[p] = group_of(levels, level, first[line[begin[p]]]) != group
    left, owed = request.units, request.nodes_min
    parts = ZERO
    k = ZERO
    while left > 0 or owed > 0:
        p = best_part(num, units, nodes, weight, used, left, owed)
        if p < 0:
            break
        used[p] = 1
        parts += 1
        left -= units[p]
        owed -= nodes[p]
        for i in range(begin[p], end[p]):
            order[k] = line[i]
            taken[i] = 1
            k += 1
    enough = k
    for i in range(count):
        if not taken[i]:
            order[k] = line[i]
            k += 1
    return parts, enough


def _no_parts(machine, policy, groups, request, caps, order, count):  # noqa: ARG001
    """Stand for :func:`order_by_parts` where no order goes by the topology."""
    return ZERO, ZERO


@used_where(may_confine, _no_parts)
def order_by_parts(machine, policy, groups, request, caps, order, count):
    """
    Put usable groups of nodes, given along the line, into the order of an allocator.

    The best part first and so on until there is enough, then all others along the line (which
    matters only for jobs that cannot have as many nodes as they like).

    Returns
    -------
    parts, enough
        How many parts have been needed, and how many groups of nodes they are.
    """
    # One array for all: each costs more than what is done with it on few groups.
    scratch = np.empty((PARTS_SCRATCH, count), dtype=np.int64)
    return order_in(machine, policy, groups, request, caps, order, count, scratch)


@inner
def take_segments(machine, groups, request, caps, order, count, by_room, size):
    """
    Choose the segments of a job, of one node each where it asks for none.

    Parameters
    ----------
    order, count
        The usable groups of nodes in the allocator's order; those used are left.
    by_room
        0: as few segments as hold the job, as they fill up in the order given. 1: what holds most,
        on the roomiest nodes of each group of the lowest level and in as few of these as the job
        may touch; if that does not hold it, nothing does.
    size
        Filled: how many nodes of each group of nodes are used.

    Returns
    -------
    count, num_nodes
        How many groups of nodes and how many nodes are used; 0 where the job does not fit so.
    """
    segment = max(machine.shapes[request.shape, SHAPE_SEGMENT], 1)
    levels, first = machine.levels, groups.first
    num_blocks = group_of(levels, ZERO, len(machine.capacity) - 1) + 1
    if by_room == 1:
        roomiest = np.empty(count)
        for i in range(count):
            roomiest[i] = -caps[order[i]]
        sort_by(roomiest, order, count)
    blocks, units = _segments(levels, groups, caps, order, count, segment, num_blocks)
    least = -(-request.nodes_min // segment)
    most = min(min(request.nodes_max, request.units) // segment, len(blocks))
    if by_room == 1:
        switches = machine.shapes[request.shape, SHAPE_SWITCHES]
        if switches == 0:
            switches = num_blocks
        chosen = _roomiest(blocks, units, num_blocks, switches, least, most, request.units)
    else:
        chosen = np.zeros(num_blocks, dtype=np.int64)
        held = 0
        num = 0
        while num < most and (held < request.units or num < least):
            held += units[num]
            chosen[blocks[num]] += 1
            num += 1
        if held < request.units or num < least:
            chosen[:] = 0
    num_nodes = ZERO
    for block in range(num_blocks):
        chosen[block] *= segment
        num_nodes += chosen[block]
    k = ZERO
    for i in range(count):
        g = order[i]
        block = group_of(levels, ZERO, first[g])
        size[g] = min(groups.size[g], chosen[block])
        chosen[block] -= size[g]
        if size[g] > 0:
            order[k] = g
            k += 1
    return k, num_nodes


@inner
def _roomiest(blocks, units, num_blocks, switches, least, most, wanted):
    """
    Return how many segments of each group to use, all 0 where no choice is enough.

    At most ``switches`` groups, and the fewest segments, ``least`` to ``most``, that hold
    ``wanted`` units. Of a group the first segments hold most.
    """
    chosen = np.zeros(num_blocks, dtype=np.int64)
    if most < max(least, 1):
        return chosen
    if switches >= num_blocks:
        turn = np.empty(len(blocks), dtype=np.int64)
        key = np.empty(len(blocks))
        for i in range(len(blocks)):
            turn[i] = i
            key[i] = -units[i]
        sort_by(key, turn, len(turn))
        held = 0
        num = 0
        while num < most and (held < wanted or num < least):
            held += units[turn[num]]
            chosen[blocks[turn[num]]] += 1
            num += 1
        if held < wanted or num < least:
            chosen[:] = 0
        return chosen
    # best[k, n]: the most units in n segments of k groups; from[b, k, n]: of which group b has so
    # many.
    switches = min(switches, most)
    best = np.empty((switches + 1, most + 1), dtype=np.int64)
    source = np.zeros((num_blocks, switches + 1, most + 1), dtype=np.int64)
    for k in range(switches + 1):
        for n in range(most + 1):
            best[k, n] = 0 if n == 0 else -FAR
    own = np.zeros(most + 1, dtype=np.int64)
    for block in range(num_blocks):
        count = 0
        for i in range(len(blocks)):
            if blocks[i] == block and count < most:
                own[count + 1] = own[count] + units[i]
                count += 1
        if count == 0:
            continue
        for k in range(switches, 0, -1):
            for n in range(most, 0, -1):
                for taken in range(1, min(n, count) + 1):
                    total = best[k - 1, n - taken] + own[taken]
                    if total > best[k, n]:
                        best[k, n] = total
                        source[block, k, n] = taken
    for n in range(max(least, 1), most + 1):
        if best[switches, n] >= wanted:
            k = switches
            for block in range(num_blocks - 1, -1, -1):
                taken = source[block, k, n]
                if taken > 0:
                    chosen[block] = taken
                    n -= taken
                    k -= 1
            break
    return chosen


@inner
def _segments(levels, groups, caps, order, count, segment, num_blocks):
    """Return the group of each segment of free nodes, as they fill up, and the units it holds."""
    first, size = groups.first, groups.size
    total = 0
    for i in range(count):
        total += size[order[i]]
    blocks = np.empty(total // segment, dtype=np.int64)
    units = np.empty(total // segment, dtype=np.int64)
    filled_to = np.zeros(num_blocks, dtype=np.int64)
    holding = np.zeros(num_blocks, dtype=np.int64)
    num = 0
    for i in range(count):
        g = order[i]
        block = group_of(levels, ZERO, first[g])
        free = size[g]
        while free > 0:
            nodes = min(segment - filled_to[block], free)
            free -= nodes
            filled_to[block] += nodes
            holding[block] += nodes * caps[g]
            if filled_to[block] == segment:
                blocks[num], units[num] = block, holding[block]
                filled_to[block], holding[block] = 0, 0
                num += 1
    return blocks[:num], units[:num]
