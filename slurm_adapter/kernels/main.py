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
from slurm_adapter.kernels.nodes import choose_as_slurm
from slurm_adapter.kernels.placed import append, has_started
from slurm_adapter.kernels.records import (
    ARRAY,
    BEGINS,
    DEPTH,
    LIMITS_STOP,
    MOST_STARTS,
    NOW,
    NUM_PARTITIONS,
    NUM_RESERVATIONS,
    PARTITION,
    PARTITION_DEPTH,
    RESERVATION,
    ROW,
    SEVERAL,
    TEMPLATE,
    TIGHT,
    UNTIL,
    count_in,
    holds_up,
    over_limit,
    request_of_record,
)


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
    """Block the nodes of a partition for jobs after one that waits for them."""
    if 0 <= partition < len(rules.nodes):
        level, first = profile.levels[0], profile.first
        for g in range(profile.num[GROUPS]):
            if rules.nodes[partition, first[g]]:
                for r in range(level.shape[1]):
                    level[g, r] = -1


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


@inner
def main_pass(order, records, rules, limits, cols, machine, placer, profile):
    """
    Start jobs in order until one of their partition does not fit, on a profile of one segment.

    Returns
    -------
    profile, log, used, placed, num_placed
        The profile with what started taken off; the log of starts (``note_start``) with its
        length; records and placements of what started (:func:`append`) with their length.
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
        if records[record, SEVERAL] and has_started(placed, num_placed, records, row):
            continue
        if records[record, BEGINS] > numbers[NOW]:
            continue
        if starts >= numbers[MOST_STARTS] or tested > numbers[DEPTH]:
            break
        # What holds for a task of an array holds for the later ones.
        is_task = records[record, ARRAY] >= 0
        if is_task and records[record, ARRAY] == array and partition == array_partition:
            continue
        array, array_partition = records[record, ARRAY], partition
        tried[partition] += 1
        if tried[partition] > numbers[PARTITION_DEPTH]:
            continue
        tested += 1
        if full[own] if own >= 0 else blocked[partition]:
            continue
        if own >= 0 and rules.kept_from[own] > numbers[NOW]:
            continue
        request = request_of_record(records, record, cols)
        over = over_limit(limits, records[record, TEMPLATE], record)
        if over >= 0:
            if not (numbers[LIMITS_STOP] and limits.stops[over]):
                continue
        elif some_blocked and not _has_nodes(profile, rules, partition - 1, request.nodes_min):
            continue
        else:
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
                pieces = choose_as_slurm(placer, level, groups_of(profile), request, numbers[TIGHT])
            if len(pieces) > 0:
                placed, num_placed = append(placed, num_placed, pieces, record)
                profile = split_groups(profile, pieces)
                take_off(profile, 0, pieces, request.shape, machine.shapes, machine.capacity)
                log, used = note_start(log, used, row, profile.first, pieces)
                count_in(limits, records[record, TEMPLATE], record, 1)
                starts += 1
                array = -2
                continue
        if own >= 0:
            full[own] = True
        elif holds_up(records, record, numbers):
            blocked[partition] = some_blocked = True
            _block(profile, rules, partition - 1)
    return profile, log, used, placed, num_placed
