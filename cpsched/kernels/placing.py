"""
Place one job on a desk: now, at the second of a reservation, or around one.

Each returns on how many nodes the job is put, 0 if it does not fit; which, and how many units on
each, is left in ``PUT_NODE`` and ``PUT_UNITS``, in order of nodes. What most jobs are, first-fit
units that may lie on any nodes within a bound, stops at the node where the job is full; all else
is left to :mod:`cpsched.kernels.fit`, which looks at every node that may have room.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import sort_by
from cpsched.kernels.fit import (
    FIRST_FIT,
    node_capacity,
    place_among,
    place_preferring_among,
)
from cpsched.kernels.inner import inner
from cpsched.kernels.pass_state import (
    AMONG,
    BASE,
    BESIDE,
    BESIDE_LOG,
    BESIDE_PASS,
    CAPACITY,
    CAPS,
    DELTA,
    FRONT,
    GREATEST,
    LEAST,
    MOST,
    ORDER,
    PASS,
    PREFERRED,
    PUT_NODE,
    PUT_UNITS,
    ROOM,
    SLOT,
    SLOTS,
    STAMP,
    TAKES,
    TOUCHED,
    WORK,
    asks_for_something,
    may_fit,
    open_nodes,
    roomiest_hold,
    scarce_of,
    top_of,
    within_bounds,
)
from cpsched.model.columns import (
    NODES_MAX,
    NODES_MIN,
    SHAPE,
    SHAPE_CONTIGUOUS,
    SHAPE_EXCLUSIVE,
    SHAPE_REQUEST,
    SHAPE_SPLIT,
    UNITS,
)


@inner
def _is_loose(desk, shape):
    """Say whether a job's units may lie on any nodes, in any numbers, but for bounds on nodes."""
    return desk.shapes[shape, SHAPE_SPLIT] == 0 and desk.shapes[shape, SHAPE_CONTIGUOUS] == 0


@inner
def _is_bounded(desk, row):
    """Say whether the bounds on the number of nodes matter."""
    most = min(desk.cols[row, UNITS], desk.level.shape[1])
    return desk.cols[row, NODES_MIN] > 1 or desk.cols[row, NODES_MAX] < most


@inner
def _asks_for_units_only(desk, shape):
    """Say whether a job takes what its units ask for, some of which is something, and no more."""
    num_kinds = desk.level.shape[2]
    some = False
    for r in range(num_kinds):
        if desk.shapes[shape, SHAPE_REQUEST + num_kinds + r] > 0:
            return False
        some = some or desk.shapes[shape, SHAPE_REQUEST + r] > 0
    return some and desk.shapes[shape, SHAPE_EXCLUSIVE] == 0


@inner
def _first_node(desk, shape):
    """Return the first node that may have room for a job."""
    _, num_nodes, num_kinds = desk.level.shape
    if not asks_for_something(desk.shapes, shape, num_kinds):
        return 0
    node = desk.main[FRONT]
    work = desk.level[WORK]
    while node < num_nodes:
        for r in range(num_kinds):
            if work[node, r] > 0:
                desk.main[FRONT] = node
                return node
        node += 1
    desk.main[FRONT] = node
    return node


@inner
def _gather(desk, among):
    """Move a placement on some of the nodes given out of ``takes``; return on how many it is."""
    takes, nodes, units = desk.line[TAKES], desk.line[PUT_NODE], desk.line[PUT_UNITS]
    count = 0
    for node in among:
        if takes[node] > 0:
            nodes[count] = node
            units[count] = takes[node]
            takes[node] = 0
            count += 1
    return count


@inner
def _gather_walked(desk):
    """Do the same for one on nodes between ``LEAST`` and ``GREATEST``."""
    least, greatest = desk.main[LEAST], desk.main[GREATEST]
    desk.main[LEAST] = desk.level.shape[1]
    desk.main[GREATEST] = -1
    return _gather(desk, range(least, greatest + 1))


