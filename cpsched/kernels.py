"""
The compiled kernels: fit units to nodes, pass over a queue, backfill around a reservation.

All of them lie in this one file because numba's cache does not notice a changed callee in another
one; the cache folder is keyed by the text of this file and of :mod:`cpsched.model.columns`.
Every array is int64 and C-contiguous (``eligible`` is bool). Names used throughout: N nodes,
R resource kinds, ``cols`` the job store's columns, ``row`` a job's row there, ``shapes`` the
store's distinct requests, ``takes`` units put on each node.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba import njit

from cpsched.model import columns as c

_F = TypeVar("_F", bound=Callable[..., Any])

HANDLE, UNITS, SHAPE = c.HANDLE, c.UNITS, c.SHAPE
NODES_MIN, NODES_MAX = c.NODES_MIN, c.NODES_MAX
PLAN, STATE, EXPECTED_END = c.PLAN, c.STATE, c.EXPECTED_END
ALLOC_FIRST, ALLOC_COUNT = c.ALLOC_FIRST, c.ALLOC_COUNT
START = c.START
WAITING, RUNNING, ENDED = c.WAITING, c.RUNNING, c.ENDED
SHAPE_CLASS, SHAPE_SPLIT = c.SHAPE_CLASS, c.SHAPE_SPLIT
SHAPE_CONTIGUOUS, SHAPE_EXCLUSIVE = c.SHAPE_CONTIGUOUS, c.SHAPE_EXCLUSIVE
SHAPE_REQUEST = c.SHAPE_REQUEST

#: Node orders of the built-in allocators.
FIRST_FIT, BEST_FIT, CONSOLIDATE, BALANCED = 0, 1, 2, 3

#: Numbers in front of a packed pass, see :func:`_packed`.
HEADER = 5

#: A job that asks for nothing fits this often on a node.
_MANY = 2**31 - 1
_FAR = 2**62


def _cache_folder() -> str | None:
    """Return where compiled kernels are kept, or None if nothing can be written."""
    here = Path(__file__)
    sources = (here, here.parent / "model" / "columns.py")
    key = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
    key.update(numba.__version__.encode())
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for base in (home, Path(tempfile.gettempdir())):
        folder = base / "cpsched" / key.hexdigest()[:16]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
    return None


_FOLDER = _cache_folder()


def kernel(function: _F) -> _F:
    """Compile a function on first use and keep it on disk, in our own folder only."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _FOLDER or before
    try:
        compiled: _F = njit(cache=_FOLDER is not None)(function)
        return compiled
    finally:
        numba.config.CACHE_DIR = before


# --- units to nodes ------------------------------------------------------------------------------


