"""The simulator's own steps: claim and release nodes, keep the order of running jobs."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import move
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import leaf
from cpsched.kernels.rooms import amount_on
from cpsched.model.columns import (
    ALLOC_COUNT,
    ALLOC_FIRST,
    ENDED,
    EXPECTED_END,
    HELD_UNITS,
    NODES_MAX,
    NODES_MIN,
    RUNNING,
    RUNTIME_ESTIMATE,
    SERIAL,
    SHAPE,
    SHAPE_CLASS,
    SHAPE_CONTIGUOUS,
    SHAPE_EXCLUSIVE,
    SHAPE_REQUEST,
    SHAPE_SPLIT,
    SINCE,
    START,
    STATE,
    UNITS,
    UNITS_MAX,
    UNITS_MIN,
    WAITING,
)

#: What ``SERIAL`` counts in.
MILLION = 10**6
#: What :func:`claim` finds wrong with an allocation.
OK, BAD_NODE, BAD_UNITS, BAD_ELIGIBLE, BAD_BOUNDS, BAD_SPLIT, BAD_RUN, BAD_AMOUNT = range(8)
NO_ROOM, BAD_SHAPE = 8, 9


@leaf
def _check_claim(cols, row, shapes, eligible, capacity, free, node, units, amount):
    """
    Return the units of an allocation, and OK or what is wrong with it, where, for which kind.
    """
    num_nodes, num_kinds = free.shape
    shape = cols[row, SHAPE]
    cls = shapes[shape, SHAPE_CLASS]
    count = len(node)
    if len(units) != count or len(amount) != count or amount.shape[1] != num_kinds:
        return 0, BAD_SHAPE, 0, 0
    total = 0
    for k in range(count):
        n = node[k]
        if n < 0 or n >= num_nodes or (k > 0 and n <= node[k - 1]):
            return 0, BAD_NODE, k, 0
        # No more than the job has, so that neither their sum nor a product overflows.
        if units[k] < 1 or units[k] > cols[row, UNITS_MAX]:
            return 0, BAD_UNITS, k + 1, 0
        if not eligible[cls, n]:
            return 0, BAD_ELIGIBLE, k, 0
        if shapes[shape, SHAPE_SPLIT] != 0 and units[k] != units[0]:
            return 0, BAD_SPLIT, k, 0
        if shapes[shape, SHAPE_CONTIGUOUS] != 0 and k > 0 and n != node[k - 1] + 1:
            return 0, BAD_RUN, k, 0
        for r in range(num_kinds):
            need = (
                units[k] * shapes[shape, SHAPE_REQUEST + r]
                + shapes[shape, SHAPE_REQUEST + num_kinds + r]
            )
            least = amount_on(shapes, shape, capacity, n, units[k], r)
            most = least
            if shapes[shape, SHAPE_EXCLUSIVE] == 0:
                # A range: on each node more than the fewest, up to the most it can use.
                at = SHAPE_REQUEST + num_kinds + r
                most += max(shapes[shape, at + num_kinds] - shapes[shape, at], 0)
            if amount[k, r] < least or amount[k, r] > most:
                return 0, BAD_AMOUNT, k, r
            # A job alone on its nodes takes all of them; its units must fit in them too.
            if amount[k, r] > free[n, r] or need > capacity[n, r]:
                return 0, NO_ROOM, k, r
        total += units[k]
    if total < cols[row, UNITS_MIN] or total > cols[row, UNITS_MAX]:
        return 0, BAD_UNITS, 0, 0
    if count < cols[row, NODES_MIN] or count > cols[row, NODES_MAX]:
        return 0, BAD_BOUNDS, 0, 0
    return total, OK, 0, 0


@leaf
def _seconds_on(seconds, preferred, units, serial):
    """Return how long a job is expected to take on other units than it prefers."""
    ratio = (serial + (1 - serial) / units) / (serial + (1 - serial) / preferred)
    return max(int(np.ceil(seconds * ratio)), 1)


@leaf
def _place_by_end(cols, running, count, row, end):
    """Return where a job with an expected end belongs among ``count`` running ones."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        other = running[middle]
        if cols[other, EXPECTED_END] < end or (cols[other, EXPECTED_END] == end and other < row):
            low = middle + 1
        else:
            high = middle
    return low


