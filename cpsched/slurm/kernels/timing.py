"""
When Slurm's passes are due.

A main pass over the first jobs comes at once when a job ends, and within ``batch_sched_delay``
after one was submitted; one over all jobs every ``sched_interval``; a backfill pass as soon as
``bf_interval`` is over since the last. None comes where nothing has happened that could make a
difference.
"""

from __future__ import annotations

from cpsched.kernels.arrays import FAR
from cpsched.kernels.inner import leaf


@leaf
def note_end(desk, now):
    """Note that a job has ended, or a reservation has begun or ended."""
    book, settings = desk.book[0], desk.settings[0]
    book.news = 1
    if settings.defers != 0:
        _queue_pass(book, settings, now)
    else:
        due = max(now + settings.lag, book.last + settings.least)
        book.after_end = min(book.after_end, due)


@leaf
def _queue_pass(book, settings, now):
    due = max(now + settings.lag, book.last_after_submit + settings.delay)
    book.after_submit = min(book.after_submit, max(due, book.last + settings.least))


@leaf
def note(desk, now, arrived):
    """Note whether jobs have arrived, and when passes over all jobs are due."""
    book, settings = desk.book[0], desk.settings[0]
    if arrived:
        book.news = 1
        _queue_pass(book, settings, now)
    if book.news == 0:
        return
    book.news = 0
    if settings.interval > 0:
        book.full = min(book.full, -(-now // settings.interval) * settings.interval)
    if settings.backfill_interval > 0:
        due = max(now, book.last_backfill + settings.backfill_interval)
        book.backfill = min(book.backfill, due)


@leaf
def take_due(desk, now):
    """Return how many jobs a main pass considers, 0: none is due, and if backfill is due."""
    book = desk.book[0]
    depth = 0
    if book.full <= now:
        depth = FAR
    elif min(book.after_end, book.after_submit) <= now:
        depth = desk.settings[0].depth
    if depth > 0:
        book.last = now
        if book.after_end > now or depth == FAR:
            book.last_after_submit = now
            book.after_submit = FAR
        book.after_end = FAR
        if depth >= book.num_queued:
            book.full = FAR
    backfill = book.backfill <= now
    if backfill:
        book.backfill, book.last_backfill = FAR, now
    return depth, backfill


@leaf
def next_at(desk, now):
    """Return when there is something to do for the jobs that wait, ``FAR`` for never."""
    book = desk.book[0]
    if book.num_queued == 0:
        return FAR
    found = min(min(book.after_end, book.after_submit), min(book.full, book.backfill))
    if found < FAR:
        found = max(found, now + 1)
    found = min(found, book.change)
    for i in range(book.num_rests):
        found = min(found, desk.lists.rests[i])
    if desk.settings[0].changes == 0 or _changes_nothing(book, desk.settings[0], found):
        return found
    return min(found, book.next_charge)


@leaf
def _changes_nothing(book, settings, found):
    """
    Say whether another order of the queue would start nothing.

    That is where nothing runs, a pass over all jobs has started none, and nothing else is to come:
    otherwise a job that can never start would be waited for without end.
    """
    return book.num_running == 0 and found == FAR and settings.interval > 0
