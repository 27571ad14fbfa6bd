"""
What waits, by class: the rows of each linked in order.

A pass that asks each job of a long queue costs as much as the queue is long. Jobs of one class are
alike, and the first of them starts first, so this asks each class that waits for as many as fit.
It holds where the queue is in the order of the rows and only grows at its end, as in the compiled
loop; where a job comes back, :class:`cpsched.dispatch.memory.Memory` is emptied and all are linked
anew. Links are rows counted from 1, and 0 for none.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import sort_by, twice
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.pass_state import (
    CLASS_DEAD,
    CLASS_FIRST,
    CLASS_LAST,
    CLASS_SHAPE,
    CLASS_UNITS,
    LINE,
    LINED,
    LINKED,
    PASS,
    class_at,
    is_full,
    may_fit,
    tracked_room,
)
from cpsched.model.columns import STATE, WAITING


@leaf
def link(state, class_of, next_of, queue):
    """
    Put what is new in the queue at the end of the line of its class.

    Where the table of classes is full (``FULL`` is set) it ends: all begins anew in a larger one.
    """
    head, table = state.head, state.job_classes
    at = len(queue)
    while at > 0 and queue[at - 1] >= head[LINKED]:
        at -= 1
    for i in range(at, len(queue)):
        row = queue[i]
        number = class_at(state, class_of, row)
        if number == 0:
            return
        if table[number, CLASS_FIRST] == 0:
            table[number, CLASS_FIRST] = row + 1
            table[head[LINED], LINE] = number
            head[LINED] += 1
        else:
            next_of[table[number, CLASS_LAST] - 1] = row + 1
        table[number, CLASS_LAST] = row + 1
        next_of[row] = 0
        head[LINKED] = row + 1


@leaf
def _waiting_from(link_to, class_of, next_of, cols):
    """Return the link to the first job from one on that waits and is not skipped, 0 for none."""
    while link_to > 0:
        row = link_to - 1
        if class_of[row] >= 0 and cols[row, STATE] == WAITING:
            break
        link_to = next_of[row]
    return link_to


@leaf
def _let_go(table, number, next_of, cols):
    """Let go of what has left the front of a line; return whether anything is left of it."""
    first = table[number, CLASS_FIRST]
    while first > 0 and cols[first - 1, STATE] != WAITING:
        first = next_of[first - 1]
    table[number, CLASS_FIRST] = first
    return first > 0


@leaf
def _most_that_fit(state, number):
    """Return how many jobs of a class fit now at most."""
    table = state.job_classes
    if table[number, CLASS_DEAD] == state.head[PASS]:
        return 0
    if not may_fit(state, table[number, CLASS_FIRST] - 1):
        return 0
    return tracked_room(state, table[number, CLASS_SHAPE]) // table[number, CLASS_UNITS]


@inner
def worth_trying(state, class_of, next_of, most):
    """
    Return the jobs that could start now on their own, in queue order, ``most`` of a class.

    As :func:`cpsched.kernels.pass_state.candidates` with ``by_age``, of what is linked. A row
    whose class is negative is skipped.
    """
    head, table, cols = state.head, state.job_classes, state.cols
    found = np.empty(64, dtype=np.int64)
    if is_full(state):
        return found[:0]
    count = kept = 0
    for i in range(head[LINED]):
        number = table[i, LINE]
        if not _let_go(table, number, next_of, cols):
            continue
        table[kept, LINE] = number
        kept += 1
        left = min(_most_that_fit(state, number), most)
        link_to = table[number, CLASS_FIRST]
        while left > 0:
            link_to = _waiting_from(link_to, class_of, next_of, cols)
            if link_to == 0:
                break
            if count == len(found):
                found = twice(found)
            found[count] = link_to - 1
            count += 1
            left -= 1
            link_to = next_of[link_to - 1]
    head[LINED] = kept
    key = np.empty(count)
    for i in range(count):
        key[i] = found[i]
    sort_by(key, found, count)
    return found[:count]


@leaf
def next_in_line(rows, at, class_of, next_of, cols):
    """
    Put the next of a class in place of the first of it, ``rows[at]``, among those behind it.

    Returns where to go on in ``rows``.
    """
    link_to = _waiting_from(next_of[rows[at]], class_of, next_of, cols)
    if link_to == 0:
        return at + 1
    place = at
    while place + 1 < len(rows) and rows[place + 1] < link_to - 1:
        rows[place] = rows[place + 1]
        place += 1
    rows[place] = link_to - 1
    return at
