"""Slurm's backfill pass: jobs in order, each planned after those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.kernels.arrays import FAR, ZERO
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.profile import (
    GROUPS,
    SEGMENTS,
    cut_at,
    groups_of,
    note_fall,
    num_splits,
    resized,
    split_groups,
    split_pieces,
)
from cpsched.kernels.rooms import Groups, Request
from cpsched.kernels.start_bounds import Asks, asks_of, occupy_known, remember, seen_start
from cpsched.kernels.start_log import note_start
from cpsched.kernels.windows import find_window, needs_room_alone, next_window
from cpsched.model.columns import NODES_MAX
from cpsched.slurm.kernels import records as r
from cpsched.slurm.kernels.candidates import (
    Tallies,
    bar,
    last_that_may_start,
    may_reserve,
    no_tallies,
    note_limits,
    too_many,
)
from cpsched.slurm.kernels.nodes import SCRATCH, choose_as_slurm, choose_by_room
from cpsched.slurm.kernels.placed import append, has_started
from cpsched.slurm.kernels.records import count_in, request_of_record

if TYPE_CHECKING:
    from cpsched.util.types import BoolArray, IntArray


#: Jobs that get nodes between checks whether others can still start.
_TAKEN_BETWEEN = 4
# How far a pass is, as numbers: the place of the next job and the last of one that may start; how
# many have got nodes since that was found, and how many have started.
_PLACE, _LAST, _TAKEN, _STARTED = range(4)
# Whether the next job is counted already, and the segment at which it fits.
_IS_COUNTED, _AT = 4, 5
# Array and partition of the last job that was counted, how many of these have got nodes, and
# whether that one has not.
_ARRAY, _ARRAY_PARTITION, _OF_ARRAY, _REJECTED = range(6, 10)
# Whether the nodes of reservations have yet to be kept.
_KEEPS = 10
_WALK = 11
_NOT_SOUGHT = -2
# Why planning stops: the pass is over; nodes of reservations have to be kept; the profile is full;
# a window, or nodes, have to be found for the next job.
_OVER, _KEEP, _ROOM, _WINDOW, _PLACEMENT = range(5)


class Plans(NamedTuple):
    """
    What a pass works with.

    Attributes
    ----------
    jobs, fits, over, barred
        Records in order, whether each could start on its own, the limit that it is over (-1: none),
        and whether it cannot start, as too many of its user come before it.
    failed
        Of each distinct request, the units and the duration that do not fit now.
    low, rooms, scratch, pieces
        Room for what is free on groups throughout a window, and for a placement.
    """

    jobs: IntArray
    fits: BoolArray
    over: IntArray
    barred: BoolArray
    failed: IntArray
    tallies: Tallies
    asks: Asks
    low: IntArray
    rooms: IntArray
    scratch: IntArray
    pieces: IntArray


@leaf
def _cut(profile, most, second):
    """Return the segment that begins at a second, or at the first; cut one if none does."""
    if second <= profile.times[0]:
        return 0
    at, source = cut_at(profile, 0, second)
    if source >= 0:
        row = profile.rows[at]
        for d in range(len(most)):
            most[d, row] = most[d, source]
    return at


@leaf
def _close_groups(profile, at, until, pieces):
    """Leave nothing of the nodes of a placement to anybody, from segment ``at`` to ``until``."""
    rows, levels, room = profile.rows, profile.levels, profile.room
    num_kinds = room.shape[1]
    profile.falls[rows[at]] = True
    for p in range(len(pieces)):
        if pieces[p, 2] > 0:
            g, nodes = pieces[p, 0], pieces[p, 1]
            note_fall(profile.fallen, rows[at], g)
            for i in range(at, until):
                row = rows[i]
                for k in range(num_kinds):
                    room[row, k] -= max(levels[row, g, k], 0) * nodes
                    # Less than nothing: a job that asks for nothing must not go there either.
                    levels[row, g, k] = -1


@leaf
def _keep(profile, most, at, start, end, resolution, pieces):
    """Keep the nodes of a placement whole, from and until a multiple of the resolution."""
    if resolution > 1:
        at = _cut(profile, most, start // resolution * resolution)
    until = _cut(profile, most, end // resolution * resolution)
    if until > at:
        _close_groups(profile, at, until, pieces)


@inner
def _keep_reserved(profile, most, rules):
    """Keep the nodes of reservations from all jobs that come now."""
    for v in range(len(rules.kept_from)):
        if rules.kept_until[v] <= profile.times[0]:
            continue
        at = _cut(profile, most, rules.kept_from[v])
        until = _cut(profile, most, rules.kept_until[v])
        count = 0
        pieces = np.ones((profile.num[GROUPS], 3), dtype=np.int64)
        for g in range(profile.num[GROUPS]):
            if rules.kept[v, profile.first[g]]:
                pieces[count, 0], pieces[count, 1] = g, profile.size[g]
                count += 1
        _close_groups(profile, at, until, pieces[:count])


@leaf
def _place_of(times, count, second):
    """Return the first of some segments that begins at a second or later."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if times[middle] < second:
            low = middle + 1
        else:
            high = middle
    return low


