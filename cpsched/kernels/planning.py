"""Plan the whole queue: the first window for every job, after those before it."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.ahead import end_jobs, ends_of, next_end, profile_now
from cpsched.kernels.arrays import FAR, NONE, ONE, ZERO, filled
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.list_pass import start_now
from cpsched.kernels.pass_state import begin_pass, machine_of, may_fit, state_of, take
from cpsched.kernels.profile import (
    SEGMENTS,
    copy_row,
    occupy_groups,
    profile_of_nodes,
    split_groups,
)
from cpsched.kernels.rooms import Request, machine_at, request_of
from cpsched.kernels.start_bounds import asks_of, numbered, occupy_known, remember, seen_start
from cpsched.kernels.start_log import note_start, packed
from cpsched.kernels.windows import find_window


@leaf
def _last_candidate(state, rows, first, last):
    """Return the last place, ``first`` or later, of a job that may fit now; else the one before."""
    while last >= first and not may_fit(state, rows[last]):
        last -= 1
    return last


@inner
def _profile(state, ends, segments):
    """Return what is free over time as jobs end, with room for so many segments."""
    profile, places = profile_now(state, ends, segments)
    second = ends.now
    last = k = 0
    while True:
        second = next_end(ends, second, k)
        if second == FAR:
            break
        last += 1
        profile.times[last] = second
        profile.rows[last] = last
        copy_row(profile, last - 1, last)
        k = end_jobs(ends, second, k, profile, places, last)
    profile.num[SEGMENTS] = last + 1
    return profile


@kernel
def plan_pass(
    policy, now, rows, depth, full, cols, shapes, eligible, memory, job_classes, free,
    running, arena_node, arena_amount,
):  # fmt: skip
    """
    Give jobs, in the order given, the first window in which they fit after those before them.

    Parameters
    ----------
    rows
        Rows of the job store, in order.
    depth
        How many of the jobs that cannot start now get a reservation; later jobs only start if they
        delay none of these.
    full
        1: plan every job. 0: stop as soon as no later job could start now.
    memory, job_classes
        See :mod:`cpsched.kernels.pass_state`.
    running
        Rows of the running jobs, by expected end; one that has passed counts as the next second.

    Returns
    -------
    packed, planned
        Starts, packed as by :func:`cpsched.kernels.start_log.packed` with no head; and the planned
        start of each job, -1 where it was not planned.
    """
    num_nodes, num_kinds = free.shape
    state = state_of(memory, job_classes, free, cols, shapes, eligible)
    begin_pass(state, free)
    machine = machine_of(policy, state)
    planned = filled(len(rows), NONE)
    log = np.empty(64, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int64)
    used = ZERO
    first = 0
    # Before the first reservation, what fits now fits for as long as it likes.
    while first < len(rows):
        before = used
        log, used = start_now(policy, state, rows[first], log, used)
        if used == before:
            break
        planned[first] = now
        first += 1
    last = len(rows) - 1
    if full == 0:
        last = _last_candidate(state, rows, first, last)
    if last < first:
        return packed(log, used, cols, shapes, machine.capacity, NONE, ZERO, nothing), planned
    ends = ends_of(now, state, running, arena_node, arena_amount, log[:used])
    profile = _profile(state, ends, 1 + len(running) + len(rows))
    number, distinct = numbered(rows[first : last + 1], cols, len(shapes))
    asks = asks_of(number, distinct, len(profile.times))
    most, seen, num_seen = asks.most, asks.seen, asks.num_seen
    low = np.empty((num_nodes, num_kinds), dtype=np.int64)
    reserved = 0
    for i in range(first, len(rows)):
        if i > last:
            break
        row, d = rows[i], number[i - first]
        request = request_of(cols, row)
        # Without a reservation to give, only a start now matters.
        now_only = full == 0 and reserved >= depth
        if now_only and not may_fit(state, row):
            continue
        start = seen_start(seen[d], num_seen[d], request, shapes, num_nodes, now)
        if now_only and start > now:
            continue
        count = profile.num[SEGMENTS]
        begin = np.searchsorted(profile.times[:count], start)
        until = 1 if now_only else count
        at, pieces = find_window(machine, request, begin, until, profile, most[d], low, ONE)
        if at >= 0:
            start = profile.times[at]
            planned[i] = start
        else:
            start = FAR if until == count else profile.times[until]
        num_seen[d] = remember(seen[d], num_seen[d], request, shapes, num_nodes, start)
        if at < 0 or (at > 0 and reserved >= depth):
            continue
        profile = split_groups(profile, pieces)
        occupy_known(profile, most, at, request, pieces, shapes, machine.capacity)
        reserved += at > 0
        if at == 0:
            log, end = note_start(log, used, row, profile.first, pieces)
            take(state, row, log, used + 2, end)
            used = end
            if full == 0:
                last = _last_candidate(state, rows, i + 1, last)
    return packed(log, used, cols, shapes, machine.capacity, NONE, ZERO, nothing), planned


@kernel
def list_on_nodes(
    policy, rows, duration, order, occupies, cols, shapes, eligible, capacity, worth, places,
    times, levels,
):  # fmt: skip
    """
    Give jobs, in some order, the first window in which they fit on what nodes have over time.

    Parameters
    ----------
    rows, duration
        Of the n jobs: rows of the store, and for how many seconds.
    order
        Positions of the jobs.
    occupies
        Whether each takes its window from those after it.
    times, levels
        Nodes have ``levels[i]``, shape ``(N, R)``, from ``times[i]`` on; never decreasing.

    Returns
    -------
    start, takes
        -1 for a job that fits nowhere; units of each job on each node, shape ``(n, N)``.
    """
    machine = machine_at(policy, shapes, eligible, capacity, worth, places)
    num_nodes, num_kinds = capacity.shape
    profile = profile_of_nodes(times, levels, len(rows) if occupies else 0)
    low = np.empty((num_nodes, num_kinds), dtype=np.int64)
    start = filled(len(rows), NONE)
    takes = np.zeros((len(rows), num_nodes), dtype=np.int64)
    for job in order:
        asked = request_of(cols, rows[job])
        request = Request(asked.shape, asked.units, duration[job], asked.nodes_min, asked.nodes_max)
        most = filled(len(profile.times), FAR)
        at, pieces = find_window(
            machine, request, ZERO, profile.num[SEGMENTS], profile, most, low, ONE
        )
        if at < 0:
            continue
        start[job] = profile.times[at]
        for p in range(len(pieces)):
            takes[job, pieces[p, 0]] = pieces[p, 2]
        if occupies:
            end = start[job] + duration[job]
            occupy_groups(profile, at, end, pieces, request.shape, shapes, capacity)
    return start, takes
