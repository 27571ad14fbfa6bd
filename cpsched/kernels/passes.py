"""Passes over a queue: start in order, reserve for the head, backfill around it."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.compiling import kernel
from cpsched.kernels.fit import (
    FAR,
    amount_on,
    copied,
    filled,
    node_capacity,
    place,
    place_preferring,
    sort_by,
    subtract,
    total_of,
    unit_capacity,
)
from cpsched.model.columns import (
    ALLOC_COUNT,
    ALLOC_FIRST,
    EXPECTED_END,
    PLAN,
    SHAPE,
    UNITS,
)

#: Numbers in front of a packed pass, see :func:`packed`.
HEADER = 5


@kernel
def note_start(log, used, row, takes):
    """
    Append a started job to the log of a pass: row, number of nodes, then node and units of each.

    Returns the log (grown if need be) and its new length.
    """
    count = 0
    for n in range(len(takes)):
        if takes[n] > 0:
            count += 1
    needed = used + 2 + 2 * count
    if needed > len(log):
        grown = np.empty(2 * needed, dtype=np.int64)
        for i in range(used):
            grown[i] = log[i]
        log = grown
    log[used] = row
    log[used + 1] = count
    used += 2
    for n in range(len(takes)):
        if takes[n] > 0:
            log[used] = n
            log[used + 1] = takes[n]
            used += 2
    return log, used


@kernel
def packed(log, used, cols, shapes, capacity, head, shadow, takes):
    """
    Put what a pass found into one array: returning many arrays costs more than the pass.

    Layout: number of starts and of their nodes, head row, shadow, number of head nodes; the rows
    that start, the bounds of their nodes (one more), nodes, units, and amounts (R each); the
    head's reserved nodes.
    """
    num_kinds = capacity.shape[1]
    count = 0
    total = 0
    at = 0
    while at < used:
        count += 1
        total += log[at + 1]
        at += 2 + 2 * log[at + 1]
    held = 0
    for n in range(len(takes)):
        if takes[n] > 0:
            held += 1
    out = np.empty(HEADER + 2 * count + 1 + total * (2 + num_kinds) + held, dtype=np.int64)
    out[0], out[1], out[2], out[3], out[4] = count, total, head, shadow, held
    rows = HEADER
    bounds = rows + count
    nodes = bounds + count + 1
    amounts = nodes + 2 * total
    out[bounds] = 0
    at = 0
    k = 0
    for i in range(count):
        row = log[at]
        out[rows + i] = row
        out[bounds + i + 1] = out[bounds + i] + log[at + 1]
        first = at + 2
        at = first + 2 * log[at + 1]
        for entry in range(first, at, 2):
            node, units = log[entry], log[entry + 1]
            out[nodes + k] = node
            out[nodes + total + k] = units
            for r in range(num_kinds):
                out[amounts + k * num_kinds + r] = amount_on(
                    shapes, cols[row, SHAPE], capacity, node, units, r
                )
            k += 1
    at = amounts + total * num_kinds
    for n in range(len(takes)):
        if takes[n] > 0:
            out[at] = n
            at += 1
    return out


@kernel
def fits_now(rows, cols, shapes, eligible, capacity, free):
    """
    Say of each job whether it could start now on its own.

    Exact but for bounds on the number of nodes, even splits and contiguity, where True may be too
    optimistic; never False for a job that fits.
    """
    fits = np.empty(len(rows), dtype=np.bool_)
    caps = np.empty(free.shape[0], dtype=np.int64)
    known = filled(len(shapes), -1)
    for i in range(len(rows)):
        shape = cols[rows[i], SHAPE]
        if known[shape] < 0:
            known[shape] = unit_capacity(free, capacity, eligible, shapes, shape, caps)
        fits[i] = known[shape] >= cols[rows[i], UNITS]
    return fits


@kernel
def start_all(
    policy, stop, rows, cols, shapes, eligible, capacity, scarce, work, caps, order, takes
):
    """
    Start jobs in order on ``work`` (changed); return the log, its length, and where it stopped.

    With ``stop``, the position is that of the first job that does not fit.
    """
    log = np.empty(64, dtype=np.int64)
    used = 0
    # Upper bounds of what fits, by request; valid all pass long because room only shrinks.
    known = filled(len(shapes), FAR)
    for i in range(len(rows)):
        row = rows[i]
        shape = cols[row, SHAPE]
        fits = known[shape] >= cols[row, UNITS]
        if fits:
            fits = place(
                policy, cols, row, shapes, eligible, capacity, scarce, work, caps, order, takes
            )
            known[shape] = total_of(caps)
        if fits:
            subtract(takes, shapes, shape, capacity, work)
            log, used = note_start(log, used, row, takes)
        elif stop:
            return log, used, i
    return log, used, len(rows)


@kernel
def list_pass(policy, stop, rows, cols, shapes, eligible, capacity, scarce, free):
    """
    Start jobs in the order given, as long as they fit.

    Parameters
    ----------
    stop
        Whether the first job that does not fit ends the pass; otherwise it is skipped.
    rows
        Rows of the job store, in order.

    Returns
    -------
    ndarray
        Packed as by :func:`packed`, with no head.
    """
    num_nodes = free.shape[0]
    caps = np.empty(num_nodes, dtype=np.int64)
    order = np.empty(num_nodes, dtype=np.int64)
    takes = np.empty(num_nodes, dtype=np.int64)
    log, used, _ = start_all(
        policy, stop, rows, cols, shapes, eligible, capacity, scarce, copied(free),
        caps, order, takes,
    )  # fmt: skip
    return packed(log, used, cols, shapes, capacity, -1, 0, takes[:0])


@kernel
def _reserve(
    policy, now, head, cols, shapes, eligible, capacity, scarce, work,
    running, arena_node, arena_amount, log, used, extra, head_takes, caps, order,
):  # fmt: skip
    """
    Find the first second at which the head can be placed, and where.

    ``log`` holds the jobs that start now. Fills ``extra`` with what is left at that second on
    each node beside the reservation, and ``head_takes``. Returns the second, or FAR if the head
    cannot be placed even when all running jobs have ended (nodes are down): then nothing is
    reserved.
    """
    num_nodes, num_kinds = work.shape
    shape = cols[head, SHAPE]
    units = cols[head, UNITS]
    ahead = copied(work)
    freed = np.empty((num_nodes, num_kinds), dtype=np.int64)
    for n in range(num_nodes):
        for r in range(num_kinds):
            freed[n, r] = 0
    room = np.empty(num_nodes, dtype=np.int64)
    total = unit_capacity(ahead, capacity, eligible, shapes, shape, room)
    num_new = 0
    at = 0
    while at < used:
        num_new += 1
        at += 2 + 2 * log[at + 1]
    new_at = np.empty(num_new, dtype=np.int64)
    new_end = np.empty(num_new)
    at = 0
    for i in range(num_new):
        new_at[i] = at
        new_end[i] = now + max(cols[log[at], PLAN], 1)
        at += 2 + 2 * log[at + 1]
    sort_by(new_end, new_at, num_new)
    i = 0
    j = 0
    while i < len(running) or j < num_new:
        time = FAR
        if i < len(running):
            time = cols[running[i], EXPECTED_END]
        if j < num_new:
            time = min(time, np.int64(new_end[j]))
        before = total
        while i < len(running) and cols[running[i], EXPECTED_END] <= time:
            first = cols[running[i], ALLOC_FIRST]
            for k in range(first, first + cols[running[i], ALLOC_COUNT]):
                node = arena_node[k]
                for r in range(num_kinds):
                    freed[node, r] += arena_amount[k, r]
                    ahead[node, r] += arena_amount[k, r]
                total -= room[node]
                room[node] = node_capacity(ahead, capacity, eligible, shapes, shape, node)
                total += room[node]
            i += 1
        while j < num_new and new_end[j] <= time:
            at = new_at[j]
            done = cols[log[at], SHAPE]
            for entry in range(at + 2, at + 2 + 2 * log[at + 1], 2):
                node = log[entry]
                for r in range(num_kinds):
                    back = amount_on(shapes, done, capacity, node, log[entry + 1], r)
                    freed[node, r] += back
                    ahead[node, r] += back
                total -= room[node]
                room[node] = node_capacity(ahead, capacity, eligible, shapes, shape, node)
                total += room[node]
            j += 1
        # Only room that is new can make the difference.
        if total < units or total == before:
            continue
        if place_preferring(
            policy, cols, head, shapes, eligible, capacity, scarce,
            ahead, freed, caps, order, head_takes,
        ):  # fmt: skip
            subtract(head_takes, shapes, shape, capacity, ahead)
            for n in range(num_nodes):
                for r in range(num_kinds):
                    extra[n, r] = ahead[n, r]
            return time
    for n in range(num_nodes):
        head_takes[n] = 0
        for r in range(num_kinds):
            extra[n, r] = FAR
    return FAR


@kernel
def _backfill(
    policy, now, shadow, head, backfill, cols, shapes, eligible, capacity, scarce,
    work, extra, log, used, caps, order, takes,
):  # fmt: skip
    """
    Start jobs that do not delay the head's reservation; return the log and its length.

    ``work`` is free now, ``extra`` at the shadow time beside the reservation; both change. A job
    that ends by then may use all that is free, and uses up what is reserved first; any other may
    only use what stays free then too.
    """
    num_nodes, num_kinds = work.shape
    both = copied(work)
    reserved = copied(work)
    for n in range(num_nodes):
        for r in range(num_kinds):
            both[n, r] = min(work[n, r], extra[n, r])
            reserved[n, r] = work[n, r] - both[n, r]
    known_short = filled(len(shapes), FAR)
    known_long = filled(len(shapes), FAR)
    heads = used
    for row in backfill:
        done = row == head
        at = 0
        while at < heads:
            if log[at] == row:
                done = True
            at += 2 + 2 * log[at + 1]
        if done:
            continue
        shape = cols[row, SHAPE]
        short = now + max(cols[row, PLAN], 1) <= shadow
        if short:
            fits = known_short[shape] >= cols[row, UNITS]
            if fits:
                fits = place_preferring(
                    policy, cols, row, shapes, eligible, capacity, scarce,
                    work, reserved, caps, order, takes,
                )  # fmt: skip
                known_short[shape] = total_of(caps)
        else:
            fits = known_long[shape] >= cols[row, UNITS]
            if fits:
                fits = place(
                    policy, cols, row, shapes, eligible, capacity, scarce, both, caps, order, takes
                )
                known_long[shape] = total_of(caps)
        if not fits:
            continue
        subtract(takes, shapes, shape, capacity, work)
        if not short:
            subtract(takes, shapes, shape, capacity, extra)
        for n in range(num_nodes):
            if takes[n] > 0:
                for r in range(num_kinds):
                    both[n, r] = min(work[n, r], extra[n, r])
                    reserved[n, r] = work[n, r] - both[n, r]
        log, used = note_start(log, used, row, takes)
    return log, used


@kernel
def easy_pass(
    policy, now, rows, backfill, cols, shapes, eligible, capacity, scarce, free,
    running, arena_node, arena_amount,
):  # fmt: skip
    """
    Start jobs from the head of the queue, reserve for the first that does not fit, backfill.

    Parameters
    ----------
    rows
        Rows of the job store in queue order.
    backfill
        The same rows in the order in which they are tried behind the reservation.
    running
        Rows of the running jobs, by expected end.
    arena_node, arena_amount
        Allocations of the running jobs, found by their ``ALLOC_FIRST`` and ``ALLOC_COUNT``.

    Returns
    -------
    ndarray
        Packed as by :func:`packed`; head is -1 where every job starts, and has no nodes where
        nothing is reserved.
    """
    num_nodes, num_kinds = free.shape
    work = copied(free)
    caps = np.empty(num_nodes, dtype=np.int64)
    order = np.empty(num_nodes, dtype=np.int64)
    takes = np.empty(num_nodes, dtype=np.int64)
    head_takes = filled(num_nodes, 0)
    log, used, stopped = start_all(
        policy, True, rows, cols, shapes, eligible, capacity, scarce, work, caps, order, takes
    )
    if stopped >= len(rows) - 1:
        head = -1 if stopped == len(rows) else rows[stopped]
        return packed(log, used, cols, shapes, capacity, head, 0, head_takes)
    head = rows[stopped]
    extra = np.empty((num_nodes, num_kinds), dtype=np.int64)
    shadow = _reserve(
        policy, now, head, cols, shapes, eligible, capacity, scarce, work,
        running, arena_node, arena_amount, log, used, extra, head_takes, caps, order,
    )  # fmt: skip
    log, used = _backfill(
        policy, now, shadow, head, backfill, cols, shapes, eligible, capacity, scarce,
        work, extra, log, used, caps, order, takes,
    )  # fmt: skip
    return packed(log, used, cols, shapes, capacity, head, shadow, head_takes)
