"""
State kept between passes, so that a pass only processes changes.

Between two decisions a few jobs end and a few arrive. Everything here follows from the view alone:
it is a cache, and without it the result is the same, but slower. Three arrays hold it, because each
array handed to a kernel costs time:

``memory``
    The head (``PASS`` to ``LINKED``), then numbers by kind, tables of nodes and kinds, runs of
    nodes, and nodes counted by room; see :func:`state_of`.
``job_classes``
    A row for each *class* of jobs and one for each *shape*, side by side. A shape is a distinct
    request; a class is all of a job that says whether it fits, how long for, and what a priority
    may look at beside the time of submission. Jobs of one class after one that does not fit do not
    fit either.
``class_of``
    The class of each row of the job store, 0 where it is not known yet.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cpsched.kernels.arrays import ONE
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.rooms import MANY, Groups, amount_on, machine_at, room_on
from cpsched.kernels.runs import (
    BLOCK,
    begin_at,
    begins_at,
    join_at,
    num_runs,
    num_words,
    run_end,
    same_block,
    words,
)
from cpsched.model.columns import (
    EXPECTED_WAIT,
    NODES_MAX,
    NODES_MIN,
    RANKING_ESTIMATE,
    RUNTIME_ESTIMATE,
    SHAPE,
    SHAPE_REQUEST,
    UNITS,
)

# The head: passes so far, shapes whose room is kept up, classes known, whether there were more,
# whether the sums over all nodes are within 64 bits, the least that a unit of any shape needs of
# the first kind, the number of classes in line, and the number of rows of the job store that are.
PASS, TRACKED, CLASSES, FULL, SUMMED, LEAST, LINED, LINKED = range(8)
HEADER = 8

# Columns of ``job_classes``. Of a class: its seven columns of the job store, the pass in which it
# was found not to fit, how many more of it are worth looking at and in which pass they were
# counted, and two places of the hash table that finds a class.
CLASS_SHAPE, CLASS_UNITS = 0, 1
CLASS_PLAN = 6
CLASS_DEAD, CLASS_LEFT, CLASS_COUNTED, CLASS_INDEX = 7, 8, 9, 10
# Of a shape: units that fit now (-1: not known), the pass in which that was asked for last, and
# where its nodes are counted by room (-1: nowhere); units that fit beside the reservation, in which
# pass and with how long a log that was found. TRACK has nothing to do with its row: it is the list
# of the shapes whose room is kept up.
ROOM, ASKED, SLOT, BESIDE, BESIDE_PASS, BESIDE_LOG, TRACK = range(12, 19)
# Of a class in line, see :mod:`cpsched.kernels.lines`: its first and last job. LINE is the list of
# them, as TRACK is.
CLASS_FIRST, CLASS_LAST, LINE = 19, 20, 21
CLASS_WIDTH = 22

#: The number of shapes whose nodes are counted by room, and the largest counted room.
SLOTS, MOST = 64, np.int64(129)

#: Shapes not used for this many passes are no longer updated.
_PATIENCE = 64

# Tables of what nodes have of each kind: what is free, less what the pass has started; what they
# are.
WORK, CAPACITY = range(2)
NUM_TABLES = 2
#: How many shapes of jobs an allocator may look at besides the one that it places.
ASKED_FOR = 40
# Runs of nodes, see :mod:`cpsched.kernels.runs`: of nodes that are the same, with the same capacity
# and open to the same jobs (where a run begins they are apart); and with the same free besides.
APART, RUNS = range(2)
NUM_BITS = 2


class PassState(NamedTuple):
    """
    All arrays a pass works on; N nodes, R kinds.

    Attributes
    ----------
    head
        The head of ``memory``, and behind it what is free in all of each kind.
    worth
        See :class:`~cpsched.kernels.rooms.Machine`.
    node_tables
        Shape ``(NUM_TABLES, N, R)``.
    bits
        Where runs of nodes begin, shape ``(NUM_BITS, words(N))``.
    slots, counts
        Which places for counting nodes are taken; and how many nodes have room for so many units
        of a shape, now in the first and beside the reservation in the second ``SLOTS`` rows, shape
        ``(2 SLOTS, MOST + 1)``.
    job_classes
        See above.
    places
        The topology, see :func:`cpsched.kernels.rooms.packed_places`.
    """

    head: Any
    worth: Any
    node_tables: Any
    bits: Any
    slots: Any
    counts: Any
    job_classes: Any
    cols: Any
    shapes: Any
    eligible: Any
    places: Any


def first_table(num_kinds: int) -> int:
    """Return where in ``memory`` the tables begin; behind the head is what kinds are worth."""
    return HEADER + 2 * num_kinds + 3 * ASKED_FOR


def first_bits(num_nodes: int, num_kinds: int) -> int:
    """Return where in ``memory`` the runs of nodes begin."""
    return first_table(num_kinds) + NUM_TABLES * num_nodes * num_kinds


def first_slot(num_nodes: int, num_kinds: int) -> int:
    """Return where in ``memory`` the places for counting nodes begin, with the counts behind."""
    return first_bits(num_nodes, num_kinds) + NUM_BITS * num_words(num_nodes)


def first_place(num_nodes: int, num_kinds: int) -> int:
    """Return where in ``memory`` the topology begins, which is the rest of it."""
    return first_slot(num_nodes, num_kinds) + SLOTS * (2 * int(MOST) + 3)


@inner
def state_of(memory, job_classes, free, cols, shapes, eligible):
    """Divide ``memory`` into its parts."""
    num_nodes, num_kinds = free.shape
    one = HEADER + 2 * num_kinds + 3 * ASKED_FOR
    two = one + NUM_TABLES * num_nodes * num_kinds
    three = two + NUM_BITS * words(num_nodes)
    return PassState(
        memory[: HEADER + num_kinds],
        memory[HEADER + num_kinds : one],
        memory[one:two].reshape((NUM_TABLES, num_nodes, num_kinds)),
        memory[two:three].reshape((NUM_BITS, words(num_nodes))),
        memory[three : three + SLOTS],
        memory[three + SLOTS : three + SLOTS * (2 * MOST + 3)].reshape((2 * SLOTS, MOST + 1)),
        job_classes, cols, shapes, eligible, memory[three + SLOTS * (2 * MOST + 3) :],
    )  # fmt: skip


@inner
def machine_of(policy, state):
    """Return what placing needs of it."""
    return machine_at(
        policy, state.shapes, state.eligible, state.node_tables[CAPACITY], state.worth,
        state.places,
    )  # fmt: skip


@inner
def room_runs(state, shape):
    """
    Return the runs of nodes that hold a unit of a shape or more now, as groups.

    Returns
    -------
    groups, level
        What is free on each node of each group.
    """
    work, capacity, runs = state.node_tables[WORK], state.node_tables[CAPACITY], state.bits[RUNS]
    eligible, shapes = state.eligible, state.shapes
    num_nodes, num_kinds = work.shape
    most = num_runs(runs)
    first = np.empty(most, dtype=np.int64)
    size = np.empty(most, dtype=np.int64)
    line = np.empty(most, dtype=np.int64)
    level = np.empty((most, num_kinds), dtype=np.int64)
    g = 0
    node = 0
    while node < num_nodes:
        end = run_end(runs, node, num_nodes)
        if room_on(work, node, node, capacity, eligible, shapes, shape, ONE) > 0:
            first[g], size[g], line[g] = node, end - node, g
            for r in range(num_kinds):
                level[g, r] = work[node, r]
            g += 1
        node = end
    return Groups(first[:g], size[:g], line[:g]), level


# --- what is free --------------------------------------------------------------------------------


@inner
def begin_pass(state, free):
    """Bring what is free, and the room of the shapes kept up, to the present."""
    head, table = state.head, state.job_classes
    head[PASS] += 1
    kept = 0
    for i in range(head[TRACKED]):
        shape = table[i, TRACK]
        if table[shape, ASKED] + _PATIENCE < head[PASS]:
            table[shape, ROOM] = -1
            if table[shape, SLOT] >= 0:
                state.slots[table[shape, SLOT]] = 0
        else:
            table[kept, TRACK] = shape
            kept += 1
    head[TRACKED] = kept
    _follow(
        head, table, state.counts, state.node_tables[WORK], state.node_tables[CAPACITY],
        state.eligible, state.shapes, state.bits, free,
    )  # fmt: skip


@inner
def _follow(head, table, counts, work, capacity, eligible, shapes, bits, free):
    """Take over what is free."""
    num_nodes, num_kinds = free.shape
    now = free.ravel()
    before = work.ravel()
    length = len(now)
    done = 0
    for low in range(0, length, BLOCK):
        high = min(low + BLOCK, length)
        if high - low == BLOCK and same_block(now[low:high], before[low:high]):
            continue
        node = max(done, low // num_kinds)
        while node <= (high - 1) // num_kinds:
            changed = False
            for r in range(num_kinds):
                changed = changed or work[node, r] != free[node, r]
            end = node + 1
            if changed:
                # What is the same for neighbours is worked out once.
                while end < num_nodes and _is_like(bits, work, free, end, node):
                    end += 1
                _follow_run(head, table, counts, work, capacity, eligible, shapes, free, node, end)
                _mark_run(bits, work, node, end)
            node = end
        done = node


@leaf
def _mark_run(bits, work, node, end):
    """Mark where runs begin at both ends of equal neighbours."""
    for n in (node, end):
        if n < len(work):
            if n > 0 and _is_like(bits, work, work, n, n - 1):
                join_at(bits[RUNS], n)
            else:
                begin_at(bits[RUNS], n)


@leaf
def _is_like(bits, work, free, end, node):
    """Say whether a node has changed as one before it has, as all between them have."""
    if begins_at(bits[APART], end):
        return False
    for r in range(work.shape[1]):
        if work[end, r] != work[node, r] or free[end, r] != free[node, r]:
            return False
    return True


@leaf
def _follow_run(head, table, counts, work, capacity, eligible, shapes, free, node, end):
    """The same for equal neighbours."""
    num_kinds = free.shape[1]
    _add_room(head, table, counts, work, capacity, eligible, shapes, node, node - end)
    for r in range(num_kinds):
        head[HEADER + r] += (free[node, r] - work[node, r]) * (end - node)
    for n in range(node, end):
        for r in range(num_kinds):
            work[n, r] = free[n, r]
    _add_room(head, table, counts, work, capacity, eligible, shapes, node, end - node)


@leaf
def _add_room(head, table, counts, work, capacity, eligible, shapes, node, times):
    """Add the room of a node, times a number, to all updated shapes."""
    for i in range(head[TRACKED]):
        shape = table[i, TRACK]
        units = room_on(work, node, node, capacity, eligible, shapes, shape, MANY)
        table[shape, ROOM] += times * units
        if table[shape, SLOT] >= 0:
            counts[table[shape, SLOT], min(units, MOST)] += times


@leaf
def take(state, row, log, low, high):
    """Take a job off what is free: nodes and units, by turns, from ``low`` to ``high`` of a log."""
    _take(
        state.head, state.job_classes, state.counts, state.node_tables[WORK],
        state.node_tables[CAPACITY], state.eligible, state.shapes, state.bits,
        state.cols[row, SHAPE], log, low, high,
    )  # fmt: skip


@leaf
def _take(head, table, counts, work, capacity, eligible, shapes, bits, shape, log, low, high):
    num_kinds = work.shape[1]
    at = low
    while at < high:
        node, units = log[at], log[at + 1]
        end = node + 1
        at += 2
        while at < high and log[at] == end and log[at + 1] == units:
            if begins_at(bits[RUNS], end):
                break
            end += 1
            at += 2
        _add_room(head, table, counts, work, capacity, eligible, shapes, node, node - end)
        for r in range(num_kinds):
            amount = amount_on(shapes, shape, capacity, node, units, r)
            for n in range(node, end):
                work[n, r] -= amount
            head[HEADER + r] -= amount * (end - node)
        _add_room(head, table, counts, work, capacity, eligible, shapes, node, end - node)
        _mark_run(bits, work, node, end)


# --- how much fits -------------------------------------------------------------------------------


@leaf
def room_now(state, shape, slot):
    """
    Return how many units of a shape fit on all nodes together now.

    The nodes are counted by room in a slot, unless it is -1.
    """
    work, capacity, runs = state.node_tables[WORK], state.node_tables[CAPACITY], state.bits[RUNS]
    eligible, shapes, counts = state.eligible, state.shapes, state.counts
    if slot >= 0:
        counts[slot, :] = 0
    total = 0
    node = 0
    while node < len(work):
        end = run_end(runs, node, len(work))
        units = room_on(work, node, node, capacity, eligible, shapes, shape, MANY)
        total += units * (end - node)
        if slot >= 0:
            counts[slot, min(units, MOST)] += end - node
        node = end
    return total


@leaf
def tracked_room(state, shape):
    """Return the same, which is kept up from now on."""
    head, table, slots = state.head, state.job_classes, state.slots
    table[shape, ASKED] = head[PASS]
    if table[shape, ROOM] < 0:
        slot = 0
        while slot < SLOTS and slots[slot] != 0:
            slot += 1
        if slot < SLOTS:
            slots[slot] = 1
        else:
            slot = -1
        table[shape, SLOT] = slot
        table[shape, ROOM] = room_now(state, shape, slot)
        table[head[TRACKED], TRACK] = shape
        head[TRACKED] += 1
    return table[shape, ROOM]


@leaf
def counts_allow(counts, num_nodes, units, nodes_min, nodes_max):
    """
    Whether ``nodes_min`` to ``nodes_max`` nodes hold a number of units that all together hold.

    ``counts`` says how many nodes there are by room. If some have room for ``MOST`` or more, the
    answer may be too optimistic.
    """
    some = num_nodes - counts[0]
    if units < nodes_min or some < nodes_min:
        return False
    if nodes_max >= some or counts[MOST] > 0:
        return True
    return roomiest_hold(counts, top_room(counts, MOST - 1), nodes_max, units)


@leaf
def top_room(counts, top):
    """Return the greatest room any node has, no more than ``top``."""
    while top > 0 and counts[top] == 0:
        top -= 1
    return top


@leaf
def roomiest_hold(counts, top, nodes, units):
    """Whether a number of the roomiest nodes, none above ``top``, hold the units."""
    for room in range(top, 0, -1):
        taken = min(counts[room], nodes)
        units -= taken * room
        nodes -= taken
        if units <= 0 or nodes == 0:
            break
    return units <= 0


@leaf
def enough_in_all(sums, shapes, shape, units):
    """Say whether all nodes together have what the units of a job need."""
    for r in range(len(sums)):
        need = shapes[shape, SHAPE_REQUEST + r]
        if need > 0 and sums[r] // need < units:
            return False
    return True


@leaf
def is_full(state):
    """Say whether too little is free in all for any job."""
    return state.head[SUMMED] != 0 and state.head[HEADER] < state.head[LEAST]


@leaf
def may_fit(state, row):
    """
    Whether a job may fit now: never False if it does.

    Exact except for even splits and jobs with placement constraints, and for nodes with room for
    ``MOST`` units or more.
    """
    cols, table = state.cols, state.job_classes
    shape, units = cols[row, SHAPE], cols[row, UNITS]
    room = table[shape, ROOM]
    if room < 0:
        sums = state.head[HEADER:]
        if state.head[SUMMED] != 0 and not enough_in_all(sums, state.shapes, shape, units):
            return False
        room = tracked_room(state, shape)
    table[shape, ASKED] = state.head[PASS]
    return room >= units and within_counts(state, row, table[shape, SLOT])


@leaf
def within_counts(state, row, slot):
    """Say whether a job may keep its bounds on nodes that are counted in a slot, -1 for none."""
    cols, num_nodes = state.cols, state.node_tables.shape[1]
    nodes_min, nodes_max = cols[row, NODES_MIN], cols[row, NODES_MAX]
    if slot < 0 or (nodes_min == 1 and nodes_max >= min(num_nodes, cols[row, UNITS])):
        return True
    return counts_allow(state.counts[slot], num_nodes, cols[row, UNITS], nodes_min, nodes_max)


# --- classes of jobs -----------------------------------------------------------------------------


@leaf
def _class_columns():
    return (SHAPE, UNITS, NODES_MIN, NODES_MAX, EXPECTED_WAIT, RANKING_ESTIMATE, RUNTIME_ESTIMATE)


@leaf
def class_at(state, class_of, row):
    """
    Return the class of a row, found now if it is not known.

    Class 0 serves for one row at a time where there is no room for a new class.
    """
    if class_of[row] > 0:
        return class_of[row]
    head, table, cols = state.head, state.job_classes, state.cols
    columns = _class_columns()
    size = 2 * len(table)
    place = 0
    for column in columns:
        place = (31 * place + (cols[row, column] & 0xFFFFFF)) & 0x3FFFFFFF
    place %= size
    while True:
        number = table[place // 2, CLASS_INDEX + place % 2]
        if number == 0:
            break
        same = True
        for i in range(len(columns)):
            same = same and table[number, i] == cols[row, columns[i]]
        if same:
            class_of[row] = number
            return number
        place = (place + 1) % size
    number = head[CLASSES] + 1
    if number == len(table):
        number = 0
        head[FULL] = 1
    else:
        head[CLASSES] = number
        table[place // 2, CLASS_INDEX + place % 2] = number
        class_of[row] = number
    for i in range(len(columns)):
        table[number, i] = cols[row, columns[i]]
    table[number, CLASS_DEAD] = 0
    table[number, CLASS_COUNTED] = 0
    return number


@kernel
def candidates(by_age, queue, class_of, cols, shapes, eligible, memory, job_classes, free):
    """
    Return the jobs worth ranking: those that could start now on their own, in queue order.

    Exact except for bounds on the number of nodes, even splits and jobs with placement constraints,
    which may be included though they do not fit. With ``by_age``, only as many jobs of one class
    are returned as fit together: the priority puts earlier ones first, so later ones cannot start.
    """
    state = state_of(memory, job_classes, free, cols, shapes, eligible)
    begin_pass(state, free)
    this_pass = state.head[PASS]
    found = np.empty(len(queue), dtype=np.int64)
    count = 0
    for row in queue:
        number = class_of[row]
        if number == 0:
            number = class_at(state, class_of, row)
        if job_classes[number, CLASS_DEAD] == this_pass:
            continue
        shape = job_classes[number, CLASS_SHAPE]
        units = job_classes[number, CLASS_UNITS]
        if job_classes[number, CLASS_COUNTED] != this_pass:
            job_classes[number, CLASS_COUNTED] = this_pass
            fits = may_fit(state, row)
            job_classes[number, CLASS_LEFT] = tracked_room(state, shape) // units if fits else 0
        if job_classes[number, CLASS_LEFT] == 0:
            job_classes[number, CLASS_DEAD] = this_pass
            continue
        if by_age:
            job_classes[number, CLASS_LEFT] -= 1
        found[count] = row
        count += 1
    return found[:count]
