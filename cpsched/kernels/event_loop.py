"""
The simulator's event loop, compiled whole for dispatchers that are one pass over the queue.

What :mod:`cpsched.simulation.simulator` does for any dispatcher, done for ``fifo``, ``greedy``,
``easy`` and ``conservative:depth=1`` with the same kernels and without Python in between: jobs end,
jobs arrive, a pass says what starts, ``claim`` checks and takes it. It stops when arrays have to
grow, and then continues.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import types

from cpsched.kernels import easy, ledger, list_pass
from cpsched.kernels.arrays import FAR, move, sort_by, twice
from cpsched.kernels.compiling import kernel
from cpsched.kernels.events import SECOND, next_second, pop, push
from cpsched.kernels.inner import inner, leaf, used_where
from cpsched.kernels.lines import link, worth_trying
from cpsched.kernels.pass_state import FULL, begin_pass, state_of
from cpsched.kernels.start_log import HEADER, amounts_in
from cpsched.model.columns import (
    EXPECTED_WAIT,
    NUM_SUBMIT,
    RANKING_ESTIMATE,
    STATE,
    SUBMIT,
    WAITING,
)

if TYPE_CHECKING:
    from cpsched.util.types import AnyArray, BoolArray, FloatArray, IntArray

#: Why the loop returns: nothing happens any more (or before ``until``); enough decisions for now;
#: the classes of jobs that ``easy`` remembers need more room; what starts needs more room; a start
#: that the machine refuses.
IDLE, PAUSED, CLASSES_FULL, NO_ROOM, REFUSED = range(5)

#: The rule of a queue that waits behind the first job that does not fit, besides the two of
#: :mod:`cpsched.kernels.easy`. Of a type of its own: a loop under it has no backfilling.
FIFO = np.int8(0)

#: Of a type of its own, too: jobs are ranked at every decision, and those that do not fit are
#: skipped. This one ranks by slowdown, a larger number by expected waits, of which it is the
#: largest. See :mod:`cpsched.dispatch.orders`.
RANKED = np.int32(0)

#: The scalars that change from call to call, as one record.
COUNTERS = np.dtype(
    [
        (name, np.int64)
        for name in (
            "now",
            "is_due",  # whether something has happened that was not decided on
            "next_submit",
            "rows_first",  # the job of the first of the log's rows
            "num_events",
            "counter",  # how many ends were ever put into the heap: it breaks ties
            "queue_first",
            "queue_end",
            "num_running",
            "arena_used",
            "arena_held",
            "runs_used",
            "decisions",
            "starts",
            "refused",  # the row of the job
            # Of loops that hold and cancel jobs: how many are held, came back from that, and wakes.
            "num_held",
            "reordered",
            "num_wakes",
        )
    ]
)

#: So many jobs leave the queue one by one.
_FEW = 16

_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.intp))
_CLOCK = np.int32(time.CLOCK_MONOTONIC)


class Log(NamedTuple):
    """
    The log's data on the jobs; int64, shape ``(A,)``.

    ``rows`` is a part of them, as the store takes them; ``demand`` a float, which breaks ties of a
    :data:`RANKED` queue, and empty for others.
    """

    submit: IntArray
    runtime: IntArray
    requested: IntArray
    rows: IntArray
    demand: FloatArray


class Holds(NamedTuple):
    """
    When jobs may begin, and when they are cancelled, by job; ``MISSING`` for never.

    ``failed`` says which of them end without success. The jobs that depend on job i are
    ``dependents[first[i]:first[i + 1]]``. ``outcomes`` are those of jobs that have not ended, have
    completed, are cancelled, are killed and can never start. ``wakes`` are the seconds at which to
    ask the dispatcher.
    """

    begin: IntArray
    cancel: IntArray
    dependency: IntArray
    kind: IntArray
    failed: BoolArray
    dependents: IntArray
    first: IntArray
    outcomes: tuple[int, ...]
    wakes: IntArray


class Tables(NamedTuple):
    """The job store and the nodes, as in a :class:`~cpsched.engine.machine.ClusterState`."""

    cols: IntArray
    shapes: IntArray
    eligible: BoolArray
    capacity: IntArray
    free: IntArray


class Lists(NamedTuple):
    """What waits and what runs, with room for all jobs; allocations, with room for some."""

    queue: IntArray
    running: IntArray
    arena_node: IntArray
    arena_units: IntArray
    arena_amount: IntArray


class Memory(NamedTuple):
    """What passes remember, see :mod:`cpsched.kernels.pass_state` and ``lines``."""

    class_of: AnyArray
    next_of: AnyArray
    main: IntArray
    job_classes: IntArray


class Record(NamedTuple):
    """
    What the simulator keeps: ends to come and what is written down.

    ``events`` is a heap (:mod:`cpsched.kernels.events`) with room for all jobs; ``start``, ``end``
    and ``outcome`` are by job, ``ends`` the outcomes of jobs that end in time and of those that are
    killed, ``runs`` as ``record_runs`` has them, ``seconds`` by decision.
    """

    events: IntArray
    start: IntArray
    end: IntArray
    outcome: IntArray
    ends: tuple[int, int]
    runs: IntArray
    seconds: FloatArray


_claim = leaf(ledger.claim.py_func)  # type: ignore[attr-defined]
_release = leaf(ledger.release.py_func)  # type: ignore[attr-defined]
keep_in_queue = leaf(ledger.keep_waiting.py_func)  # type: ignore[attr-defined]
_record_runs = leaf(ledger.record_runs.py_func)  # type: ignore[attr-defined]
_easy_pass = inner(easy.easy_pass.py_func)  # type: ignore[attr-defined]
_list_pass = inner(list_pass.list_pass.py_func)  # type: ignore[attr-defined]


@leaf
def clock(spare):
    """Return seconds of a clock; ``spare`` takes what the C library writes."""
    _gettime(_CLOCK, spare.ctypes.data)
    return spare[0] + 1e-9 * spare[1]


@leaf
def take_off_nodes(count, tables, lists, row):
    """Release what a job holds that ends."""
    count.arena_held -= _release(
        tables.cols, row, tables.free, lists.arena_node, lists.arena_amount, lists.running,
        count.num_running,
    )  # fmt: skip
    count.num_running -= 1


@leaf
def end_job(count, log, tables, lists, record, row):
    """End a job whose end has come."""
    take_off_nodes(count, tables, lists, row)
    record.end[row] = count.now
    record.outcome[row] = record.ends[int(log.runtime[row] > log.requested[row])]


@leaf
def _end_jobs(count, log, tables, lists, record):
    """End the jobs that end now."""
    while count.num_events > 0 and record.events[0, SECOND] == count.now:
        row = pop(record.events, count.num_events)
        count.num_events -= 1
        end_job(count, log, tables, lists, record, row)


@leaf
def enter_job(count, log, cols, row):
    """Put a job into the store."""
    for k in range(NUM_SUBMIT):
        cols[row, k] = log.rows[row - count.rows_first, k]
    cols[row, STATE] = WAITING


@leaf
def _admit_jobs(count, log, cols, queue):
    """Put the jobs that are submitted now into the store and the queue."""
    row = count.next_submit
    while row < len(log.submit) and log.submit[row] == count.now:
        enter_job(count, log, cols, row)
        queue[count.queue_end] = row
        count.queue_end += 1
        row += 1
    count.next_submit = row


@leaf
def _to_decision(count, limit, until, log, tables, lists, record):
    """Go on to the next decision; return -1 there, or why the loop ends before it."""
    submit = log.submit
    while True:
        if count.is_due == 0:
            second = next_second(record.events, count.num_events, submit, count.next_submit)
            if second >= until:
                return IDLE
            if second > count.now and count.decisions >= limit:
                return PAUSED
            count.now = second
            _end_jobs(count, log, tables, lists, record)
            _admit_jobs(count, log, tables.cols, lists.queue)
            count.is_due = 1
        if count.queue_end > count.queue_first:
            return -1
        count.is_due = 0


@leaf
def _leave(queue, first, end, started, cols):
    """Take jobs that start out of the queue; return its new end."""
    # One sweep where starts are in the order of the queue. Asking every job for its state, which
    # stands in a row of its own, takes several times as long.
    kept = at = low = first
    i = 0
    while i < len(started) and at < end:
        if queue[at] == started[i]:
            move(queue, low, kept, at - low)
            kept += at - low
            low = at + 1
            i += 1
        at += 1
    move(queue, low, kept, end - low)
    end = kept + end - low
    return end if i == len(started) else first + keep_in_queue(queue[first:end], cols)


@leaf
def _leave_alone(count, queue, row):
    """Take one job out of the queue, which is in order; the shorter part of it is moved."""
    low, high = count.queue_first, count.queue_end
    while high - low > 1:
        middle = (low + high) // 2
        if queue[middle] <= row:
            low = middle
        else:
            high = middle
    if low - count.queue_first < count.queue_end - low:
        move(queue, count.queue_first, count.queue_first + 1, low - count.queue_first)
        count.queue_first += 1
    else:
        count.queue_end -= 1
        move(queue, low + 1, low, count.queue_end - low)


@leaf
def carry_out(count, packed, amount_of, log, tables, lists, record):
    """Start what a pass says (``packed``); return -1, or why it cannot be done."""
    num, total = packed[0], packed[1]
    queue = lists.queue
    if max(count.arena_used + total - len(lists.arena_node),
           count.runs_used + total - len(record.runs)) > 0:  # fmt: skip
        return NO_ROOM
    bounds = HEADER + num
    nodes = bounds + num + 1
    for i in range(num):
        row, low, high = packed[HEADER + i], packed[bounds + i], packed[bounds + i + 1]
        node = packed[nodes + low : nodes + high]
        units = packed[nodes + total + low : nodes + total + high]
        wrong = _claim(
            tables.cols, row, tables.shapes, tables.eligible, tables.capacity, tables.free, node,
            units, amount_of[low:high], lists.arena_node, lists.arena_units, lists.arena_amount,
            count.arena_used, lists.running, count.num_running, count.now,
        )  # fmt: skip
        if wrong != 0:
            count.refused = row
            return REFUSED
        count.arena_used += high - low
        count.arena_held += high - low
        count.num_running += 1
        count.counter += 1
        end = count.now + min(log.runtime[row], log.requested[row])
        push(record.events, count.num_events, end, count.counter, row)
        count.num_events += 1
        record.start[row] = count.now
        count.runs_used = _record_runs(
            row, count.now, node, units, amount_of[low:high], record.runs, count.runs_used
        )
    count.starts += num
    if num <= _FEW:
        for i in range(num):
            _leave_alone(count, queue, packed[HEADER + i])
    else:
        started = packed[HEADER:bounds]
        count.queue_end = _leave(queue, count.queue_first, count.queue_end, started, tables.cols)
    return -1


@inner
def _rank(largest, now, rows, cols, demand):
    """Sort rows as :mod:`cpsched.dispatch.orders` does: by what is urgent, then by demand."""
    key = demand[rows]
    sort_by(key, rows, len(rows))
    for i in range(len(rows)):
        waited = now - cols[rows[i], SUBMIT]
        runtime = cols[rows[i], RANKING_ESTIMATE]
        if largest > 0:
            key[i] = -(largest * waited / cols[rows[i], EXPECTED_WAIT])
        elif runtime > 0:
            key[i] = -((waited + runtime) / runtime)
        else:
            key[i] = -waited
    sort_by(key, rows, len(rows))


@inner
def _state_of(tables, memory):
    """Return what a pass works on."""
    return state_of(
        memory.main, memory.job_classes, tables.free, tables.cols, tables.shapes, tables.eligible
    )


def _in_order(rule, policy, count, demand, tables, lists, memory):  # noqa: ARG001
    """Return what starts from the head of the queue on."""
    return _list_pass(
        policy, True, lists.queue[count.queue_first : count.queue_end], tables.cols, tables.shapes,
        tables.eligible, memory.main, memory.job_classes, tables.free,
    )  # fmt: skip


@used_where(lambda rule: rule.bitwidth > 8, _in_order)
def _from_list(rule, policy, count, demand, tables, lists, memory):  # noqa: ARG001
    """Return what starts of all that waits, by rank."""
    state = _state_of(tables, memory)
    begin_pass(state, tables.free)
    rows = worth_trying(state, memory.class_of, memory.next_of, FAR)
    if len(rows) > 1:
        _rank(np.int64(rule), count.now, rows, tables.cols, demand)
    return _list_pass(
        policy, False, rows, tables.cols, tables.shapes, tables.eligible, memory.main,
        memory.job_classes, tables.free,
    )  # fmt: skip


def _one_list(rule, policy, count, demand, tables, lists, memory):
    """Return what starts, nothing being planned."""
    return _from_list(rule, policy, count, demand, tables, lists, memory)


@used_where(lambda rule: rule.bitwidth > 32, _one_list)
def _pass(rule, policy, count, demand, tables, lists, memory):  # noqa: ARG001
    """Return what starts now, as of :func:`cpsched.kernels.start_log.packed`."""
    rows = lists.queue[count.queue_first : count.queue_end]
    return _easy_pass(
        policy, rule, count.now, rows, rows, memory.class_of, memory.next_of, tables.cols,
        tables.shapes, tables.eligible, memory.main, memory.job_classes, tables.free,
        lists.running[: count.num_running], lists.arena_node, lists.arena_amount,
    )  # fmt: skip


def _need_no_lines(rule, count, tables, lists, memory):  # noqa: ARG001
    """Say that classes of jobs are of no interest."""
    return True


@used_where(lambda rule: rule.bitwidth > 8, _need_no_lines)
def _are_in_line(rule, count, tables, lists, memory):  # noqa: ARG001
    """Put what is new in the queue in line; return whether there is room for its classes."""
    queue = lists.queue[count.queue_first : count.queue_end]
    link(_state_of(tables, memory), memory.class_of, memory.next_of, queue)
    return memory.main[FULL] == 0


@kernel
def event_loop(policy, rule, counters, limit, until, log, tables, lists, memory, record, packed):
    """
    Simulate under EASY or what is like it in the order of submission, or under a list rule.

    Jobs run as in the log, are killed at their requested time, and none is held.

    Parameters
    ----------
    policy
        The allocator's order of nodes.
    rule
        :data:`FIFO`, :data:`RANKED`, or see :data:`cpsched.kernels.easy.EASY`.
    counters
        One record of :data:`COUNTERS`; changed.
    limit
        Number of decisions; it stops between two seconds.
    until
        Second before which it stops.
    packed
        Decisions of a pass that are still to be carried out; of length 0 otherwise.

    Returns
    -------
    why, packed, seconds
        Why it stops, ``packed`` for the next call, and the seconds of decisions, perhaps in a
        larger array.
    """
    count, seconds, spare = counters[0], record.seconds, np.zeros(2, dtype=np.int64)
    num_kinds = tables.free.shape[1]
    while True:
        if len(packed) == 0:
            why = _to_decision(count, limit, until, log, tables, lists, record)
            if why >= 0:
                return why, packed, seconds
            if not _are_in_line(rule, count, tables, lists, memory):
                return CLASSES_FULL, packed, seconds
            before = clock(spare)
            packed = _pass(rule, policy, count, log.demand, tables, lists, memory)
            if count.decisions == len(seconds):
                seconds = twice(seconds)
            seconds[count.decisions] = clock(spare) - before
            count.decisions += 1
        if packed[0] > 0:
            amounts = amounts_in(packed, num_kinds)
            why = carry_out(count, packed, amounts, log, tables, lists, record)
            if why >= 0:
                return why, packed, seconds
        packed = packed[:0]
        count.is_due = 0
