"""
Kinds of jobs: what is the same for all jobs of a kind is worked out once a decision.

See :mod:`cpsched.kernels.pass_state` for what a kind is, and where they are kept.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner
from cpsched.kernels.pass_state import (
    FULL,
    KIND_COUNTED,
    KIND_DEAD,
    KIND_INDEX,
    KIND_LEFT,
    KIND_SHAPE,
    KIND_UNITS,
    KINDS,
    PASS,
    begin_pass,
    desk_of,
    may_fit,
    room_of,
)
from cpsched.model.columns import (
    EXPECTED_WAIT,
    NODES_MAX,
    NODES_MIN,
    PLAN,
    PRIORITY,
    SHAPE,
    UNITS,
)


@inner
def _kind_columns():
    return (SHAPE, UNITS, NODES_MIN, NODES_MAX, EXPECTED_WAIT, PRIORITY, PLAN)


@inner
def kind_at(desk, kind_of, row):
    """
    Return the kind of a row, found now if it is not known.

    Kind 0 serves for one row at a time where there is no room in the book for a new kind.
    """
    if kind_of[row] > 0:
        return kind_of[row]
    head, book, cols = desk.main, desk.book, desk.cols
    columns = _kind_columns()
    size = 2 * len(book)
    place = 0
    for column in columns:
        place = (31 * place + (cols[row, column] & 0xFFFFFF)) & 0x3FFFFFFF
    place %= size
    while True:
        kind = book[place // 2, KIND_INDEX + place % 2]
        if kind == 0:
            break
        same = True
        for i in range(len(columns)):
            same = same and book[kind, i] == cols[row, columns[i]]
        if same:
            kind_of[row] = kind
            return kind
        place = (place + 1) % size
    kind = head[KINDS] + 1
    if kind == len(book):
        kind = 0
        head[FULL] = 1
    else:
        head[KINDS] = kind
        book[place // 2, KIND_INDEX + place % 2] = kind
        kind_of[row] = kind
    for i in range(len(columns)):
        book[kind, i] = cols[row, columns[i]]
    book[kind, KIND_DEAD] = 0
    book[kind, KIND_COUNTED] = 0
    return kind


@kernel
def able(by_age, queue, kind_of, memory, book, free, cols, shapes, eligible):
    """
    Return the jobs worth ranking: those that could start now on their own, in queue order.

    Exact but for bounds on the number of nodes, even splits and contiguity, where a job may be
    among them that does not fit. With ``by_age``, of the jobs of one kind only as many come as
    fit together: the priority puts the earlier first, so those behind them cannot start.
    """
    desk = desk_of(memory, book, free, cols, shapes, eligible)
    begin_pass(desk, free)
    number = desk.main[PASS]
    found = np.empty(len(queue), dtype=np.int64)
    count = 0
    for row in queue:
        kind = kind_of[row]
        if kind == 0:
            kind = kind_at(desk, kind_of, row)
        if book[kind, KIND_DEAD] == number:
            continue
        shape = book[kind, KIND_SHAPE]
        units = book[kind, KIND_UNITS]
        if book[kind, KIND_COUNTED] != number:
            book[kind, KIND_COUNTED] = number
            book[kind, KIND_LEFT] = room_of(desk, shape) // units if may_fit(desk, row) else 0
        if book[kind, KIND_LEFT] == 0:
            book[kind, KIND_DEAD] = number
            continue
        if by_age:
            book[kind, KIND_LEFT] -= 1
        found[count] = row
        count += 1
    return found[:count]


@kernel
def all_marked(rows, count, marks):
    """Say whether the first ``count`` rows are all marked."""
    for i in range(count):
        if not marks[rows[i]]:
            return False
    return True