@leaf
def _span(asks, d, request, reserves, machine, numbers, profile):
    """Return the segments, from and until, at which a job that is planned now may start."""
    times, count, now = profile.times, profile.num[SEGMENTS], profile.times[0]
    start = seen_start(
        asks.seen[d], asks.num_seen[d], request, machine.shapes, len(machine.capacity), now
    )
    begin = _place_of(times, count, start)
    until = _place_of(times, count, now + numbers[r.WINDOW] + 1)
    return begin, until if reserves else min(until, 1)


@leaf
def _note_window(asks, d, request, reserves, machine, profile, at):
    """Note where a job was found to fit, for the later ones that ask for no less."""
    start = FAR if at < 0 else profile.times[at]
    if reserves or at >= 0:
        asks.num_seen[d] = remember(
            asks.seen[d], asks.num_seen[d], request, machine.shapes, len(machine.capacity), start
        )


@leaf
def _with_gap(request, numbers):
    """Return what a job asks for that ends so much later: another may begin only then."""
    return Request(
        request.shape, request.units, request.duration + numbers[r.GAP], request.nodes_min,
        request.nodes_max,
    )  # fmt: skip


@leaf
def _first_room(plans, d, request, reserves, machine, numbers, profile, groups):
    """Return the first segment with room for a job that needs no more, -1 if that is too late."""
    asks, most = plans.asks, plans.asks.most[d]
    request = _with_gap(request, numbers)
    begin, until = _span(asks, d, request, reserves, machine, numbers, profile)
    at, _, _ = next_window(
        machine, request, begin, begin, begin, until, profile, groups, most, plans.low, plans.rooms
    )
    _note_window(asks, d, request, reserves, machine, profile, at)
    return at


@inner
def _first_window(plans, d, request, reserves, machine, numbers, profile):
    """Return the first segment at which any job fits, -1 if that is too late."""
    asks, most = plans.asks, plans.asks.most[d]
    request = _with_gap(request, numbers)
    begin, until = _span(asks, d, request, reserves, machine, numbers, profile)
    at, _ = find_window(machine, request, begin, until, profile, most, plans.low, ZERO)
    _note_window(asks, d, request, reserves, machine, profile, at)
    return at


@inner
def _with_room(profile, asks):
    """Return a profile, and what is known of requests, with room for more segments."""
    segments = len(profile.times)
    most = np.empty((len(asks.shape), 2 * segments), dtype=np.int64)
    for d in range(len(most)):
        for i in range(2 * segments):
            most[d, i] = asks.most[d, i] if i < segments else FAR
    wider = Asks(asks.number, asks.shape, most, asks.seen, asks.num_seen)
    return resized(profile, 2 * segments, len(profile.line)), wider


@inner
def _asked(jobs, records, cols, segments, known, stamp):
    """Return what the jobs ask for; ``known``: ``numbers`` of a ``Room``."""
    number = np.empty(len(jobs), dtype=np.int64)
    distinct = np.empty(len(jobs), dtype=np.int64)
    count = ZERO
    for i in range(len(jobs)):
        shape, row = records[jobs[i], r.ASKS], records[jobs[i], r.ROW]
        # Jobs of one node have numbers of their own: what is short for them is room on one node.
        one = 2 * shape + (cols[row, NODES_MAX] == 1)
        if known[one, 0] != stamp:
            known[one, 0], known[one, 1] = stamp, count
            distinct[count] = shape
            count += 1
        number[i] = known[one, 1]
    return asks_of(number, distinct[:count], segments)


@leaf
def _is_passed_over(given, tallies, record, over, placed, num_placed):
    """Say whether a pass goes on without looking for nodes of a job; count it if it looks at it."""
    records, rules, row = given.records, given.rules, given.records[record, r.ROW]
    now, own = rules.numbers[r.NOW], records[record, r.RESERVATION]
    if records[record, r.SEVERAL] and has_started(placed, num_placed, records, row):
        return True
    if records[record, r.BEGINS] > now:
        return True
    stops = rules.numbers[r.LIMITS_STOP] and over >= 0 and given.limits.counters[over, r.STOPS]
    if over >= 0 and not stops:
        return True
    if too_many(tallies, rules.numbers, records, record, 1):
        return True
    return own >= 0 and rules.kept_from[own] > now


