"""
Free capacity over time, for groups of neighbouring equal nodes.

Nodes next to each other with the same capacity, open to the same jobs of the queue, with the same
free now and the same running jobs on them are one group with one level. A placement splits the
groups it uses in part. So there are as many groups as what runs and what is planned make
different, whatever the number of nodes; and since a group is a run of nodes in their order, a
choice among groups names the nodes that the same choice among nodes would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.rooms import Groups, amount_on
from cpsched.kernels.runs import begin_at, num_runs, run_end, words
from cpsched.model.columns import (
    ALLOC_COUNT,
    ALLOC_FIRST,
)

if TYPE_CHECKING:
    from cpsched.util.types import BoolArray, IntArray

#: Positions in ``Profile.num``.
SEGMENTS, GROUPS = 0, 1
#: How many more groups there is room for at first.
SPARE = np.int64(64)


class Profile(NamedTuple):
    """
    Free capacity over time; arrays hold more than is in use.

    Attributes
    ----------
    num
        How many segments and groups there are.
    times, rows
        Segment i begins at ``times[i]``; what is free then stands in row ``rows[i]`` of ``levels``
        and ``room``, so that a new segment moves no level. The last one never ends.
    levels
        At ``[row, g, r]`` what each node of group g has of kind r.
    room
        At ``[row, r]`` what all nodes together have.
    falls, fallen
        Whether a planned job begins where a row does, and at ``[row]`` on which groups, as bits.
        Elsewhere a level is no lower than the one before it.
    first, size
        Groups: the first of their nodes and how many there are.
    line
        Groups in order of nodes.
    """

    num: IntArray
    times: IntArray
    rows: IntArray
    levels: IntArray
    room: IntArray
    falls: BoolArray
    fallen: IntArray
    first: IntArray
    size: IntArray
    line: IntArray


@inner
def groups_of(profile):
    """Return the groups of a profile."""
    return Groups(profile.first, profile.size, profile.line[: profile.num[GROUPS]])


@leaf
def mark_allocations(begins, num_nodes, cols, running, arena_node, arena_amount):
    """
    Mark where what running jobs hold begins and ends as beginnings of groups.

    Neighbours stay together where a job has the same of both, next to each other in its
    allocation.
    """
    num_kinds = arena_amount.shape[1]
    for job in running:
        before = -2
        first = cols[job, ALLOC_FIRST]
        for k in range(first, first + cols[job, ALLOC_COUNT]):
            node = arena_node[k]
            same = node == before + 1
            if same:
                for r in range(num_kinds):
                    if arena_amount[k, r] != arena_amount[k - 1, r]:
                        same = False
            if not same:
                begin_at(begins, node)
                if 0 <= before < num_nodes - 1:
                    begin_at(begins, before + 1)
            before = node
        if 0 <= before < num_nodes - 1:
            begin_at(begins, before + 1)


@inner
def grouped(now, begins, free, segments, spare):
    """
    Return the profile of one segment, in which what is free now stays so.

    Parameters
    ----------
    begins
        Where groups begin.
    segments, spare
        Room for that many segments, and for that many more groups.
    """
    num_nodes, num_kinds = free.shape
    profile = empty_profile(segments, min(num_nodes, num_runs(begins) + spare), num_kinds)
    group_into(profile, now, begins, free)
    return profile


@leaf
def group_into(profile, now, begins, free):
    """Make a profile with enough room that of :func:`grouped`."""
    num_nodes, num_kinds = free.shape
    count = num_runs(begins)
    levels, room = profile.levels, profile.room
    first, size, line = profile.first, profile.size, profile.line
    room[0, :] = 0
    n = 0
    for g in range(count):
        end = run_end(begins, n, num_nodes)
        first[g], size[g], line[g] = n, end - n, g
        for r in range(num_kinds):
            levels[0, g, r] = free[n, r]
            room[0, r] += (end - n) * free[n, r]
        n = end
    profile.num[SEGMENTS], profile.num[GROUPS] = 1, count
    profile.times[0], profile.rows[0] = now, 0


@inner
def profile_of_nodes(times, levels, spare):
    """Return the profile of single nodes with levels that never fall; ``spare`` more segments."""
    count, num_nodes, num_kinds = levels.shape
    profile = empty_profile(count + spare, num_nodes, num_kinds)
    first, size, line = profile.first, profile.size, profile.line
    for n in range(num_nodes):
        first[n], size[n], line[n] = n, 1, n
    for i in range(count):
        profile.times[i], profile.rows[i] = times[i], i
        profile.room[i, :] = 0
        for n in range(num_nodes):
            for r in range(num_kinds):
                profile.levels[i, n, r] = levels[i, n, r]
                profile.room[i, r] += levels[i, n, r]
    profile.num[SEGMENTS], profile.num[GROUPS] = count, num_nodes
    return profile


@inner
def empty_profile(segments, width, num_kinds):
    """Return a profile of nothing with room for so many segments and groups."""
    return Profile(
        np.empty(2, dtype=np.int64),
        np.empty(segments, dtype=np.int64),
        np.empty(segments, dtype=np.int64),
        np.empty((segments, width, num_kinds), dtype=np.int64),
        np.empty((segments, num_kinds), dtype=np.int64),
        np.zeros(segments, dtype=np.bool_),
        np.zeros((segments, words(width)), dtype=np.int64),
        np.empty(width, dtype=np.int64),
        np.empty(width, dtype=np.int64),
        np.empty(width, dtype=np.int64),
    )


@inner
def group_places(first, num_groups, num_nodes):
    """Return at the first node of each group its number, and anything at the others."""
    places = np.empty(num_nodes, dtype=np.int64)
    for g in range(num_groups):
        places[first[g]] = g
    return places


@leaf
def group_from(first, num_groups, places, node):
    """Return the group that begins at a node, -1 if none does."""
    g = places[node]
    return g if 0 <= g < num_groups and first[g] == node else -1


@leaf
def copy_row(profile, source, row):
    """Make a row of a profile's levels a copy of another."""
    levels, room = profile.levels, profile.room
    for r in range(room.shape[1]):
        room[row, r] = room[source, r]
    for g in range(profile.num[GROUPS]):
        for r in range(room.shape[1]):
            levels[row, g, r] = levels[source, g, r]


