"""
The compiled kernels: fit units to nodes, pass over a queue, backfill around a reservation.

All of them lie in this one file because numba's cache does not notice a changed callee in another
one; the cache folder is keyed by the text of this file and of :mod:`cpsched.model.columns`.
Every array is int64 and C-contiguous (``eligible`` is bool). Names used throughout: N nodes,
R resource kinds, ``cols`` the job store's columns (one job a row), ``row`` a job's row there,
``shapes`` the store's distinct requests, ``takes`` units put on each node.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import njit

from cpsched.model import columns as c

if TYPE_CHECKING:
    from collections.abc import Callable

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

#: A job that asks for nothing fits this often on a node; sums over 2^16 nodes stay in 64 bits.
_MANY = 2**46
_FAR = 2**62


def _cache_folder() -> str | None:
    """Return where compiled kernels are kept, or None if nothing can be written."""
    here = Path(__file__)
    sources = (here, here.parent / "model" / "columns.py")
    key = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
    key.update(numba.__version__.encode())
    for base in (_user_cache(), Path(tempfile.gettempdir())):
        if base is None:
            continue
        folder = base / "cpsched" / key.hexdigest()[:16]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
    return None


def _user_cache() -> Path | None:
    """Return the user's cache folder, or None for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given)
    try:
        return Path.home() / ".cache"
    except RuntimeError:
        return None


_FOLDER = _cache_folder()


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on first use and keep it on disk, in our own folder only."""
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = _FOLDER or before
    try:
        compiled: Callable[..., Any] = njit(cache=_FOLDER is not None)(function)
        return compiled
    finally:
        settings.CACHE_DIR = before


# --- units to nodes ------------------------------------------------------------------------------


@kernel
def sort_by(key, order, count):
    """
    Sort the first ``count`` entries of ``order`` by their ``key`` (aligned with it), stably.

    A bottom-up merge sort: numpy's own takes several seconds to compile. ``key`` is sorted along.
    """
    spare_key = np.empty_like(key)
    spare_order = np.empty_like(order)
    width = 1
    while width < count:
        low = 0
        while low < count:
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or key[i] <= key[j]):
                    spare_key[k] = key[i]
                    spare_order[k] = order[i]
                    i += 1
                else:
                    spare_key[k] = key[j]
                    spare_order[k] = order[j]
                    j += 1
            low = high
        for k in range(count):
            key[k] = spare_key[k]
            order[k] = spare_order[k]
        width *= 2


@kernel
def node_capacity(free, capacity, eligible, shapes, shape, n):
    """Return how many units of a request fit on a node."""
    num_kinds = free.shape[1]
    if not eligible[shapes[shape, SHAPE_CLASS], n]:
        return 0
    exclusive = shapes[shape, SHAPE_EXCLUSIVE] != 0
    room = _MANY
    for r in range(num_kinds):
        if exclusive and free[n, r] != capacity[n, r]:
            return 0
        left = free[n, r] - shapes[shape, SHAPE_REQUEST + num_kinds + r]
        if left < 0:
            return 0
        need = shapes[shape, SHAPE_REQUEST + r]
        if need == 1:
            room = min(room, left)
        elif need > 1:
            room = min(room, left // need)
        if room == 0:
            return 0
    return room


@kernel
def unit_capacity(free, capacity, eligible, shapes, shape, caps):
    """Fill ``caps`` with the units of a request that fit on each node; return their sum."""
    total = 0
    for n in range(free.shape[0]):
        caps[n] = node_capacity(free, capacity, eligible, shapes, shape, n)
        total += caps[n]
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
    per_node = SHAPE_REQUEST + num_kinds
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
                asked = shapes[shape, SHAPE_REQUEST + r] + shapes[shape, per_node + r]
                if scarce[r] and asked == 0:
                    wasted = 1.0
        # Nodes differ by at most num_kinds in idleness, so waste always outweighs it.
        key[i] = idle if policy == CONSOLIDATE else wasted * (num_kinds + 1) - idle
    sort_by(key, order, count)
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
    key = np.empty(count)
    for i in range(count):
        key[i] = -caps[order[i]]
    sort_by(key, order, count)
    return _take_greedy(caps, order, count, units, nodes_min, nodes_max, takes)


@kernel
def place(policy, cols, row, shapes, eligible, capacity, scarce, free, caps, order, takes):
    """Place a job on ``free``: units by node in ``takes`` (zeroed here); return whether it fits."""
    shape = cols[row, SHAPE]
    units = cols[row, UNITS]
    for n in range(len(takes)):
        takes[n] = 0
    if unit_capacity(free, capacity, eligible, shapes, shape, caps) < units:
        return False
    count = rank_nodes(policy, caps, free, capacity, scarce, shapes, shape, order)
    return choose_nodes(
        caps,
        order,
        count,
        units,
        cols[row, NODES_MIN],
        cols[row, NODES_MAX],
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
    shape = cols[row, SHAPE]
    units = cols[row, UNITS]
    num_nodes, num_kinds = free.shape
    for n in range(num_nodes):
        takes[n] = 0
    plain = (
        cols[row, NODES_MIN] == 1
        and cols[row, NODES_MAX] >= min(units, num_nodes)
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
        cols[row, NODES_MIN],
        cols[row, NODES_MAX],
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
    return units * shapes[shape, SHAPE_REQUEST + r] + shapes[shape, SHAPE_REQUEST + num_kinds + r]


@kernel
def _subtract(takes, shapes, shape, capacity, free):
    """Take a placed job's amounts off ``free``."""
    num_nodes, num_kinds = free.shape
    for n in range(num_nodes):
        if takes[n] > 0:
            for r in range(num_kinds):
                free[n, r] -= amount_on(shapes, shape, capacity, n, takes[n], r)


