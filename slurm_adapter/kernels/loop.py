"""The event loop of a simulation under Slurm, compiled whole."""

from __future__ import annotations

import numpy as np

from cpsched.api.kernels import amounts_in, carry_out, clock, kernel, twice
from slurm_adapter.kernels.decide import BY_LOOP, decide_now
from slurm_adapter.kernels.holds import started_now, to_next_decision, wake_at
from slurm_adapter.kernels.records import Held


@kernel
def slurm_loop(
    desk, rules, limits, nodes, counters, limit, until, log, tables, lists, holds, record, packed
):  # fmt: skip
    """
    Simulate; jobs run as in the log, and are killed at their requested time.

    Parameters
    ----------
    desk, rules, limits, nodes
        See :mod:`slurm_adapter.kernels.desk` and :mod:`slurm_adapter.kernels.records`.
    counters, limit, until, log, tables, lists, holds, record, packed
        See :func:`cpsched.kernels.event_loop.event_loop`.

    Returns
    -------
    why, packed, seconds
        As there; or, above all of its reasons, why Python has to help with a decision.
    """
    count, seconds, spare = counters[0], record.seconds, np.zeros(2, dtype=np.int64)
    num_kinds = tables.free.shape[1]
    when_idle = desk.settings[0].shares != 0
    while True:
        if len(packed) == 0:
            why = to_next_decision(
                count, limit, until, when_idle, log, holds, tables, lists, record
            )
            if why >= 0:
                return why, packed, seconds
            before = clock(spare)
            held = Held(
                tables.free, lists.running[: count.num_running], lists.arena_node,
                lists.arena_amount,
            )  # fmt: skip
            waiting = lists.queue[count.queue_first : count.queue_end]
            why, found, _, _ = decide_now(
                desk, rules, limits, nodes, tables.cols, held, count.next_submit, waiting,
                BY_LOOP, count.reordered, count.now,
            )  # fmt: skip
            if why != 0:
                return why, packed, seconds
            packed = found
            if count.decisions == len(seconds):
                seconds = twice(seconds)
            seconds[count.decisions] = clock(spare) - before
            count.decisions += 1
            wake_at(count, holds.wakes, desk.book[0].again_at)
        if packed[0] > 0:
            amounts = amounts_in(packed, num_kinds)
            why = carry_out(count, packed, amounts, log, tables, lists, record)
            if why >= 0:
                return why, packed, seconds
            started_now(count, packed, holds, tables, record)
        packed = packed[:0]
        count.is_due = 0
