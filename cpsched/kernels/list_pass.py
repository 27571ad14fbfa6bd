"""Passes over a queue that start jobs in order where they fit now."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import NONE, ZERO, filled
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.parts import is_confined
from cpsched.kernels.pass_state import (
    CAPACITY,
    MOST,
    ROOM,
    RUNS,
    SLOT,
    WORK,
    begin_pass,
    machine_of,
    may_fit,
    room_now,
    room_runs,
    roomiest_hold,
    state_of,
    take,
    top_room,
)
from cpsched.kernels.placing import FIRST_FIT, choose
from cpsched.kernels.rooms import MANY, request_of, room_on
from cpsched.kernels.runs import run_end
from cpsched.kernels.start_log import begin_entry, note_start, packed
from cpsched.model.columns import SHAPE, SHAPE_CONTIGUOUS, SHAPE_SPLIT, UNITS


@leaf
def _fill_first(work, capacity, eligible, shapes, runs, request, counts, log, used):
    """
    Log nodes and units of a job that fills nodes in order; return the log's length.

    As :func:`cpsched.kernels.filling.fill_in_order` does, on runs of nodes whose room is found on
    the way, so it stops when the job is placed. 0 if this fails.

    Parameters
    ----------
    counts
        Number of nodes by room, overwritten: a node is skipped if with it the roomiest later ones
        could not hold the rest. Empty if not known.
    """
    left = request.units
    num = 0
    top = MOST
    node = 0
    while node < len(work):
        end = run_end(runs, node, len(work))
        room = room_on(work, node, node, capacity, eligible, shapes, request.shape, MANY)
        if room == 0:
            node = end
        for n in range(node, end):
            units = min(room, left - max(request.nodes_min - num - 1, 0))
            if len(counts) > 0:
                counts[room] -= 1
                top = top_room(counts, top)
                rest = left - units
                if rest > 0 and not roomiest_hold(counts, top, request.nodes_max - num - 1, rest):
                    continue
            log[used] = n
            log[used + 1] = units
            used += 2
            left -= units
            num += 1
            if left == 0 or num == request.nodes_max:
                return used if left == 0 and num >= request.nodes_min else 0
        node = end
    return 0


@inner
def start_now(policy, state, row, log, used):
    """Start a job on what is free now; return the log and its length, as they were if it waits."""
    request = request_of(state.cols, row)
    if request.units < request.nodes_min or not may_fit(state, row):
        return log, used
    work, shapes, shape = state.node_tables[WORK], state.shapes, request.shape
    machine = machine_of(policy, state)
    loose = shapes[shape, SHAPE_SPLIT] == 0 and shapes[shape, SHAPE_CONTIGUOUS] == 0
    if policy == FIRST_FIT and loose and not is_confined(machine, request):
        longest = min(min(request.units, request.nodes_max), len(work))
        log, first = begin_entry(log, used, row, longest, 2 * longest)
        counts = np.empty(0, dtype=np.int64)
        slot = state.job_classes[shape, SLOT]
        if longest < request.units and slot >= 0 and state.counts[slot, MOST] == 0:
            counts = state.counts[slot].copy()
        end = _fill_first(
            work, state.node_tables[CAPACITY], state.eligible, shapes, state.bits[RUNS], request,
            counts, log, first,
        )  # fmt: skip
        if end > 0:
            log[first - 1] = (end - first) // 2
            take(state, row, log, first, end)
            return log, end
        if request.nodes_max >= request.units:
            return log, used
    groups, level = room_runs(state, shape)
    pieces = choose(machine, level, groups, request)
    if len(pieces) == 0:
        return log, used
    log, end = note_start(log, used, row, groups.first, pieces)
    take(state, row, log, used + 2, end)
    return log, end


@kernel
def list_pass(policy, stop, rows, cols, shapes, eligible, memory, job_classes, free):
    """
    Start jobs in the order given, as long as they fit.

    Parameters
    ----------
    stop
        Whether the first job that does not fit ends the pass; otherwise it is skipped.
    rows
        Rows of the job store, in order.
    memory, job_classes
        See :mod:`cpsched.kernels.pass_state`.

    Returns
    -------
    ndarray
        Packed as by :func:`cpsched.kernels.start_log.packed`, with no head.
    """
    state = state_of(memory, job_classes, free, cols, shapes, eligible)
    begin_pass(state, free)
    log = np.empty(64, dtype=np.int64)
    used = ZERO
    for row in rows:
        before = used
        log, used = start_now(policy, state, row, log, used)
        if used == before and stop:
            break
    return packed(log, used, cols, shapes, state.node_tables[CAPACITY], NONE, ZERO, log[:0])


@kernel
def fits_now(rows, cols, shapes, eligible, memory, job_classes, free):
    """
    Return for each job whether it could start now alone.

    Exact except for bounds on the number of nodes, even splits and jobs with placement constraints,
    for which True may be too optimistic; never False for a job that fits.

    Parameters
    ----------
    memory, job_classes
        See :mod:`cpsched.kernels.pass_state`.
    """
    state = state_of(memory, job_classes, free, cols, shapes, eligible)
    begin_pass(state, free)
    fits = np.empty(len(rows), dtype=np.bool_)
    known = filled(len(shapes), NONE)
    for i in range(len(rows)):
        shape = cols[rows[i], SHAPE]
        if known[shape] < 0:
            known[shape] = state.job_classes[shape, ROOM]
            if known[shape] < 0:
                known[shape] = room_now(state, shape, NONE)
        fits[i] = known[shape] >= cols[rows[i], UNITS]
    return fits