@leaf
def give_back(profile, row, places, job, cols, arena_node, arena_amount):
    """Add what a running job holds to a row of a profile; ``places`` are those of groups."""
    levels, room, first, size = profile.levels, profile.room, profile.first, profile.size
    num_groups, num_kinds = profile.num[GROUPS], room.shape[1]
    begin = cols[job, ALLOC_FIRST]
    for k in range(begin, begin + cols[job, ALLOC_COUNT]):
        g = group_from(first, num_groups, places, arena_node[k])
        if g >= 0:
            for r in range(num_kinds):
                levels[row, g, r] += arena_amount[k, r]
                room[row, r] += arena_amount[k, r] * size[g]


@inner
def resized(profile, segments, width):
    """Return a profile with room for so many segments and groups, no fewer than it has."""
    num_segments, num_groups = profile.num
    num_kinds = profile.room.shape[1]
    larger = empty_profile(segments, width, num_kinds)
    first, size, line = larger.first, larger.size, larger.line
    for g in range(num_groups):
        first[g], size[g], line[g] = profile.first[g], profile.size[g], profile.line[g]
    for i in range(num_segments):
        larger.times[i], larger.rows[i] = profile.times[i], profile.rows[i]
        larger.falls[i] = profile.falls[i]
        for r in range(num_kinds):
            larger.room[i, r] = profile.room[i, r]
        for word in range(words(num_groups)):
            larger.fallen[i, word] = profile.fallen[i, word]
        for g in range(num_groups):
            for r in range(num_kinds):
                larger.levels[i, g, r] = profile.levels[i, g, r]
    larger.num[SEGMENTS], larger.num[GROUPS] = num_segments, num_groups
    return larger


@leaf
def note_fall(fallen, row, g):
    """Note that a planned job begins on a group where a row does."""
    fallen[row, g >> 6] |= 1 << (g & 63)


