"""
What passes over a queue have placed so far: records, each with the groups that it has.

A list of int64 that grows: record, number of pieces, and for each piece group, nodes and units.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import ZERO
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.profile import occupy_groups, split_groups, take_off
from cpsched.kernels.start_log import begin_entry
from cpsched.slurm.kernels.records import ROW, request_of_record


@inner
def append(list_, used, pieces, record):
    """Append a record, a count and that many pieces to a growing list; return it and its length."""
    list_, used = begin_entry(list_, used, record, len(pieces), 3 * len(pieces))
    for p in range(len(pieces)):
        for k in range(3):
            list_[used] = pieces[p, k]
            used += 1
    return list_, used


@leaf
def has_started(placed, num_placed, records, row):
    """Say whether a job has started in another partition."""
    at = 0
    while at < num_placed:
        if records[placed[at], ROW] == row:
            return True
        at += 2 + 3 * placed[at + 1]
    return False


@inner
def records_in(placed, num_placed):
    """Return the records of a list of :func:`append`."""
    count = 0
    at = ZERO
    while at < num_placed:
        at += 2 + 3 * placed[at + 1]
        count += 1
    found = np.empty(count, dtype=np.int64)
    at = ZERO
    for i in range(count):
        found[i] = placed[at]
        at += 2 + 3 * placed[at + 1]
    return found


@inner
def without_placed(placed, num_placed, given, profile, until_ends):
    """Return a profile after what the main pass started, placed in the same steps."""
    now = profile.times[0]
    shapes, capacity = given.machine.shapes, given.machine.capacity
    at = ZERO
    while at < num_placed:
        request = request_of_record(given.records, placed[at], given.cols)
        count = placed[at + 1]
        pieces = placed[at + 2 : at + 2 + 3 * count].copy().reshape(count, 3)
        profile = split_groups(profile, pieces)
        if until_ends:
            end = now + request.duration
            occupy_groups(profile, 0, end, pieces, request.shape, shapes, capacity)
        else:
            take_off(profile, 0, pieces, request.shape, shapes, capacity)
        at += 2 + 3 * count
    return profile