@leaf
def _enter(cols, running, count, row, end):
    at = _place_by_end(cols, running, count, row, end)
    move(running, at, at + 1, count - at)
    running[at] = row
    cols[row, EXPECTED_END] = end


@kernel
def expect_end(cols, running, count, row, end):
    """Enter a job among ``count`` running ones at its place by (expected end, row)."""
    _enter(cols, running, count, row, end)


@leaf
def _take_out(cols, running, count, row):
    at = _place_by_end(cols, running, count, row, cols[row, EXPECTED_END])
    move(running, at + 1, at, count - at - 1)


@kernel
def forget_end(cols, running, count, row):
    """Remove a job from the ``count`` running ones."""
    _take_out(cols, running, count, row)


@kernel
def claim(
    cols, row, shapes, eligible, capacity, free, node, units, amount,
    arena_node, arena_units, arena_amount, first, running, count, now,
):  # fmt: skip
    """
    Check an allocation of a waiting job, take it, and enter the job among the running ones.

    Parameters
    ----------
    node, units, amount
        The allocation: int64, shapes ``(K,)``, ``(K,)`` and ``(K, R)``.

    Returns
    -------
    int
        0, or ``-(code + 16 * (kind + 1024 * position))``; then nothing has changed.
    """
    total, code, position, kind = _check_claim(
        cols, row, shapes, eligible, capacity, free, node, units, amount
    )
    if code != OK:
        return -(code + 16 * (kind + 1024 * position))
    for k in range(len(node)):
        arena_node[first + k] = node[k]
        arena_units[first + k] = units[k]
        for r in range(free.shape[1]):
            free[node[k], r] -= amount[k, r]
            arena_amount[first + k, r] = amount[k, r]
    cols[row, ALLOC_FIRST] = first
    cols[row, ALLOC_COUNT] = len(node)
    cols[row, STATE] = RUNNING
    cols[row, START] = now
    cols[row, SINCE] = now
    cols[row, HELD_UNITS] = total
    seconds = max(cols[row, RUNTIME_ESTIMATE], 1)
    if total != cols[row, UNITS]:
        seconds = _seconds_on(seconds, cols[row, UNITS], total, cols[row, SERIAL] / MILLION)
    _enter(cols, running, count, row, now + seconds)
    return 0


@kernel
def release(cols, row, free, arena_node, arena_amount, running, count):
    """Release what a running job holds, and remove it from the running ones."""
    first = cols[row, ALLOC_FIRST]
    held = cols[row, ALLOC_COUNT]
    for k in range(first, first + held):
        for r in range(free.shape[1]):
            free[arena_node[k], r] += arena_amount[k, r]
    _take_out(cols, running, count, row)
    cols[row, STATE] = ENDED
    return held


@kernel
def keep_waiting(rows, cols):
    """Move the rows that still wait to the front, in order; return how many there are."""
    kept = 0
    for i in range(len(rows)):
        if cols[rows[i], STATE] == WAITING:
            rows[kept] = rows[i]
            kept += 1
    return kept


@kernel
def record_runs(job, now, node, units, amount, rows, used):
    """
    Append an allocation to ``rows``, folded into runs of neighbouring nodes that give the same.

    Columns: job, start, first node, number of nodes, units on each, then R amounts on each.
    ``rows`` has room for one run a node. Returns how many rows are used now.
    """
    for k in range(len(node)):
        same = k > 0 and node[k] == node[k - 1] + 1 and units[k] == units[k - 1]
        if same:
            for r in range(amount.shape[1]):
                if amount[k, r] != amount[k - 1, r]:
                    same = False
        if same:
            rows[used - 1, 3] += 1
            continue
        rows[used, 0] = job
        rows[used, 1] = now
        rows[used, 2] = node[k]
        rows[used, 3] = 1
        rows[used, 4] = units[k]
        for r in range(amount.shape[1]):
            rows[used, 5 + r] = amount[k, r]
        used += 1
    return used
