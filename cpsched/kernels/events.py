"""
What is to come in a simulation: ends, and jobs that arrive.

Ends are a heap of (second, counter, row): the first stands in row 0, and of equal seconds that with
the lower counter. Where more than ends is to come, the counter has the phase in front.
"""

from __future__ import annotations

from cpsched.kernels.arrays import FAR
from cpsched.kernels.inner import leaf

# Columns of the heap.
SECOND, _COUNTER, _ROW = range(3)
#: A phase stands in front of so many bits of a counter; that of ends is 0.
PHASE_BITS = 56


@leaf
def next_second(events, num_events, ready, num_arrived):
    """Return when the next job ends or arrives, FAR for never; ``ready`` is sorted."""
    second = FAR
    if num_events > 0:
        second = events[0, SECOND]
    if num_arrived < len(ready):
        second = min(second, ready[num_arrived])
    return second


@leaf
def _is_before(events, a, b):
    if events[a, SECOND] != events[b, SECOND]:
        return events[a, SECOND] < events[b, SECOND]
    return events[a, _COUNTER] < events[b, _COUNTER]


@leaf
def _swap(events, a, b):
    for k in range(3):
        events[a, k], events[b, k] = events[b, k], events[a, k]


@leaf
def push(events, size, second, counter, row):
    """Put an end into the heap."""
    events[size, SECOND], events[size, _COUNTER], events[size, _ROW] = second, counter, row
    at = size
    while at > 0 and _is_before(events, at, (at - 1) // 2):
        _swap(events, at, (at - 1) // 2)
        at = (at - 1) // 2


@leaf
def pop(events, size):
    """Take the first out of the heap; return its row."""
    row = events[0, _ROW]
    last = size - 1
    _swap(events, 0, last)
    at = 0
    while 2 * at + 1 < last:
        child = 2 * at + 1
        if child + 1 < last and _is_before(events, child + 1, child):
            child += 1
        if not _is_before(events, child, at):
            break
        _swap(events, at, child)
        at = child
    return row


@leaf
def forget(events, size, row):
    """Take the end of a row out of the heap."""
    at = 0
    while events[at, _ROW] != row or events[at, _COUNTER] >> PHASE_BITS != 0:
        at += 1
    # As if it were the next of all.
    events[at, SECOND] = -FAR
    while at > 0:
        _swap(events, at, (at - 1) // 2)
        at = (at - 1) // 2
    pop(events, size)


@leaf
def phase_of(events):
    """Return the phase of the next event."""
    return events[0, _COUNTER] >> PHASE_BITS