@leaf
def _looks_at(walk, plans, given, placed, num_placed):
    """Say whether a pass plans the next job; count it if it does."""
    records, record = given.records, plans.jobs[walk[_PLACE]]
    task, partition = records[record, r.ARRAY], records[record, r.PARTITION]
    is_next = task == walk[_ARRAY] and partition == walk[_ARRAY_PARTITION]
    # What holds for a task of an array holds for the later ones.
    if task >= 0 and is_next and walk[_REJECTED]:
        return False
    over = plans.over[walk[_PLACE]]
    if _is_passed_over(given, plans.tallies, record, over, placed, num_placed):
        return False
    if not is_next:
        walk[_ARRAY], walk[_ARRAY_PARTITION], walk[_OF_ARRAY] = task, partition, 0
    walk[_IS_COUNTED], walk[_AT] = 1, _NOT_SOUGHT
    return True


@leaf
def _is_over(walk, plans, given, profile, groups):
    """Say whether no other job can start in a pass, or none may."""
    if walk[_TAKEN] == _TAKEN_BETWEEN:
        walk[_TAKEN] = 0
        walk[_LAST] = last_that_may_start(
            walk[_LAST], walk[_PLACE], plans.jobs, plans.fits, plans.over, plans.barred,
            plans.tallies, plans.asks, plans.failed, given, profile, groups, plans.low, plans.rooms,
        )  # fmt: skip
    most = given.rules.numbers[r.BACKFILL_STARTS]
    return walk[_PLACE] > walk[_LAST] or walk[_STARTED] >= most


@leaf
def _settle(walk, plans, given, profile, pieces, starts):
    """Take the nodes of the next job, whose groups are split, and go on to the one after."""
    records, record = given.records, plans.jobs[walk[_PLACE]]
    numbers, most, at = given.rules.numbers, plans.asks.most, walk[_AT]
    shapes, capacity = given.machine.shapes, given.machine.capacity
    request = request_of_record(records, record, given.cols)
    if starts or not numbers[r.CLOSE]:
        occupy_known(profile, most, at, request, pieces, shapes, capacity)
    else:
        start = profile.times[at]
        _keep(profile, most, at, start, start + request.duration, numbers[r.RESOLUTION], pieces)
    if not starts:
        reserved, partition = plans.tallies.reserved, records[record, r.PARTITION]
        walk[_OF_ARRAY] += 1
        if 0 <= partition < len(reserved):
            reserved[partition] += 1
    walk[_TAKEN] += 1
    walk[_PLACE] += 1
    walk[_IS_COUNTED] = 0


@leaf
def _plan_on(walk, plans, given, profile, placed, num_placed):
    """
    Plan jobs until arrays have to be made for one, or the pass is over; return which it is.

    Most jobs need none: their nodes are kept for later, and there is room for what that adds.
    """
    records, machine = given.records, given.machine
    numbers, asks, num = given.rules.numbers, plans.asks, profile.num
    now = profile.times[0]
    groups = Groups(profile.first, profile.size, profile.line[: num[GROUPS]])
    while True:
        if not walk[_IS_COUNTED]:
            if _is_over(walk, plans, given, profile, groups):
                return _OVER
            if not _looks_at(walk, plans, given, placed, num_placed):
                walk[_PLACE] += 1
                continue
        record, d = plans.jobs[walk[_PLACE]], asks.number[walk[_PLACE]]
        if walk[_KEEPS] and records[record, r.RESERVATION] < 0:
            return _KEEP
        if num[SEGMENTS] + 2 > len(profile.times):
            return _ROOM
        request = request_of_record(records, record, given.cols)
        reserves = may_reserve(plans.tallies, numbers, records, record, walk[_OF_ARRAY])
        alone = needs_room_alone(machine, request)
        if walk[_AT] == _NOT_SOUGHT:
            walk[_AT] = -1
            if now + request.duration <= records[record, r.UNTIL]:
                if not alone:
                    return _WINDOW
                walk[_AT] = _first_room(
                    plans, d, request, reserves, machine, numbers, profile, groups
                )
        over = plans.over[walk[_PLACE]]
        walk[_REJECTED] = walk[_AT] < 0 or (walk[_AT] == 0 and over >= 0 and not reserves)
        if walk[_REJECTED]:
            walk[_PLACE] += 1
            walk[_IS_COUNTED] = 0
            continue
        records[record, r.PLANNED] = profile.times[walk[_AT]]
        count = 0
        if alone and not (walk[_AT] == 0 and over < 0):
            count = choose_by_room(
                given.placer, plans.low, groups, request, numbers[r.TIGHT], plans.scratch,
                plans.pieces,
            )  # fmt: skip
        pieces = plans.pieces[:count]
        if count == 0 or num[GROUPS] + num_splits(profile, pieces) > len(profile.line):
            return _PLACEMENT
        split_pieces(profile, pieces)
        groups = Groups(profile.first, profile.size, profile.line[: num[GROUPS]])
        _settle(walk, plans, given, profile, pieces, False)