@leaf
def _split(profile, g, count):
    """Leave a group its first ``count`` nodes, and return the new group of the others."""
    num, levels, line, fallen = profile.num, profile.levels, profile.line, profile.fallen
    num_kinds = profile.room.shape[1]
    new = num[GROUPS]
    num[GROUPS] = new + 1
    profile.first[new] = profile.first[g] + count
    profile.size[new] = profile.size[g] - count
    profile.size[g] = count
    for i in range(num[SEGMENTS]):
        for r in range(num_kinds):
            levels[i, new, r] = levels[i, g, r]
        if (fallen[i, g >> 6] >> (g & 63)) & 1:
            note_fall(fallen, i, new)
    i = new
    while line[i - 1] != g:
        line[i] = line[i - 1]
        i -= 1
    line[i] = new
    return new


@leaf
def num_splits(profile, pieces):
    """Return how many groups :func:`split_pieces` will add."""
    count = 0
    left = 0
    for i in range(len(pieces)):
        if i == 0 or pieces[i, 0] != pieces[i - 1, 0]:
            left = profile.size[pieces[i, 0]]
        left -= pieces[i, 1]
        if left > 0:
            count += 1
    return count


@leaf
def split_pieces(profile, pieces):
    """Split the groups that a placement uses in part; its pieces then name whole groups."""
    before = -1
    rest = -1
    for i in range(len(pieces)):
        g = pieces[i, 0]
        if g == before:
            pieces[i, 0] = rest
        before = g
        g = pieces[i, 0]
        rest = _split(profile, g, pieces[i, 1]) if pieces[i, 1] < profile.size[g] else -1


@inner
def split_groups(profile, pieces):
    """Return a profile, with more room where there is too little, after :func:`split_pieces`."""
    needed = profile.num[GROUPS] + num_splits(profile, pieces)
    if needed > len(profile.line):
        width = profile.num[GROUPS] + 2 * needed
        profile = resized(profile, len(profile.times), width)
    split_pieces(profile, pieces)
    return profile


@leaf
def take_off(profile, row, pieces, shape, shapes, capacity):
    """Take a placement on whole groups off one row of a profile."""
    levels, room, first = profile.levels, profile.room, profile.first
    for p in range(len(pieces)):
        g, nodes, units = pieces[p, 0], pieces[p, 1], pieces[p, 2]
        if units > 0:
            for r in range(capacity.shape[1]):
                amount = amount_on(shapes, shape, capacity, first[g], units, r)
                levels[row, g, r] -= amount
                room[row, r] -= amount * nodes


@leaf
def cut_at(profile, at, second):
    """
    Let a segment behind segment ``at`` begin at a second.

    Returns
    -------
    index, source
        Which one does, and the row that it is a new copy of; -1 if none is new.
    """
    num, times, rows = profile.num, profile.times, profile.rows
    count = num[SEGMENTS]
    last = at
    while last < count and times[last] < second:
        last += 1
    if last < count and times[last] == second:
        return last, -1
    for i in range(count, last, -1):
        times[i] = times[i - 1]
        rows[i] = rows[i - 1]
    times[last] = second
    rows[last] = count
    source = rows[last - 1]
    copy_row(profile, source, count)
    num[SEGMENTS] = count + 1
    return last, source


@leaf
def occupy_groups(profile, at, end, pieces, shape, shapes, capacity):
    """
    Take a placement on whole groups off a profile, from segment ``at`` until ``end``.

    Returns the row that the segment which then begins at ``end`` is a copy of, -1 if none is new.
    """
    rows, levels, room = profile.rows, profile.levels, profile.room
    first, fallen = profile.first, profile.fallen
    num_kinds = room.shape[1]
    last, source = cut_at(profile, at, end)
    profile.falls[rows[at]] = True
    for p in range(len(pieces)):
        g, nodes, units = pieces[p, 0], pieces[p, 1], pieces[p, 2]
        if units == 0:
            continue
        note_fall(fallen, rows[at], g)
        for r in range(num_kinds):
            amount = amount_on(shapes, shape, capacity, first[g], units, r)
            if amount != 0:
                for i in range(at, last):
                    levels[rows[i], g, r] -= amount
                    room[rows[i], r] -= amount * nodes
    return source
