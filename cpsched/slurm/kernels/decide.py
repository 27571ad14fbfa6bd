"""One decision of Slurm: what has happened since the last, then the passes that are due."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import NONE, ZERO
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.start_log import packed
from cpsched.model import columns as c
from cpsched.slurm.kernels import records as r
from cpsched.slurm.kernels.jobs import NO_PLACE, enqueue, sort_queue, take_out
from cpsched.slurm.kernels.main import begin_main, find_groups, room_for_passes
from cpsched.slurm.kernels.passes import run_due
from cpsched.slurm.kernels.records import count_in, given_of
from cpsched.slurm.kernels.timing import next_at, note, note_end, take_due
from cpsched.slurm.kernels.usage import advance, charge_from, charge_until

#: Why a decision cannot go on, besides those of :mod:`cpsched.slurm.kernels.jobs`: jobs waiting or
#: running are not those that are known.
OTHER_JOBS = 18
#: What there is to do in a decision: compute usage first; run passes, in the main of which a job
#: may start; or the backfill pass alone.
CHARGE, STARTS, BACKFILLS = 19, 20, 21
#: Who finds out which other jobs wait or run than are known: Python, the loop, or it has been done.
BY_PYTHON, BY_LOOP, SEEN_TO = range(3)


@leaf
def _note_ends(desk, limits, cols, now):
    """Let jobs that do not run any more count no more."""
    book, running, table = desk.book[0], desk.lists.running, desk.jobs.table
    ended = 0
    for i in range(book.num_running):
        record = running[i]
        row = table[record, r.ROW]
        if cols[row, c.STATE] != c.RUNNING:
            ended += 1
            count_in(limits, table[record, r.TEMPLATE], record, -1)
            own, billing = table[record, r.ASSOCIATION], desk.jobs.billing[record]
            start, settings = cols[row, c.START], desk.settings[0]
            charge_until(book, settings, desk.charges, desk.tree, own, billing, start, now)
    if ended == 0:
        return
    for i in range(book.num_running - 1, -1, -1):
        if cols[table[running[i], r.ROW], c.STATE] != c.RUNNING:
            running[i] = running[book.num_running - 1]
            book.num_running -= 1
    note_end(desk, now)


@leaf
def _take_new(desk, cols, size, now):
    """Put new jobs into the queue; say why that cannot be done."""
    book = desk.book[0]
    while book.known < size:
        if cols[book.known, c.SHAPE] >= book.num_shapes:
            # A new shape is news, of a job that is held, too.
            book.num_shapes, book.news = cols[book.known, c.SHAPE] + 1, max(book.news, book.is_own)
        if cols[book.known, c.STATE] == c.WAITING:
            why = enqueue(desk, cols, book.known, now)
            if why != 0:
                return why
        book.known += 1
    return 0


@leaf
def compare(desk, cols, waiting, now):
    """
    Let cancelled jobs leave the queue, and take in those that were held; say why it cannot be done.

    For a loop in which nothing else happens to jobs.
    """
    book, lists, table = desk.book[0], desk.lists, desk.jobs.table
    i = 0
    while i < book.num_queued:
        record = lists.order[i]
        if cols[table[record, r.ROW], c.STATE] == c.WAITING:
            i += 1
        else:
            # Others of its records may stand before it.
            take_out(desk, record)
            i = 0
    for row in waiting:
        if row >= len(desk.jobs.first):
            return NO_PLACE
        if desk.jobs.first[row] < 0:
            why = enqueue(desk, cols, row, now)
            if why != 0:
                return why
    return 0


@leaf
def _note_changes(desk, rules, now):
    """Note reservations that begin or end, and jobs that have rested; say if there are some."""
    book, rests = desk.book[0], desk.lists.rests
    if book.change <= now:
        book.change = r.next_change(rules.kept_from, rules.kept_until, now)
        note_end(desk, now)
    left = 0
    for i in range(book.num_rests):
        if rests[i] > now:
            rests[left] = rests[i]
            left += 1
    rested = left < book.num_rests
    book.num_rests = left
    return rested


@leaf
def _note_starts(desk, started, now):
    """Remove starting jobs from the queue, and charge them."""
    book, running = desk.book[0], desk.lists.running
    for record in started:
        running[book.num_running] = record
        book.num_running += 1
        take_out(desk, record)
        own, billing = desk.jobs.table[record, r.ASSOCIATION], desk.jobs.billing[record]
        charge_from(book, desk.settings[0], desk.charges, own, billing, now)


@leaf
def _take_up(desk, limits, cols, size, waiting, num_running, other, reordered, now):
    """Bring what is known up to date; say why it cannot be done."""
    book = desk.book[0]
    if other != SEEN_TO and num_running != book.num_running:
        _note_ends(desk, limits, cols, now)
    why = _take_new(desk, cols, size, now)
    same = len(waiting) == book.num_waiting and num_running == book.num_running
    if why != 0 or other == SEEN_TO or (same and reordered == book.reordered):
        return why
    return compare(desk, cols, waiting, now) if other == BY_LOOP else OTHER_JOBS


@leaf
def prepare(desk, given, room, held, size, waiting, other, reordered, now):
    """
    Bring everything up to date, and look for passes that are due and may start something.

    Parameters
    ----------
    size, waiting
        How many rows of the job store are in use, and those of the waiting jobs.
    other
        Who looks for jobs that came or went otherwise: ``BY_PYTHON``, ...
    reordered
        How often a job came back to the queue, or changed in it.

    Returns
    -------
    int
        0 for nothing to do; ``CHARGE``, ``STARTS`` or ``BACKFILLS`` for what :func:`go_through`
        does; else why Python has to help before it can go on.
    """
    book, rules, cols = desk.book[0], given.rules, given.cols
    numbers = rules.numbers
    if now >= book.next_charge:
        return CHARGE
    why = _take_up(
        desk, given.limits, cols, size, waiting, len(held.running), other, reordered, now
    )
    left = min(len(desk.lists.running) - book.num_running, len(desk.charges.late) - book.num_late)
    if why == 0 and left < book.num_queued:
        why = NO_PLACE
    if why != 0:
        return why
    rested = _note_changes(desk, rules, now)
    if book.num_queued > 0:
        note(desk, now, book.arrived != 0 or rested)
        depth, backfill = take_due(desk, now)
        if depth > 0 or backfill:
            numbers[r.NOW], numbers[r.MAIN], numbers[r.BACKFILL] = now, depth > 0, backfill
            numbers[r.DEPTH] = depth
            find_groups(room, cols, rules, held)
            if depth > 0 and begin_main(desk.lists.order[: book.num_queued], given, room):
                return STARTS
            if backfill:
                return BACKFILLS
    _finish(desk, reordered, now)
    return 0


@leaf
def _finish(desk, reordered, now):
    """Note when there is something to do again."""
    book = desk.book[0]
    book.again_at = next_at(desk, now)
    book.arrived, book.reordered = 0, reordered


@inner
def _charge(desk, now):
    """Charge what runs, and sort the queue by what follows from it."""
    book, settings = desk.book[0], desk.settings[0]
    at = advance(book, settings, desk.charges, desk.tree, now)
    if settings.changes != 0 and sort_queue(desk, at):
        book.news = 1


@inner
def go_through(why, desk, given, room, held, size, waiting, other, reordered, now):
    """
    Do what :func:`prepare` has found to be done, with the same parameters.

    Returns
    -------
    why, packed, looked_at, started
        0, or why Python has to help before it can go on; then as
        :func:`cpsched.slurm.kernels.passes.slurm_pass`.
    """
    nothing, found = np.zeros(0, dtype=np.int64), np.zeros(5, dtype=np.int64)
    looked_at, started = nothing, nothing
    if why == CHARGE:
        _charge(desk, now)
        why = prepare(desk, given, room, held, size, waiting, other, reordered, now)
    if why in (STARTS, BACKFILLS):
        machine, order = given.machine, desk.lists.order[: desk.book[0].num_queued]
        log, used, looked_at, started = run_due(order, given, room, held, why == STARTS)
        found = packed(log, used, given.cols, machine.shapes, machine.capacity, NONE, ZERO, nothing)
        _note_starts(desk, started, now)
        _finish(desk, reordered, now)
        why = 0
    return why, found, looked_at, started


@kernel
def decide(desk, rules, limits, nodes, cols, held, size, waiting, other, reordered, now):
    """Decide once: :func:`prepare`, then :func:`go_through`."""
    given = given_of(desk.jobs.table, rules, limits, cols, nodes)
    room = room_for_passes(rules, len(nodes.shapes), *held.free.shape)
    why = prepare(desk, given, room, held, size, waiting, other, reordered, now)
    return go_through(why, desk, given, room, held, size, waiting, other, reordered, now)