@inner
def _plans_of(jobs, fits, over, barred, failed, tallies, asks, profile):
    """Return what a pass works with, with room for the groups of a profile."""
    width, num_kinds = len(profile.line), profile.room.shape[1]
    return Plans(
        jobs, fits, over, barred, failed, tallies, asks,
        np.empty((width, num_kinds), dtype=np.int64),
        np.empty(width, dtype=np.int64),
        np.empty((SCRATCH, width), dtype=np.int64),
        np.empty((4 * width + 4, 3), dtype=np.int64),
    )  # fmt: skip


@inner
def _for_profile(plans, asks, profile):
    """Return what a pass works with for another profile."""
    return _plans_of(
        plans.jobs, plans.fits, plans.over, plans.barred, plans.failed, plans.tallies, asks,
        profile,
    )  # fmt: skip


@leaf
def _begin_anew(walk, plans, given, ahead):
    """Let all jobs from the next on be looked at anew: whether they may start."""
    note_limits(plans.jobs, walk[_PLACE], given, plans.over)
    if given.rules.numbers[r.STARTS_ALONE]:
        users, begin = plans.tallies.users, walk[_PLACE]
        bar(plans.jobs, begin, given, users, ahead, plans.over, plans.barred)
        walk[_LAST], walk[_TAKEN] = len(plans.jobs) - 1, _TAKEN_BETWEEN


@inner
def backfill_pass(jobs, fits, given, profile, log, used, known, stamp):
    """
    Plan jobs in order, each behind those before it, and start those planned now.

    Parameters
    ----------
    jobs
        Their records; ``PLANNED`` is set.
    fits
        Whether each could start now on its own: the pass ends where none that could is left.
    log, used
        Of the starts so far.
    known, stamp
        See :class:`cpsched.slurm.kernels.main.Room`.

    Returns
    -------
    log, used, placed, num_placed
        With those of this pass; what it has started, as in :func:`append`, without pieces.
    """
    records, rules, limits = given.records, given.rules, given.limits
    machine, placer, cols, numbers = given.machine, given.placer, given.cols, rules.numbers
    asks = _asked(jobs, records, cols, len(profile.times), known, stamp)
    failed = np.empty((len(asks.shape), 2), dtype=np.int64)
    failed[:] = FAR
    over, barred = np.empty(len(jobs), dtype=np.int64), np.zeros(len(jobs), dtype=np.bool_)
    plans = _plans_of(jobs, fits, over, barred, failed, no_tallies(numbers), asks, profile)
    ahead = np.empty(len(plans.tallies.users), dtype=np.int64)
    placed = np.empty(64, dtype=np.int64)
    nothing = np.empty((0, 3), dtype=np.int64)
    num_placed = ZERO
    walk = np.zeros(_WALK, dtype=np.int64)
    walk[_ARRAY] = walk[_ARRAY_PARTITION] = -2
    walk[_LAST], walk[_KEEPS] = len(jobs) - 1, len(rules.kept_from) > 0
    _begin_anew(walk, plans, given, ahead)
    while True:
        why = _plan_on(walk, plans, given, profile, placed, num_placed)
        if why == _OVER:
            break
        if why == _KEEP:
            _keep_reserved(profile, plans.asks.most, rules)
            walk[_KEEPS] = 0
            continue
        if why == _ROOM:
            profile, asks = _with_room(profile, plans.asks)
            plans = _for_profile(plans, asks, profile)
            continue
        record = jobs[walk[_PLACE]]
        request = request_of_record(records, record, cols)
        if why == _WINDOW:
            reserves = may_reserve(plans.tallies, numbers, records, record, walk[_OF_ARRAY])
            d = plans.asks.number[walk[_PLACE]]
            walk[_AT] = _first_window(plans, d, request, reserves, machine, numbers, profile)
            continue
        pieces = choose_as_slurm(placer, plans.low, groups_of(profile), request, numbers[r.TIGHT])
        profile = split_groups(profile, pieces)
        starts = walk[_AT] == 0 and plans.over[walk[_PLACE]] < 0
        _settle(walk, plans, given, profile, pieces, starts)
        if len(plans.rooms) < len(profile.line):
            plans = _for_profile(plans, plans.asks, profile)
        if starts:
            log, used = note_start(log, used, records[record, r.ROW], profile.first, pieces)
            placed, num_placed = append(placed, num_placed, nothing, record)
            count_in(limits, records[record, r.TEMPLATE], record, 1)
            walk[_STARTED] += 1
            _begin_anew(walk, plans, given, ahead)
    return log, used, placed, num_placed
