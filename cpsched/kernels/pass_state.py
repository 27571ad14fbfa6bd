"""
What a dispatcher remembers from one decision to the next, so as to work out only what has changed.

Between two decisions a few jobs end and a few arrive. Everything here follows from the view alone:
it is a cache, and without it the same comes out, slower. Three arrays hold it, because each array
handed to a kernel costs time:

``memory``
    One number a name (``PASS`` to ``FRONT``), then per kind, node, or node and kind; see
    :func:`desk_of`.
``book``
    A row for each *kind* of job and one for each *shape*, side by side. A shape is a distinct
    request; a kind is all of a job that says whether it fits, how long for, and what a priority
    may look at beside the time of submission. Jobs of one kind behind one that does not fit do
    not fit either.
``kind_of``
    The kind of each row of the job store, 0 where it is not known yet.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cpsched.kernels.fit import amount_on, node_capacity
from cpsched.kernels.inner import inner
from cpsched.model.columns import (
    NODES_MAX,
    NODES_MIN,
    SHAPE,
    SHAPE_REQUEST,
    UNITS,
)

# The first numbers of ``memory``: passes so far, shapes whose room is kept up, kinds known, whether
# there were more, a node before which nothing at all is free, whether the sums over all nodes are
# within 64 bits, the least and greatest node of a placement in the making, whether the next pass
# sees what the last one saw, how many nodes that one has taken something of, how many are listed as
# open, and on how many something is free.
(
    PASS, TRACKED, KINDS, FULL, FRONT, SUMMED, LEAST, GREATEST, SAME, CHANGED, NUM_OPEN, NUM_FREE
) = range(12)  # fmt: skip
HEADER = 12

# Columns of ``book``. Of a kind: its seven columns of the job store, the pass in which it was found
# not to fit, how many more of it are worth looking at and in which pass they were counted, and two
# places of the hash table that finds a kind.
KIND_SHAPE, KIND_UNITS = 0, 1
KIND_PLAN = 6
KIND_DEAD, KIND_LEFT, KIND_COUNTED, KIND_INDEX = 7, 8, 9, 10
# Of a shape: units that fit now (-1: not known), the pass in which that was asked for last, and
# where its nodes are counted by room (-1: nowhere); units that fit beside the reservation, in which
# pass and with how long a log that was found. TRACK has nothing to do with its row: it is the list
# of the shapes whose room is kept up.
ROOM, ASKED, SLOT, BESIDE, BESIDE_PASS, BESIDE_LOG, TRACK = range(12, 19)
BOOK_WIDTH = 19

#: How many shapes have their nodes counted by room, and by how many units; more count as so many.
SLOTS, MOST = 64, 129

#: Shapes nobody has asked for in so many passes are not kept up any longer.
_PATIENCE = 64
#: Nodes are listed anew where so many times more are listed as open than are.
_STALE = 2
#: Entries compared at once.
_BLOCK = 64


# Tables of what nodes have of each kind: what is free, less what the pass has started; what they
# are; what is free otherwise (at a later second, or beside a reservation), and by how much more,
# which is zero between passes; and one for placing.
WORK, CAPACITY, BASE, DELTA, PREFERRED = range(5)
NUM_TABLES = 5
# Lists over nodes: the mark of a pass that has touched a node (twice its number, or that plus one),
# the nodes it has touched, four for placing (TAKES is zero between uses), and the placement found
# last: nodes in their order, and how many units on each. Then the nodes the last pass has taken
# something of, and in which pass each was; and the open nodes, on which something is free: in their
# order, with some among them perhaps on which nothing is any more.
(
    STAMP, TOUCHED, CAPS, ORDER, TAKES, AMONG, PUT_NODE, PUT_UNITS, TAKEN, TAKEN_IN, OPEN
) = range(11)  # fmt: skip
NUM_LISTS = 11


class Desk(NamedTuple):
    """
    All arrays a pass works on; N nodes, R kinds.

    Attributes
    ----------
    main
        All of ``memory``: its numbers, then what is free in all of each kind, and what every node
        has of it.
    level, line
        Its tables, shape ``(NUM_TABLES, N, R)``, and lists, shape ``(NUM_LISTS, N)``.
    slots, counts
        Which places for counting nodes are taken; and how many nodes have room for so many units
        of a shape, now in the first and beside the reservation in the second ``SLOTS`` rows, shape
        ``(2 SLOTS, MOST + 1)``.
    """

    main: Any
    level: Any
    line: Any
    slots: Any
    counts: Any
    book: Any
    cols: Any
    shapes: Any
    eligible: Any


def first_slot(num_nodes: int, num_kinds: int) -> int:
    """Return where in ``memory`` the slots for counting nodes begin, with the counts behind."""
    return first_list(num_nodes, num_kinds) + NUM_LISTS * num_nodes


def first_list(num_nodes: int, num_kinds: int) -> int:
    """Return where in ``memory`` the lists over nodes begin."""
    return HEADER + 2 * num_kinds + NUM_TABLES * num_nodes * num_kinds


def memory_size(num_nodes: int, num_kinds: int) -> int:
    """Return the length of ``memory``."""
    return first_slot(num_nodes, num_kinds) + SLOTS * (2 * MOST + 3)


@inner
def desk_of(memory, book, free, cols, shapes, eligible):
    """Divide ``memory`` into its parts."""
    num_nodes, num_kinds = free.shape
    one = HEADER + 2 * num_kinds
    two = one + NUM_TABLES * num_nodes * num_kinds
    level = memory[one:two].reshape((NUM_TABLES, num_nodes, num_kinds))
    three = two + NUM_LISTS * num_nodes
    line = memory[two:three].reshape((NUM_LISTS, num_nodes))
    slots = memory[three : three + SLOTS]
    end = three + SLOTS * (2 * MOST + 3)
    counts = memory[three + SLOTS : end].reshape((2 * SLOTS, MOST + 1))
    return Desk(memory, level, line, slots, counts, book, cols, shapes, eligible)


@inner
def scarce_of(desk):
    """Return what every node has of each kind: more than that is scarce."""
    num_kinds = desk.level.shape[2]
    return desk.main[HEADER + num_kinds : HEADER + 2 * num_kinds]


# --- room ----------------------------------------------------------------------------------------


@inner
def begin_pass(desk, free):
    """Bring what is free, and the room of the shapes kept up, to the present."""
    head, book = desk.main, desk.book
    head[PASS] += 1
    kept = 0
    for i in range(head[TRACKED]):
        shape = book[i, TRACK]
        if book[shape, ASKED] + _PATIENCE < head[PASS]:
            book[shape, ROOM] = -1
            if book[shape, SLOT] >= 0:
                desk.slots[book[shape, SLOT]] = 0
        else:
            book[kept, TRACK] = shape
            kept += 1
    head[TRACKED] = kept
    work, capacity, counts = desk.level[WORK], desk.level[CAPACITY], desk.counts
    eligible, shapes = desk.eligible, desk.shapes
    if head[SAME] != 0:
        taken = desk.line[TAKEN]
        for i in range(head[CHANGED]):
            _follow_node(head, book, counts, work, capacity, eligible, shapes, free, taken[i])
    else:
        opened = _follow(head, book, counts, work, capacity, eligible, shapes, free)
        if opened or head[NUM_OPEN] > _STALE * head[NUM_FREE]:
            _list_open(head, work, desk.line[OPEN])
    head[SAME] = 0
    head[CHANGED] = 0


@inner
def _list_open(head, work, line):
    """List the nodes on which something is free."""
    num_nodes, num_kinds = work.shape
    count = 0
    for node in range(num_nodes):
        for r in range(num_kinds):
            if work[node, r] > 0:
                line[count] = node
                count += 1
                break
    head[NUM_OPEN] = count


@inner
def _follow_node(head, book, counts, work, capacity, eligible, shapes, free, node):
    """Take over what is free on a node; say whether something is where nothing was."""
    num_kinds = free.shape[1]
    same = True
    was = False
    now = False
    for r in range(num_kinds):
        same = same and work[node, r] == free[node, r]
        was = was or work[node, r] > 0
        now = now or free[node, r] > 0
    if same:
        return False
    add_room(head, book, counts, work, capacity, eligible, shapes, node, -1)
    for r in range(num_kinds):
        head[HEADER + r] += free[node, r] - work[node, r]
        work[node, r] = free[node, r]
    add_room(head, book, counts, work, capacity, eligible, shapes, node, 1)
    head[FRONT] = min(head[FRONT], node)
    head[NUM_FREE] += np.int64(now) - np.int64(was)
    return now and not was


@inner
def _follow(head, book, counts, work, capacity, eligible, shapes, free):
    """Take over what is free; say whether something is on a node on which nothing was."""
    num_kinds = free.shape[1]
    opened = False
    now = free.ravel()
    before = work.ravel()
    length = len(now)
    for low in range(0, length, _BLOCK):
        high = min(low + _BLOCK, length)
        differs = 0
        for i in range(low, high):
            differs |= now[i] ^ before[i]
        if differs == 0:
            continue
        for node in range(low // num_kinds, (high - 1) // num_kinds + 1):
            opened |= _follow_node(head, book, counts, work, capacity, eligible, shapes, free, node)
    return opened


@inner
def open_nodes(desk):
    """Return the nodes on which something is free, in their order; on some it may not be."""
    return desk.line[OPEN][: desk.main[NUM_OPEN]]


@inner
def asks_for_something(shapes, shape, num_kinds):
    """Say whether a request asks for anything at all."""
    for r in range(2 * num_kinds):
        if shapes[shape, SHAPE_REQUEST + r] > 0:
            return True
    return False


@inner
def add_room(head, book, counts, work, capacity, eligible, shapes, node, sign):
    """Add what fits on a node to the room of all shapes kept up, or take it off."""
    for i in range(head[TRACKED]):
        shape = book[i, TRACK]
        units = node_capacity(work, capacity, eligible, shapes, shape, node)
        book[shape, ROOM] += sign * units
        if book[shape, SLOT] >= 0:
            counts[book[shape, SLOT], min(units, MOST)] += sign


@inner
def room_of(desk, shape):
    """Return how many units of a shape fit on all nodes together now."""
    desk.book[shape, ASKED] = desk.main[PASS]
    if desk.book[shape, ROOM] < 0:
        _count(
            desk.main, desk.book, desk.slots, desk.counts, desk.level[WORK],
            desk.level[CAPACITY], desk.eligible, desk.shapes, shape, open_nodes(desk),
        )  # fmt: skip
    return desk.book[shape, ROOM]


@inner
def _count(head, book, slots, counts, work, capacity, eligible, shapes, shape, opened):
    """Find the room of a shape, and keep it up from now on."""
    slot = 0
    while slot < SLOTS and slots[slot] != 0:
        slot += 1
    if slot < SLOTS:
        slots[slot] = 1
        for units in range(MOST + 1):
            counts[slot, units] = 0
    num_nodes, num_kinds = work.shape
    some = asks_for_something(shapes, shape, num_kinds)
    number = len(opened) if some else num_nodes
    if slot < SLOTS:
        counts[slot, 0] = num_nodes - number
    total = 0
    for i in range(number):
        node = opened[i] if some else i
        units = node_capacity(work, capacity, eligible, shapes, shape, node)
        total += units
        if slot < SLOTS:
            counts[slot, min(units, MOST)] += 1
    book[shape, ROOM] = total
    book[shape, SLOT] = slot if slot < SLOTS else -1
    book[head[TRACKED], TRACK] = shape
    head[TRACKED] += 1


@inner
def within_bounds(counts, num_nodes, units, nodes_min, nodes_max):
    """
    Say whether ``nodes_min`` to ``nodes_max`` nodes hold so many units, if all together do.

    ``counts`` says how many nodes there are by room. Where some have room for ``MOST`` or more the
    answer may be too optimistic.
    """
    some = num_nodes - counts[0]
    if units < nodes_min or some < nodes_min:
        return False
    return nodes_max >= some or roomiest_hold(counts, top_of(counts, MOST), nodes_max, units)


@inner
def top_of(counts, top):
    """Return the greatest room any node has, no more than ``top``."""
    while top > 0 and counts[top] == 0:
        top -= 1
    return top


@inner
def roomiest_hold(counts, top, nodes, units):
    """Say whether so many of the roomiest nodes, none roomier than ``top``, hold the units."""
    if top == MOST:
        return nodes > 0
    for room in range(top, 0, -1):
        taken = min(counts[room], nodes)
        units -= taken * room
        nodes -= taken
        if units <= 0 or nodes == 0:
            break
    return units <= 0


@inner
def has_room(desk, shape, units):
    """Say whether so many units fit on all nodes together, from the sums where they say no."""
    if desk.book[shape, ROOM] < 0 and desk.main[SUMMED] != 0:
        for r in range(desk.level.shape[2]):
            need = desk.shapes[shape, SHAPE_REQUEST + r]
            if need > 0 and desk.main[HEADER + r] // need < units:
                return False
    return room_of(desk, shape) >= units


@inner
def may_fit(desk, row):
    """
    Say whether a job may fit now: never False if it does.

    Exact but for even splits and contiguity, and for nodes with room for ``MOST`` units or more.
    """
    book = desk.book
    shape = desk.cols[row, SHAPE]
    units = desk.cols[row, UNITS]
    room = book[shape, ROOM]
    if room < 0:
        if not has_room(desk, shape, units):
            return False
    else:
        book[shape, ASKED] = desk.main[PASS]
        if room < units:
            return False
    nodes_min, nodes_max = desk.cols[row, NODES_MIN], desk.cols[row, NODES_MAX]
    num_nodes = desk.level.shape[1]
    if (nodes_min == 1 and nodes_max >= num_nodes) or book[shape, SLOT] < 0:
        return True
    counts = desk.counts[book[shape, SLOT]]
    return within_bounds(counts, num_nodes, units, nodes_min, nodes_max)


@inner
def take(desk, row, count):
    """Take the placement found last, of a job on ``count`` nodes, off what is free."""
    _take(
        desk.main, desk.book, desk.counts, desk.level[WORK], desk.level[CAPACITY], desk.eligible,
        desk.shapes, desk.cols[row, SHAPE], desk.line[PUT_NODE][:count], desk.line[PUT_UNITS],
        desk.line[TAKEN], desk.line[TAKEN_IN],
    )  # fmt: skip


@inner
def _take(
    head, book, counts, work, capacity, eligible, shapes, shape, nodes, units, taken, taken_in
):
    for i in range(len(nodes)):
        node = nodes[i]
        if taken_in[node] != head[PASS]:
            taken_in[node] = head[PASS]
            taken[head[CHANGED]] = node
            head[CHANGED] += 1
        add_room(head, book, counts, work, capacity, eligible, shapes, node, -1)
        was = False
        now = False
        for r in range(work.shape[1]):
            amount = amount_on(shapes, shape, capacity, node, units[i], r)
            was = was or work[node, r] > 0
            work[node, r] -= amount
            now = now or work[node, r] > 0
            head[HEADER + r] -= amount
        head[NUM_FREE] += np.int64(now) - np.int64(was)
        add_room(head, book, counts, work, capacity, eligible, shapes, node, 1)
