"""
Jobs that are held or cancelled, and the seconds at which Slurm is asked, in the compiled loop.

As in the simulator of ``cpsched``, with the same events in the same order.
"""

from __future__ import annotations

from cpsched.kernels.arrays import FAR
from cpsched.kernels.event_loop import (
    IDLE,
    PAUSED,
    end_job,
    enter_job,
    keep_in_queue,
    take_off_nodes,
)
from cpsched.kernels.events import PHASE_BITS, SECOND, forget, next_second, phase_of, pop, push
from cpsched.kernels.inner import leaf
from cpsched.kernels.start_log import HEADER
from cpsched.model import columns as c
from cpsched.util.types import MISSING, DependencyType

#: Phases of a second, as the simulator has them.
_END, _CANCEL, _SUBMIT, _RELEASE, _AFTER_SUBMIT, _LATER = 0, 2, 3, 4, 5, 6
_AFTEROK, _AFTERNOTOK, _AFTER = (
    int(kind) for kind in (DependencyType.AFTEROK, DependencyType.AFTERNOTOK, DependencyType.AFTER)
)
_MISSING = int(MISSING)
#: Positions in ``Holds.outcomes``.
_NOT_ENDED, _COMPLETED, _CANCELLED, _KILLED, _NEVER_STARTED = range(5)


@leaf
def _push(count, record, second, phase, row):
    count.counter += 1
    push(record.events, count.num_events, second, (phase << PHASE_BITS) + count.counter, row)
    count.num_events += 1


@leaf
def _fulfilled(holds, record, row):
    """Say whether a dependency is fulfilled; -1: not yet, 0: it never will be."""
    needed, kind = holds.dependency[row], holds.kind[row]
    outcome = record.outcome[needed]
    if outcome == holds.outcomes[_NOT_ENDED]:
        return 1 if kind == _AFTER and record.start[needed] != _MISSING else -1
    if kind in (_AFTEROK, _AFTERNOTOK):
        failed = outcome != holds.outcomes[_COMPLETED] or holds.failed[needed]
        return 1 if failed == (kind == _AFTERNOTOK) else 0
    return 1


@leaf
def _hold(count, holds, record, row):
    """Say whether a job may not start yet, and see to it that it is released then."""
    fulfilled = 1 if holds.dependency[row] < 0 else _fulfilled(holds, record, row)
    if fulfilled == 0:
        _push(count, record, count.now, _AFTER_SUBMIT, row)
    elif fulfilled > 0 and holds.begin[row] > count.now:
        _push(count, record, holds.begin[row], _RELEASE, row)
    elif fulfilled > 0:
        return False
    count.num_held += 1
    return True


@leaf
def _release_dependents(count, holds, cols, record, row):
    """Check again the held jobs that depend on a job."""
    for i in range(holds.first[row], holds.first[row + 1]):
        dependent = holds.dependents[i]
        if dependent < count.next_submit and cols[dependent, c.STATE] == c.HELD:
            _push(count, record, count.now, _RELEASE, dependent)


@leaf
def _admit(count, log, holds, tables, lists, record):
    """Let the jobs arrive that are submitted now."""
    cols, first, row = tables.cols, count.next_submit, count.next_submit
    while row < len(log.submit) and log.submit[row] == count.now:
        count.is_due = 1
        enter_job(count, log, cols, row)
        row += 1
        count.next_submit = row
    for row in range(first, count.next_submit):
        if _hold(count, holds, record, row):
            cols[row, c.STATE] = c.HELD
        else:
            cols[row, c.STATE] = c.WAITING
            lists.queue[count.queue_end] = row
            count.queue_end += 1
    for row in range(first, count.next_submit):
        if holds.cancel[row] != _MISSING:
            after = _CANCEL if holds.cancel[row] > count.now else _AFTER_SUBMIT
            _push(count, record, holds.cancel[row], after, row)


