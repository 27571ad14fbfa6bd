"""
EASY's pass over a queue: start heads, reserve for one that does not fit, backfill around it.

It is the plan of :mod:`cpsched.kernels.planning` with one reservation. So nothing after the
reservation's second matters, and its profile (:mod:`cpsched.kernels.profile`) has two segments:
what is free now, and what will be at that second, less what it takes. A job that has ended by then
takes from the first only, and uses up what is reserved; any other takes from both.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.ahead import end_jobs, ends_of, next_end, profile_now
from cpsched.kernels.arrays import FAR, NONE, ONE, ZERO
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.lines import next_in_line, worth_trying
from cpsched.kernels.list_pass import start_now
from cpsched.kernels.pass_state import (
    BESIDE,
    BESIDE_LOG,
    BESIDE_PASS,
    CLASS_DEAD,
    CLASS_PLAN,
    CLASS_SHAPE,
    CLASS_UNITS,
    MOST,
    PASS,
    ROOM,
    SLOT,
    SLOTS,
    SUMMED,
    begin_pass,
    class_at,
    enough_in_all,
    is_full,
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
    copy_row,
    group_from,
    groups_of,
    split_groups,
    take_off,
)
from cpsched.kernels.rooms import FITS, MANY, request_of, room_on, shortage
from cpsched.kernels.start_log import note_start, packed
from cpsched.model.columns import (
    ALLOC_COUNT,
    ALLOC_FIRST,
    EXPECTED_END,
    SHAPE,
    SHAPE_CLASS,
    SHAPE_EXCLUSIVE,
    SHAPE_REQUEST,
)

#: How the queue behind the first job that does not fit is backfilled: around a reservation that
#: takes busy capacity first, as backfilled jobs take reserved capacity; or without such a
#: preference, as with the first of several reservations.
EASY, PLAIN = np.int64(0), np.int64(1)

#: The segments of the profile: now, and from the reservation on.
NOW, THEN = np.int64(0), np.int64(1)
_SEGMENTS = np.int64(2)

#: At first this many running jobs are considered, those that end first.
_FIRST_ENDS = 16

#: A list of eight shapes of which no unit fits, behind their number.
_WITHOUT = 9


@inner
def _excess(rule, level, high, low, groups, num_kinds):
    """Return how much more is free in one row of levels than in another, 0 where none counts."""
    more = np.zeros((len(groups.first), num_kinds), dtype=np.int64)
    if rule == EASY:
        for g in groups.line:
            for r in range(num_kinds):
                more[g, r] = max(level[high, g, r] - level[low, g, r], 0)
    return more


@leaf
def _count(machine, level, groups, request, counted, g):
    """
    Count anew what of a job fits on a group's nodes; return how much more that is.

    Of a job of one node, less than all of it is nothing.
    """
    room = room_on(
        level, g, groups.first[g], machine.capacity, machine.eligible, machine.shapes,
        request.shape, request.units,
    )  # fmt: skip
    if request.nodes_max == 1 and room < request.units:
        room = 0
    more = (room - counted[g]) * groups.size[g]
    counted[g] = room
    return more


@leaf
def _count_all(machine, level, groups, request, counted):
    """Count so for all groups; return how many units fit on all nodes together."""
    counted[:] = 0
    total = 0
    for g in groups.line:
        total += _count(machine, level, groups, request, counted, g)
    return total


@leaf
def _count_ended(
    machine, level, groups, request, counted, ended, cols, arena_node, places, num_groups
):
    """Do so for those groups only on which jobs have ended; return how many more units fit."""
    more = 0
    for job in ended:
        first = cols[job, ALLOC_FIRST]
        for k in range(first, first + cols[job, ALLOC_COUNT]):
            g = group_from(groups.first, num_groups, places, arena_node[k])
            if g >= 0:
                more += _count(machine, level, groups, request, counted, g)
    return more


@leaf
def _end_until_enough(
    machine, state, request, ends, second, until, k, profile, places, groups, counted, total
):
    """
    Let running jobs end, second by second, until all nodes together hold the units of a job.

    It begins after ``second``, and at least one more second is looked at.

    ``k`` running jobs have ended, and ``total`` units are ``counted`` by group, -1 for none yet.
    Returns the second, ``until`` or later where it is too late, with the new ``k`` and ``total``.
    """
    level, sums = profile.levels[THEN], profile.room[THEN]
    summed = state.head[SUMMED] != 0
    seen = k
    while True:
        second = next_end(ends, second, k)
        if second >= until:
            return second, k, total
        k = end_jobs(ends, second, k, profile, places, THEN)
        if summed and not enough_in_all(sums, machine.shapes, request.shape, request.units):
            continue
        if total < 0 or len(ends.log) > 0:
            total = _count_all(machine, level, groups, request, counted)
        else:
            total += _count_ended(
                machine, level, groups, request, counted, ends.running[seen:k], state.cols,
                ends.arena_node, places, profile.num[GROUPS],
            )  # fmt: skip
        seen = k
        if total >= request.units:
            return second, k, total


@inner
def _first_place(rule, machine, state, request, ends, until):
    """Return the first second before another at which a job fits, its pieces, and the profile."""
    num_kinds = machine.capacity.shape[1]
    profile, places = profile_now(state, ends, _SEGMENTS)
    copy_row(profile, NOW, THEN)
    profile.rows[THEN] = THEN
    profile.num[SEGMENTS] = 2
    groups, level = groups_of(profile), profile.levels[THEN]
    rooms = np.empty(len(groups.first), dtype=np.int64)
    counted = np.zeros(len(groups.first), dtype=np.int64)
    second = ends.now
    k = 0
    total = -1
    while True:
        second, k, total = _end_until_enough(
            machine, state, request, ends, second, until, k, profile, places, groups, counted, total
        )
        if second >= until:
            return FAR, np.empty((0, 3), dtype=np.int64), profile
        if shortage(machine, level, groups, request, rooms) == FITS:
            gained = _excess(rule, profile.levels, THEN, NOW, groups, num_kinds)
            pieces = choose_preferring(machine, level, gained, groups, request)
            if len(pieces) > 0:
                return second, pieces, profile


@inner
def _reserve(rule, machine, state, request, now, running, arena_node, arena_amount, log):
    """Return the first second at which a job fits, its pieces (none: never), and the profile."""
    # Most often that is when the first few have ended. So only these are looked at first, and make
    # groups; more if they are not enough.
    count = _FIRST_ENDS
    while True:
        some = running[: min(count, len(running))]
        until = FAR
        if len(some) < len(running):
            # What ends in this second or later is not looked at.
            until = max(state.cols[running[len(some)], EXPECTED_END], now + 1)
        ends = ends_of(now, state, some, arena_node, arena_amount, log)
        second, pieces, profile = _first_place(rule, machine, state, request, ends, until)
        if second < until or len(some) == len(running):
            return second, pieces, profile
        count *= 8


@inner
def _nodes_of(row, first, pieces):
    """Return the nodes of a placement on whole groups, in order."""
    log, used = note_start(np.empty(0, dtype=np.int64), ZERO, row, first, pieces)
    return log[2:used:2].copy()


@leaf
def _note_least(level, groups, least, extremes):
    """
    Note what is free now and beside the reservation too.

    Fills ``extremes`` with what all nodes together have of each kind, and the most on one node.
    """
    extremes[:, :] = 0
    for g in groups.line:
        for r in range(least.shape[1]):
            least[g, r] = min(level[NOW, g, r], level[THEN, g, r])
            extremes[0, r] += least[g, r] * groups.size[g]
            extremes[1, r] = max(extremes[1, r], least[g, r])


@leaf
def _is_too_much(state, request, extremes):
    """Say whether the units of a job cannot fit on nodes of which only the extremes are known."""
    if state.head[SUMMED] == 0:
        return False
    if not enough_in_all(extremes[0], state.shapes, request.shape, request.units):
        return True
    nodes = min(request.nodes_max, request.units)
    for r in range(extremes.shape[1]):
        need = state.shapes[request.shape, SHAPE_REQUEST + r]
        if need > 0 and nodes * (extremes[1, r] // need) < request.units:
            return True
    return False


@leaf
def _asks_for_more(shapes, num_kinds, shape, other):
    """Say whether a shape asks for no less than another: where that fits nowhere, it does not."""
    if shapes[shape, SHAPE_CLASS] != shapes[other, SHAPE_CLASS]:
        return False
    if shapes[other, SHAPE_EXCLUSIVE] != 0 and shapes[shape, SHAPE_EXCLUSIVE] == 0:
        return False
    for k in range(SHAPE_REQUEST, SHAPE_REQUEST + num_kinds):
        on_node = shapes[shape, k + num_kinds] < shapes[other, k + num_kinds]
        if on_node or shapes[shape, k] < shapes[other, k]:
            return False
    return True


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


@leaf
def _has_room_beside(machine, state, row, request, groups, least, extremes, used, without):
    """
    Say whether a job may fit on what is free throughout; that is found again after another start.

    ``without`` has, behind their number, some shapes of which no unit fits.
    """
    table, shape = state.job_classes, request.shape
    if table[shape, BESIDE_PASS] != state.head[PASS] or table[shape, BESIDE_LOG] != used:
        if _is_too_much(state, request, extremes):
            return False
        for i in range(1, without[0] + 1):
            if _asks_for_more(state.shapes, least.shape[1], shape, without[i]):
                return False
        _find_beside(machine, state, least, groups, shape)
        table[shape, BESIDE_PASS] = state.head[PASS]
        table[shape, BESIDE_LOG] = used
        if table[shape, BESIDE] == 0 and without[0] + 1 < len(without):
            without[0] += 1
            without[without[0]] = shape
    return _may_fit_beside(state, row, shape, request.units)


@leaf
def _next_to_try(
    machine, now, shadow, state, rows, at, class_of, groups, least, extremes, used, without
):
    """
    Return the place of the next job of the queue, from ``at`` on, that may start; the end for none.

    And whether it will have ended by the reservation's second, ``shadow``.
    """
    table = state.job_classes
    this_pass = state.head[PASS]
    if is_full(state):
        return len(rows), False
    for i in range(at, len(rows)):
        row = rows[i]
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
        if fits and may_fit(state, row):
            request = request_of(state.cols, row)
            if short or _has_room_beside(
                machine, state, row, request, groups, least, extremes, used, without
            ):
                return i, short
        table[number, CLASS_DEAD] = this_pass
    return len(rows), False


@inner
def _backfill(rule, machine, now, shadow, state, profile, rows, class_of, next_of, log, used):
    """Start jobs that do not delay the reservation; return the log and its length."""
    line = rows if next_of is None else worth_trying(state, class_of, next_of, ONE)
    num_kinds = machine.capacity.shape[1]
    least = np.empty((0, num_kinds), dtype=np.int64)
    extremes = np.empty((2, num_kinds), dtype=np.int64)
    without = np.empty(_WITHOUT, dtype=np.int64)
    noted = NONE
    at = 0
    while True:
        groups = groups_of(profile)
        if noted != used:
            if len(least) < len(groups.first):
                least = np.empty((len(groups.first), num_kinds), dtype=np.int64)
            _note_least(profile.levels, groups, least, extremes)
            without[0] = 0
            noted = used
        at, short = _next_to_try(
            machine, now, shadow, state, line, at, class_of, groups, least, extremes, used, without
        )
        if at == len(line):
            return log, used
        row = line[at]
        request = request_of(state.cols, row)
        if short:
            reserved = _excess(rule, profile.levels, NOW, THEN, groups, num_kinds)
            pieces = choose_preferring(machine, profile.levels[NOW], reserved, groups, request)
        else:
            pieces = choose(machine, least, groups, request)
        if len(pieces) == 0:
            state.job_classes[class_at(state, class_of, row), CLASS_DEAD] = state.head[PASS]
            at += 1
            continue
        if next_of is None:
            at += 1
        else:
            at = next_in_line(line, at, class_of, next_of, state.cols)
        profile = split_groups(profile, pieces)
        take_off(profile, NOW, pieces, request.shape, machine.shapes, machine.capacity)
        if not short:
            take_off(profile, THEN, pieces, request.shape, machine.shapes, machine.capacity)
        log, end = note_start(log, used, row, profile.first, pieces)
        take(state, row, log, used + 2, end)
        used = end


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
    policy, rule, now, rows, backfill, class_of, next_of, cols, shapes, eligible, memory,
    job_classes, free, running, arena_node, arena_amount,
):  # fmt: skip
    """
    Start jobs from the head of the queue on, reserve for the first that does not fit, backfill.

    A job that could not be placed even if all that runs had ended (nodes are down) is skipped as if
    it were not in the queue.

    Parameters
    ----------
    rule
        :data:`EASY` or :data:`PLAIN`.
    rows
        Rows of the job store in order of priority.
    backfill
        The same rows in the order in which they are tried behind the reservation.
    next_of
        The links of :mod:`cpsched.kernels.lines`, if these rows are all that waits and are tried in
        their order; otherwise None.
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
    machine = machine_of(policy, state)
    log = np.empty(64, dtype=np.int64)
    used = ZERO
    head = NONE
    shadow = ZERO
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
            rule, machine, state, request_of(cols, row), now, running, arena_node, arena_amount,
            log[:used],
        )  # fmt: skip
        if len(pieces) == 0:
            job_classes[class_at(state, class_of, row), CLASS_DEAD] = this_pass
            hopeless += 1
            continue
        head = row
        profile = split_groups(profile, pieces)
        take_off(profile, THEN, pieces, cols[row, SHAPE], shapes, machine.capacity)
        reserved = _nodes_of(row, profile.first, pieces)
        if len(rows) > 1:
            heads = used
            _skip_started(class_of, log, heads)
            _skip(class_of, head)
            log, used = _backfill(
                rule, machine, now, shadow, state, profile, backfill, class_of, next_of, log, used
            )
            _skip_started(class_of, log, heads)
            _skip(class_of, head)
        break
    return packed(log, used, cols, shapes, machine.capacity, head, shadow, reserved)
