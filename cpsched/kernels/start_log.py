"""Passes over a queue that start jobs in order, and how what they found is packed."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import filled
from cpsched.kernels.compiling import kernel
from cpsched.kernels.fit import amount_on, node_capacity
from cpsched.kernels.inner import inner
from cpsched.kernels.pass_state import (
    CAPACITY,
    PUT_NODE,
    PUT_UNITS,
    ROOM,
    asks_for_something,
    begin_pass,
    desk_of,
    open_nodes,
    take,
)
from cpsched.kernels.placing import place_now
from cpsched.model.columns import SHAPE, UNITS

#: Numbers in front of a packed pass, see :func:`packed`.
HEADER = 5


@inner
def begin_entry(log, used, row, count, length):
    """
    Append a row and a count to a log, with room for an entry of some length behind them.

    Returns the log (grown if need be) and how much of it is used.
    """
    needed = used + 2 + length
    if needed > len(log):
        grown = np.empty(2 * needed, dtype=np.int64)
        for i in range(used):
            grown[i] = log[i]
        log = grown
    log[used] = row
    log[used + 1] = count
    return log, used + 2


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
    log, used = begin_entry(log, used, row, count, 2 * count)
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
    held = 0
    for n in range(len(takes)):
        if takes[n] > 0:
            held += 1
    nodes = np.empty(held, dtype=np.int64)
    held = 0
    for n in range(len(takes)):
        if takes[n] > 0:
            nodes[held] = n
            held += 1
    return packed_with(log, used, cols, shapes, capacity, head, shadow, nodes)


@inner
def packed_with(log, used, cols, shapes, capacity, head, shadow, reserved):
    """Do the same with the head's reserved nodes given as a list."""
    num_kinds = capacity.shape[1]
    count = 0
    total = 0
    at = 0
    while at < used:
        count += 1
        total += log[at + 1]
        at += 2 + 2 * log[at + 1]
    held = len(reserved)
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
    for node in reserved:
        out[at] = node
        at += 1
    return out


@kernel
def fits_now(rows, cols, shapes, eligible, memory, free, book):
    """
    Say of each job whether it could start now on its own.

    Exact but for bounds on the number of nodes, even splits and contiguity, where True may be too
    optimistic; never False for a job that fits.

    Parameters
    ----------
    memory, book
        See :mod:`cpsched.kernels.pass_state`.
    """
    desk = desk_of(memory, book, free, cols, shapes, eligible)
    begin_pass(desk, free)
    fits = np.empty(len(rows), dtype=np.bool_)
    known = filled(len(shapes), -1)
    for i in range(len(rows)):
        shape = cols[rows[i], SHAPE]
        if known[shape] < 0:
            known[shape] = _room(desk, free, shape)
        fits[i] = known[shape] >= cols[rows[i], UNITS]
    return fits


@inner
def _room(desk, free, shape):
    """Return how many units of a shape fit now; it is not kept up from now on."""
    if desk.book[shape, ROOM] >= 0:
        return desk.book[shape, ROOM]
    capacity, eligible, shapes = desk.level[CAPACITY], desk.eligible, desk.shapes
    total = 0
    if asks_for_something(shapes, shape, free.shape[1]):
        for node in open_nodes(desk):
            total += node_capacity(free, capacity, eligible, shapes, shape, node)
    else:
        for node in range(len(free)):
            total += node_capacity(free, capacity, eligible, shapes, shape, node)
    return total


@inner
def note_placement(log, used, row, desk, count):
    """Append a job placed on ``count`` nodes of a desk to the log, as :func:`note_start` does."""
    log, used = begin_entry(log, used, row, count, 2 * count)
    for i in range(count):
        log[used] = desk.line[PUT_NODE, i]
        log[used + 1] = desk.line[PUT_UNITS, i]
        used += 2
    return log, used


@kernel
def list_pass(policy, stop, rows, cols, shapes, eligible, memory, free, book):
    """
    Start jobs in the order given, as long as they fit.

    Parameters
    ----------
    stop
        Whether the first job that does not fit ends the pass; otherwise it is skipped.
    rows
        Rows of the job store, in order.
    memory, book
        See :mod:`cpsched.kernels.pass_state`.

    Returns
    -------
    ndarray
        Packed as by :func:`packed`, with no head.
    """
    desk = desk_of(memory, book, free, cols, shapes, eligible)
    begin_pass(desk, free)
    log = np.empty(64, dtype=np.int64)
    used = 0
    for row in rows:
        count = place_now(policy, desk, row)
        if count > 0:
            take(desk, row, count)
            log, used = note_placement(log, used, row, desk, count)
        elif stop:
            break
    return packed_with(
        log, used, cols, shapes, desk.level[CAPACITY], -1, 0, desk.line[PUT_NODE][:0]
    )
