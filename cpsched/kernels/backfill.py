"""EASY's pass over a queue: start heads, reserve for one that does not fit, backfill around it."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import FAR, sort_by
from cpsched.kernels.compiling import kernel
from cpsched.kernels.fit import amount_on, node_capacity
from cpsched.kernels.inner import inner
from cpsched.kernels.kinds import kind_at
from cpsched.kernels.pass_state import (
    BASE,
    BESIDE,
    BESIDE_PASS,
    CAPACITY,
    DELTA,
    HEADER,
    KIND_DEAD,
    KIND_PLAN,
    KIND_SHAPE,
    KIND_UNITS,
    PASS,
    PUT_NODE,
    PUT_UNITS,
    ROOM,
    STAMP,
    SUMMED,
    TOUCHED,
    WORK,
    begin_pass,
    desk_of,
    room_of,
    take,
)
from cpsched.kernels.placing import (
    counts_of,
    place_ahead,
    place_beside,
    place_now,
    place_within,
    recount,
)
from cpsched.kernels.start_log import note_placement, packed_with
from cpsched.model.columns import (
    ALLOC_COUNT,
    ALLOC_FIRST,
    EXPECTED_END,
    PLAN,
    SHAPE,
    SHAPE_REQUEST,
    UNITS,
)


@inner
def _by_end(now, cols, log, used):
    """Return the places in the log of the jobs that start now, and their ends, by end."""
    count = 0
    at = 0
    while at < used:
        count += 1
        at += 2 + 2 * log[at + 1]
    places = np.empty(count, dtype=np.int64)
    ends = np.empty(count)
    at = 0
    for i in range(count):
        places[i] = at
        ends[i] = now + max(cols[log[at], PLAN], 1)
        at += 2 + 2 * log[at + 1]
    sort_by(ends, places, count)
    return places, ends


@inner
def _touch(mark, stamp, list_of_touched, work, base, node, touched):
    """Make ``base`` hold for a node; return how many nodes the pass has touched."""
    if stamp[node] != mark:
        stamp[node] = mark
        list_of_touched[touched] = node
        touched += 1
        for r in range(work.shape[1]):
            base[node, r] = work[node, r]
    return touched


@inner
def _give_back(delta, base, sums, node, r, amount):
    delta[node, r] += amount
    base[node, r] += amount
    sums[r] += amount


@inner
def _reserve(policy, now, row, desk, running, arena_node, arena_amount, log, used):
    """
    Find the first second at which a job can be placed, and where.

    ``log`` holds the jobs that start now. A running job that should have ended is expected to
    end next second. The placement is left on the desk, and in ``delta`` what the jobs that have
    ended by then give back.

    Returns
    -------
    second, count, touched
        On how many nodes the job is placed: 0 if it cannot be placed even when all have ended
        (nodes are down). And how many nodes have been touched.
    """
    cols = desk.cols
    shape = cols[row, SHAPE]
    units = cols[row, UNITS]
    num_kinds = desk.level.shape[2]
    sums = desk.main[HEADER : HEADER + num_kinds].copy()
    places, ends = _by_end(now, cols, log, used)
    work, base, delta = desk.level[WORK], desk.level[BASE], desk.level[DELTA]
    capacity, eligible, shapes = desk.level[CAPACITY], desk.eligible, desk.shapes
    stamp, list_of_touched, mark = desk.line[STAMP], desk.line[TOUCHED], 2 * desk.main[PASS]
    summed = desk.main[SUMMED] != 0
    touched = 0
    # Nodes are looked at only once there is enough in all: until then the total is not known.
    total = -1
    counts = np.empty(0, dtype=np.int64)
    i = 0
    j = 0
    while i < len(running) or j < len(places):
        second = FAR
        if i < len(running):
            second = max(cols[running[i], EXPECTED_END], now + 1)
        if j < len(places):
            second = min(second, np.int64(ends[j]))
        before = total
        while i < len(running) and max(cols[running[i], EXPECTED_END], now + 1) <= second:
            first = cols[running[i], ALLOC_FIRST]
            for k in range(first, first + cols[running[i], ALLOC_COUNT]):
                node = arena_node[k]
                touched = _touch(mark, stamp, list_of_touched, work, base, node, touched)
                had = (
                    node_capacity(base, capacity, eligible, shapes, shape, node)
                    if total >= 0
                    else 0
                )
                for r in range(num_kinds):
                    _give_back(delta, base, sums, node, r, arena_amount[k, r])
                if total >= 0:
                    has = node_capacity(base, capacity, eligible, shapes, shape, node)
                    total += has - had
                    recount(counts, had, has)
            i += 1
        while j < len(places) and ends[j] <= second:
            at = places[j]
            done = cols[log[at], SHAPE]
            for entry in range(at + 2, at + 2 + 2 * log[at + 1], 2):
                node = log[entry]
                touched = _touch(mark, stamp, list_of_touched, work, base, node, touched)
                had = (
                    node_capacity(base, capacity, eligible, shapes, shape, node)
                    if total >= 0
                    else 0
                )
                for r in range(num_kinds):
                    back = amount_on(shapes, done, capacity, node, log[entry + 1], r)
                    _give_back(delta, base, sums, node, r, back)
                if total >= 0:
                    has = node_capacity(base, capacity, eligible, shapes, shape, node)
                    total += has - had
                    recount(counts, had, has)
            j += 1
        if total < 0:
            enough = True
            for r in range(num_kinds):
                need = shapes[shape, SHAPE_REQUEST + r]
                enough = enough and (need == 0 or sums[r] // need >= units)
            if summed and not enough:
                continue
            total = room_of(desk, shape)
            counts = counts_of(desk, row)
            for k in range(touched):
                node = list_of_touched[k]
                had = node_capacity(work, capacity, eligible, shapes, shape, node)
                has = node_capacity(base, capacity, eligible, shapes, shape, node)
                total += has - had
                recount(counts, had, has)
        # Only room that is new can make the difference.
        if total < units or total == before:
            continue
        count = place_ahead(policy, desk, row, counts, touched)
        if count > 0:
            return second, count, touched
    return FAR, 0, touched


@inner
def _forget(delta, nodes):
    for node in nodes:
        for r in range(delta.shape[1]):
            delta[node, r] = 0


@inner
def _settle(work, base, delta, node):
    """Make ``base`` what is free of a reserved node now and also beside the reservation."""
    for r in range(work.shape[1]):
        base[node, r] = work[node, r] + min(0, delta[node, r])


@inner
def _hold(desk, row, count):
    """Take a reservation, placed on ``count`` nodes, off what is given back; return its nodes."""
    shape, shapes = desk.cols[row, SHAPE], desk.shapes
    work, base, delta = desk.level[WORK], desk.level[BASE], desk.level[DELTA]
    capacity, stamp, units = desk.level[CAPACITY], desk.line[STAMP], desk.line[PUT_UNITS]
    mark = 2 * desk.main[PASS] + 1
    reserved = desk.line[PUT_NODE][:count].copy()
    for i in range(count):
        node = reserved[i]
        for r in range(work.shape[1]):
            delta[node, r] -= amount_on(shapes, shape, capacity, node, units[i], r)
        stamp[node] = mark
        _settle(work, base, delta, node)
    return reserved


@inner
def _start_around(desk, row, count, short):
    """Start a job around the reservation; one that ends by then gives back what it takes."""
    shape, shapes = desk.cols[row, SHAPE], desk.shapes
    work, base, delta = desk.level[WORK], desk.level[BASE], desk.level[DELTA]
    capacity, stamp = desk.level[CAPACITY], desk.line[STAMP]
    nodes, units = desk.line[PUT_NODE], desk.line[PUT_UNITS]
    mark = 2 * desk.main[PASS] + 1
    if short:
        for i in range(count):
            if stamp[nodes[i]] == mark:
                for r in range(work.shape[1]):
                    amount = amount_on(shapes, shape, capacity, nodes[i], units[i], r)
                    delta[nodes[i], r] += amount
    take(desk, row, count)
    for i in range(count):
        if stamp[nodes[i]] == mark:
            _settle(work, base, delta, nodes[i])


@inner
def _skip(kind_of, row):
    """Mark a row as done with, or not any more."""
    kind_of[row] = -1 - kind_of[row]


@inner
def _backfill(policy, now, shadow, desk, reserved, backfill, kind_of, log, used):
    """Start jobs that do not delay the reservation; return the log and its length."""
    book = desk.book
    number = desk.main[PASS]
    for row in backfill:
        kind = kind_of[row]
        if kind < 0:
            continue
        if kind == 0:
            kind = kind_at(desk, kind_of, row)
        if book[kind, KIND_DEAD] == number:
            continue
        shape, units = book[kind, KIND_SHAPE], book[kind, KIND_UNITS]
        count = 0
        short = now + max(book[kind, KIND_PLAN], 1) <= shadow
        # What these calls would say first, said here for less.
        if 0 <= book[shape, ROOM] < units or (
            not short and book[shape, BESIDE_PASS] == number and book[shape, BESIDE] < units
        ):
            count = 0
        elif short:
            count = place_within(policy, desk, row)
        else:
            count = place_beside(policy, desk, row, reserved, used)
        if count == 0:
            book[kind, KIND_DEAD] = number
            continue
        _start_around(desk, row, count, short)
        log, used = note_placement(log, used, row, desk, count)
    return log, used


@kernel
def easy_pass(
    policy, now, rows, backfill, kind_of, cols, shapes, eligible, memory, book, free,
    running, arena_node, arena_amount,
):  # fmt: skip
    """
    Start jobs from the head of the queue on, reserve for the first that does not fit, backfill.

    A job that could not be placed even if all that runs had ended (nodes are down) is passed over
    as if it were not in the queue.

    Parameters
    ----------
    rows
        Rows of the job store in order of priority.
    backfill
        The same rows in the order in which they are tried behind the reservation.
    kind_of, memory, book
        See :mod:`cpsched.kernels.pass_state`.
    running
        Rows of the running jobs, by expected end.
    arena_node, arena_amount
        Allocations of the running jobs, found by their ``ALLOC_FIRST`` and ``ALLOC_COUNT``.

    Returns
    -------
    ndarray
        Packed as by :func:`packed`; head is -1 where nothing is reserved.
    """
    desk = desk_of(memory, book, free, cols, shapes, eligible)
    begin_pass(desk, free)
    number = desk.main[PASS]
    log = np.empty(64, dtype=np.int64)
    used = 0
    head = -1
    shadow = 0
    hopeless = 0
    reserved = desk.line[PUT_NODE][:0]
    for i in range(len(rows)):
        row = rows[i]
        if hopeless > 0 and book[kind_at(desk, kind_of, row), KIND_DEAD] == number:
            continue
        count = place_now(policy, desk, row)
        if count > 0:
            take(desk, row, count)
            log, used = note_placement(log, used, row, desk, count)
            continue
        shadow, count, touched = _reserve(
            policy, now, row, desk, running, arena_node, arena_amount, log, used
        )
        if count == 0:
            book[kind_at(desk, kind_of, row), KIND_DEAD] = number
            hopeless += 1
            _forget(desk.level[DELTA], desk.line[TOUCHED][:touched])
            # Whatever is reserved next starts from what is free now.
            for k in range(touched):
                desk.line[STAMP, desk.line[TOUCHED, k]] = 0
            continue
        head = row
        reserved = _hold(desk, row, count)
        break
    if head >= 0:
        heads = used
        if len(rows) > 1:
            at = 0
            while at < heads:
                _skip(kind_of, log[at])
                at += 2 + 2 * log[at + 1]
            _skip(kind_of, head)
            log, used = _backfill(policy, now, shadow, desk, reserved, backfill, kind_of, log, used)
            at = 0
            while at < heads:
                _skip(kind_of, log[at])
                at += 2 + 2 * log[at + 1]
            _skip(kind_of, head)
        _forget(desk.level[DELTA], desk.line[TOUCHED][:touched])
        _forget(desk.level[DELTA], reserved)
    return packed_with(log, used, cols, shapes, desk.level[CAPACITY], head, shadow, reserved)