@kernel
def unit_capacity(free, capacity, eligible, shapes, shape, caps):
    """Fill ``caps`` with the units of a request that fit on each node; return their sum."""
    num_nodes, num_kinds = free.shape
    cls = shapes[shape, SHAPE_CLASS]
    exclusive = shapes[shape, SHAPE_EXCLUSIVE] != 0
    per_node = SHAPE_REQUEST + num_kinds
    total = 0
    for n in range(num_nodes):
        caps[n] = 0
        if not eligible[cls, n]:
            continue
        room = _MANY
        for r in range(num_kinds):
            if exclusive and free[n, r] != capacity[n, r]:
                room = 0
                break
            left = free[n, r] - shapes[shape, per_node + r]
            if left < 0:
                room = 0
                break
            need = shapes[shape, SHAPE_REQUEST + r]
            if need == 1:
                room = min(room, left)
            elif need > 1:
                room = min(room, left // need)
            if room == 0:
                break
        caps[n] = room
        total += room
    return total


@kernel
def rank_nodes(policy, caps, free, capacity, scarce, shapes, shape, order):
    """Put the nodes that hold at least one unit into ``order`` as an allocator prefers them."""
    num_nodes, num_kinds = free.shape
    count = 0
    for n in range(num_nodes):
        if caps[n] > 0:
            order[count] = n
            count += 1
    if policy == FIRST_FIT or count < 2:
        return count
    key = np.empty(count)
    for i in range(count):
        n = order[i]
        if policy == BEST_FIT:
            key[i] = caps[n]
            continue
        idle = 0.0
        wasted = 0.0
        for r in range(num_kinds):
            if capacity[n, r] > 0:
                idle += free[n, r] / capacity[n, r]
                if scarce[r] and shapes[shape, SHAPE_REQUEST + r] == 0:
                    wasted = 1.0
        # Nodes differ by at most num_kinds in idleness, so waste always outweighs it.
        key[i] = idle if policy == CONSOLIDATE else wasted * (num_kinds + 1) - idle
    ranked = np.argsort(key, kind="mergesort")
    order[:count] = order[:count][ranked]
    return count


@kernel
def _take_greedy(caps, order, count, units, nodes_min, nodes_max, takes):
    """Fill nodes in the given order, leaving a unit for each node still owed to ``nodes_min``."""
    left = units
    used = 0
    for i in range(count):
        if left == 0 or used == nodes_max:
            break
        owed = max(nodes_min - used - 1, 0)
        take = min(caps[order[i]], left - owed)
        takes[order[i]] = take
        left -= take
        used += 1
    if left == 0:
        return True
    for i in range(used):
        takes[order[i]] = 0
    return False


@kernel
def _take_even(caps, order, count, units, nodes_min, nodes_max, takes):
    """Put the same number of units on each of as few nodes as the bounds allow."""
    for num in range(nodes_min, min(nodes_max, units, count) + 1):
        if units % num:
            continue
        each = units // num
        found = 0
        for i in range(count):
            if caps[order[i]] >= each:
                takes[order[i]] = each
                found += 1
                if found == num:
                    return True
        for i in range(count):
            takes[order[i]] = 0
    return False


@kernel
def _take_run(caps, units, nodes_min, nodes_max, even, takes):
    """Use the first run of consecutive nodes that holds the job; all of a run's nodes are used."""
    num_nodes = len(caps)
    for num in range(nodes_min, min(nodes_max, units, num_nodes) + 1):
        if even and units % num:
            continue
        least = units // num if even else 1
        run = 0
        held = 0
        for n in range(num_nodes):
            if caps[n] < least:
                run = 0
                held = 0
                continue
            run += 1
            held += caps[n]
            if run > num:
                held -= caps[n - num]
                run = num
            if run == num and held >= units:
                left = units
                for k in range(num):
                    m = n - num + 1 + k
                    take = least if even else min(caps[m], left - (num - 1 - k))
                    takes[m] = take
                    left -= take
                return True
    return False


@kernel
def choose_nodes(caps, order, count, units, nodes_min, nodes_max, split, contiguous, takes):
    """
    Put a job's units on nodes in order of preference; ``takes`` must come in as zeros.

    Where the preferred nodes break the bound on their number, the roomiest are taken instead, so
    a job is placed whenever any choice of nodes can hold it. Returns whether it was.
    """
    if units < nodes_min or count < nodes_min:
        return False
    if contiguous:
        return _take_run(caps, units, nodes_min, nodes_max, split != 0, takes)
    if split != 0:
        return _take_even(caps, order, count, units, nodes_min, nodes_max, takes)
    if _take_greedy(caps, order, count, units, nodes_min, nodes_max, takes):
        return True
    if nodes_max >= count:
        return False
    roomiest = np.argsort(-caps[order[:count]], kind="mergesort")
    return _take_greedy(caps, order[:count][roomiest], count, units, nodes_min, nodes_max, takes)


@kernel
def place(policy, cols, row, shapes, eligible, capacity, scarce, free, caps, order, takes):
    """Place a job on ``free``: units by node in ``takes`` (zeroed here); return whether it fits."""
    shape = cols[SHAPE, row]
    units = cols[UNITS, row]
    takes[:] = 0
    if unit_capacity(free, capacity, eligible, shapes, shape, caps) < units:
        return False
    count = rank_nodes(policy, caps, free, capacity, scarce, shapes, shape, order)
    return choose_nodes(
        caps,
        order,
        count,
        units,
        cols[NODES_MIN, row],
        cols[NODES_MAX, row],
        shapes[shape, SHAPE_SPLIT],
        shapes[shape, SHAPE_CONTIGUOUS] != 0,
        takes,
    )


@kernel
def place_preferring(
    policy, cols, row, shapes, eligible, capacity, scarce, free, preferred, caps, order, takes
):
    """
    Place a job on ``free`` using up ``preferred`` (a part of it) first.

    A reservation takes what is busy now before it takes what is free, and a backfilled job that
    ends in time takes what is reserved first: both leave the most for others. For one-core units
    this makes any layout of nodes equal to one counted pool.
    """
    shape = cols[SHAPE, row]
    units = cols[UNITS, row]
    takes[:] = 0
    num_nodes, num_kinds = free.shape
    plain = (
        cols[NODES_MIN, row] == 1
        and cols[NODES_MAX, row] >= min(units, num_nodes)
        and shapes[shape, SHAPE_SPLIT] == 0
        and shapes[shape, SHAPE_CONTIGUOUS] == 0
        and shapes[shape, SHAPE_EXCLUSIVE] == 0
    )
    for r in range(num_kinds):
        if shapes[shape, SHAPE_REQUEST + num_kinds + r] > 0:
            plain = False
    if unit_capacity(free, capacity, eligible, shapes, shape, caps) < units:
        return False
    count = rank_nodes(policy, caps, free, capacity, scarce, shapes, shape, order)
    first = np.empty(num_nodes, dtype=np.int64)
    unit_capacity(preferred, capacity, eligible, shapes, shape, first)
    if plain:
        left = units
        for i in range(count):
            take = min(first[order[i]], left)
            takes[order[i]] = take
            left -= take
        for i in range(count):
            take = min(caps[order[i]] - takes[order[i]], left)
            takes[order[i]] += take
            left -= take
        return True
    ranked = np.empty(count, dtype=np.int64)
    k = 0
    for wanted in (True, False):
        for i in range(count):
            if (first[order[i]] > 0) == wanted:
                ranked[k] = order[i]
                k += 1
    return choose_nodes(
        caps,
        ranked,
        count,
        units,
        cols[NODES_MIN, row],
        cols[NODES_MAX, row],
        shapes[shape, SHAPE_SPLIT],
        shapes[shape, SHAPE_CONTIGUOUS] != 0,
        takes,
    )


@kernel
def amount_on(shapes, shape, capacity, node, units, r):
    """Return how much of kind r a job with some units on a node takes of it."""
    if shapes[shape, SHAPE_EXCLUSIVE] != 0:
        return capacity[node, r]
    num_kinds = capacity.shape[1]
    return (
        units * shapes[shape, SHAPE_REQUEST + r] + shapes[shape, SHAPE_REQUEST + num_kinds + r]
    )


@kernel
def _subtract(takes, shapes, shape, capacity, free):
    """Take a placed job's amounts off ``free``."""
    num_nodes, num_kinds = free.shape
    for n in range(num_nodes):
        if takes[n] > 0:
            for r in range(num_kinds):
                free[n, r] -= amount_on(shapes, shape, capacity, n, takes[n], r)


# --- what a pass starts --------------------------------------------------------------------------


@kernel
def _grown(array, used, needed):
    """Return an array with room for ``needed`` rows more."""
    if used + needed <= len(array):
        return array
    new = np.empty(max(2 * len(array), used + needed), dtype=np.int64)
    new[:used] = array[:used]
    return new


@kernel
def _emit(takes, node, units, used):
    """Append the nodes of a placement; return the grown arrays and their new length."""
    needed = 0
    for n in range(len(takes)):
        if takes[n] > 0:
            needed += 1
    node = _grown(node, used, needed)
    units = _grown(units, used, needed)
    for n in range(len(takes)):
        if takes[n] > 0:
            node[used] = n
            units[used] = takes[n]
            used += 1
    return node, units, used


@kernel
def _packed(started, count, ends, node, units, used, cols, shapes, capacity, head, shadow, takes):
    """
    Put what a pass found into one array: returning many arrays costs more than the pass.

    Layout: count, used, head row, shadow, number of head nodes; ``count`` rows that start,
    ``count + 1`` bounds of their nodes, ``used`` nodes, units, and amounts (R each); the head's
    reserved nodes.
    """
    num_kinds = capacity.shape[1]
    held = 0
    for n in range(len(takes)):
        if takes[n] > 0:
            held += 1
    size = HEADER + 2 * count + 1 + used * (2 + num_kinds) + held
    out = np.empty(size, dtype=np.int64)
    out[0], out[1], out[2], out[3], out[4] = count, used, head, shadow, held
    at = HEADER
    out[at : at + count] = started[:count]
    at += count
    out[at : at + count + 1] = ends[: count + 1]
    at += count + 1
    out[at : at + used] = node[:used]
    at += used
    out[at : at + used] = units[:used]
    at += used
    for i in range(count):
        shape = cols[SHAPE, started[i]]
        for k in range(ends[i], ends[i + 1]):
            for r in range(num_kinds):
                out[at] = amount_on(shapes, shape, capacity, node[k], units[k], r)
                at += 1
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
    num_nodes = free.shape[0]
    fits = np.zeros(len(rows), dtype=np.bool_)
    caps = np.empty(num_nodes, dtype=np.int64)
    known = np.full(len(shapes), -1, dtype=np.int64)
    for i in range(len(rows)):
        shape = cols[SHAPE, rows[i]]
        if known[shape] < 0:
            known[shape] = unit_capacity(free, capacity, eligible, shapes, shape, caps)
        fits[i] = known[shape] >= cols[UNITS, rows[i]]
    return fits


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
        Packed as by :func:`_packed`, with no head.
    """
    num_nodes = free.shape[0]
    work = free.copy()
    caps = np.empty(num_nodes, dtype=np.int64)
    order = np.empty(num_nodes, dtype=np.int64)
    takes = np.empty(num_nodes, dtype=np.int64)
    started = np.empty(4, dtype=np.int64)
    ends = np.zeros(5, dtype=np.int64)
    node = np.empty(16, dtype=np.int64)
    units = np.empty(16, dtype=np.int64)
    count = 0
    used = 0
    # Upper bounds of what fits, by request; valid all pass long because room only shrinks.
    known = np.full(len(shapes), _FAR, dtype=np.int64)
    for row in rows:
        shape = cols[SHAPE, row]
        fits = known[shape] >= cols[UNITS, row]
        if fits:
            fits = place(
                policy, cols, row, shapes, eligible, capacity, scarce, work, caps, order, takes
            )
            known[shape] = caps.sum()
        if fits:
            _subtract(takes, shapes, shape, capacity, work)
            started = _grown(started, count, 1)
            ends = _grown(ends, count + 1, 1)
            node, units, used = _emit(takes, node, units, used)
            started[count] = row
            count += 1
            ends[count] = used
        elif stop:
            break
    return _packed(
        started, count, ends, node, units, used, cols, shapes, capacity, -1, 0, ends[:0]
    )


@kernel
def _reserve(
    policy, now, head, cols, shapes, eligible, capacity, scarce, work,
    running, arena_node, arena_amount,
    started, count, ends, node, units, extra, head_takes,
):  # fmt: skip
    """
    Find the first second at which the head can be placed, and where.

    Fills ``extra`` with what is left then on each node beside the reservation, and
    ``head_takes``. Returns that second, or _FAR if the head cannot be placed even when all
    running jobs have ended (nodes are down): then nothing is reserved.
    """
    num_nodes, num_kinds = work.shape
    shape = cols[SHAPE, head]
    caps = np.empty(num_nodes, dtype=np.int64)
    order = np.empty(num_nodes, dtype=np.int64)
    ahead = work.copy()
    room = np.zeros(num_kinds, dtype=np.int64)
    for n in range(num_nodes):
        for r in range(num_kinds):
            room[r] += ahead[n, r]
    new_end = np.empty(count, dtype=np.int64)
    for i in range(count):
        new_end[i] = now + max(cols[PLAN, started[i]], 1)
    new_order = np.argsort(new_end, kind="mergesort")
    i = 0
    j = 0
    while i < len(running) or j < count:
        time = _FAR
        if i < len(running):
            time = cols[EXPECTED_END, running[i]]
        if j < count:
            time = min(time, new_end[new_order[j]])
        while i < len(running) and cols[EXPECTED_END, running[i]] <= time:
            first = cols[ALLOC_FIRST, running[i]]
            for k in range(first, first + cols[ALLOC_COUNT, running[i]]):
                for r in range(num_kinds):
                    ahead[arena_node[k], r] += arena_amount[k, r]
                    room[r] += arena_amount[k, r]
            i += 1
        while j < count and new_end[new_order[j]] <= time:
            job = new_order[j]
            for k in range(ends[job], ends[job + 1]):
                for r in range(num_kinds):
                    back = amount_on(
                        shapes, cols[SHAPE, started[job]], capacity, node[k], units[k], r
                    )
                    ahead[node[k], r] += back
                    room[r] += back
            j += 1
        enough = True
        for r in range(num_kinds):
            if room[r] < cols[UNITS, head] * shapes[shape, SHAPE_REQUEST + r]:
                enough = False
        if enough and place_preferring(
            policy, cols, head, shapes, eligible, capacity, scarce,
            ahead, ahead - work, caps, order, head_takes,
        ):  # fmt: skip
            _subtract(head_takes, shapes, shape, capacity, ahead)
            extra[:] = ahead
            return time
    head_takes[:] = 0
    return _FAR


@kernel
def easy_pass(
    policy, now, rows, backfill, cols, shapes, eligible, capacity, scarce, free,
    running, arena_node, arena_amount,
):
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
        Packed as by :func:`_packed`; head is -1 where every job starts, and has no nodes where
        nothing is reserved.
    """
    num_nodes, num_kinds = free.shape
    work = free.copy()
    caps = np.empty(num_nodes, dtype=np.int64)
    order = np.empty(num_nodes, dtype=np.int64)
    takes = np.empty(num_nodes, dtype=np.int64)
    started = np.empty(4, dtype=np.int64)
    ends = np.zeros(5, dtype=np.int64)
    node = np.empty(16, dtype=np.int64)
    units = np.empty(16, dtype=np.int64)
    count = 0
    used = 0
    head = -1
    for row in rows:
        if not place(
            policy, cols, row, shapes, eligible, capacity, scarce, work, caps, order, takes
        ):
            head = row
            break
        _subtract(takes, shapes, cols[SHAPE, row], capacity, work)
        started = _grown(started, count, 1)
        ends = _grown(ends, count + 1, 1)
        node, units, used = _emit(takes, node, units, used)
        started[count] = row
        count += 1
        ends[count] = used

    shadow = _FAR
    extra = np.full((num_nodes, num_kinds), _FAR, dtype=np.int64)
    head_takes = np.zeros(num_nodes, dtype=np.int64)
    if head >= 0 and count < len(rows) - 1:
        shadow = _reserve(
            policy, now, head, cols, shapes, eligible, capacity, scarce, work,
            running, arena_node, arena_amount,
            started, count, ends, node, units, extra, head_takes,
        )  # fmt: skip
        both = np.minimum(work, extra)
        reserved = work - both
        known_short = np.full(len(shapes), _FAR, dtype=np.int64)
        known_long = np.full(len(shapes), _FAR, dtype=np.int64)
        heads = count
        for row in backfill:
            done = row == head
            for i in range(heads):
                if started[i] == row:
                    done = True
            if done:
                continue
            shape = cols[SHAPE, row]
            short = now + max(cols[PLAN, row], 1) <= shadow
            if short:
                fits = known_short[shape] >= cols[UNITS, row]
                if fits:
                    fits = place_preferring(
                        policy, cols, row, shapes, eligible, capacity, scarce,
                        work, reserved, caps, order, takes,
                    )  # fmt: skip
                    known_short[shape] = caps.sum()
            else:
                fits = known_long[shape] >= cols[UNITS, row]
                if fits:
                    fits = place(
                        policy, cols, row, shapes, eligible, capacity, scarce,
                        both, caps, order, takes,
                    )  # fmt: skip
                    known_long[shape] = caps.sum()
            if not fits:
                continue
            _subtract(takes, shapes, shape, capacity, work)
            if not short:
                _subtract(takes, shapes, shape, capacity, extra)
            for n in range(num_nodes):
                if takes[n] > 0:
                    for r in range(num_kinds):
                        both[n, r] = min(work[n, r], extra[n, r])
                        reserved[n, r] = work[n, r] - both[n, r]
            started = _grown(started, count, 1)
            ends = _grown(ends, count + 1, 1)
            node, units, used = _emit(takes, node, units, used)
            started[count] = row
            count += 1
            ends[count] = used
    return _packed(
        started, count, ends, node, units, used, cols, shapes, capacity, head, shadow, head_takes
    )


# --- the simulator's own steps -------------------------------------------------------------------

#: What :func:`claim` finds wrong with an allocation.
OK, BAD_NODE, BAD_UNITS, BAD_ELIGIBLE, BAD_BOUNDS, BAD_SPLIT, BAD_RUN, BAD_AMOUNT, NO_ROOM = range(9)


@kernel
def _check_claim(cols, row, shapes, eligible, capacity, free, node, units, amount):
    """Return OK, or what is wrong with an allocation, at which position, for which kind."""
    num_nodes, num_kinds = free.shape
    shape = cols[SHAPE, row]
    cls = shapes[shape, SHAPE_CLASS]
    count = len(node)
    if len(units) != count or len(amount) != count:
        return BAD_NODE, 0, 0
    total = 0
    for k in range(count):
        n = node[k]
        if n < 0 or n >= num_nodes or (k > 0 and n <= node[k - 1]):
            return BAD_NODE, k, 0
        if units[k] < 1:
            return BAD_UNITS, k + 1, 0
        if not eligible[cls, n]:
            return BAD_ELIGIBLE, k, 0
        if shapes[shape, SHAPE_SPLIT] != 0 and units[k] != units[0]:
            return BAD_SPLIT, k, 0
        if shapes[shape, SHAPE_CONTIGUOUS] != 0 and k > 0 and n != node[k - 1] + 1:
            return BAD_RUN, k, 0
        for r in range(num_kinds):
            need = (
                units[k] * shapes[shape, SHAPE_REQUEST + r]
                + shapes[shape, SHAPE_REQUEST + num_kinds + r]
            )
            if amount[k, r] != amount_on(shapes, shape, capacity, n, units[k], r):
                return BAD_AMOUNT, k, r
            # A job alone on its nodes takes all of them; its units must fit in them too.
            if amount[k, r] > free[n, r] or need > capacity[n, r]:
                return NO_ROOM, k, r
        total += units[k]
    if total != cols[UNITS, row]:
        return BAD_UNITS, 0, 0
    if count < cols[NODES_MIN, row] or count > cols[NODES_MAX, row]:
        return BAD_BOUNDS, 0, 0
    return OK, 0, 0


@kernel
def expect_end(cols, running, count, row, end):
    """Enter a job among ``count`` running ones at its place by (expected end, row)."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        other = running[middle]
        if cols[EXPECTED_END, other] < end or (
            cols[EXPECTED_END, other] == end and other < row
        ):
            low = middle + 1
        else:
            high = middle
    for i in range(count, low, -1):
        running[i] = running[i - 1]
    running[low] = row
    cols[EXPECTED_END, row] = end


@kernel
def forget_end(cols, running, count, row):
    """Take a job out of the ``count`` running ones."""
    end = cols[EXPECTED_END, row]
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        other = running[middle]
        if cols[EXPECTED_END, other] < end or (
            cols[EXPECTED_END, other] == end and other < row
        ):
            low = middle + 1
        else:
            high = middle
    for i in range(low, count - 1):
        running[i] = running[i + 1]


@kernel
def claim(
    cols, row, shapes, eligible, capacity, free, node, units, amount,
    arena_node, arena_units, arena_amount, first, running, count, now,
):  # fmt: skip
    """
    Check an allocation of a waiting job, take it, and enter the job among the running ones.

    Returns
    -------
    int
        0, or ``-(code + 16 * (kind + 1024 * position))``; then nothing has changed.
    """
    code, position, kind = _check_claim(
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
    cols[ALLOC_FIRST, row] = first
    cols[ALLOC_COUNT, row] = len(node)
    cols[STATE, row] = RUNNING
    cols[START, row] = now
    expect_end(cols, running, count, row, now + max(cols[PLAN, row], 1))
    return 0


@kernel
def release(cols, row, free, arena_node, arena_amount, running, count):
    """Give back what a running job holds, and take it out of the running ones."""
    first = cols[ALLOC_FIRST, row]
    held = cols[ALLOC_COUNT, row]
    for k in range(first, first + held):
        for r in range(free.shape[1]):
            free[arena_node[k], r] += arena_amount[k, r]
    forget_end(cols, running, count, row)
    cols[STATE, row] = ENDED
    return held


@kernel
def keep_waiting(rows, state):
    """Move the rows that still wait to the front, in order; return how many there are."""
    kept = 0
    for i in range(len(rows)):
        if state[rows[i]] == WAITING:
            rows[kept] = rows[i]
            kept += 1
    return kept


@kernel
def node_runs(node, units, amount, runs):
    """
    Fold an allocation into runs of neighbouring nodes that give the same.

    ``runs`` has room for one run a node: columns first node, number of nodes, units on each,
    then R amounts on each. Returns the number of runs.
    """
    num_kinds = amount.shape[1]
    count = 0
    for k in range(len(node)):
        same = k > 0 and node[k] == node[k - 1] + 1 and units[k] == units[k - 1]
        if same:
            for r in range(num_kinds):
                if amount[k, r] != amount[k - 1, r]:
                    same = False
        if same:
            runs[count - 1, 1] += 1
            continue
        runs[count, 0] = node[k]
        runs[count, 1] = 1
        runs[count, 2] = units[k]
        for r in range(num_kinds):
            runs[count, 3 + r] = amount[k, r]
        count += 1
    return count
