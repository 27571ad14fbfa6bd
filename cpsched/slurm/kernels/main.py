"""Slurm's main pass: jobs in order, until one of their partition does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.kernels.arrays import ONE, ZERO
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.profile import (
    GROUPS,
    Profile,
    empty_profile,
    group_into,
    groups_of,
    mark_allocations,
    split_pieces,
    take_off,
)
from cpsched.kernels.rooms import FITS, Groups, shortage
from cpsched.kernels.runs import begin_at, begin_where_differs, words
from cpsched.kernels.start_log import note_start
from cpsched.slurm.kernels import records as r
from cpsched.slurm.kernels.nodes import choose_as_slurm
from cpsched.slurm.kernels.placed import append, has_started
from cpsched.slurm.kernels.records import count_in, holds_up, over_limit, request_of_record

if TYPE_CHECKING:
    from cpsched.util.types import BoolArray, IntArray

# How far a pass is, as numbers: the place of the job that is looked at, how many have been tried,
# how many have started, array and partition of the last task, and whether a partition is blocked.
_PLACE, _TESTED, _STARTED, _ARRAY, _ARRAY_PARTITION, _SOME_BLOCKED = range(6)
_WALK = 6


class Room(NamedTuple):
    """
    Arrays that passes work in, one after the other.

    Attributes
    ----------
    profile, begins
        What is free now on groups of nodes, and where these begin, as bits.
    walk
        How far a pass is.
    blocked, tried
        Of partitions, the first of which is none: whether a job waits for it, and how many jobs
        have been tried.
    full
        Of reservations, whether a job waits for it.
    low, rooms
        What is free beside reservations, and the units of a job that fit on each group.
    stamp
        The number of the backfill pass.
    totals, numbers
        Of each shape, the pass that has written the row, and the units that fit on all nodes; and
        (two rows a shape, the second for jobs of one node) its number among those of the pass.
    """

    profile: Profile
    begins: IntArray
    walk: IntArray
    blocked: BoolArray
    tried: IntArray
    full: BoolArray
    low: IntArray
    rooms: IntArray
    stamp: IntArray
    totals: IntArray
    numbers: IntArray


@leaf
def _without_kept(profile, rules, own, until, low):
    """Fill ``low`` with what is free now but for nodes that others have reserved by ``until``."""
    first, num_groups = profile.first, profile.num[GROUPS]
    level, now = profile.levels[0], rules.numbers[r.NOW]
    for g in range(num_groups):
        for k in range(level.shape[1]):
            low[g, k] = level[g, k]
    for v in range(len(rules.kept_from)):
        if v != own and rules.kept_from[v] < until and now < rules.kept_until[v]:
            for g in range(num_groups):
                if rules.kept[v, first[g]]:
                    for k in range(level.shape[1]):
                        low[g, k] = -1


@leaf
def _block(profile, rules, partition):
    """Block the nodes of a partition for jobs after one that waits for them."""
    if 0 <= partition < len(rules.nodes):
        level, first = profile.levels[0], profile.first
        for g in range(profile.num[GROUPS]):
            if rules.nodes[partition, first[g]]:
                for k in range(level.shape[1]):
                    level[g, k] = -1


@leaf
def _has_nodes(profile, rules, partition, least):
    """Whether a partition has enough nodes that no earlier job waits for."""
    if partition < 0 or partition >= len(rules.nodes):
        return True
    level, first, size = profile.levels[0], profile.first, profile.size
    count = 0
    for g in range(profile.num[GROUPS]):
        if rules.nodes[partition, first[g]] and level[g, 0] >= 0:
            count += size[g]
    return count >= least


@leaf
def _waits_for_other(given, record, full, blocked):
    """Say whether a job waits for its reservation, or those before it for the same nodes."""
    own, partition = given.records[record, r.RESERVATION], given.records[record, r.PARTITION]
    if own >= 0:
        return full[own] or given.rules.kept_from[own] > given.rules.numbers[r.NOW]
    return blocked[partition + 1]


@leaf
def _fits(given, room, record, request, groups):
    """Say whether a job fits now on nodes that nobody has reserved, which are left in ``low``."""
    rules, level = given.rules, room.profile.levels[0]
    until = rules.numbers[r.NOW] + request.duration
    if until > given.records[record, r.UNTIL]:
        return False
    if len(rules.kept_from) > 0:
        own = given.records[record, r.RESERVATION]
        _without_kept(room.profile, rules, own, until, room.low)
        level = room.low
    return shortage(given.machine, level, groups, request, room.rooms) == FITS


@leaf
def _wait_for(given, room, record):
    """Let those behind a job that does not fit wait, too, for what it waits for."""
    own, partition = given.records[record, r.RESERVATION], given.records[record, r.PARTITION]
    if own >= 0:
        room.full[own] = True
    elif holds_up(given.records, record, given.rules.numbers):
        room.blocked[partition + 1] = True
        room.walk[_SOME_BLOCKED] = 1
        _block(room.profile, given.rules, partition)


@leaf
def _next_that_fits(order, given, room, placed, num_placed):
    """Go on to the next job that fits; say whether there is one."""
    records, rules, limits, walk = given.records, given.rules, given.limits, room.walk
    numbers, profile, tried = rules.numbers, room.profile, room.tried
    groups = Groups(profile.first, profile.size, profile.line[: profile.num[GROUPS]])
    for place in range(walk[_PLACE], len(order)):
        record = order[place]
        row, partition = records[record, r.ROW], records[record, r.PARTITION]
        task = records[record, r.ARRAY]
        if records[record, r.SEVERAL] and has_started(placed, num_placed, records, row):
            continue
        if records[record, r.BEGINS] > numbers[r.NOW]:
            continue
        if walk[_STARTED] >= numbers[r.MOST_STARTS] or walk[_TESTED] > numbers[r.DEPTH]:
            return False
        # What holds for a task of an array holds for the later ones.
        if task >= 0 and task == walk[_ARRAY] and partition == walk[_ARRAY_PARTITION]:
            continue
        walk[_ARRAY], walk[_ARRAY_PARTITION] = task, partition
        tried[partition + 1] += 1
        if tried[partition + 1] > numbers[r.PARTITION_DEPTH]:
            continue
        walk[_TESTED] += 1
        if _waits_for_other(given, record, room.full, room.blocked):
            continue
        request = request_of_record(records, record, given.cols)
        over = over_limit(limits, records[record, r.TEMPLATE], record)
        if over >= 0 and not (numbers[r.LIMITS_STOP] and limits.counters[over, r.STOPS]):
            continue
        if over < 0:
            least = request.nodes_min
            if walk[_SOME_BLOCKED] and not _has_nodes(profile, rules, partition, least):
                continue
            if _fits(given, room, record, request, groups):
                walk[_PLACE] = place
                return True
        _wait_for(given, room, record)
    return False


@inner
def room_for_passes(rules, num_shapes, num_nodes, num_kinds):
    """Return room for passes."""
    # Jobs without a queue have code -1 and are in one queue too.
    num_partitions = rules.numbers[r.NUM_PARTITIONS] + 1
    kept = num_nodes if len(rules.kept_from) > 0 else 0
    return Room(
        empty_profile(ONE, num_nodes, num_kinds),
        np.empty(words(num_nodes), dtype=np.int64),
        np.empty(_WALK, dtype=np.int64),
        np.empty(num_partitions, dtype=np.bool_),
        np.empty(num_partitions, dtype=np.int64),
        np.empty(rules.numbers[r.NUM_RESERVATIONS], dtype=np.bool_),
        np.empty((kept, num_kinds), dtype=np.int64),
        np.empty(num_nodes, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros((num_shapes, 2), dtype=np.int64),
        np.zeros((2 * num_shapes, 2), dtype=np.int64),
    )


@leaf
def find_groups(room, cols, rules, held):
    """
    Find groups of nodes: runs that begin at nodes that differ from the one before them.

    For a backfill pass also in what ends on them; without one, nothing is looked at but now. No
    group is in two of the lowest groups of the topology.
    """
    begins = room.begins
    for word in range(len(begins)):
        begins[word] = rules.begins[word]
    begin_at(begins, ZERO)
    begin_where_differs(begins, held.flat, held.free.shape[1])
    if rules.numbers[r.BACKFILL]:
        num_nodes = len(held.free)
        mark_allocations(begins, num_nodes, cols, held.running, held.node, held.amount)
    group_into(room.profile, rules.numbers[r.NOW], begins, held.free)


@leaf
def begin_main(order, given, room):
    """Begin a main pass on groups that are found; say whether a job may start in it."""
    walk = room.walk
    for i in range(_WALK):
        walk[i] = 0
    walk[_ARRAY] = walk[_ARRAY_PARTITION] = -2
    for partition in range(len(room.blocked)):
        room.blocked[partition] = False
        room.tried[partition] = 0
    for own in range(len(room.full)):
        room.full[own] = False
    # Nothing has been placed, whatever array that is.
    return _next_that_fits(order, given, room, room.tried, ZERO)


@inner
def main_pass(order, given, room):
    """
    Start jobs in order until one of their partition does not fit, from the first that fits.

    What started is returned as the log of ``note_start`` and as placements of :func:`append`.
    """
    records, rules, machine, walk = given.records, given.rules, given.machine, room.walk
    profile, tight = room.profile, rules.numbers[r.TIGHT]
    log = np.empty(64, dtype=np.int64)
    placed = np.empty(64, dtype=np.int64)
    used = num_placed = ZERO
    fits = True
    while fits:
        record = order[walk[_PLACE]]
        request = request_of_record(records, record, given.cols)
        level = room.low if len(rules.kept_from) > 0 else profile.levels[0]
        pieces = choose_as_slurm(given.placer, level, groups_of(profile), request, tight)
        if len(pieces) > 0:
            placed, num_placed = append(placed, num_placed, pieces, record)
            # There is room for all nodes as groups.
            split_pieces(profile, pieces)
            take_off(profile, 0, pieces, request.shape, machine.shapes, machine.capacity)
            log, used = note_start(log, used, records[record, r.ROW], profile.first, pieces)
            count_in(given.limits, records[record, r.TEMPLATE], record, 1)
            walk[_STARTED] += 1
            walk[_ARRAY] = -2
        else:
            _wait_for(given, room, record)
        walk[_PLACE] += 1
        fits = _next_that_fits(order, given, room, placed, num_placed)
    return log, used, placed, num_placed
