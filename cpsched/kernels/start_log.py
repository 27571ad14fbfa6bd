"""What a pass has started: a log that grows, and how it is packed for Python."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import ZERO, sort_by
from cpsched.kernels.inner import inner
from cpsched.kernels.rooms import amount_on
from cpsched.model.columns import SHAPE

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


@inner
def note_start(log, used, row, first, pieces):
    """
    Append a started job: its row, its number of nodes, then node and units of each, by node.

    Parameters
    ----------
    first
        The first node of each group.
    pieces
        Its placement, see :mod:`cpsched.kernels.placing`.

    Returns
    -------
    log, used
        The log (grown if need be) and its new length.
    """
    count = ZERO
    node = np.empty(len(pieces))
    order = np.empty(len(pieces), dtype=np.int64)
    ordered = True
    for p in range(len(pieces)):
        order[p] = p
        if p > 0 and pieces[p, 0] == pieces[p - 1, 0]:
            node[p] = node[p - 1] + pieces[p - 1, 1]
        else:
            node[p] = first[pieces[p, 0]]
        ordered = ordered and (p == 0 or node[p] > node[p - 1])
        if pieces[p, 2] > 0:
            count += pieces[p, 1]
    log, used = begin_entry(log, used, row, count, 2 * count)
    if not ordered:
        sort_by(node, order, len(pieces))
    for i in range(len(pieces)):
        p = order[i]
        if pieces[p, 2] > 0:
            begin = np.int64(node[i])
            for n in range(begin, begin + pieces[p, 1]):
                log[used] = n
                log[used + 1] = pieces[p, 2]
                used += 2
    return log, used


@inner
def packed(log, used, cols, shapes, capacity, head, shadow, reserved):
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


@inner
def amounts_in(packed, num_kinds):
    """Return what is taken of each node in a packed pass, shape ``(nodes, num_kinds)``."""
    first = HEADER + 2 * packed[0] + 1 + 2 * packed[1]
    return packed[first : first + packed[1] * num_kinds].reshape((packed[1], num_kinds))
