"""Slurm's scheduling of a queue: the main pass, and the backfill pass."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import FAR, NONE, ONE, ZERO, filled
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.placing import FIRST_FIT
from cpsched.kernels.profile import (
    GROUPS,
    SEGMENTS,
    SPARE,
    add_ends,
    cut_at,
    expected_ends,
    group_starts,
    grouped,
    groups_of,
    occupy_groups,
    split_groups,
    take_off,
    with_segments,
)
from cpsched.kernels.rooms import (
    FITS,
    Request,
    group_total,
    machine_at,
    room_on,
    shortage,
    weighted,
)
from cpsched.kernels.slurm_nodes import choose_as_slurm
from cpsched.kernels.slurm_records import (
    ARRAY,
    ARRAY_RESERVATIONS,
    ASKS,
    ASSOCIATION,
    BACKFILL,
    BACKFILL_STARTS,
    BEGINS,
    BEHIND,
    CLOSE,
    DEPTH,
    ENDS_MORE,
    ENDS_WITHIN,
    GAP,
    LEAST_PRIORITY,
    LIMITS_STOP,
    MAIN,
    MOST_STARTS,
    NO_NODES,
    NOW,
    NUM_ASSOCIATIONS,
    NUM_PARTITIONS,
    NUM_RESERVATIONS,
    NUM_USERS,
    OF_ASSOCIATION,
    OF_BOTH,
    OF_PARTITION,
    OF_USER,
    OVER_LIMIT,
    PARTITION,
    PARTITION_DEPTH,
    PARTITION_RESERVATIONS,
    PLANNED,
    PRIORITY,
    REASON,
    RESERVATION,
    RESERVES_FROM,
    RESOLUTION,
    ROW,
    SEVERAL,
    TEMPLATE,
    TESTED,
    UNTIL,
    USER,
    WINDOW,
    count_in,
    over_limit,
    request_of_record,
)
from cpsched.kernels.start_bounds import (
    asks_of,
    numbered_shapes,
    occupy_known,
    remember,
    seen_start,
)
from cpsched.kernels.start_log import begin_entry, note_start, packed
from cpsched.kernels.windows import find_window, least_in
from cpsched.model.columns import RUNNING, RUNTIME_ESTIMATE, SHAPE_REQUEST, STATE, UNITS

#: Room for segments at first, besides those that must be there.
_SPARE_SEGMENTS = np.int64(34)
#: Jobs that get reservations between two looks at whether others can still start.
_PLANNED_BETWEEN = 4


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
                for r in range(num_kinds):
                    room[row, r] -= max(levels[row, g, r], 0) * nodes
                    # Less than nothing: a job that asks for nothing must not go there either.
                    levels[row, g, r] = -1


@inner
def _append(list_, used, pieces, record):
    """Append a record, a count and that many pieces to a growing list; return it and its length."""
    list_, used = begin_entry(list_, used, record, len(pieces), 3 * len(pieces))
    for p in range(len(pieces)):
        for k in range(3):
            list_[used] = pieces[p, k]
            used += 1
    return list_, used


@leaf
def _has_started(placed, num_placed, records, row):
    """Say whether a job has started in another partition."""
    at = 0
    while at < num_placed:
        if records[placed[at], ROW] == row:
            return True
        at += 2 + 3 * placed[at + 1]
    return False


@leaf
def _without_kept(profile, rules, own, until, low):
    """Fill ``low`` with what is free now but for nodes that others have reserved by ``until``."""
    first, num_groups = profile.first, profile.num[GROUPS]
    level, now = profile.levels[0], rules.numbers[NOW]
    for g in range(num_groups):
        for r in range(level.shape[1]):
            low[g, r] = level[g, r]
    for v in range(len(rules.kept_from)):
        if v != own and rules.kept_from[v] < until and now < rules.kept_until[v]:
            for g in range(num_groups):
                if rules.kept[v, first[g]]:
                    for r in range(level.shape[1]):
                        low[g, r] = -1


@leaf
def _block(profile, rules, partition):
    """Leave nothing of the nodes of a partition to jobs behind one that waits for them."""
    if 0 <= partition < len(rules.nodes):
        level, first = profile.levels[0], profile.first
        for g in range(profile.num[GROUPS]):
            if rules.nodes[partition, first[g]]:
                for r in range(level.shape[1]):
                    level[g, r] = -1


@leaf
def _has_nodes(profile, rules, partition, least):
    """Say whether a partition has so many nodes that no job ahead waits for."""
    if partition < 0 or partition >= len(rules.nodes):
        return True
    level, first, size = profile.levels[0], profile.first, profile.size
    count = 0
    for g in range(profile.num[GROUPS]):
        if rules.nodes[partition, first[g]] and level[g, 0] >= 0:
            count += size[g]
    return count >= least


@leaf
def _holds_up(records, record, numbers):
    """Say whether a job that waits for nodes may hold up others."""
    return (
        records[record, PRIORITY] >= numbers[LEAST_PRIORITY]
        and records[record, RESERVES_FROM] <= numbers[NOW]
    )


@inner
def _main_pass(order, records, rules, limits, cols, machine, placer, profile):
    """
    Start jobs in order until one of their partition does not fit, on a profile of one segment.

    Returns
    -------
    profile, log, used, placed, num_placed
        The profile with what started taken off; the log of starts (``note_start``) with its
        length; records and placements of what started (:func:`_append`) with their length.
    """
    numbers = rules.numbers
    blocked = np.zeros(numbers[NUM_PARTITIONS] + 1, dtype=np.bool_)
    tried = np.zeros(numbers[NUM_PARTITIONS] + 1, dtype=np.int64)
    full = np.zeros(numbers[NUM_RESERVATIONS], dtype=np.bool_)
    keeps = len(rules.kept_from) > 0
    low = np.empty((rules.kept.shape[1] if keeps else 0, profile.room.shape[1]), dtype=np.int64)
    some_blocked = False
    log = np.empty(64, dtype=np.int64)
    used = ZERO
    placed = np.empty(64, dtype=np.int64)
    num_placed = ZERO
    starts = tested = 0
    array = array_partition = -2
    for record in order:
        row = records[record, ROW]
        # Jobs without a queue have code -1 and are in one queue too.
        partition = records[record, PARTITION] + 1
        own = records[record, RESERVATION]
        if records[record, SEVERAL] and _has_started(placed, num_placed, records, row):
            continue
        if records[record, BEGINS] > numbers[NOW]:
            continue
        if starts >= numbers[MOST_STARTS] or tested > numbers[DEPTH]:
            break
        # What holds for a task of an array holds for those behind it.
        is_task = records[record, ARRAY] >= 0
        if is_task and records[record, ARRAY] == array and partition == array_partition:
            continue
        array, array_partition = records[record, ARRAY], partition
        tried[partition] += 1
        if tried[partition] > numbers[PARTITION_DEPTH]:
            continue
        tested += 1
        records[record, REASON] = BEHIND
        if full[own] if own >= 0 else blocked[partition]:
            continue
        if own >= 0 and rules.kept_from[own] > numbers[NOW]:
            continue
        request = request_of_record(records, record, cols)
        over = over_limit(limits, records[record, TEMPLATE], record)
        if over >= 0:
            records[record, REASON] = OVER_LIMIT + over
            if not (numbers[LIMITS_STOP] and limits.stops[over]):
                continue
        elif some_blocked and not _has_nodes(profile, rules, partition - 1, request.nodes_min):
            records[record, REASON] = NO_NODES
            continue
        else:
            records[record, REASON] = NO_NODES
            level = profile.levels[0]
            if keeps:
                if len(low) < len(profile.line):
                    low = np.empty((len(profile.line), low.shape[1]), dtype=np.int64)
                until = numbers[NOW] + request.duration
                _without_kept(profile, rules, own, until, low)
                level = low
            rooms = np.empty(profile.num[GROUPS], dtype=np.int64)
            pieces = np.empty((0, 3), dtype=np.int64)
            in_time = numbers[NOW] + request.duration <= records[record, UNTIL]
            if in_time and shortage(machine, level, groups_of(profile), request, rooms) == FITS:
                pieces = choose_as_slurm(placer, level, groups_of(profile), request)
            if len(pieces) > 0:
                placed, num_placed = _append(placed, num_placed, pieces, record)
                profile = split_groups(profile, pieces)
                take_off(profile, 0, pieces, request.shape, machine.shapes, machine.capacity)
                log, used = note_start(log, used, row, profile.first, pieces)
                count_in(limits, records[record, TEMPLATE], record, 1)
                starts += 1
                array = -2
                continue
        if own >= 0:
            full[own] = True
        elif _holds_up(records, record, numbers):
            blocked[partition] = some_blocked = True
            _block(profile, rules, partition - 1)
    return profile, log, used, placed, num_placed


@inner
def _candidates(order, records, numbers, placed, num_placed):
    """Return the records that a backfill pass looks at, in order."""
    found = np.empty(min(len(order), numbers[TESTED]), dtype=np.int64)
    count = ZERO
    if num_placed == 0:
        for i in range(len(found)):
            found[i] = order[i]
        return found
    at = ZERO
    for record in order:
        if count == len(found):
            break
        # What the main pass started is in its order.
        if at < num_placed and placed[at] == record:
            at += 2 + 3 * placed[at + 1]
            continue
        if records[record, SEVERAL] and _has_started(
            placed, num_placed, records, records[record, ROW]
        ):
            continue
        found[count] = record
        count += 1
    return found[:count]


@inner
def _that_fit(jobs, records, cols, machine, profile):
    """Say of some jobs which could start now on their own; return the place of the last, too."""
    known = filled(len(machine.shapes), NONE)
    fits = np.empty(len(jobs), dtype=np.bool_)
    last = -1
    for i in range(len(jobs)):
        record = jobs[i]
        shape = records[record, ASKS]
        if known[shape] < 0:
            known[shape] = group_total(machine, profile.levels[0], groups_of(profile), shape)
        fits[i] = known[shape] >= cols[records[record, ROW], UNITS]
        if fits[i]:
            last = i
    return fits, last


@leaf
def _some_may_start(i, fits, number, distinct, rows, cols, machine, profile, units, low):
    """
    Say whether one of the jobs from place ``i`` on may still start now.

    Of each request the fewest units for the shortest time are tried: what does not fit then does
    not fit at all. ``units`` and ``low`` are room to work in.
    """
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, size, num_groups = profile.first, profile.size, profile.num[GROUPS]
    times, count = profile.times, profile.num[SEGMENTS]
    for d in range(len(distinct)):
        units[d, 0] = units[d, 1] = FAR
    for k in range(i, len(rows)):
        if fits[k]:
            d = number[k]
            units[d, 0] = min(units[d, 0], cols[rows[k], UNITS])
            units[d, 1] = min(units[d, 1], max(cols[rows[k], RUNTIME_ESTIMATE], 1))
    for d in range(len(distinct)):
        if units[d, 0] == FAR:
            continue
        known = 1
        while known < count and times[known] < times[0] + units[d, 1]:
            known += 1
        least_in(profile, 0, known, num_groups, low)
        total = 0
        for g in range(num_groups):
            if low[g, 0] < shapes[distinct[d], SHAPE_REQUEST]:
                continue
            total += size[g] * room_on(
                low, g, first[g], capacity, eligible, shapes, distinct[d], units[d, 0]
            )
            if total >= units[d, 0]:
                return True
    return False


@inner
def _again(placed, num_placed, records, cols, machine, profile):
    """Return the profile after what the main pass started, placed in the same steps."""
    now = profile.times[0]
    at = ZERO
    while at < num_placed:
        request = request_of_record(records, placed[at], cols)
        count = placed[at + 1]
        pieces = placed[at + 2 : at + 2 + 3 * count].copy().reshape(count, 3)
        profile = split_groups(profile, pieces)
        end = now + request.duration
        occupy_groups(profile, 0, end, pieces, request.shape, machine.shapes, machine.capacity)
        at += 2 + 3 * count
    return profile


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
def _too_many(tallies, place, most):
    """Count one more of a kind; say whether it is too many."""
    if place < 0 or place >= len(tallies):
        return False
    tallies[place] += 1
    return tallies[place] > most


@leaf
def _tally(numbers, limit, count):
    """Return how many kinds have to be counted: none where there is no limit."""
    return count if numbers[limit] < FAR else 0


@leaf
def _coarse(ends, numbers):
    """
    Let running jobs that end at about the same time end with the last of them.

    As where Slurm looks for a job's start: it takes away the jobs that end within some seconds of
    the first, tries, and goes on with the next ones and more seconds.

    Parameters
    ----------
    ends
        In order; changed.

    Returns
    -------
    int
        No less than how many different ones there are.
    """
    within = numbers[ENDS_WITHIN]
    if within == 0:
        return len(ends)
    count = 0
    i = 0
    while i < len(ends):
        last = i
        while last + 1 < len(ends) and ends[last + 1] <= ends[i] + within:
            last += 1
        for k in range(i, last):
            ends[k] = ends[last]
        within = within + numbers[ENDS_MORE] if numbers[ENDS_MORE] > 0 else 2 * within
        i = last + 1
        count += 1
    return count


@inner
def _wider(most, segments):
    """Return the bounds of ``Asks.most`` with room for so many segments."""
    wider = np.empty((most.shape[0], segments), dtype=np.int64)
    for d in range(most.shape[0]):
        for i in range(segments):
            wider[d, i] = most[d, i] if i < most.shape[1] else FAR
    return wider


@inner
def _backfill_pass(jobs, fits, records, rules, limits, cols, machine, placer, profile, log, used):
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
        With those of this pass; what it has placed, now or later, as in :func:`_append`, without
        pieces.
    """
    shapes, capacity, numbers = machine.shapes, machine.capacity, rules.numbers
    num_nodes, num_kinds = capacity.shape
    now, gap, parts = profile.times[0], numbers[GAP], numbers[NUM_PARTITIONS]
    rows = np.empty(len(jobs), dtype=np.int64)
    asked = np.empty(len(jobs), dtype=np.int64)
    for i in range(len(jobs)):
        rows[i], asked[i] = records[jobs[i], ROW], records[jobs[i], ASKS]
    number, distinct = numbered_shapes(asked, len(shapes))
    asks = asks_of(number, distinct, len(profile.times))
    most, seen, num_seen = asks.most, asks.seen, asks.num_seen
    low = np.empty((num_nodes, num_kinds), dtype=np.int64)
    of_user = np.zeros(_tally(numbers, OF_USER, numbers[NUM_USERS]), dtype=np.int64)
    of_part = np.zeros(_tally(numbers, OF_PARTITION, parts), dtype=np.int64)
    of_both = np.zeros(_tally(numbers, OF_BOTH, parts * numbers[NUM_USERS]), dtype=np.int64)
    of_association = np.zeros(
        _tally(numbers, OF_ASSOCIATION, numbers[NUM_ASSOCIATIONS]), dtype=np.int64
    )
    kept_of_part = np.zeros(_tally(numbers, PARTITION_RESERVATIONS, parts), dtype=np.int64)
    placed = np.empty(64, dtype=np.int64)
    num_placed = ZERO
    nothing = np.empty((0, 3), dtype=np.int64)
    starts = 0
    array = array_partition = rejected = rejected_partition = -2
    of_array = 0
    keeps = len(rules.kept_from) > 0
    fewest = np.empty((len(distinct), 2), dtype=np.int64)
    planned = 0
    for i in range(len(jobs)):
        if planned == _PLANNED_BETWEEN:
            planned = 0
            if not _some_may_start(
                i, fits, number, distinct, rows, cols, machine, profile, fewest, low
            ):
                break
        record, d = jobs[i], number[i]
        row, partition, own = rows[i], records[record, PARTITION], records[record, RESERVATION]
        task, user = records[record, ARRAY], records[record, USER]
        template = records[record, TEMPLATE]
        if starts >= numbers[BACKFILL_STARTS]:
            break
        if records[record, SEVERAL] and _has_started(placed, num_placed, records, row):
            continue
        if records[record, BEGINS] > now:
            continue
        if task >= 0 and task == rejected and partition == rejected_partition:
            continue
        over = over_limit(limits, template, record)
        if over >= 0:
            records[record, REASON] = OVER_LIMIT + over
            if not (numbers[LIMITS_STOP] and limits.stops[over]):
                continue
        if _too_many(of_user, user, numbers[OF_USER]):
            continue
        if _too_many(of_part, partition, numbers[OF_PARTITION]):
            continue
        if user >= 0 and _too_many(of_both, user * parts + partition, numbers[OF_BOTH]):
            continue
        if _too_many(of_association, records[record, ASSOCIATION], numbers[OF_ASSOCIATION]):
            continue
        if own >= 0 and rules.kept_from[own] > now:
            continue
        if keeps and own < 0:
            _keep_reserved(profile, most, rules)
            keeps = False
        if task != array or partition != array_partition:
            array, array_partition, of_array = task, partition, 0
        rejected, rejected_partition = task, partition
        if profile.num[SEGMENTS] + 2 > len(profile.times):
            profile = with_segments(profile, 2 * len(profile.times))
            most = _wider(most, len(profile.times))
        asked_for = request_of_record(records, record, cols)
        if now + asked_for.duration > records[record, UNTIL]:
            continue
        request = Request(
            asked_for.shape, asked_for.units, asked_for.duration + gap, asked_for.nodes_min,
            asked_for.nodes_max,
        )  # fmt: skip
        reserves = _holds_up(records, record, numbers)
        if 0 <= partition < len(kept_of_part):
            reserves = reserves and kept_of_part[partition] < numbers[PARTITION_RESERVATIONS]
        if task >= 0 and of_array >= numbers[ARRAY_RESERVATIONS]:
            reserves = False
        count = profile.num[SEGMENTS]
        start = seen_start(seen[d], num_seen[d], request, shapes, num_nodes, now)
        begin = np.searchsorted(profile.times[:count], start)
        until = np.searchsorted(profile.times[:count], now + numbers[WINDOW] + 1)
        if not reserves:
            until = min(until, 1)
        at, _ = find_window(machine, request, begin, until, profile, most[d], low)
        start = FAR if at < 0 else profile.times[at]
        if reserves or at >= 0:
            num_seen[d] = remember(seen[d], num_seen[d], request, shapes, num_nodes, start)
        if at < 0 or (at == 0 and over >= 0 and not reserves):
            continue
        records[record, PLANNED] = start
        pieces = choose_as_slurm(placer, low, groups_of(profile), asked_for)
        profile = split_groups(profile, pieces)
        if at == 0 and over < 0:
            occupy_known(profile, most, at, asked_for, pieces, shapes, capacity)
            log, used = note_start(log, used, row, profile.first, pieces)
            placed, num_placed = _append(placed, num_placed, nothing, record)
            count_in(limits, template, record, 1)
            starts += 1
            rejected = -2
            continue
        if numbers[CLOSE]:
            end = start + asked_for.duration
            _keep(profile, most, at, start, end, numbers[RESOLUTION], pieces)
        else:
            occupy_known(profile, most, at, asked_for, pieces, shapes, capacity)
        of_array += 1
        planned += 1
        rejected = -2
        if 0 <= partition < len(kept_of_part):
            kept_of_part[partition] += 1
    return log, used, placed, num_placed