@inner
def counts_of(desk, row):
    """
    Return how many nodes there are by room for a job's units now, a copy.

    Empty for a job without bounds on its nodes, and where nodes are not counted.
    """
    slot = desk.book[desk.cols[row, SHAPE], SLOT]
    if slot < 0 or not _is_bounded(desk, row):
        return np.empty(0, dtype=np.int64)
    return desk.counts[slot].copy()


@inner
def recount(counts, before, after):
    """Note that a node has other room than was counted."""
    if len(counts) > 0:
        counts[min(before, MOST)] -= 1
        counts[min(after, MOST)] += 1


@inner
def keeps_bounds(desk, row, counts):
    """Say whether nodes with such room may hold a job within its bounds, if all together do."""
    if len(counts) == 0:
        return True
    cols = desk.cols
    num_nodes = desk.level.shape[1]
    return within_bounds(
        counts, num_nodes, cols[row, UNITS], cols[row, NODES_MIN], cols[row, NODES_MAX]
    )


# --- where ---------------------------------------------------------------------------------------

#: What a job may use. What is free now; of that, what is free beside the reservation too; what is
#: free now, first what is reserved; what is free at a later second, first what is busy now.
NOW, AROUND, WITHIN, AHEAD = range(4)


@inner
def _is_other(mode, mark, stamp, node):
    """Say whether ``base`` and not ``work`` is what a job may use of a node."""
    return (mode == AROUND and stamp[node] == mark + 1) or (mode == AHEAD and stamp[node] == mark)


