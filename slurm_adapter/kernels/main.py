"""Slurm's main pass: jobs in order, until one of their partition does not fit."""

from __future__ import annotations

import numpy as np

from cpsched.api.kernels import (
    FITS,
    GROUPS,
    ZERO,
    groups_of,
    inner,
    leaf,
    note_start,
    shortage,
    split_groups,
    take_off,
)
from slurm_adapter.kernels import records as r
from slurm_adapter.kernels.nodes import choose_as_slurm
from slurm_adapter.kernels.placed import append, has_started
from slurm_adapter.kernels.records import count_in, holds_up, over_limit, request_of_record


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


@inner
def _place(given, record, request, profile, low):
    """Return the pieces of a job that fits now on nodes that nobody has reserved, else none."""
    rules, machine = given.rules, given.machine
    until = rules.numbers[r.NOW] + request.duration
    level = profile.levels[0]
    if len(rules.kept_from) > 0:
        _without_kept(profile, rules, given.records[record, r.RESERVATION], until, low)
        level = low
    rooms = np.empty(profile.num[GROUPS], dtype=np.int64)
    if until > given.records[record, r.UNTIL]:
        return np.empty((0, 3), dtype=np.int64)
    if shortage(machine, level, groups_of(profile), request, rooms) != FITS:
        return np.empty((0, 3), dtype=np.int64)
    tight = rules.numbers[r.TIGHT]
    return choose_as_slurm(given.placer, level, groups_of(profile), request, tight)


@inner
def main_pass(order, given, profile):
    """
    Start jobs in order until one of their partition does not fit, on a profile of one segment.

    What started is returned as the log of ``note_start`` and as placements of :func:`append`.
    """
    records, rules, limits, machine = given.records, given.rules, given.limits, given.machine
    numbers = rules.numbers
    # Jobs without a queue have code -1 and are in one queue too.
    blocked = np.zeros(numbers[r.NUM_PARTITIONS] + 1, dtype=np.bool_)
    tried = np.zeros(numbers[r.NUM_PARTITIONS] + 1, dtype=np.int64)
    full = np.zeros(numbers[r.NUM_RESERVATIONS], dtype=np.bool_)
    num_nodes = rules.kept.shape[1] if len(rules.kept_from) > 0 else 0
    low = np.empty((num_nodes, profile.room.shape[1]), dtype=np.int64)
    some_blocked = False
    log = np.empty(64, dtype=np.int64)
    used = ZERO
    placed = np.empty(64, dtype=np.int64)
    num_placed = ZERO
    starts = tested = 0
    array = array_partition = -2
    for record in order:
        row, partition = records[record, r.ROW], records[record, r.PARTITION]
        task, own = records[record, r.ARRAY], records[record, r.RESERVATION]
        if records[record, r.SEVERAL] and has_started(placed, num_placed, records, row):
            continue
        if records[record, r.BEGINS] > numbers[r.NOW]:
            continue
        if starts >= numbers[r.MOST_STARTS] or tested > numbers[r.DEPTH]:
            break
        # What holds for a task of an array holds for the later ones.
        if task >= 0 and task == array and partition == array_partition:
            continue
        array, array_partition = task, partition
        tried[partition + 1] += 1
        if tried[partition + 1] > numbers[r.PARTITION_DEPTH]:
            continue
        tested += 1
        if _waits_for_other(given, record, full, blocked):
            continue
        request = request_of_record(records, record, given.cols)
        over = over_limit(limits, records[record, r.TEMPLATE], record)
        if over >= 0 and not (numbers[r.LIMITS_STOP] and limits.counters[over, r.STOPS]):
            continue
        if over < 0:
            if some_blocked and not _has_nodes(profile, rules, partition, request.nodes_min):
                continue
            if 0 < len(low) < len(profile.line):
                low = np.empty((len(profile.line), low.shape[1]), dtype=np.int64)
            pieces = _place(given, record, request, profile, low)
            if len(pieces) > 0:
                placed, num_placed = append(placed, num_placed, pieces, record)
                profile = split_groups(profile, pieces)
                take_off(profile, 0, pieces, request.shape, machine.shapes, machine.capacity)
                log, used = note_start(log, used, row, profile.first, pieces)
                count_in(limits, records[record, r.TEMPLATE], record, 1)
                starts += 1
                array = -2
                continue
        if own >= 0:
            full[own] = True
        elif holds_up(records, record, numbers):
            blocked[partition + 1] = some_blocked = True
            _block(profile, rules, partition)
    return profile, log, used, placed, num_placed
