"""What the jobs of a queue ask for, and what is known of each request while they are planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.kernels.arrays import FAR, NONE, filled
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.profile import SEGMENTS, occupy_groups
from cpsched.model.columns import (
    NODES_MAX,
    SHAPE,
    SHAPE_SEGMENT,
    SHAPE_SPLIT,
    SHAPE_SWITCHES,
)

if TYPE_CHECKING:
    from cpsched.util.types import IntArray

#: Planned jobs of one request that are remembered.
_SEEN = 8


class Asks(NamedTuple):
    """
    The D distinct requests of n jobs.

    Attributes
    ----------
    number
        Of each job's request, shape ``(n,)``.
    shape
        Row of each request in the job store's shapes, shape ``(D,)``.
    most
        Upper bounds of the units that fit, by request and row of the profile.
    seen, num_seen
        Jobs of each request and when they were planned, see :func:`remember`. Planning only takes
        capacity away: of two jobs of one request, the one planned later that is as hard to place
        and at least as long can start no earlier.
    """

    number: IntArray
    shape: IntArray
    most: IntArray
    seen: IntArray
    num_seen: IntArray


@inner
def numbered(jobs, cols, num_shapes):
    """Number the distinct requests of jobs; return each job's number, and the requests."""
    known = filled(2 * num_shapes, NONE)
    number = np.empty(len(jobs), dtype=np.int64)
    distinct = np.empty(len(jobs), dtype=np.int64)
    count = 0
    for i in range(len(jobs)):
        # Jobs of one node have numbers of their own: what is short for them is room on one node.
        one = 2 * cols[jobs[i], SHAPE] + (cols[jobs[i], NODES_MAX] == 1)
        if known[one] < 0:
            known[one] = count
            distinct[count] = cols[jobs[i], SHAPE]
            count += 1
        number[i] = known[one]
    return number, distinct[:count]


@inner
def asks_of(number, distinct, segments):
    """Return the requests of jobs of which nothing is known, for a profile of so many segments."""
    count = len(distinct)
    seen = np.empty((count, _SEEN, 6), dtype=np.int64)
    # Any number of units may fit at any time.
    most = np.full((count, segments), FAR)
    return Asks(number, distinct, most, seen, np.zeros(count, dtype=np.int64))


@leaf
def _is_plain(request, shapes, num_nodes):
    """Say whether fewer units are never harder to place; bounds and even splits can make it so."""
    return (
        request.nodes_min == 1
        and request.nodes_max >= num_nodes
        and shapes[request.shape, SHAPE_SPLIT] == 0
        and shapes[request.shape, SHAPE_SEGMENT] == 0
        and shapes[request.shape, SHAPE_SWITCHES] == 0
    )


@leaf
def seen_start(seen, num_seen, request, shapes, num_nodes, start):
    """Return a second before which a job cannot start, after those planned of its request."""
    plain = _is_plain(request, shapes, num_nodes)
    for i in range(min(num_seen, _SEEN)):
        if seen[i, 1] > request.duration or seen[i, 2] <= start:
            continue
        same = seen[i, 3] == request.nodes_min and seen[i, 4] == request.nodes_max
        fewer = plain and seen[i, 5] == 1 and seen[i, 0] <= request.units
        if fewer or (same and seen[i, 0] == request.units):
            start = seen[i, 2]
    return start


@leaf
def remember(seen, num_seen, request, shapes, num_nodes, start):
    """Note when a job was planned, in place of one that says less; return how many were noted."""
    plain = int(_is_plain(request, shapes, num_nodes))
    slot = -1
    for i in range(min(num_seen, _SEEN)):
        if seen[i, 1] >= request.duration and seen[i, 2] <= start and seen[i, 5] == plain:
            same = seen[i, 3] == request.nodes_min and seen[i, 4] == request.nodes_max
            if (seen[i, 0] == request.units and same) or (plain and seen[i, 0] >= request.units):
                slot = i
                break
    if slot < 0:
        slot = num_seen % _SEEN
        num_seen += 1
    seen[slot, 0], seen[slot, 1], seen[slot, 2] = request.units, request.duration, start
    seen[slot, 3], seen[slot, 4], seen[slot, 5] = request.nodes_min, request.nodes_max, plain
    return num_seen


@leaf
def occupy_known(profile, most, at, request, pieces, shapes, capacity):
    """
    Take a placement on whole groups off a profile, from segment ``at`` on.

    ``most`` is that of :class:`Asks`: what is true of a segment is true of a new part of it.
    """
    count = profile.num[SEGMENTS]
    end = profile.times[at] + request.duration
    source = occupy_groups(profile, at, end, pieces, request.shape, shapes, capacity)
    if source >= 0:
        for d in range(len(most)):
            most[d, count] = most[d, source]