# --- what a pass starts --------------------------------------------------------------------------
# Loops instead of array expressions throughout: they run as fast and compile several times faster.


@kernel
def _copied(source):
    """Return a writable copy of a matrix."""
    copy = np.empty(source.shape, dtype=np.int64)
    for n in range(source.shape[0]):
        for r in range(source.shape[1]):
            copy[n, r] = source[n, r]
    return copy


@kernel
def _filled(length, value):
    """Return an array of one value."""
    array = np.empty(length, dtype=np.int64)
    for i in range(length):
        array[i] = value
    return array


@kernel
def _sum(values):
    """Return the sum of an array."""
    total = 0
    for value in values:
        total += value
    return total


@kernel
def _note_start(log, used, row, takes):
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
def _packed(log, used, cols, shapes, capacity, head, shadow, takes):
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
    known = _filled(len(shapes), -1)
    for i in range(len(rows)):
        shape = cols[rows[i], SHAPE]
        if known[shape] < 0:
            known[shape] = unit_capacity(free, capacity, eligible, shapes, shape, caps)
        fits[i] = known[shape] >= cols[rows[i], UNITS]
    return fits


@kernel
def _start_all(
    policy, stop, rows, cols, shapes, eligible, capacity, scarce, work, caps, order, takes
):
    """
    Start jobs in order on ``work`` (changed); return the log, its length, and where it stopped.

    With ``stop``, the position is that of the first job that does not fit.
    """
    log = np.empty(64, dtype=np.int64)
    used = 0
    # Upper bounds of what fits, by request; valid all pass long because room only shrinks.
    known = _filled(len(shapes), _FAR)
    for i in range(len(rows)):
        row = rows[i]
        shape = cols[row, SHAPE]
        fits = known[shape] >= cols[row, UNITS]
        if fits:
            fits = place(
                policy, cols, row, shapes, eligible, capacity, scarce, work, caps, order, takes
            )
            known[shape] = _sum(caps)
        if fits:
            _subtract(takes, shapes, shape, capacity, work)
            log, used = _note_start(log, used, row, takes)
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
        Packed as by :func:`_packed`, with no head.
    """
    num_nodes = free.shape[0]
    caps = np.empty(num_nodes, dtype=np.int64)
    order = np.empty(num_nodes, dtype=np.int64)
    takes = np.empty(num_nodes, dtype=np.int64)
    log, used, _ = _start_all(
        policy, stop, rows, cols, shapes, eligible, capacity, scarce, _copied(free),
        caps, order, takes,
    )  # fmt: skip
    return _packed(log, used, cols, shapes, capacity, -1, 0, takes[:0])


@kernel
def _reserve(
    policy, now, head, cols, shapes, eligible, capacity, scarce, work,
    running, arena_node, arena_amount, log, used, extra, head_takes, caps, order,
):  # fmt: skip
    """
    Find the first second at which the head can be placed, and where.

    ``log`` holds the jobs that start now. Fills ``extra`` with what is left at that second on
    each node beside the reservation, and ``head_takes``. Returns the second, or _FAR if the head
    cannot be placed even when all running jobs have ended (nodes are down): then nothing is
    reserved.
    """
    num_nodes, num_kinds = work.shape
    shape = cols[head, SHAPE]
    units = cols[head, UNITS]
    ahead = _copied(work)
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
        time = _FAR
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
            _subtract(head_takes, shapes, shape, capacity, ahead)
            for n in range(num_nodes):
                for r in range(num_kinds):
                    extra[n, r] = ahead[n, r]
            return time
    for n in range(num_nodes):
        head_takes[n] = 0
        for r in range(num_kinds):
            extra[n, r] = _FAR
    return _FAR


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
    both = _copied(work)
    reserved = _copied(work)
    for n in range(num_nodes):
        for r in range(num_kinds):
            both[n, r] = min(work[n, r], extra[n, r])
            reserved[n, r] = work[n, r] - both[n, r]
    known_short = _filled(len(shapes), _FAR)
    known_long = _filled(len(shapes), _FAR)
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
                known_short[shape] = _sum(caps)
        else:
            fits = known_long[shape] >= cols[row, UNITS]
            if fits:
                fits = place(
                    policy, cols, row, shapes, eligible, capacity, scarce, both, caps, order, takes
                )
                known_long[shape] = _sum(caps)
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
        log, used = _note_start(log, used, row, takes)
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
        Packed as by :func:`_packed`; head is -1 where every job starts, and has no nodes where
        nothing is reserved.
    """
    num_nodes, num_kinds = free.shape
    work = _copied(free)
    caps = np.empty(num_nodes, dtype=np.int64)
    order = np.empty(num_nodes, dtype=np.int64)
    takes = np.empty(num_nodes, dtype=np.int64)
    head_takes = _filled(num_nodes, 0)
    log, used, stopped = _start_all(
        policy, True, rows, cols, shapes, eligible, capacity, scarce, work, caps, order, takes
    )
    if stopped >= len(rows) - 1:
        head = -1 if stopped == len(rows) else rows[stopped]
        return _packed(log, used, cols, shapes, capacity, head, 0, head_takes)
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
    return _packed(log, used, cols, shapes, capacity, head, shadow, head_takes)