@inner
def _preferred(mode, mark, stamp, work, base, delta, capacity, eligible, shapes, shape, node):
    """Return how many units fit in what is to be used first of a node."""
    if mode == AHEAD:
        if stamp[node] != mark:
            return 0
        return node_capacity(delta, capacity, eligible, shapes, shape, node)
    if mode != WITHIN or stamp[node] != mark + 1:
        return 0
    room = node_capacity(work, capacity, eligible, shapes, shape, node)
    for r in range(work.shape[1]):
        need = shapes[shape, SHAPE_REQUEST + r]
        if need > 0:
            room = min(room, (work[node, r] - base[node, r]) // need)
    return room


@inner
def _walk(
    mode, mark, first, left, bounded, nodes_min, nodes_max, counts, stamp, work, base, delta,
    capacity, eligible, shapes, shape, takes, main,
):  # fmt: skip
    """
    Put a job on the first nodes with room from ``first`` on, into ``takes``.

    Where something is to be used first, a job without bounds fills that, then the rest; one with
    bounds takes the nodes first on which it holds a unit. With bounds, a node is passed over if
    the roomiest of those not looked at yet (``counts``) could not hold the rest.
    """
    num_nodes = len(stamp)
    used = 0
    top = MOST
    for turn in range(2 if mode >= WITHIN else 1):
        second = mode < WITHIN or turn == 1
        for node in range(first, num_nodes):
            if left == 0:
                break
            # Stamps of passes before are smaller.
            stamped = stamp[node] >= mark
            inside = 0
            if mode >= WITHIN:
                if not stamped and not second:
                    continue
                if stamped and (bounded or not second):
                    inside = _preferred(
                        mode, mark, stamp, work, base, delta, capacity, eligible, shapes, shape,
                        node,
                    )  # fmt: skip
                    if (inside > 0) == second:
                        continue
            if not bounded and not second:
                units = min(inside, left)
            else:
                if stamped and _is_other(mode, mark, stamp, node):
                    units = node_capacity(base, capacity, eligible, shapes, shape, node)
                else:
                    units = node_capacity(work, capacity, eligible, shapes, shape, node)
                if units == 0:
                    continue
                if bounded:
                    counts[units] -= 1
                    top = top_of(counts, top)
                    units = min(units, left - max(nodes_min - used - 1, 0))
                    rest = left - units
                    if rest > 0 and not roomiest_hold(counts, top, nodes_max - used - 1, rest):
                        continue
                else:
                    units = min(units - takes[node], left)
            if units > 0:
                takes[node] += units
                left -= units
                used += 1
                main[LEAST] = min(main[LEAST], node)
                main[GREATEST] = max(main[GREATEST], node)


@inner
def _nodes_for(desk, row, mode, touched):
    """Return, in their order, nodes that are all on which there may be room for a job."""
    shape = desk.cols[row, SHAPE]
    _, num_nodes, num_kinds = desk.level.shape
    among, opened = desk.line[AMONG], open_nodes(desk)
    if (
        desk.shapes[shape, SHAPE_CONTIGUOUS] != 0
        or not asks_for_something(desk.shapes, shape, num_kinds)
        # Sorting would take longer than looking at all.
        or (mode == AHEAD and 8 * touched > num_nodes)
    ):
        for node in range(num_nodes):
            among[node] = node
        return among
    if mode != AHEAD:
        return opened
    return among[: _merge(opened, desk.line[TOUCHED], touched, desk.line[STAMP], among)]


@inner
def _merge(opened, touched, num_touched, stamp, among):
    """Put open and touched nodes into ``among`` in their order; return how many there are."""
    key = np.empty(num_touched, dtype=np.int64)
    order = np.empty(num_touched, dtype=np.int64)
    for i in range(num_touched):
        key[i] = order[i] = touched[i]
    sort_by(key, order, num_touched)
    mark = stamp[order[0]] if num_touched > 0 else -1
    count = 0
    j = 0
    for node in opened:
        if stamp[node] == mark:
            continue
        while j < num_touched and order[j] < node:
            among[count] = order[j]
            count += 1
            j += 1
        among[count] = node
        count += 1
    while j < num_touched:
        among[count] = order[j]
        count += 1
        j += 1
    return count


@inner
def _place_at_large(policy, desk, row, mode, touched):
    """Put a job on nodes as any allocator does; return on how many, 0 if it does not fit."""
    work, base, delta = desk.level[WORK], desk.level[BASE], desk.level[DELTA]
    caps, order, takes = desk.line[CAPS], desk.line[ORDER], desk.line[TAKES]
    stamp, mark = desk.line[STAMP], 2 * desk.main[PASS]
    num_kinds = desk.level.shape[2]
    among = _nodes_for(desk, row, mode, touched)
    if mode in (AROUND, AHEAD):
        for node in among:
            if not _is_other(mode, mark, stamp, node):
                for r in range(num_kinds):
                    base[node, r] = work[node, r]
    free = base if mode in (AROUND, AHEAD) else work
    if mode < WITHIN:
        fits = place_among(
            policy, desk.cols, row, desk.shapes, desk.eligible, desk.level[CAPACITY],
            scarce_of(desk), free, among, caps, order, takes,
        )  # fmt: skip
    else:
        preferred = delta
        if mode == WITHIN:
            preferred = desk.level[PREFERRED]
            for node in among:
                for r in range(num_kinds):
                    preferred[node, r] = 0
                    if stamp[node] == mark + 1:
                        preferred[node, r] = work[node, r] - base[node, r]
        fits = place_preferring_among(
            policy, desk.cols, row, desk.shapes, desk.eligible, desk.level[CAPACITY],
            scarce_of(desk), free, preferred, among, caps, order, takes,
        )  # fmt: skip
    if not fits:
        return 0
    return _gather(desk, among)


@inner
def _place(policy, desk, row, mode, counts, touched):
    """Place a job of whose units at least as many as it has fit, and within its bounds."""
    shape = desk.cols[row, SHAPE]
    bounded = _is_bounded(desk, row)
    walks = policy == FIRST_FIT and _is_loose(desk, shape)
    if mode >= WITHIN:
        walks = walks and _asks_for_units_only(desk, shape)
    if bounded:
        walks = walks and len(counts) > 0 and counts[MOST] == 0
    if not walks:
        return _place_at_large(policy, desk, row, mode, touched)
    first = 0 if mode == AHEAD else _first_node(desk, shape)
    _walk(
        mode, 2 * desk.main[PASS], first, desk.cols[row, UNITS], bounded,
        desk.cols[row, NODES_MIN], desk.cols[row, NODES_MAX], counts, desk.line[STAMP],
        desk.level[WORK], desk.level[BASE], desk.level[DELTA], desk.level[CAPACITY],
        desk.eligible, desk.shapes, shape, desk.line[TAKES], desk.main,
    )  # fmt: skip
    return _gather_walked(desk)


@inner
def _first_nodes(work, capacity, eligible, shapes, shape, node, left, nodes, units):
    """Put a job without bounds on the first nodes with room; return their number."""
    count = 0
    while left > 0 and node < len(nodes):
        room = node_capacity(work, capacity, eligible, shapes, shape, node)
        if room > 0:
            nodes[count] = node
            units[count] = min(room, left)
            left -= units[count]
            count += 1
        node += 1
    return count


@inner
def place_now(policy, desk, row):
    """Place a job on what is free now."""
    if not may_fit(desk, row):
        return 0
    shape = desk.cols[row, SHAPE]
    if policy != FIRST_FIT or _is_bounded(desk, row) or not _is_loose(desk, shape):
        return _place(policy, desk, row, NOW, counts_of(desk, row), 0)
    return _first_nodes(
        desk.level[WORK], desk.level[CAPACITY], desk.eligible, desk.shapes, shape,
        _first_node(desk, shape), desk.cols[row, UNITS], desk.line[PUT_NODE],
        desk.line[PUT_UNITS],
    )  # fmt: skip


@inner
def place_within(policy, desk, row):
    """
    Place a job that has ended when the reservation begins on what is free now.

    It uses up what is reserved first: on reserved nodes, what is free now and not in ``base``.
    """
    if not may_fit(desk, row):
        return 0
    return _place(policy, desk, row, WITHIN, counts_of(desk, row), 0)


@inner
def _find_beside(book, counts, work, base, capacity, eligible, shapes, shape, reserved):
    """Find how many units of a shape fit now and beside the reservation on some nodes too."""
    slot = book[shape, SLOT]
    total = book[shape, ROOM]
    if slot >= 0:
        for room in range(MOST + 1):
            counts[SLOTS + slot, room] = counts[slot, room]
    for node in reserved:
        before = node_capacity(work, capacity, eligible, shapes, shape, node)
        after = node_capacity(base, capacity, eligible, shapes, shape, node)
        total += after - before
        if slot >= 0:
            counts[SLOTS + slot, min(before, MOST)] -= 1
            counts[SLOTS + slot, min(after, MOST)] += 1
    book[shape, BESIDE] = total


@inner
def place_beside(policy, desk, row, reserved, used):
    """
    Place a job on what is free now and beside the reservation too.

    Parameters
    ----------
    reserved
        Nodes on which that is ``base``; on others it is all that is free.
    used
        Length of the log: what fits is found anew when another job has started.
    """
    book, shape, units = desk.book, desk.cols[row, SHAPE], desk.cols[row, UNITS]
    known = book[shape, BESIDE_PASS] == desk.main[PASS]
    # Room only shrinks as long as a pass lasts.
    if (known and book[shape, BESIDE] < units) or not may_fit(desk, row):
        return 0
    if not known or book[shape, BESIDE_LOG] != used:
        _find_beside(
            book, desk.counts, desk.level[WORK], desk.level[BASE], desk.level[CAPACITY],
            desk.eligible, desk.shapes, shape, reserved,
        )  # fmt: skip
        book[shape, BESIDE_PASS] = desk.main[PASS]
        book[shape, BESIDE_LOG] = used
    if book[shape, BESIDE] < units:
        return 0
    counts = np.empty(0, dtype=np.int64)
    if _is_bounded(desk, row) and book[shape, SLOT] >= 0:
        counts = desk.counts[SLOTS + book[shape, SLOT]]
        if not keeps_bounds(desk, row, counts):
            return 0
        counts = counts.copy()
    return _place(policy, desk, row, AROUND, counts, 0)


@inner
def place_ahead(policy, desk, row, counts, touched):
    """
    Place a job on what will be free at a later second, using what is busy now first.

    ``base`` holds that for the nodes the pass has touched, ``touched`` of them, and ``delta`` how
    much of it is new; at least as many units as the job has must fit.
    """
    if not keeps_bounds(desk, row, counts):
        return 0
    return _place(policy, desk, row, AHEAD, counts.copy(), touched)
