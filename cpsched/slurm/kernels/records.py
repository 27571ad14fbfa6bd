"""
What Slurm's passes go by: records of jobs in partitions, limits as counters, and rules.

A job in several partitions has a record for each of them. What it counts against follows from its
*template*, a list of counters, and from its *amounts* (one for each kind of thing counted).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.kernels.arrays import FAR
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.placing import FIRST_FIT
from cpsched.kernels.rooms import Request, machine_at, weighted
from cpsched.kernels.runs import packed_bits
from cpsched.model.columns import NODES_MAX, NODES_MIN, RUNTIME_ESTIMATE, UNITS

if TYPE_CHECKING:
    from cpsched.util.types import AnyArray, BoolArray, IntArray

# Columns of records.
#: Row of the job store, partition, row of the shapes, and template.
ROW, PARTITION, ASKS, TEMPLATE = range(4)
#: Whether the job has other records; its array, user and association; -1: none.
SEVERAL, ARRAY, USER, ASSOCIATION = range(4, 8)
#: The reservation the job runs in (-1: none) and the second by which it must have ended.
RESERVATION, UNTIL = 8, 9
#: The second from which on the job may hold up others, and its priority.
RESERVES_FROM, PRIORITY = 10, 11
#: For when the last backfill pass planned it (-1: not at all).
PLANNED = 12
#: The second before which the job does not start.
BEGINS = 13
NUM_FIELDS = 14
#: What no pass looks at: what priorities follow from (from when on age counts, CPUs, fewest nodes,
#: time limit, QOS and nice), and by what the queue is sorted: what goes before priority, and both.
SINCE, CPUS, NODES, MINUTES, QOS, NICE, STANDING, KEY = range(14, 22)
NUM_COLUMNS = 22

# Positions in ``Rules.numbers``.
#: The present second; whether there is a main and a backfill pass.
NOW, MAIN, BACKFILL = range(3)
#: How many jobs a main pass considers, in total and per partition, and starts.
DEPTH, PARTITION_DEPTH, MOST_STARTS = range(3, 6)
#: How many jobs a backfill pass considers: in total, per user, partition, both, association.
TESTED, OF_USER, OF_PARTITION, OF_BOTH, OF_ASSOCIATION = range(6, 11)
#: How many it starts, and how many reservations tasks of an array, and jobs of a partition, get.
BACKFILL_STARTS, ARRAY_RESERVATIONS, PARTITION_RESERVATIONS = range(11, 14)
#: Seconds into the future, seconds to which reservations are rounded, whether they keep whole nodes
#: and how long after a job's end another's may begin.
WINDOW, RESOLUTION, CLOSE, GAP = range(14, 18)
#: A job below this priority holds nothing up; whether a limit does.
LEAST_PRIORITY, LIMITS_STOP = 18, 19
#: How many partitions, users, associations and reservations there are.
NUM_PARTITIONS, NUM_USERS, NUM_ASSOCIATIONS, NUM_RESERVATIONS = range(20, 24)
#: Seconds within which ends count as one, at first (0: they do not), and by how much more for those
#: that follow; 0 for twice as much each time.
ENDS_WITHIN, ENDS_MORE = 24, 25
#: Whether a job that fits on one node of a run gets the one with the least room that is enough.
TIGHT = 26
#: Whether only starts matter: a pass ends as soon as it is certain that no more follow, and plans
#: for fewer of the others.
STARTS_ALONE = 27
#: How many jobs the main pass of the last decision has started.
MAIN_STARTED = 28
NUM_NUMBERS = 29


class Rules(NamedTuple):
    """
    Settings of a pass.

    Attributes
    ----------
    numbers
        By the positions above.
    begins
        Where groups of nodes begin for other reasons than what is free, as bits.
    nodes
        The nodes of each partition, shape ``(P, N)``; without rows partitions do not keep nodes.
    kept_from, kept_until, kept
        Reservations: when, and which nodes, shapes ``(V,)`` and ``(V, N)``.
    """

    numbers: IntArray
    begins: IntArray
    nodes: BoolArray
    kept_from: IntArray
    kept_until: IntArray
    kept: BoolArray


# Columns of counters and of entries of templates.
#: What is counted now, the most that may be, and whether a job over it may stop those behind it.
USED, MOST, STOPS = range(3)
#: Which counter an entry adds to, which amount of the job times what, and whether that may be too
#: much; otherwise it only counts.
COUNTER, KIND, FACTOR, CHECKED = range(4)


class Limits(NamedTuple):
    """
    Counters, and what jobs count against.

    Attributes
    ----------
    counters
        By the columns above.
    first
        Where the entries of each template begin, one more than there are templates.
    entries
        By the columns above.
    amounts
        Of each record and kind.
    """

    counters: IntArray
    first: IntArray
    entries: IntArray
    amounts: IntArray


class Nodes(NamedTuple):
    """
    The nodes, as :func:`cpsched.kernels.rooms.machine_at` takes them.

    Attributes
    ----------
    policy
        ``LOWEST_SWITCH``, or ``CONTIGUOUS`` where the nodes are a line.
    weights
        Of each node: jobs get nodes of a lower weight first. Of length 0 where all are equal.
    """

    policy: Any
    shapes: IntArray
    eligible: BoolArray
    capacity: IntArray
    worth: IntArray
    places: IntArray
    weights: IntArray


class Held(NamedTuple):
    """
    What is free, and what running jobs hold.

    Attributes
    ----------
    free, flat
        What is free on each node of each kind, shape ``(N, R)``, and the same with one dimension.
    running
        Rows of the running jobs, by expected end; one that has passed counts as the next second.
    """

    free: IntArray
    flat: IntArray
    running: IntArray
    node: IntArray
    amount: IntArray


class Given(NamedTuple):
    """
    What does not change in a pass, but for what is written into records and counters.

    Attributes
    ----------
    machine, placer
        For what fits, and for where jobs go: whether a job fits does not depend on that.
    """

    records: IntArray
    rules: Rules
    limits: Limits
    cols: IntArray
    machine: Any
    placer: Any


@inner
def given_of(records, rules, limits, cols, nodes):
    """Return what does not change in passes."""
    shapes, eligible, capacity = nodes.shapes, nodes.eligible, nodes.capacity
    machine = machine_at(FIRST_FIT, shapes, eligible, capacity, nodes.worth, nodes.places)
    placer = machine_at(nodes.policy, shapes, eligible, capacity, nodes.worth, nodes.places)
    return Given(records, rules, limits, cols, machine, weighted(placer, nodes.weights))


@leaf
def next_change(begins, ends, after):
    """Return the first second after one at which a reservation begins or ends, else ``FAR``."""
    found = FAR
    for v in range(len(begins)):
        if begins[v] > after:
            found = min(found, begins[v])
        if ends[v] > after:
            found = min(found, ends[v])
    return found


@leaf
def over_limit(limits, template, record):
    """Return the first counter that would be too high if a job started, -1 if none would be."""
    for k in range(limits.first[template], limits.first[template + 1]):
        if limits.entries[k, CHECKED]:
            counter = limits.entries[k, COUNTER]
            amount = limits.amounts[record, limits.entries[k, KIND]] * limits.entries[k, FACTOR]
            most = limits.counters[counter, MOST]
            if amount > 0 and limits.counters[counter, USED] + amount > most:
                return counter
    return -1


@leaf
def count_in(limits, template, record, sign):
    """Let a job that starts count (``sign`` 1), or one that ends count no more (-1)."""
    for k in range(limits.first[template], limits.first[template + 1]):
        amount = limits.amounts[record, limits.entries[k, KIND]] * limits.entries[k, FACTOR]
        limits.counters[limits.entries[k, COUNTER], USED] += sign * amount


@leaf
def request_of_record(records, record, cols):
    """Return what a job asks for in a partition; predictions count as a second at least."""
    row = records[record, ROW]
    return Request(
        records[record, ASKS], cols[row, UNITS], max(cols[row, RUNTIME_ESTIMATE], 1),
        cols[row, NODES_MIN], cols[row, NODES_MAX],
    )  # fmt: skip


@leaf
def holds_up(records, record, numbers):
    """Say whether a job that waits for nodes may hold up others."""
    return (
        records[record, PRIORITY] >= numbers[LEAST_PRIORITY]
        and records[record, RESERVES_FROM] <= numbers[NOW]
    )


def group_begins(*alike: AnyArray) -> IntArray:
    """Return, as bits, the nodes that differ from the one before them."""
    differs = np.ones(len(alike[0]), dtype=np.bool_)
    differs[1:] = False
    for values in alike:
        differs[1:] |= (values[1:] != values[:-1]).any(axis=tuple(range(1, values.ndim)))
    return packed_bits(differs)