# --- planning the whole queue ---------------------------------------------------------------------


@kernel
def build_profile(now, cols, running, arena_node, arena_amount, free, room_for):
    """
    Return free capacity over time as running jobs end, with room for more segments.

    Returns
    -------
    times, rows, levels, room, count
        Segment i begins at ``times[i]``; ``levels[rows[i]]`` is what is free then, shape
        ``(N, R)``, and ``room[rows[i]]`` its sum over the nodes. The last one never ends. Rows
        are numbers into ``levels``, so that a new segment moves no level.
    """
    num_nodes, num_kinds = free.shape
    size = len(running) + 1 + room_for
    times = np.empty(size, dtype=np.int64)
    rows = np.empty(size, dtype=np.int64)
    levels = np.empty((size, num_nodes, num_kinds), dtype=np.int64)
    room = np.empty((size, num_kinds), dtype=np.int64)
    times[0] = now
    count = 1
    for r in range(num_kinds):
        room[0, r] = 0
    for n in range(num_nodes):
        for r in range(num_kinds):
            levels[0, n, r] = free[n, r]
            room[0, r] += free[n, r]
    for job in running:
        end = cols[job, EXPECTED_END]
        if end > times[count - 1]:
            times[count] = end
            for r in range(num_kinds):
                room[count, r] = room[count - 1, r]
            for n in range(num_nodes):
                for r in range(num_kinds):
                    levels[count, n, r] = levels[count - 1, n, r]
            count += 1
        first = cols[job, ALLOC_FIRST]
        for k in range(first, first + cols[job, ALLOC_COUNT]):
            for r in range(num_kinds):
                levels[count - 1, arena_node[k], r] += arena_amount[k, r]
                room[count - 1, r] += arena_amount[k, r]
    for i in range(count):
        rows[i] = i
    return times, rows, levels, room, count


@kernel
def _within_bounds(caps, units, nodes_min, nodes_max):
    """Say whether some choice of ``nodes_min`` to ``nodes_max`` nodes holds the units."""
    total = 0
    count = 0
    for n in range(len(caps)):
        if caps[n] > 0:
            total += caps[n]
            count += 1
    if total < units or count < nodes_min or units < nodes_min:
        return False
    if nodes_max >= count:
        return True
    # Sum of the roomiest nodes, by counting nodes of each room.
    of_room = _filled(units + 1, 0)
    for n in range(len(caps)):
        of_room[min(caps[n], units)] += 1
    held = 0
    left = nodes_max
    for room in range(units, 0, -1):
        taken = min(of_room[room], left)
        held += taken * room
        left -= taken
        if held >= units:
            return True
        if left == 0:
            return False
    return False