@inner
def _passes(
    order, records, rules, limits, cols, machine, placer, begins, free, running, arena_node,
    arena_amount,
):  # fmt: skip
    """
    Run the main pass and the backfill pass, as far as they are due.

    Returns
    -------
    log, used, jobs, started
        What starts; the records that the backfill pass has looked at; those that start.
    """
    numbers = rules.numbers
    asleep = np.zeros(0, dtype=np.bool_)
    profile = grouped(numbers[NOW], begins, asleep, free, ONE, SPARE)
    log = np.empty(64, dtype=np.int64)
    placed = np.empty(64, dtype=np.int64)
    used = num_placed = ZERO
    if numbers[MAIN]:
        profile, log, used, placed, num_placed = _main_pass(
            order, records, rules, limits, cols, machine, placer, profile
        )
    started = _records_in(placed, num_placed)
    jobs = np.empty(0, dtype=np.int64)
    if not numbers[BACKFILL]:
        return log, used, jobs, started
    jobs = _candidates(order, records, numbers, placed, num_placed)
    if numbers[MAIN] and len(rules.nodes) > 0:
        # What was free beside what has started, whoever waits for it.
        profile = grouped(numbers[NOW], begins, asleep, free, ONE, SPARE)
        profile = _taken_off(placed, num_placed, records, cols, machine, profile)
    fits, last = _that_fit(jobs, records, cols, machine, profile)
    jobs = jobs[: last + 1]
    for record in jobs:
        records[record, PLANNED] = -1
    if len(jobs) > 0:
        # The same groups anew, with all that is to come; then what starts now, in the same steps.
        ends = expected_ends(cols, running)
        distinct = _coarse(ends, numbers)
        segments = distinct + len(started) + 2 * len(rules.kept_from) + _SPARE_SEGMENTS
        profile = grouped(numbers[NOW], begins, asleep, free, segments, SPARE)
        add_ends(profile, cols, running, ends, arena_node, arena_amount, len(free))
        profile = _again(placed, num_placed, records, cols, machine, profile)
        log, used, placed, num_placed = _backfill_pass(
            jobs, fits, records, rules, limits, cols, machine, placer, profile, log, used
        )
        both = np.empty(len(started) + num_placed // 2, dtype=np.int64)
        both[: len(started)] = started
        both[len(started) :] = _records_in(placed, num_placed)
        started = both
    return log, used, jobs, started


@inner
def _records_in(placed, num_placed):
    """Return the records of a list of :func:`_append`."""
    count = 0
    at = ZERO
    while at < num_placed:
        at += 2 + 3 * placed[at + 1]
        count += 1
    found = np.empty(count, dtype=np.int64)
    at = ZERO
    for i in range(count):
        found[i] = placed[at]
        at += 2 + 3 * placed[at + 1]
    return found


@inner
def _taken_off(placed, num_placed, records, cols, machine, profile):
    """Return a profile of one segment after what the main pass started."""
    at = ZERO
    while at < num_placed:
        request = request_of_record(records, placed[at], cols)
        count = placed[at + 1]
        pieces = placed[at + 2 : at + 2 + 3 * count].copy().reshape(count, 3)
        profile = split_groups(profile, pieces)
        take_off(profile, 0, pieces, request.shape, machine.shapes, machine.capacity)
        at += 2 + 3 * count
    return profile


@kernel
def slurm_pass(
    policy, order, records, rules, limits, weights, cols, shapes, eligible, capacity, scarce,
    places, free, running, arena_node, arena_amount,
):  # fmt: skip
    """
    Start jobs in order until one of their partition does not fit, and backfill around the others.

    Parameters
    ----------
    policy
        ``LOWEST_SWITCH``, or ``CONTIGUOUS`` where the nodes are a line.
    order
        Records in the order of the queue.
    records, rules, limits
        See :mod:`cpsched.kernels.slurm_records`; why records do not start and when they are
        planned is written into them, and what starts counts in the limits.
    weights
        Of each node: jobs get nodes of a lower weight first. Of length 0 where all are equal.
    running
        Rows of the running jobs, by expected end; one that has passed counts as the next second.

    Returns
    -------
    packed, looked_at, started
        Starts, packed as by :func:`cpsched.kernels.start_log.packed` with no head; the records
        that the backfill pass has looked at; those that start.
    """
    # Whether a job fits does not depend on where it then goes.
    machine = machine_at(FIRST_FIT, shapes, eligible, capacity, scarce, places)
    placer = weighted(machine_at(policy, shapes, eligible, capacity, scarce, places), weights)
    nothing = np.empty(0, dtype=np.int64)
    begins = group_starts(nothing, cols, machine, free, running, arena_node, arena_amount)
    for k in range(len(begins)):
        begins[k] |= rules.begins[k]
    log, used, jobs, started = _passes(
        order, records, rules, limits, cols, machine, placer, begins, free, running, arena_node,
        arena_amount,
    )  # fmt: skip
    return packed(log, used, cols, shapes, capacity, NONE, ZERO, nothing), jobs, started


@kernel
def release(records, ended, limits):
    """Let jobs that have ended, or left their nodes, count in no limit any more."""
    for record in ended:
        count_in(limits, records[record, TEMPLATE], record, -1)


@kernel
def charge(records, started, limits):
    """Let jobs count in their limits that somebody else has started."""
    for record in started:
        count_in(limits, records[record, TEMPLATE], record, 1)


@kernel
def all_over_limit(records, first, count, limits):
    """Say whether a limit holds a job in each of its partitions now."""
    for record in range(first, first + count):
        if over_limit(limits, records[record, TEMPLATE], record) < 0:
            return False
    return count > 0


@kernel
def not_running(rows, cols):
    """Return the places, in order, of those of some jobs that do not run any more."""
    places = np.empty(len(rows), dtype=np.int64)
    count = 0
    for i in range(len(rows)):
        if cols[rows[i], STATE] != RUNNING:
            places[count] = i
            count += 1
    return places[:count]
