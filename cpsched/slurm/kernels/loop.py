"""The event loop of a simulation under Slurm, compiled whole."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import twice
from cpsched.kernels.compiling import kernel
from cpsched.kernels.event_loop import carry_out, clock
from cpsched.kernels.inner import leaf
from cpsched.kernels.start_log import amounts_in
from cpsched.slurm.kernels.decide import (
    BACKFILLS,
    BY_LOOP,
    CHARGE,
    STARTS,
    go_through,
    prepare,
)
from cpsched.slurm.kernels.holds import started_now, to_next_decision, wake_at
from cpsched.slurm.kernels.main import room_for_passes
from cpsched.slurm.kernels.records import Held, given_of

#: There is no room for the time that another decision takes.
_FULL = 22


@leaf
def _decided(count, seconds, taken, wakes, desk):
    """Note how long a decision took, and when to decide again."""
    seconds[count.decisions] = taken
    count.decisions += 1
    wake_at(count, wakes, desk.book[0].again_at)


@leaf
def _to_starts(
    desk, given, room, count, limit, until, log, tables, flat, lists, holds, record, seconds, spare,
    began,
):  # fmt: skip
    """
    Go on to a decision in which something may start; return what there is to do in it.

    Or why the loop ends before it. ``began`` is filled with when the decision began.
    """
    when_idle = desk.settings[0].shares != 0
    while True:
        if count.decisions == len(seconds):
            return _FULL
        why = to_next_decision(count, limit, until, when_idle, log, holds, tables, lists, record)
        if why >= 0:
            return why
        began[0] = clock(spare)
        held = Held(
            tables.free, flat, lists.running[: count.num_running], lists.arena_node,
            lists.arena_amount,
        )  # fmt: skip
        waiting = lists.queue[count.queue_first : count.queue_end]
        why = prepare(
            desk, given, room, held, count.next_submit, waiting, BY_LOOP, count.reordered,
            count.now,
        )  # fmt: skip
        if why != 0:
            return why
        _decided(count, seconds, clock(spare) - began[0], holds.wakes, desk)
        count.is_due = 0


@kernel
def slurm_loop(
    desk, rules, limits, nodes, counters, limit, until, log, tables, lists, holds, record, packed
):  # fmt: skip
    """
    Simulate; jobs run as in the log, and are killed at their requested time.

    Parameters
    ----------
    desk, rules, limits, nodes
        See :mod:`cpsched.slurm.kernels.desk` and :mod:`cpsched.slurm.kernels.records`.
    counters, limit, until, log, tables, lists, holds, record, packed
        See :func:`cpsched.kernels.event_loop.event_loop`.

    Returns
    -------
    why, packed, seconds
        As there; or, above all of its reasons, why Python has to help with a decision.
    """
    count, seconds, spare = counters[0], record.seconds, np.zeros(2, dtype=np.int64)
    num_nodes, num_kinds = tables.free.shape
    given = given_of(desk.jobs.table, rules, limits, tables.cols, nodes)
    room = room_for_passes(rules, len(nodes.shapes), num_nodes, num_kinds)
    flat, began = tables.free.ravel(), np.zeros(1)
    while True:
        if len(packed) == 0:
            why = _to_starts(
                desk, given, room, count, limit, until, log, tables, flat, lists, holds, record,
                seconds, spare, began,
            )  # fmt: skip
            if why == _FULL:
                seconds = twice(seconds)
                continue
            if why not in (CHARGE, STARTS, BACKFILLS):
                return why, packed, seconds
            held = Held(
                tables.free, flat, lists.running[: count.num_running], lists.arena_node,
                lists.arena_amount,
            )  # fmt: skip
            waiting = lists.queue[count.queue_first : count.queue_end]
            why, found, _, _ = go_through(
                why, desk, given, room, held, count.next_submit, waiting, BY_LOOP,
                count.reordered, count.now,
            )  # fmt: skip
            if why != 0:
                return why, packed, seconds
            packed = found
            _decided(count, seconds, clock(spare) - began[0], holds.wakes, desk)
        if packed[0] > 0:
            amounts = amounts_in(packed, num_kinds)
            why = carry_out(count, packed, amounts, log, tables, lists, record)
            if why >= 0:
                return why, packed, seconds
            started_now(count, packed, holds, tables, record)
        packed = packed[:0]
        count.is_due = 0