@kernel
def first_window(
    policy, job, duration, begin, until, times, rows, levels, room, count,
    cols, shapes, eligible, capacity, scarce, low, caps, least, order, takes,
):  # fmt: skip
    """
    Find the first segment in ``[begin, until)`` at which a job fits for its whole duration.

    Returns the segment (or -1), with the placement in ``takes``.

    The units that fit on a node throughout a window are the least that fit in any of its
    segments, so ``least`` is kept up segment by segment and given up as soon as it is too little.
    """
    num_nodes, num_kinds = capacity.shape
    shape = cols[job, SHAPE]
    units = cols[job, UNITS]
    nodes_min = cols[job, NODES_MIN]
    nodes_max = cols[job, NODES_MAX]
    at = begin
    while at < until:
        end = times[at] + duration
        for n in range(num_nodes):
            least[n] = _MANY
        blocked = -1
        alone = False
        last = at
        while last < count and times[last] < end:
            row = rows[last]
            alone = True
            for r in range(num_kinds):
                if room[row, r] < units * shapes[shape, SHAPE_REQUEST + r]:
                    blocked = last
            if blocked >= 0:
                break
            unit_capacity(levels[row], capacity, eligible, shapes, shape, caps)
            if not _within_bounds(caps, units, nodes_min, nodes_max):
                blocked = last
                break
            alone = False
            for n in range(num_nodes):
                least[n] = min(least[n], caps[n])
            if not _within_bounds(least, units, nodes_min, nodes_max):
                blocked = last
                break
            last += 1
        if blocked >= 0:
            # A segment in which the job does not fit by itself is in no window at all.
            at = blocked + 1 if alone else at + 1
            continue
        for n in range(num_nodes):
            for r in range(num_kinds):
                low[n, r] = levels[rows[at], n, r]
        for i in range(at + 1, last):
            for n in range(num_nodes):
                for r in range(num_kinds):
                    low[n, r] = min(low[n, r], levels[rows[i], n, r])
        if place(policy, cols, job, shapes, eligible, capacity, scarce, low, caps, order, takes):
            return at
        at += 1
    return -1


@kernel
def occupy(at, end, takes, shape, shapes, capacity, times, rows, levels, room, count):
    """Take a placement off the profile from segment ``at`` to ``end``; return the new count."""
    num_nodes, num_kinds = capacity.shape
    last = at
    while last < count and times[last] < end:
        last += 1
    if last == count or times[last] > end:
        # Split the segment that holds ``end``.
        for i in range(count, last, -1):
            times[i] = times[i - 1]
            rows[i] = rows[i - 1]
        times[last] = end
        rows[last] = count
        source = rows[last - 1]
        for r in range(num_kinds):
            room[count, r] = room[source, r]
        for n in range(num_nodes):
            for r in range(num_kinds):
                levels[count, n, r] = levels[source, n, r]
        count += 1
    for n in range(num_nodes):
        if takes[n] > 0:
            for r in range(num_kinds):
                amount = amount_on(shapes, shape, capacity, n, takes[n], r)
                for i in range(at, last):
                    levels[rows[i], n, r] -= amount
                    room[rows[i], r] -= amount
    return count


