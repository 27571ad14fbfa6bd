"""
EASY's pass over a queue: start heads, reserve for one that does not fit, backfill around it.

The reservation lies on a profile (:mod:`cpsched.kernels.profile`) of two segments: what is free
now, and what will be at the reservation's second, less what it takes. A job that has ended by then
takes from the first only, and uses up what is reserved; any other takes from both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.kernels.arrays import FAR, NONE, ZERO, sort_by
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.list_pass import start_now
from cpsched.kernels.pass_state import (
    BESIDE,
    BESIDE_LOG,
    BESIDE_PASS,
    CAPACITY,
    CLASS_DEAD,
    CLASS_PLAN,
    CLASS_SHAPE,
    CLASS_UNITS,
    HEADER,
    MOST,
    PASS,
    ROOM,
    RUNS,
    SLOT,
    SLOTS,
    SUMMED,
    WORK,
    begin_pass,
    class_at,
    machine_of,
    may_fit,
    state_of,
    take,
    within_counts,
)
from cpsched.kernels.placing import choose, choose_preferring
from cpsched.kernels.profile import (
    GROUPS,
    SEGMENTS,
    SPARE,
    group_from,
    group_places,
    grouped,
    groups_of,
    mark_allocations,
    split_groups,
    take_off,
)
from cpsched.kernels.rooms import MANY, amount_on, request_of, room_on, within_bounds
from cpsched.kernels.runs import begin_at
from cpsched.kernels.start_log import note_start, packed
from cpsched.model.columns import (
    ALLOC_COUNT,
    ALLOC_FIRST,
    EXPECTED_END,
    RUNTIME_ESTIMATE,
    SHAPE,
    SHAPE_REQUEST,
)

if TYPE_CHECKING:
    from cpsched.base.types import IntArray

#: The segments of the profile: now, and from the reservation on.
NOW, THEN = np.int64(0), np.int64(1)
_SEGMENTS = np.int64(2)

#: At first this many running jobs are considered, those that end first.
_FIRST_ENDS = 16


class _Ends(NamedTuple):
    """
    Jobs that run or start now, in the order in which they are expected to end.

    Attributes
    ----------
    second
        When. A running job that should have ended is expected to end next second.
    low, high
        Where its nodes stand: in the arena if it runs, else in the log, two numbers each.
    shape
        Of a job that starts now; -1 if it runs.
    log, node, amount
        The log of starts, and the arena.
    """

    second: IntArray
    low: IntArray
    high: IntArray
    shape: IntArray
    log: IntArray
    node: IntArray
    amount: IntArray


@inner
def _starts_by_end(now, cols, log, used):
    """Return the places in the log of the jobs that start now, and their ends, by end."""
    count = ZERO
    at = 0
    while at < used:
        count += 1
        at += 2 + 2 * log[at + 1]
    places = np.empty(count, dtype=np.int64)
    ends = np.empty(count)
    at = 0
    for i in range(count):
        places[i] = at
        ends[i] = now + max(cols[log[at], RUNTIME_ESTIMATE], 1)
        at += 2 + 2 * log[at + 1]
    sort_by(ends, places, count)
    return places, ends


@inner
def _ends_in_order(now, cols, running, arena_node, arena_amount, log, used):
    """Return the ends of the running jobs, given by end, and of those that start now."""
    places, starts = _starts_by_end(now, cols, log, used)
    count = len(running) + len(places)
    second, low, high, shape = np.empty((4, count), dtype=np.int64)
    i = 0
    for k in range(count):
        j = k - i
        runs = i < len(running)
        if runs:
            second[k] = max(cols[running[i], EXPECTED_END], now + 1)
            runs = j == len(places) or second[k] <= starts[j]
        if runs:
            low[k] = cols[running[i], ALLOC_FIRST]
            high[k] = low[k] + cols[running[i], ALLOC_COUNT]
            shape[k] = NONE
            i += 1
        else:
            second[k] = np.int64(starts[j])
            low[k] = places[j] + 2
            high[k] = low[k] + 2 * log[places[j] + 1]
            shape[k] = cols[log[places[j]], SHAPE]
    return _Ends(second, low, high, shape, log, arena_node, arena_amount)


@leaf
def _mark_starts(begins, num_nodes, log, used):
    """Mark where what starts now begins and ends, as ``mark_allocations`` does for what runs."""
    at = 0
    while at < used:
        end = at + 2 + 2 * log[at + 1]
        for k in range(at + 2, end, 2):
            node = log[k]
            if k == at + 2 or log[k - 2] != node - 1 or log[k - 1] != log[k + 1]:
                begin_at(begins, node)
            if (k + 2 == end or log[k + 2] != node + 1) and node + 1 < num_nodes:
                begin_at(begins, node + 1)
        at = end


@inner
def _profile_now(now, work, runs, cols, running, arena_node, arena_amount, log, used):
    """
    Return the profile of two segments in which free capacity stays free.

    Within a group, nodes have the same running jobs and the same starts in the log.
    """
    num_nodes, num_kinds = work.shape
    begins = runs.copy()
    mark_allocations(begins, num_nodes, cols, running, arena_node, arena_amount)
    _mark_starts(begins, num_nodes, log, used)
    profile = grouped(now, begins, np.zeros(0, dtype=np.bool_), work, _SEGMENTS, SPARE)
    profile.num[SEGMENTS] = 2
    profile.rows[THEN] = THEN
    for g in range(profile.num[GROUPS]):
        for r in range(num_kinds):
            profile.levels[THEN, g, r] = profile.levels[NOW, g, r]
    return profile


class _Gain(NamedTuple):
    """
    What is free on groups, and what of it the jobs held that have ended so far.

    Attributes
    ----------
    place
        The group that begins at each node.
    then, gained
        What is free, and the part that was not at first, shape ``(G, R)``.
    sums
        What is free in all, of each kind.
    rooms
        How many units of the job each node of a group holds; not known before there is enough in
        all.
    """

    place: IntArray
    then: IntArray
    gained: IntArray
    sums: IntArray
    rooms: IntArray


@inner
def _give_back(k, ends, gain, groups, machine, shape, known):
    """Add what the k-th job to end held; return how many units more have room, if that is known."""
    first, size = groups.first, groups.size
    more = ZERO
    own = ends.shape[k]
    for at in range(ends.low[k], ends.high[k], 1 if own < 0 else 2):
        node = ends.node[at] if own < 0 else ends.log[at]
        g = group_from(first, len(groups.line), gain.place, node)
        if g < 0:
            continue
        for r in range(len(gain.sums)):
            if own < 0:
                amount = ends.amount[at, r]
            else:
                units = ends.log[at + 1]
                amount = amount_on(machine.shapes, own, machine.capacity, first[g], units, r)
            gain.then[g, r] += amount
            gain.gained[g, r] += amount
            gain.sums[r] += amount * size[g]
        if known:
            more += _new_room(g, gain, groups, machine, shape)
    return more


@leaf
def _new_room(g, gain, groups, machine, shape):
    """Count again how many units a group holds; return how many more there are."""
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    room = room_on(gain.then, g, groups.first[g], capacity, eligible, shapes, shape, MANY)
    more = (room - gain.rooms[g]) * groups.size[g]
    gain.rooms[g] = room
    return more


@leaf
def _enough_in_all(sums, machine, request):
    """Say whether all nodes together have what a job needs."""
    for r in range(len(sums)):
        need = machine.shapes[request.shape, SHAPE_REQUEST + r]
        if need > 0 and sums[r] // need < request.units:
            return False
    return True


@inner
def _first_second(machine, request, profile, sums, summed, ends):
    """
    Find the first second at which a job can be placed, and where, as jobs end.

    The second segment of the profile becomes what is free by then.

    Parameters
    ----------
    sums
        What is free now in all, of each kind; spoilt.
    summed
        Whether these sums are within 64 bits.

    Returns
    -------
    second, pieces
        No pieces where the job cannot be placed even when all have ended.
    """
    groups = groups_of(profile)
    num_groups, shape = len(groups.line), request.shape
    gain = _Gain(
        group_places(groups.first, num_groups, len(machine.capacity)),
        profile.levels[THEN],
        np.zeros((num_groups, len(sums)), dtype=np.int64),
        sums,
        np.zeros(num_groups, dtype=np.int64),
    )
    # Groups are looked at only once there is enough in all: until then the total is not known.
    known = False
    total = ZERO
    k = 0
    while k < len(ends.second):
        second, before = ends.second[k], total
        while k < len(ends.second) and ends.second[k] == second:
            total += _give_back(k, ends, gain, groups, machine, shape, known)
            k += 1
        if not known:
            if summed and not _enough_in_all(sums, machine, request):
                continue
            known = True
            before = NONE
            for g in range(num_groups):
                total += _new_room(g, gain, groups, machine, shape)
        # Only room that is new can make the difference.
        if total < request.units or total == before:
            continue
        if not within_bounds(groups, gain.rooms, request):
            continue
        pieces = choose_preferring(machine, gain.then, gain.gained, groups, request)
        if len(pieces) > 0:
            return second, pieces
    return FAR, np.empty((0, 3), dtype=np.int64)


@inner
def _reserve(machine, state, request, now, running, arena_node, arena_amount, log, used):
    """
    Find the first second at which a job can be placed, and where.

    Most often that is when the first few have ended. So only these are looked at first, and make
    groups; more if they are not enough.

    Returns
    -------
    second, pieces, profile
        No pieces where the job cannot be placed even when all have ended (nodes are down).
    """
    cols = state.cols
    sums = state.head[HEADER : HEADER + len(machine.scarce)]
    summed = state.head[SUMMED] != 0
    work, runs = state.node_tables[WORK], state.bits[RUNS]
    count = _FIRST_ENDS
    while True:
        some = running[: min(count, len(running))]
        profile = _profile_now(now, work, runs, cols, some, arena_node, arena_amount, log, used)
        until = FAR
        if len(some) < len(running):
            until = max(cols[running[len(some)], EXPECTED_END], now + 1)
        ends = _ends_in_order(now, cols, some, arena_node, arena_amount, log, used)
        second, pieces = _first_second(machine, request, profile, sums.copy(), summed, ends)
        # What ends later, or in the same second, has not been looked at.
        if second < until or len(some) == len(running):
            return second, pieces, profile
        count *= 8


@inner
def _nodes_of(row, first, pieces):
    """Return the nodes of a placement on whole groups, in order."""
    log, used = note_start(np.empty(0, dtype=np.int64), ZERO, row, first, pieces)
    return log[2:used:2].copy()


@inner
def _use_first(level, groups, num_kinds):
    """Return what is reserved of what is free now: what jobs that end in time use up first."""
    reserved = np.zeros((len(groups.first), num_kinds), dtype=np.int64)
    for g in groups.line:
        for r in range(num_kinds):
            reserved[g, r] = max(level[NOW, g, r] - level[THEN, g, r], 0)
    return reserved


@inner
def _free_throughout(level, groups, num_kinds):
    """Return what is free now and beside the reservation too."""
    least = np.empty((len(groups.first), num_kinds), dtype=np.int64)
    for g in groups.line:
        for r in range(num_kinds):
            least[g, r] = min(level[NOW, g, r], level[THEN, g, r])
    return least


@leaf
def _find_beside(machine, state, level, groups, shape):
    """Find how many units of a shape fit on what is free throughout, and count nodes by room."""
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    table, counts = state.job_classes, state.counts
    first, size = groups.first, groups.size
    slot = table[shape, SLOT]
    if slot >= 0:
        counts[SLOTS + slot, :] = 0
    total = 0
    for g in groups.line:
        room = room_on(level, g, first[g], capacity, eligible, shapes, shape, MANY)
        total += size[g] * room
        if slot >= 0:
            counts[SLOTS + slot, min(room, MOST)] += size[g]
    table[shape, BESIDE] = total


@leaf
def _may_fit_beside(state, row, shape, units):
    """Say whether a job may fit on what is free throughout, as ``may_fit`` does of now."""
    table = state.job_classes
    slot = table[shape, SLOT] + SLOTS if table[shape, SLOT] >= 0 else -1
    return table[shape, BESIDE] >= units and within_counts(state, row, slot)


@inner
def _choose_beside(machine, state, row, request, profile, used):
    """
    Place a job on capacity that is free throughout; the room is computed again after another start.
    """
    table, shape = state.job_classes, request.shape
    nothing = np.empty((0, 3), dtype=np.int64)
    known = table[shape, BESIDE_PASS] == state.head[PASS] and table[shape, BESIDE_LOG] == used
    if known and not _may_fit_beside(state, row, shape, request.units):
        return nothing
    groups = groups_of(profile)
    level = _free_throughout(profile.levels, groups, len(machine.scarce))
    if not known:
        _find_beside(machine, state, level, groups, shape)
        table[shape, BESIDE_PASS] = state.head[PASS]
        table[shape, BESIDE_LOG] = used
        if not _may_fit_beside(state, row, shape, request.units):
            return nothing
    return choose(machine, level, groups, request)


@inner
def _backfill(policy, now, shadow, state, profile, rows, class_of, log, used):
    """Start jobs that do not delay the reservation; return the log and its length."""
    table = state.job_classes
    this_pass = state.head[PASS]
    machine = machine_of(policy, state)
    for row in rows:
        number = class_of[row]
        if number < 0:
            continue
        if number == 0:
            number = class_at(state, class_of, row)
        if table[number, CLASS_DEAD] == this_pass:
            continue
        shape, units = table[number, CLASS_SHAPE], table[number, CLASS_UNITS]
        short = now + max(table[number, CLASS_PLAN], 1) <= shadow
        # What is known says first whether there is room at all, and beside the reservation.
        fits = not 0 <= table[shape, ROOM] < units
        if not short and table[shape, BESIDE_PASS] == this_pass:
            fits = fits and table[shape, BESIDE] >= units
        if not fits or not may_fit(state, row):
            table[number, CLASS_DEAD] = this_pass
            continue
        request = request_of(state.cols, row)
        if short:
            groups = groups_of(profile)
            reserved = _use_first(profile.levels, groups, len(machine.scarce))
            pieces = choose_preferring(machine, profile.levels[NOW], reserved, groups, request)
        else:
            pieces = _choose_beside(machine, state, row, request, profile, used)
        if len(pieces) == 0:
            table[number, CLASS_DEAD] = this_pass
            continue
        profile = split_groups(profile, pieces)
        take_off(profile, NOW, pieces, shape, machine.shapes, machine.capacity)
        if not short:
            take_off(profile, THEN, pieces, shape, machine.shapes, machine.capacity)
        log, end = note_start(log, used, row, profile.first, pieces)
        take(state, row, log, used + 2, end)
        used = end
    return log, used


@leaf
def _skip(class_of, row):
    """Mark a row as done with, or not any more."""
    class_of[row] = -1 - class_of[row]


@leaf
def _skip_started(class_of, log, used):
    """Do so for all rows of a log."""
    at = 0
    while at < used:
        _skip(class_of, log[at])
        at += 2 + 2 * log[at + 1]


@kernel
def easy_pass(
    policy, now, rows, backfill, class_of, cols, shapes, eligible, memory, job_classes, free,
    running, arena_node, arena_amount,
):  # fmt: skip
    """
    Start jobs from the head of the queue on, reserve for the first that does not fit, backfill.

    A job that could not be placed even if all that runs had ended (nodes are down) is skipped as if
    it were not in the queue.

    Parameters
    ----------
    rows
        Rows of the job store in order of priority.
    backfill
        The same rows in the order in which they are tried behind the reservation.
    class_of, memory, job_classes
        See :mod:`cpsched.kernels.pass_state`.
    running
        Rows of the running jobs, by expected end.
    arena_node, arena_amount
        Allocations of the running jobs, found by their ``ALLOC_FIRST`` and ``ALLOC_COUNT``.

    Returns
    -------
    ndarray
        Packed as by :func:`cpsched.kernels.start_log.packed`; head is -1 where nothing is reserved.
    """
    state = state_of(memory, job_classes, free, cols, shapes, eligible)
    begin_pass(state, free)
    this_pass = state.head[PASS]
    capacity = state.node_tables[CAPACITY]
    log = np.empty(64, dtype=np.int64)
    used = ZERO
    head = -1
    shadow = 0
    hopeless = 0
    reserved = np.empty(0, dtype=np.int64)
    for row in rows:
        if hopeless > 0 and job_classes[class_at(state, class_of, row), CLASS_DEAD] == this_pass:
            continue
        before = used
        log, used = start_now(policy, state, row, log, used)
        if used > before:
            continue
        shadow, pieces, profile = _reserve(
            machine_of(policy, state), state, request_of(cols, row), now, running, arena_node,
            arena_amount, log, used,
        )  # fmt: skip
        if len(pieces) == 0:
            job_classes[class_at(state, class_of, row), CLASS_DEAD] = this_pass
            hopeless += 1
            continue
        head = row
        profile = split_groups(profile, pieces)
        take_off(profile, THEN, pieces, cols[row, SHAPE], shapes, capacity)
        reserved = _nodes_of(row, profile.first, pieces)
        if len(rows) > 1:
            heads = used
            _skip_started(class_of, log, heads)
            _skip(class_of, head)
            log, used = _backfill(
                policy, now, shadow, state, profile, backfill, class_of, log, used
            )
            _skip_started(class_of, log, heads)
            _skip(class_of, head)
        break
    return packed(log, used, cols, shapes, capacity, head, shadow, reserved)
