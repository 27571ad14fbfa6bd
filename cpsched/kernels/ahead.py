"""What will be free, as a pass over the queue has it: as jobs end that run, or that it starts."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.pass_state import CAPACITY, RUNS, WORK
from cpsched.kernels.profile import (
    GROUPS,
    SEGMENTS,
    SPARE,
    add_ends,
    cut_at,
    expected_ends,
    group_from,
    group_places,
    grouped,
    mark_allocations,
)
from cpsched.kernels.rooms import amount_on
from cpsched.kernels.runs import begin_at
from cpsched.model.columns import RUNTIME_ESTIMATE, SHAPE


@inner
def profile_ahead(now, state, running, arena_node, arena_amount, log, used, segments):
    """
    Return what is free from now on, as running jobs end and those that start now.

    Within a group, nodes have the same running jobs and the same starts in the log.

    Parameters
    ----------
    running
        Rows of jobs, by expected end; one that has passed counts as the next second.
    log, used
        What starts now, see :mod:`cpsched.kernels.start_log`.
    segments
        Room for so many segments, and for one more for each start.
    """
    work, cols = state.node_tables[WORK], state.cols
    num_nodes = len(work)
    begins = state.bits[RUNS].copy()
    mark_allocations(begins, num_nodes, cols, running, arena_node, arena_amount)
    starts = _mark_starts(begins, num_nodes, log, used)
    profile = grouped(now, begins, np.zeros(0, dtype=np.bool_), work, segments + starts, SPARE)
    ends = expected_ends(cols, running)
    add_ends(profile, cols, running, ends, arena_node, arena_amount, num_nodes)
    if starts > 0:
        places = group_places(profile.first, profile.num[GROUPS], num_nodes)
        _add_starts(now, state, profile, places, log, used)
    return profile


@leaf
def _mark_starts(begins, num_nodes, log, used):
    """Mark where starts begin and end, as ``mark_allocations`` does; return how many there are."""
    count = 0
    at = 0
    while at < used:
        end = at + 2 + 2 * log[at + 1]
        for k in range(at + 2, end, 2):
            node = log[k]
            if k == at + 2 or log[k - 2] != node - 1 or log[k - 1] != log[k + 1]:
                begin_at(begins, node)
            if (k + 2 == end or log[k + 2] != node + 1) and node + 1 < num_nodes:
                begin_at(begins, node + 1)
        at = end
        count += 1
    return count


@leaf
def _add_starts(now, state, profile, places, log, used):
    """Add what the starts in a log give back when they end; ``places`` are those of groups."""
    cols, shapes, capacity = state.cols, state.shapes, state.node_tables[CAPACITY]
    num, rows, levels, room = profile.num, profile.rows, profile.levels, profile.room
    first, size = profile.first, profile.size
    at = 0
    while at < used:
        row, end = log[at], at + 2 + 2 * log[at + 1]
        begin, _ = cut_at(profile, 0, now + max(cols[row, RUNTIME_ESTIMATE], 1))
        for k in range(at + 2, end, 2):
            g = group_from(first, num[GROUPS], places, log[k])
            if g < 0:
                continue
            for r in range(levels.shape[2]):
                amount = amount_on(shapes, cols[row, SHAPE], capacity, log[k], log[k + 1], r)
                for i in range(begin, num[SEGMENTS]):
                    levels[rows[i], g, r] += amount
                    room[rows[i], r] += amount * size[g]
        at = end
