"""Slurm's scheduling of a queue: the main pass, then the backfill pass."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import NONE, ZERO
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.profile import (
    GROUPS,
    SEGMENTS,
    SPARE,
    copy_row,
    give_back,
    group_into,
    group_places,
    grouped,
)
from cpsched.kernels.start_log import packed
from cpsched.model.columns import EXPECTED_END
from cpsched.slurm.kernels import records as r
from cpsched.slurm.kernels.backfill import backfill_pass
from cpsched.slurm.kernels.candidates import candidates, that_fit
from cpsched.slurm.kernels.main import begin_main, find_groups, main_pass, room_for_passes
from cpsched.slurm.kernels.placed import records_in, without_placed
from cpsched.slurm.kernels.records import count_in, given_of, over_limit

#: Room for segments at first, besides those that must be there.
_SPARE_SEGMENTS = np.int64(34)


@inner
def _add_ends(profile, cols, held, ends):
    """
    Add what running jobs give back, in order of their ends, to a profile of one segment.

    A job that should have ended by now ends in the next second.
    """
    times, rows = profile.times, profile.rows
    places = group_places(profile.first, profile.num[GROUPS], len(held.free))
    last = 0
    for i in range(len(ends)):
        end = max(ends[i], times[0] + 1)
        if end > times[last]:
            last += 1
            times[last] = end
            rows[last] = last
            copy_row(profile, last - 1, last)
        give_back(profile, last, places, held.running[i], cols, held.node, held.amount)
    profile.num[SEGMENTS] = last + 1


@leaf
def _coarse(ends, numbers):
    """
    Let running jobs that end at about the same time end with the last; return how many ends remain.

    As where Slurm looks for a job's start: it takes away the jobs that end within some seconds of
    the first, tries, and goes on with the next ones and more seconds.
    """
    within = numbers[r.ENDS_WITHIN]
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
        within = within + numbers[r.ENDS_MORE] if numbers[r.ENDS_MORE] > 0 else 2 * within
        i = last + 1
        count += 1
    return count


@inner
def run_due(order, given, room, held, starts):
    """
    Run the passes that are due, on groups that are found.

    ``starts`` says whether the main pass has begun and a job may start in it.
    """
    records, rules = given.records, given.rules
    numbers, profile = rules.numbers, room.profile
    log = np.empty(64, dtype=np.int64)
    placed = np.empty(64, dtype=np.int64)
    used = num_placed = ZERO
    if starts:
        log, used, placed, num_placed = main_pass(order, given, room)
    started = records_in(placed, num_placed)
    numbers[r.MAIN_STARTED] = len(started)
    jobs = np.empty(0, dtype=np.int64)
    if not numbers[r.BACKFILL]:
        return log, used, jobs, started
    jobs = candidates(order, records, numbers, placed, num_placed)
    if numbers[r.MAIN] and len(rules.nodes) > 0:
        # What was free beside what has started, whoever waits for it.
        group_into(profile, numbers[r.NOW], room.begins, held.free)
        profile = without_placed(placed, num_placed, given, profile, False)
    room.stamp[0] += 1
    stamp = room.stamp[0]
    fits, last = that_fit(jobs, given, profile, room.totals, stamp)
    jobs = jobs[: last + 1]
    for record in jobs:
        records[record, r.PLANNED] = -1
    if len(jobs) > 0:
        # The same groups anew, with all that is to come; then what starts now, in the same steps.
        ends = given.cols[held.running, EXPECTED_END]
        distinct = _coarse(ends, numbers)
        segments = distinct + len(started) + 2 * len(rules.kept_from) + _SPARE_SEGMENTS
        profile = grouped(numbers[r.NOW], room.begins, held.free, segments, SPARE)
        _add_ends(profile, given.cols, held, ends)
        profile = without_placed(placed, num_placed, given, profile, True)
        log, used, placed, num_placed = backfill_pass(
            jobs, fits, given, profile, log, used, room.numbers, stamp
        )
        started = np.concatenate((started, records_in(placed, num_placed)))
    return log, used, jobs, started


@kernel
def slurm_pass(order, records, rules, limits, cols, nodes, held):
    """
    Start jobs in order until one of their partition does not fit, and backfill around the others.

    Parameters
    ----------
    order
        Records in the order of the queue.
    records, rules, limits, nodes, held
        See :mod:`cpsched.slurm.kernels.records`; why records do not start and when they are
        planned is written into them, and what starts counts in the limits.

    Returns
    -------
    packed, looked_at, started
        Starts, packed as by :func:`cpsched.kernels.start_log.packed` with no head; the records
        that the backfill pass has looked at; those that start.
    """
    given = given_of(records, rules, limits, cols, nodes)
    room = room_for_passes(rules, len(nodes.shapes), *held.free.shape)
    find_groups(room, cols, rules, held)
    starts = rules.numbers[r.MAIN] != 0 and begin_main(order, given, room)
    log, used, jobs, started = run_due(order, given, room, held, starts)
    nothing = np.empty(0, dtype=np.int64)
    found = packed(log, used, cols, nodes.shapes, nodes.capacity, NONE, ZERO, nothing)
    return found, jobs, started


@kernel
def count(records, jobs, limits, sign):
    """Count jobs started by others in their limits (``sign`` 1), or not any more (-1)."""
    for record in jobs:
        count_in(limits, records[record, r.TEMPLATE], record, sign)


@kernel
def holding(records, first, end, limits):
    """Return a counter that holds a job now, -1 if none does in one of its partitions."""
    found = -1
    for record in range(first, end):
        over = over_limit(limits, records[record, r.TEMPLATE], record)
        if over < 0:
            return -1
        if found < 0:
            found = over
    return found