@kernel
def plan_pass(
    policy, now, jobs, depth, full, cols, shapes, eligible, capacity, scarce, free,
    running, arena_node, arena_amount,
):  # fmt: skip
    """
    Give jobs, in the order given, the first window in which they fit behind those before them.

    Parameters
    ----------
    jobs
        Rows of the job store, in order.
    depth
        How many of the jobs that cannot start now get a reservation; jobs behind them only start
        where they disturb none.
    full
        1: plan every job. 0: stop as soon as no job behind could start now.

    Returns
    -------
    packed, planned
        Starts, packed as by :func:`_packed` with no head; and the planned start of each job, -1
        where it was not planned.
    """
    num_nodes, num_kinds = free.shape
    caps = np.empty(num_nodes, dtype=np.int64)
    order = np.empty(num_nodes, dtype=np.int64)
    takes = np.empty(num_nodes, dtype=np.int64)
    low = np.empty((num_nodes, num_kinds), dtype=np.int64)
    planned = _filled(len(jobs), -1)
    log = np.empty(64, dtype=np.int64)
    used = 0
    fits = fits_now(jobs, cols, shapes, eligible, capacity, free)
    last = len(jobs) - 1
    if full == 0:
        while last >= 0 and not fits[last]:
            last -= 1
    if last < 0:
        return _packed(log, used, cols, shapes, capacity, -1, 0, takes[:0]), planned
    times, rows, levels, room, count = build_profile(
        now, cols, running, arena_node, arena_amount, free, min(len(jobs), last + 1)
    )
    least = np.empty(num_nodes, dtype=np.int64)
    # Of the last job of each request planned: a later one at least as large and long can start
    # no earlier, because planning only takes capacity away.
    seen_units = _filled(len(shapes), _FAR)
    seen_duration = _filled(len(shapes), _FAR)
    seen_start = _filled(len(shapes), now)
    reserved = 0
    i = 0
    while i <= last:
        job = jobs[i]
        shape = cols[job, SHAPE]
        # Without a reservation to give, only a start now matters.
        if reserved >= depth and full == 0 and not fits[i]:
            i += 1
            continue
        duration = max(cols[job, PLAN], 1)
        begin = 0
        if cols[job, UNITS] >= seen_units[shape] and duration >= seen_duration[shape]:
            while begin < count and times[begin] < seen_start[shape]:
                begin += 1
        at = first_window(
            policy, job, duration, begin, count if reserved < depth or full != 0 else 1,
            times, rows, levels, room, count,
            cols, shapes, eligible, capacity, scarce, low, caps, least, order, takes,
        )  # fmt: skip
        if at >= 0:
            planned[i] = times[at]
            # Node bounds and even splits can make the smaller job the harder one to place.
            if (
                cols[job, NODES_MIN] == 1
                and cols[job, NODES_MAX] >= num_nodes
                and shapes[shape, SHAPE_SPLIT] == 0
            ):
                seen_units[shape] = cols[job, UNITS]
                seen_duration[shape] = duration
                seen_start[shape] = times[at]
            if at == 0 or reserved < depth:
                count = occupy(
                    at, times[at] + duration, takes, shape, shapes, capacity,
                    times, rows, levels, room, count,
                )  # fmt: skip
            if at == 0:
                log, used = _note_start(log, used, job, takes)
                if full == 0:
                    fits = fits_now(jobs, cols, shapes, eligible, capacity, levels[rows[0]])
                    while last > i and not fits[last]:
                        last -= 1
            else:
                reserved += 1
        i += 1
    return _packed(log, used, cols, shapes, capacity, -1, 0, takes[:0]), planned


# --- the simulator's own steps -------------------------------------------------------------------

#: What :func:`claim` finds wrong with an allocation.
OK, BAD_NODE, BAD_UNITS, BAD_ELIGIBLE, BAD_BOUNDS, BAD_SPLIT, BAD_RUN, BAD_AMOUNT, NO_ROOM = range(
    9
)


@kernel
def _check_claim(cols, row, shapes, eligible, capacity, free, node, units, amount):
    """Return OK, or what is wrong with an allocation, at which position, for which kind."""
    num_nodes, num_kinds = free.shape
    shape = cols[row, SHAPE]
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
    if total != cols[row, UNITS]:
        return BAD_UNITS, 0, 0
    if count < cols[row, NODES_MIN] or count > cols[row, NODES_MAX]:
        return BAD_BOUNDS, 0, 0
    return OK, 0, 0


@kernel
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


@kernel
def expect_end(cols, running, count, row, end):
    """Enter a job among ``count`` running ones at its place by (expected end, row)."""
    at = _place_by_end(cols, running, count, row, end)
    for i in range(count, at, -1):
        running[i] = running[i - 1]
    running[at] = row
    cols[row, EXPECTED_END] = end


@kernel
def forget_end(cols, running, count, row):
    """Take a job out of the ``count`` running ones."""
    at = _place_by_end(cols, running, count, row, cols[row, EXPECTED_END])
    for i in range(at, count - 1):
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
    cols[row, ALLOC_FIRST] = first
    cols[row, ALLOC_COUNT] = len(node)
    cols[row, STATE] = RUNNING
    cols[row, START] = now
    expect_end(cols, running, count, row, now + max(cols[row, PLAN], 1))
    return 0


@kernel
def release(cols, row, free, arena_node, arena_amount, running, count):
    """Give back what a running job holds, and take it out of the running ones."""
    first = cols[row, ALLOC_FIRST]
    held = cols[row, ALLOC_COUNT]
    for k in range(first, first + held):
        for r in range(free.shape[1]):
            free[arena_node[k], r] += arena_amount[k, r]
    forget_end(cols, running, count, row)
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
