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
    group_starts,
    grouped,
    groups_of,
    occupy_groups,
    split_groups,
    take_off,
)
from cpsched.kernels.rooms import FITS, group_total, machine_at, request_of, shortage
from cpsched.kernels.slurm_nodes import choose_as_slurm
from cpsched.kernels.start_bounds import asks_of, numbered, occupy_known, remember, seen_start
from cpsched.kernels.start_log import begin_entry, note_start, packed
from cpsched.kernels.windows import find_window
from cpsched.model.columns import QUEUE, SHAPE, UNITS


@leaf
def _close(profile, at, end, pieces):
    """Leave nothing of the nodes of a placement to anybody, from segment ``at`` until ``end``."""
    times, rows, levels, room = profile.times, profile.rows, profile.levels, profile.room
    num_kinds = room.shape[1]
    i = at
    while i < profile.num[SEGMENTS] and times[i] < end:
        row = rows[i]
        for p in range(len(pieces)):
            if pieces[p, 2] > 0:
                g, nodes = pieces[p, 0], pieces[p, 1]
                for r in range(num_kinds):
                    room[row, r] -= levels[row, g, r] * nodes
                    # Less than nothing: a job that asks for nothing must not go there either.
                    levels[row, g, r] = -1
        i += 1


@inner
def _append(list_, used, pieces, row):
    """Append a row, a count and that many pieces to a growing list; return it and its length."""
    list_, used = begin_entry(list_, used, row, len(pieces), 3 * len(pieces))
    for p in range(len(pieces)):
        for k in range(3):
            list_[used] = pieces[p, k]
            used += 1
    return list_, used


@inner
def _last_that_fits(jobs, cols, shapes, machine, profile):
    """Return the place of the last of some jobs that could start now on its own, or -1."""
    known = filled(len(shapes), NONE)
    last = -1
    for i in range(len(jobs)):
        shape = cols[jobs[i], SHAPE]
        if known[shape] < 0:
            known[shape] = group_total(machine, profile.levels[0], groups_of(profile), shape)
        if known[shape] >= cols[jobs[i], UNITS]:
            last = i
    return last


@inner
def _main_pass(rows, cols, machine, placer, profile):
    """
    Start jobs in order until one of their queue does not fit, on a profile of one segment.

    Returns
    -------
    profile, log, used, placed, left
        The profile with what started taken off; the log of starts (``note_start``) with its
        length; rows and placements of what started (:func:`_append`); rows of what did not.
    """
    most_queue = 0
    for row in rows:
        most_queue = max(most_queue, cols[row, QUEUE])
    blocked = np.zeros(most_queue + 2, dtype=np.bool_)
    left = np.empty(len(rows), dtype=np.int64)
    num_left = 0
    log = np.empty(64, dtype=np.int64)
    used = ZERO
    placed = np.empty(64, dtype=np.int64)
    num_placed = 0
    for row in rows:
        # Jobs without a queue have code -1 and are in one queue too.
        queue = cols[row, QUEUE] + 1
        if not blocked[queue]:
            request = request_of(cols, row)
            rooms = np.empty(profile.num[GROUPS], dtype=np.int64)
            pieces = np.empty((0, 3), dtype=np.int64)
            if shortage(machine, profile.levels[0], groups_of(profile), request, rooms) == FITS:
                pieces = choose_as_slurm(placer, profile.levels[0], groups_of(profile), request)
            if len(pieces) > 0:
                placed, num_placed = _append(placed, num_placed, pieces, row)
                profile = split_groups(profile, pieces)
                take_off(profile, 0, pieces, request.shape, machine.shapes, machine.capacity)
                log, used = note_start(log, used, row, profile.first, pieces)
                continue
            blocked[queue] = True
        left[num_left] = row
        num_left += 1
    return profile, log, used, placed[:num_placed], left[:num_left]


@inner
def _again(placed, cols, machine, profile):
    """Return the profile after what the main pass started, placed in the same steps."""
    now = profile.times[0]
    at = 0
    while at < len(placed):
        request = request_of(cols, placed[at])
        count = placed[at + 1]
        pieces = placed[at + 2 : at + 2 + 3 * count].copy().reshape(count, 3)
        profile = split_groups(profile, pieces)
        end = now + request.duration
        occupy_groups(profile, 0, end, pieces, request.shape, machine.shapes, machine.capacity)
        at += 2 + 3 * count
    return profile


