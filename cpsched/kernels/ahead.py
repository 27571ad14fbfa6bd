"""What will be free, as a pass over the queue has it: as jobs end that run, or that it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpsched.kernels.arrays import FAR
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.pass_state import CAPACITY, RUNS, WORK
from cpsched.kernels.profile import (
    GROUPS,
    SPARE,
    give_back,
    group_from,
    group_places,
    grouped,
    mark_allocations,
)
from cpsched.kernels.rooms import amount_on
from cpsched.kernels.runs import begin_at
from cpsched.model.columns import (
    EXPECTED_END,
    RUNTIME_ESTIMATE,
    SHAPE,
)

if TYPE_CHECKING:
    from cpsched.util.types import IntArray


class Ends(NamedTuple):
    """
    Jobs whose ends give something back.

    Attributes
    ----------
    now
        Who should have ended by now ends in the next second.
    running
        Rows of the running ones, by expected end.
    arena_node, arena_amount
        Their allocations.
    log
        Those that start now, see :mod:`cpsched.kernels.start_log`; all of it counts.
    cols, shapes, capacity
        Of the jobs and the machine.
    """

    now: int
    running: IntArray
    arena_node: IntArray
    arena_amount: IntArray
    log: IntArray
    cols: IntArray
    shapes: IntArray
    capacity: IntArray


@inner
def ends_of(now, state, running, arena_node, arena_amount, log):
    """Return the ends of some running jobs and of those that start now."""
    capacity = state.node_tables[CAPACITY]
    return Ends(now, running, arena_node, arena_amount, log, state.cols, state.shapes, capacity)


@inner
def profile_now(state, ends, segments):
    """
    Return the profile of one segment of what is free now, and its groups by their first node.

    Within a group, nodes have the same running jobs and the same starts.

    Parameters
    ----------
    segments
        Room for so many segments.
    """
    work = state.node_tables[WORK]
    begins = state.bits[RUNS].copy()
    mark_allocations(begins, len(work), ends.cols, ends.running, ends.arena_node, ends.arena_amount)
    _mark_starts(begins, len(work), ends.log)
    profile = grouped(ends.now, begins, work, segments, SPARE)
    return profile, group_places(profile.first, profile.num[GROUPS], len(work))


@leaf
def _mark_starts(begins, num_nodes, log):
    """Mark where starts begin and end, as ``mark_allocations`` does."""
    at = 0
    while at < len(log):
        end = at + 2 + 2 * log[at + 1]
        for k in range(at + 2, end, 2):
            node = log[k]
            if k == at + 2 or log[k - 2] != node - 1 or log[k - 1] != log[k + 1]:
                begin_at(begins, node)
            if (k + 2 == end or log[k + 2] != node + 1) and node + 1 < num_nodes:
                begin_at(begins, node + 1)
        at = end


@leaf
def next_end(ends, after, k):
    """Return when the next job ends after a second, FAR for never; ``k`` running ones have."""
    cols, log = ends.cols, ends.log
    second = FAR
    if k < len(ends.running):
        second = max(cols[ends.running[k], EXPECTED_END], ends.now + 1)
    at = 0
    while at < len(log):
        end = ends.now + max(cols[log[at], RUNTIME_ESTIMATE], 1)
        if after < end < second:
            second = end
        at += 2 + 2 * log[at + 1]
    return second


@leaf
def end_jobs(ends, second, k, profile, places, row):
    """
    Add what the jobs held that end at a second to a row of a profile.

    Returns how many of the running ones have ended then, ``k`` before.
    """
    cols, running, log = ends.cols, ends.running, ends.log
    shapes, capacity = ends.shapes, ends.capacity
    levels, room, first, size = profile.levels, profile.room, profile.first, profile.size
    num_groups, num_kinds = profile.num[GROUPS], room.shape[1]
    while k < len(running) and max(cols[running[k], EXPECTED_END], ends.now + 1) == second:
        give_back(profile, row, places, running[k], cols, ends.arena_node, ends.arena_amount)
        k += 1
    at = 0
    while at < len(log):
        job, end = log[at], at + 2 + 2 * log[at + 1]
        if ends.now + max(cols[job, RUNTIME_ESTIMATE], 1) == second:
            for i in range(at + 2, end, 2):
                g = group_from(first, num_groups, places, log[i])
                if g >= 0:
                    for r in range(num_kinds):
                        amount = amount_on(
                            shapes, cols[job, SHAPE], capacity, log[i], log[i + 1], r
                        )
                        levels[row, g, r] += amount
                        room[row, r] += amount * size[g]
        at = end
    return k
