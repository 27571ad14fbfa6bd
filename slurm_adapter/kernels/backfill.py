"""Slurm's backfill pass: jobs in order, each planned after those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.api.kernels import (
    FAR,
    FITS,
    GROUPS,
    MANY,
    NONE,
    SEGMENTS,
    ZERO,
    Asks,
    Request,
    asks_of,
    cut_at,
    filled,
    find_window,
    groups_of,
    inner,
    leaf,
    least_in,
    needs_room_alone,
    next_window,
    note_start,
    numbered_shapes,
    occupy_known,
    remember,
    room_on,
    seen_start,
    shortage,
    split_groups,
    with_segments,
)
from cpsched.api.model import (
    NODES_MAX,
    NODES_MIN,
    RUNTIME_ESTIMATE,
    SHAPE_REQUEST,
    UNITS,
)
from slurm_adapter.kernels import records as r
from slurm_adapter.kernels.nodes import choose_as_slurm
from slurm_adapter.kernels.placed import append, has_started
from slurm_adapter.kernels.records import count_in, holds_up, over_limit, request_of_record

if TYPE_CHECKING:
    from cpsched.api.model import IntArray


#: Jobs that get nodes between checks whether others can still start.
_TAKEN_BETWEEN = 4


class Tallies(NamedTuple):
    """Counts of the jobs that a pass considers; each has length 0 if there is no limit."""

    users: IntArray
    partitions: IntArray
    both: IntArray
    associations: IntArray
    reserved: IntArray


@leaf
def _group_total(machine, level, groups, shape):
    """Return how many units of a request fit on all nodes together."""
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, size = groups.first, groups.size
    need = shapes[shape, SHAPE_REQUEST]
    total = 0
    for g in groups.line:
        # Most nodes of a busy machine have nothing left.
        if level[g, 0] >= need:
            total += size[g] * room_on(level, g, first[g], capacity, eligible, shapes, shape, MANY)
    return total


@inner
def candidates(order, records, numbers, placed, num_placed):
    """Return the records that a backfill pass considers, in order."""
    found = np.empty(min(len(order), numbers[r.TESTED]), dtype=np.int64)
    count = ZERO
    at = ZERO
    for record in order:
        if count == len(found):
            break
        # What the main pass started is in its order.
        if at < num_placed and placed[at] == record:
            at += 2 + 3 * placed[at + 1]
            continue
        if records[record, r.SEVERAL] and has_started(
            placed, num_placed, records, records[record, r.ROW]
        ):
            continue
        found[count] = record
        count += 1
    return found[:count]


@inner
def that_fit(jobs, given, profile):
    """Say of some jobs which could start now if none of the others did."""
    records, rules, machine = given.records, given.rules, given.machine
    now = rules.numbers[r.NOW]
    known = filled(len(machine.shapes), NONE)
    fits = np.zeros(len(jobs), dtype=np.bool_)
    last = -1
    for i in range(len(jobs)):
        record = jobs[i]
        own, shape = records[record, r.RESERVATION], records[record, r.ASKS]
        if records[record, r.BEGINS] > now or (own >= 0 and rules.kept_from[own] > now):
            continue
        if known[shape] < 0:
            known[shape] = _group_total(machine, profile.levels[0], groups_of(profile), shape)
        if known[shape] >= given.cols[records[record, r.ROW], UNITS]:
            fits[i] = over_limit(given.limits, records[record, r.TEMPLATE], record) < 0
        if fits[i]:
            last = i
    return fits, last


@leaf
def _may_start_now(given, profile, groups, request, failed, low, rooms):
    """
    Say whether a job may still start now; note in ``failed`` what units and duration are too much.

    Whether all units fit together; where nobody asks for plans, also whether within the bounds.
    """
    machine, shape, units = given.machine, request.shape, request.units
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    times, count = profile.times, profile.num[SEGMENTS]
    known = 1
    while known < count and times[known] < times[0] + request.duration:
        known += 1
    least_in(profile, 0, known, len(groups.line), low)
    if given.rules.numbers[r.STARTS_ALONE]:
        short = shortage(machine, low, groups, request, rooms)
        if short in (FITS, FAR):
            return short == FITS
    else:
        total = 0
        for g in range(len(groups.line)):
            if low[g, 0] >= shapes[shape, SHAPE_REQUEST]:
                total += groups.size[g] * room_on(
                    low, g, groups.first[g], capacity, eligible, shapes, shape, units
                )
                if total >= units:
                    return True
    failed[0], failed[1] = units, request.duration
    return False


@leaf
def _bar(jobs, begin, given, users, ahead, barred):
    """
    Bar the jobs, from place ``begin`` on, before which a pass considers too many of their user.

    It does unless another job starts before: that may put one over a limit, and then it does not
    count. ``users`` is what has been counted so far; ``ahead`` is for a copy. Tasks of arrays are
    not counted here, as they may be passed over with one that does not fit. Where others are told
    of plans, nothing is barred.
    """
    records, numbers, limits = given.records, given.rules.numbers, given.limits
    for user in range(len(users)):
        ahead[user] = users[user]
    for k in range(begin, len(jobs)):
        record = jobs[k]
        user = records[record, r.USER]
        if user < 0 or user >= len(users):
            continue
        barred[k] = ahead[user] >= numbers[r.OF_USER]
        if records[record, r.SEVERAL] or records[record, r.ARRAY] >= 0 or barred[k]:
            continue
        if records[record, r.BEGINS] > numbers[r.NOW]:
            continue
        if over_limit(limits, records[record, r.TEMPLATE], record) < 0:
            ahead[user] += 1


@leaf
def _last_that_may_start(
    last, i, jobs, fits, barred, tallies, asks, failed, given, profile, groups, low, rooms
):  # fmt: skip
    """
    Return the last place, from ``i`` to ``last``, of a job that may be the next to start; -1: none.

    A pass only takes nodes and counts up, so what may not start now may not later in it, either.
    """
    records, numbers, limits, cols = given.records, given.rules.numbers, given.limits, given.cols
    for k in range(last, i - 1, -1):
        if not fits[k] or barred[k]:
            continue
        record, d = jobs[k], asks.number[k]
        row = records[record, r.ROW]
        request = Request(
            asks.shape[d], cols[row, UNITS],
            max(cols[row, RUNTIME_ESTIMATE], 1) + numbers[r.GAP],
            cols[row, NODES_MIN], cols[row, NODES_MAX],
        )  # fmt: skip
        fits[k] = False
        if request.units >= failed[d, 0] and request.duration >= failed[d, 1]:
            continue
        if _too_many(tallies, numbers, records, record, 0):
            continue
        if over_limit(limits, records[record, r.TEMPLATE], record) >= 0:
            continue
        fits[k] = _may_start_now(given, profile, groups, request, failed[d], low, rooms)
        if fits[k]:
            return k
    return -1


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
            profile.fallen[rows[at], g] = True
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


@inner
def _tallies(numbers):
    """Return counts of nothing."""
    users, partitions = numbers[r.NUM_USERS], numbers[r.NUM_PARTITIONS]
    return Tallies(
        np.zeros(_tally(numbers, r.OF_USER, users), dtype=np.int64),
        np.zeros(_tally(numbers, r.OF_PARTITION, partitions), dtype=np.int64),
        np.zeros(_tally(numbers, r.OF_BOTH, partitions * users), dtype=np.int64),
        np.zeros(_tally(numbers, r.OF_ASSOCIATION, numbers[r.NUM_ASSOCIATIONS]), dtype=np.int64),
        np.zeros(_tally(numbers, r.PARTITION_RESERVATIONS, partitions), dtype=np.int64),
    )


@leaf
def _tally(numbers, limit, count):
    """Return how many kinds have to be counted: none where there is no limit."""
    return count if numbers[limit] < FAR else 0


@leaf
def _is_used_up(tallies, place, most, counted):
    """Count ``counted`` more of a kind; say whether one more is too many."""
    if place < 0 or place >= len(tallies):
        return False
    tallies[place] += counted
    return tallies[place] - counted >= most


@leaf
def _too_many(tallies, numbers, records, record, counted):
    """
    Whether a pass has reached its limit of considered jobs for a job like this.

    The job itself is counted ``counted`` times: 1 if the pass looks at it now, 0 to ask beforehand.
    """
    user, partition = records[record, r.USER], records[record, r.PARTITION]
    both = user * numbers[r.NUM_PARTITIONS] + partition
    own = records[record, r.ASSOCIATION]
    return (
        _is_used_up(tallies.users, user, numbers[r.OF_USER], counted)
        or _is_used_up(tallies.partitions, partition, numbers[r.OF_PARTITION], counted)
        or (user >= 0 and _is_used_up(tallies.both, both, numbers[r.OF_BOTH], counted))
        or _is_used_up(tallies.associations, own, numbers[r.OF_ASSOCIATION], counted)
    )


@leaf
def _may_reserve(tallies, numbers, records, record, of_array):
    """Say whether a job that has to wait may have a reservation, its array having ``of_array``."""
    partition = records[record, r.PARTITION]
    if not holds_up(records, record, numbers):
        return False
    counts = 0 <= partition < len(tallies.reserved)
    if counts and tallies.reserved[partition] >= numbers[r.PARTITION_RESERVATIONS]:
        return False
    return records[record, r.ARRAY] < 0 or of_array < numbers[r.ARRAY_RESERVATIONS]


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


@inner
def _first_window(asks, d, request, reserves, machine, numbers, profile, groups, low, rooms):
    """Return the first segment at which a job fits, -1 where that is too late for it."""
    # Another job may begin so long after the end of one.
    request = Request(
        request.shape, request.units, request.duration + numbers[r.GAP], request.nodes_min,
        request.nodes_max,
    )  # fmt: skip
    begin, until = _span(asks, d, request, reserves, machine, numbers, profile)
    most = asks.most[d]
    if needs_room_alone(machine, request):
        at, _, _ = next_window(
            machine, request, begin, begin, begin, until, profile, groups, most, low, rooms
        )
    else:
        at, _ = find_window(machine, request, begin, until, profile, most, low, ZERO)
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
    return with_segments(profile, 2 * segments), wider


@inner
def _asked(jobs, records, cols, num_shapes, segments):
    """Return what the jobs ask for."""
    shapes = np.empty(len(jobs), dtype=np.int64)
    rows = np.empty(len(jobs), dtype=np.int64)
    for i in range(len(jobs)):
        shapes[i], rows[i] = records[jobs[i], r.ASKS], records[jobs[i], r.ROW]
    number, distinct = numbered_shapes(shapes, rows, cols, num_shapes)
    return asks_of(number, distinct, segments)


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
    if _too_many(tallies, rules.numbers, records, record, 1):
        return True
    return own >= 0 and rules.kept_from[own] > now


@inner
def backfill_pass(jobs, fits, given, profile, log, used):
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

    Returns
    -------
    log, used, placed, num_placed
        With those of this pass; what it has started, as in :func:`append`, without pieces.
    """
    records, rules, limits = given.records, given.rules, given.limits
    machine, placer, cols, numbers = given.machine, given.placer, given.cols, rules.numbers
    shapes, capacity = machine.shapes, machine.capacity
    now = profile.times[0]
    asks = _asked(jobs, records, cols, len(shapes), len(profile.times))
    tallies = _tallies(numbers)
    low = np.empty(capacity.shape, dtype=np.int64)
    failed = np.empty((len(asks.shape), 2), dtype=np.int64)
    failed[:] = FAR
    placed = np.empty(64, dtype=np.int64)
    nothing = np.empty((0, 3), dtype=np.int64)
    num_placed = ZERO
    keeps = len(rules.kept_from) > 0
    barred = np.zeros(len(jobs), dtype=np.bool_)
    ahead = np.empty(len(tallies.users), dtype=np.int64)
    alone = numbers[r.STARTS_ALONE] != 0
    if alone:
        _bar(jobs, 0, given, tallies.users, ahead, barred)
    last = len(jobs) - 1
    starts = of_array = 0
    taken = _TAKEN_BETWEEN if alone else 0
    groups = groups_of(profile)
    rooms = np.empty(len(profile.line), dtype=np.int64)
    array = array_partition = -2
    rejected = False
    for i in range(len(jobs)):
        if taken == _TAKEN_BETWEEN:
            taken = 0
            last = _last_that_may_start(
                last, i, jobs, fits, barred, tallies, asks, failed, given, profile, groups, low,
                rooms,
            )  # fmt: skip
        if i > last or starts >= numbers[r.BACKFILL_STARTS]:
            break
        record = jobs[i]
        task, partition = records[record, r.ARRAY], records[record, r.PARTITION]
        is_next = task == array and partition == array_partition
        over = over_limit(limits, records[record, r.TEMPLATE], record)
        # What holds for a task of an array holds for the later ones.
        if task >= 0 and is_next and rejected:
            continue
        if _is_passed_over(given, tallies, record, over, placed, num_placed):
            continue
        if keeps and records[record, r.RESERVATION] < 0:
            _keep_reserved(profile, asks.most, rules)
            keeps = False
        if not is_next:
            array, array_partition, of_array = task, partition, 0
        if profile.num[SEGMENTS] + 2 > len(profile.times):
            profile, asks = _with_room(profile, asks)
            groups = groups_of(profile)
        request = request_of_record(records, record, cols)
        reserves = _may_reserve(tallies, numbers, records, record, of_array)
        at = np.int64(-1)
        if now + request.duration <= records[record, r.UNTIL]:
            at = _first_window(
                asks, asks.number[i], request, reserves, machine, numbers, profile, groups, low,
                rooms,
            )  # fmt: skip
        rejected = at < 0 or (at == 0 and over >= 0 and not reserves)
        if rejected:
            continue
        taken += 1
        start = profile.times[at]
        records[record, r.PLANNED] = start
        pieces = choose_as_slurm(placer, low, groups, request, numbers[r.TIGHT])
        profile = split_groups(profile, pieces)
        groups = groups_of(profile)
        if len(rooms) < len(profile.line):
            rooms = np.empty(len(profile.line), dtype=np.int64)
        starts_now = at == 0 and over < 0
        if starts_now or not numbers[r.CLOSE]:
            occupy_known(profile, asks.most, at, request, pieces, shapes, capacity)
        else:
            end = start + request.duration
            _keep(profile, asks.most, at, start, end, numbers[r.RESOLUTION], pieces)
        if starts_now:
            log, used = note_start(log, used, records[record, r.ROW], profile.first, pieces)
            placed, num_placed = append(placed, num_placed, nothing, record)
            count_in(limits, records[record, r.TEMPLATE], record, 1)
            starts += 1
            if alone:
                # Who may be next is found anew.
                _bar(jobs, i + 1, given, tallies.users, ahead, barred)
                last, taken = len(jobs) - 1, _TAKEN_BETWEEN
            continue
        of_array += 1
        if 0 <= partition < len(tallies.reserved):
            tallies.reserved[partition] += 1
    return log, used, placed, num_placed
