"""Slurm's scheduling of a queue: the main pass, then the backfill pass."""

from __future__ import annotations

import numpy as np

from cpsched.api.kernels import (
    FIRST_FIT,
    NONE,
    ONE,
    SPARE,
    ZERO,
    add_ends,
    expected_ends,
    group_starts,
    grouped,
    inner,
    kernel,
    leaf,
    machine_at,
    packed,
    weighted,
)
from cpsched.api.model import RUNNING, STATE
from slurm_adapter.kernels.backfill import backfill_pass, candidates, that_fit
from slurm_adapter.kernels.main import main_pass
from slurm_adapter.kernels.placed import occupied, records_in, taken_off
from slurm_adapter.kernels.records import (
    BACKFILL,
    ENDS_MORE,
    ENDS_WITHIN,
    MAIN,
    NOW,
    PLANNED,
    TEMPLATE,
    count_in,
    over_limit,
)

#: Room for segments at first, besides those that must be there.
_SPARE_SEGMENTS = np.int64(34)


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
    profile = grouped(numbers[NOW], begins, free, ONE, SPARE)
    log = np.empty(64, dtype=np.int64)
    placed = np.empty(64, dtype=np.int64)
    used = num_placed = ZERO
    if numbers[MAIN]:
        profile, log, used, placed, num_placed = main_pass(
            order, records, rules, limits, cols, machine, placer, profile
        )
    started = records_in(placed, num_placed)
    jobs = np.empty(0, dtype=np.int64)
    if not numbers[BACKFILL]:
        return log, used, jobs, started
    jobs = candidates(order, records, numbers, placed, num_placed)
    if numbers[MAIN] and len(rules.nodes) > 0:
        # What was free beside what has started, whoever waits for it.
        profile = grouped(numbers[NOW], begins, free, ONE, SPARE)
        profile = taken_off(placed, num_placed, records, cols, machine, profile)
    fits, last = that_fit(jobs, records, rules, limits, cols, machine, profile)
    jobs = jobs[: last + 1]
    for record in jobs:
        records[record, PLANNED] = -1
    if len(jobs) > 0:
        # The same groups anew, with all that is to come; then what starts now, in the same steps.
        ends = expected_ends(cols, running)
        distinct = _coarse(ends, numbers)
        segments = distinct + len(started) + 2 * len(rules.kept_from) + _SPARE_SEGMENTS
        profile = grouped(numbers[NOW], begins, free, segments, SPARE)
        add_ends(profile, cols, running, ends, arena_node, arena_amount, len(free))
        profile = occupied(placed, num_placed, records, cols, machine, profile)
        log, used, placed, num_placed = backfill_pass(
            jobs, fits, records, rules, limits, cols, machine, placer, profile, log, used
        )
        both = np.empty(len(started) + num_placed // 2, dtype=np.int64)
        both[: len(started)] = started
        both[len(started) :] = records_in(placed, num_placed)
        started = both
    return log, used, jobs, started


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
        See :mod:`slurm_adapter.kernels.records`; why records do not start and when they are
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
    """Count jobs started by others in their limits."""
    for record in started:
        count_in(limits, records[record, TEMPLATE], record, 1)


@kernel
def holding(records, first, count, limits):
    """Return a counter that holds a job now, -1 if none does in one of its partitions."""
    found = -1
    for record in range(first, first + count):
        over = over_limit(limits, records[record, TEMPLATE], record)
        if over < 0:
            return -1
        if found < 0:
            found = over
    return found


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
