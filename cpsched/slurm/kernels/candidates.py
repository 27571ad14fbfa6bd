"""Which jobs a backfill pass looks at, and which of them may still start."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.kernels.arrays import FAR, ZERO
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.profile import SEGMENTS, groups_of
from cpsched.kernels.rooms import FITS, MANY, Request, room_on, shortage
from cpsched.kernels.windows import least_in
from cpsched.model.columns import NODES_MAX, NODES_MIN, RUNTIME_ESTIMATE, SHAPE_REQUEST, UNITS
from cpsched.slurm.kernels import records as r
from cpsched.slurm.kernels.placed import has_started
from cpsched.slurm.kernels.records import holds_up, over_limit

if TYPE_CHECKING:
    from cpsched.util.types import IntArray


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
def that_fit(jobs, given, profile, known, stamp):
    """
    Say of some jobs which could start now if none of the others did.

    ``known`` is ``totals`` of a :class:`cpsched.slurm.kernels.main.Room`, ``stamp`` the pass.
    """
    records, rules, machine = given.records, given.rules, given.machine
    now = rules.numbers[r.NOW]
    fits = np.zeros(len(jobs), dtype=np.bool_)
    last = -1
    for i in range(len(jobs)):
        record = jobs[i]
        own, shape = records[record, r.RESERVATION], records[record, r.ASKS]
        if records[record, r.BEGINS] > now or (own >= 0 and rules.kept_from[own] > now):
            continue
        if known[shape, 0] != stamp:
            known[shape, 0] = stamp
            known[shape, 1] = _group_total(machine, profile.levels[0], groups_of(profile), shape)
        if known[shape, 1] >= given.cols[records[record, r.ROW], UNITS]:
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
def note_limits(jobs, begin, given, over):
    """Note the limit that each job from place ``begin`` on is over: until another starts."""
    for k in range(begin, len(jobs)):
        over[k] = over_limit(given.limits, given.records[jobs[k], r.TEMPLATE], jobs[k])


@leaf
def bar(jobs, begin, given, users, ahead, over, barred):
    """
    Bar the jobs, from place ``begin`` on, before which a pass considers too many of their user.

    It does unless another job starts before: that may put one over a limit, and then it does not
    count. ``users`` is what has been counted so far; ``ahead`` is for a copy. Tasks of arrays are
    not counted here, as they may be passed over with one that does not fit. Where others are told
    of plans, nothing is barred.
    """
    records, numbers = given.records, given.rules.numbers
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
        if over[k] < 0:
            ahead[user] += 1


@leaf
def last_that_may_start(
    last, i, jobs, fits, over, barred, tallies, asks, failed, given, profile, groups, low, rooms
):  # fmt: skip
    """
    Return the last place, from ``i`` to ``last``, of a job that may be the next to start; -1: none.

    A pass only takes nodes and counts up, so what may not start now may not later in it, either.
    """
    records, numbers, cols = given.records, given.rules.numbers, given.cols
    for k in range(last, i - 1, -1):
        if not fits[k] or barred[k] or over[k] >= 0:
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
        if too_many(tallies, numbers, records, record, 0):
            continue
        fits[k] = _may_start_now(given, profile, groups, request, failed[d], low, rooms)
        if fits[k]:
            return k
    return -1


@inner
def no_tallies(numbers):
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
def too_many(tallies, numbers, records, record, counted):
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
def may_reserve(tallies, numbers, records, record, of_array):
    """Say whether a job that has to wait may have a reservation, its array having ``of_array``."""
    partition = records[record, r.PARTITION]
    if not holds_up(records, record, numbers):
        return False
    counts = 0 <= partition < len(tallies.reserved)
    if counts and tallies.reserved[partition] >= numbers[r.PARTITION_RESERVATIONS]:
        return False
    return records[record, r.ARRAY] < 0 or of_array < numbers[r.ARRAY_RESERVATIONS]