@leaf
def _release(count, holds, cols, queue, record, row):
    """Let a held job into the queue, at its place, unless it is held for another reason too."""
    if cols[row, c.STATE] != c.HELD:
        return
    count.num_held -= 1
    if _hold(count, holds, record, row):
        return
    at = count.queue_end
    while at > count.queue_first and queue[at - 1] > row:
        queue[at] = queue[at - 1]
        at -= 1
    queue[at] = row
    count.queue_end += 1
    cols[row, c.STATE] = c.WAITING
    count.reordered += 1
    count.is_due = 1


@leaf
def _cancel(count, holds, tables, lists, record, row):
    """Cancel a job that waits or is held; kill one that runs where the log says so."""
    cols, state = tables.cols, tables.cols[row, c.STATE]
    outcome = holds.outcomes[_CANCELLED]
    if state == c.HELD:
        count.num_held -= 1
        depends = holds.dependency[row] >= 0 and holds.cancel[row] != count.now
        if depends and _fulfilled(holds, record, row) == 0:
            outcome = holds.outcomes[_NEVER_STARTED]
    elif state == c.RUNNING and holds.cancel[row] == count.now:
        take_off_nodes(count, tables, lists, row)
        forget(record.events, count.num_events, row)
        count.num_events -= 1
        outcome = holds.outcomes[_KILLED]
    elif state != c.WAITING:
        return
    cols[row, c.STATE] = c.ENDED
    if state == c.WAITING:
        waiting = lists.queue[count.queue_first : count.queue_end]
        count.queue_end = count.queue_first + keep_in_queue(waiting, cols)
    record.outcome[row], record.end[row] = outcome, count.now
    count.is_due = 1
    _release_dependents(count, holds, cols, record, row)


@leaf
def _happen(count, before, log, holds, tables, lists, record):
    """Let the events of this second happen up to a phase."""
    events = record.events
    while count.num_events > 0 and events[0, SECOND] == count.now and phase_of(events) < before:
        phase = phase_of(events)
        row = pop(events, count.num_events)
        count.num_events -= 1
        if phase == _END:
            end_job(count, log, tables, lists, record, row)
            count.is_due = 1
            _release_dependents(count, holds, tables.cols, record, row)
        elif phase == _RELEASE:
            _release(count, holds, tables.cols, lists.queue, record, row)
        else:
            _cancel(count, holds, tables, lists, record, row)


@leaf
def _wake(count, wakes):
    """Take out the seconds up to now at which the dispatcher is to be asked."""
    kept = 0
    for i in range(count.num_wakes):
        if wakes[i] > count.now:
            wakes[kept] = wakes[i]
            kept += 1
    if kept < count.num_wakes:
        count.num_wakes = kept
        count.is_due = 1


@leaf
def wake_at(count, wakes, second):
    """Note when the dispatcher is to be asked, ``FAR`` for never."""
    if second >= FAR:
        return
    for i in range(count.num_wakes):
        if wakes[i] == second:
            return
    wakes[count.num_wakes] = second
    count.num_wakes += 1


@leaf
def to_next_decision(count, limit, until, when_idle, log, holds, tables, lists, record):
    """Go on to the next decision; return -1 there, or why the loop ends before it."""
    wakes = holds.wakes
    while True:
        if count.is_due == 0:
            second = next_second(record.events, count.num_events, log.submit, count.next_submit)
            for i in range(count.num_wakes):
                second = min(second, wakes[i])
            if second >= until:
                return IDLE
            full = count.decisions >= limit or count.num_wakes == len(wakes)
            if second > count.now and full:
                return PAUSED
            count.now = second
            _happen(count, _SUBMIT, log, holds, tables, lists, record)
            _admit(count, log, holds, tables, lists, record)
            _happen(count, _LATER, log, holds, tables, lists, record)
            _wake(count, wakes)
        if count.is_due != 0 and (when_idle or count.queue_end > count.queue_first):
            return -1
        count.is_due = 0


@leaf
def started_now(count, packed, holds, tables, record):
    """Let go of the jobs that waited for the starts of a pass (``packed``)."""
    for i in range(packed[0]):
        _release_dependents(count, holds, tables.cols, record, packed[HEADER + i])