@inner
def _backfill_pass(jobs, latest, close, cols, machine, placer, profile, planned, log, used):
    """
    Plan jobs in order, each behind those before it, and start those planned now.

    Parameters
    ----------
    jobs
        Their rows.
    latest
        No job is planned later than this second.
    planned
        Filled with the planned starts.
    log, used
        Of the starts so far; returned with those of this pass.
    """
    shapes, capacity = machine.shapes, machine.capacity
    num_nodes, num_kinds = capacity.shape
    now = profile.times[0]
    number, distinct = numbered(jobs, cols, len(shapes))
    asks = asks_of(number, distinct, len(profile.times))
    most, seen, num_seen = asks.most, asks.seen, asks.num_seen
    low = np.empty((num_nodes, num_kinds), dtype=np.int64)
    for i in range(len(jobs)):
        row, d = jobs[i], number[i]
        request = request_of(cols, row)
        count = profile.num[SEGMENTS]
        start = seen_start(seen[d], num_seen[d], request, shapes, num_nodes, now)
        begin = np.searchsorted(profile.times[:count], start)
        until = np.searchsorted(profile.times[:count], latest + 1)
        at, _ = find_window(machine, request, begin, until, profile, most[d], low)
        start = FAR if at < 0 else profile.times[at]
        num_seen[d] = remember(seen[d], num_seen[d], request, shapes, num_nodes, start)
        if at < 0:
            continue
        planned[i] = start
        pieces = choose_as_slurm(placer, low, groups_of(profile), request)
        profile = split_groups(profile, pieces)
        occupy_known(profile, most, at, request, pieces, shapes, capacity)
        if at == 0:
            log, used = note_start(log, used, row, profile.first, pieces)
        elif close:
            _close(profile, at, start + request.duration, pieces)
    return log, used


@kernel
def slurm_pass(
    policy, now, rows, backfill, depth, window, close, cols, shapes, eligible, capacity, scarce,
    places, free, running, arena_node, arena_amount,
):  # fmt: skip
    """
    Start jobs in order until one of their queue does not fit, and backfill around the others.

    Parameters
    ----------
    policy
        ``LOWEST_SWITCH``, or ``CONTIGUOUS`` where the nodes are a line.
    rows
        Rows of the job store in order of priority.
    backfill
        Whether there is a backfill pass behind the main one.
    depth
        How many jobs the backfill pass looks at.
    window
        A job gets no reservation later than so many seconds from now.
    close
        Whether a reservation leaves nothing of its nodes to others.
    running
        Rows of the running jobs, by expected end; one that has passed counts as the next second.

    Returns
    -------
    packed, left, planned
        Starts, packed as by :func:`cpsched.kernels.start_log.packed` with no head; the rows the
        backfill pass has looked at, and the planned start of each, -1 where it has none.
    """
    num_nodes = len(free)
    # Whether a job fits does not depend on where it then goes.
    machine = machine_at(FIRST_FIT, shapes, eligible, capacity, scarce, places)
    placer = machine_at(policy, shapes, eligible, capacity, scarce, places)
    begins = group_starts(rows, cols, machine, free, running, arena_node, arena_amount)
    asleep = np.zeros(0, dtype=np.bool_)
    profile = grouped(now, begins, asleep, free, ONE, SPARE)
    profile, log, used, placed, left = _main_pass(rows, cols, machine, placer, profile)
    started = len(rows) - len(left)
    left = left[:depth]
    last = -1
    if backfill:
        last = _last_that_fits(left, cols, shapes, machine, profile)
    left = left[: last + 1]
    planned = filled(len(left), NONE)
    if last >= 0:
        # The same groups anew, with all that is to come; then what starts now, in the same steps.
        segments = 2 + len(running) + started + len(left)
        profile = grouped(now, begins, asleep, free, segments, SPARE)
        add_ends(profile, cols, running, arena_node, arena_amount, num_nodes)
        profile = _again(placed, cols, machine, profile)
        log, used = _backfill_pass(
            left, now + window, close, cols, machine, placer, profile, planned, log, used
        )
    nothing = np.empty(0, dtype=np.int64)
    return packed(log, used, cols, shapes, capacity, NONE, ZERO, nothing), left, planned
