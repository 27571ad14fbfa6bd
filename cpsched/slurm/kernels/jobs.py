"""Records of jobs that arrive, made of what their kind has in common, their priority and place."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import sort_by
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.model import columns as c
from cpsched.slurm.kernels import records as r

#: Why a job cannot be taken up now: its kind is not known, or an array is full.
UNKNOWN_KIND, NO_PLACE = 16, 17
#: What jobs of a kind have in common; besides, their array if it has a limit, and, where that
#: matters, their time limit in minutes.
_SAME = np.array(
    [
        *(c.QUEUE, c.QOS, c.USER, c.GROUP, c.LICENSES, c.RESERVATION, c.SHAPE),
        *(c.UNITS, c.NODES_MIN, c.NODES_MAX, c.NICE, c.ARRAY_LIMIT),
    ]
)
NUM_SAME = len(_SAME) + 2
_PRIME = 1099511628211
#: The priority of the first job under priority/basic, as Slurm has it; and the highest of all.
_FIRST, _MOST = 4294901759, float(2**32 - 1)


# --- kinds ------------------------------------------------------------------------------------


@leaf
def _slot_of(kinds, key):
    """Return where a key is in the table of kinds, or where it belongs."""
    mixed = 0
    for k in range(NUM_SAME):
        mixed = (mixed ^ key[k]) * _PRIME
    at = (mixed ^ (mixed >> 29)) & (len(kinds.slots) - 1)
    while kinds.slots[at] >= 0:
        kind, k = kinds.slots[at], 0
        while k < NUM_SAME and kinds.keys[kind, k] == key[k]:
            k += 1
        if k == NUM_SAME:
            break
        at = (at + 1) & (len(kinds.slots) - 1)
    return at


@leaf
def _kind_of(kinds, settings, cols, row):
    """Return a job's kind, -1 for an unknown one; its key is left in ``sought``."""
    sought, last = kinds.sought, len(_SAME)
    for k in range(last):
        sought[k] = cols[row, _SAME[k]]
    sought[last] = cols[row, c.ARRAY] if cols[row, c.ARRAY_LIMIT] > 0 else -1
    minutes = -(-cols[row, c.REQUESTED_TIME] // 60)
    sought[last + 1] = minutes if settings.minds_time != 0 else 0
    return kinds.slots[_slot_of(kinds, sought)]


@kernel
def enter_unknown(kinds, settings, cols, num_kinds, found):
    """
    Number the unknown kinds of some jobs from ``num_kinds`` on; return how many there are.

    ``found`` is filled with the first job of each. There is room for as many as there are jobs.
    """
    count = 0
    for row in range(len(cols)):
        if _kind_of(kinds, settings[0], cols, row) < 0:
            kind = num_kinds + count
            for k in range(NUM_SAME):
                kinds.keys[kind, k] = kinds.sought[k]
            kinds.slots[_slot_of(kinds, kinds.sought)] = kind
            found[count] = row
            count += 1
    return count


@kernel
def note_kinds(kinds, first, end):
    """Enter kinds into the table."""
    for kind in range(first, end):
        kinds.slots[_slot_of(kinds, kinds.keys[kind])] = kind


# --- records ----------------------------------------------------------------------------------


@leaf
def _add_record(desk, entry, cols, row, since):
    """Make a record like one of a kind."""
    jobs, kinds, record = desk.jobs, desk.kinds, desk.book[0].num_records
    for k in range(r.NUM_COLUMNS):
        jobs.table[record, k] = kinds.table[entry, k]
    jobs.table[record, r.ROW], jobs.table[record, r.ARRAY] = row, cols[row, c.ARRAY]
    jobs.table[record, r.SINCE] = since
    jobs.table[record, r.RESERVES_FROM] = since + desk.settings[0].reserves_after
    for k in range(jobs.amounts.shape[1]):
        jobs.amounts[record, k] = kinds.amounts[entry, k]
    for k in range(jobs.weighted.shape[1]):
        jobs.weighted[record, k] = kinds.weighted[entry, k]
    jobs.billing[record] = kinds.billing[entry]
    desk.book[0].num_records = record + 1


@leaf
def end_of(desk, first):
    """Return the record behind those of the job that a record is the first of."""
    table, num = desk.jobs.table, desk.book[0].num_records
    end = first + 1
    while end < num and table[end, r.ROW] == table[first, r.ROW]:
        end += 1
    return end


@leaf
def _add_job(desk, cols, row, now):
    """Make the records of a job that may start from now on; say why that cannot be done."""
    jobs, kinds, book = desk.jobs, desk.kinds, desk.book[0]
    if row >= len(jobs.first):
        return NO_PLACE
    room = len(desk.lists.order) - book.num_queued
    if jobs.first[row] >= 0:
        return 0 if end_of(desk, jobs.first[row]) - jobs.first[row] <= room else NO_PLACE
    kind = _kind_of(kinds, desk.settings[0], cols, row)
    if kind < 0:
        book.unknown = row
        return UNKNOWN_KIND
    first, end = kinds.first[kind], kinds.first[kind + 1]
    if end - first > min(room, len(jobs.table) - book.num_records):
        return NO_PLACE
    jobs.first[row] = book.num_records
    since = cols[row, c.SUBMIT] if desk.settings[0].accrues_always != 0 else now
    for entry in range(first, end):
        _add_record(desk, entry, cols, row, since)
    return 0


# --- priorities -------------------------------------------------------------------------------


@leaf
def _priority_of(desk, record, now, arrives):
    """Return a priority; the age of a job that arrives and whose age counts from now on is 0."""
    settings, row = desk.settings[0], desk.jobs.table[record]
    if settings.basic != 0:
        return _FIRST - row[r.ROW] - row[r.NICE]
    own, age = row[r.ASSOCIATION], 0.0
    if not (arrives and row[r.SINCE] == now):
        waited = max(now - row[r.SINCE], 0)
        part = waited / max(settings.max_age, 1)
        age = settings.age * (part if waited < settings.max_age else 1.0)
    association, job_size, partition, qos, rest = desk.jobs.weighted[record]
    # In Slurm's order: sums of the same numbers are cut off at the same.
    total = age + association
    total = total + settings.fair_share * (desk.charges.fair_share[own] if own >= 0 else 0.0)
    total = total + job_size + partition + qos + rest
    return int(min(max(total, 1.0), _MOST))


@leaf
def prioritise(desk, record, now, arrives):
    """Work out a record's priority, and the key by which it is sorted."""
    table = desk.jobs.table
    priority = _priority_of(desk, record, now, arrives)
    if desk.settings[0].only_rises != 0:
        priority = max(priority, table[record, r.PRIORITY])
    table[record, r.PRIORITY] = priority
    table[record, r.KEY] = -((table[record, r.STANDING] << 32) + priority)


# --- the queue --------------------------------------------------------------------------------


@leaf
def _place_of(lists, num, key, record):
    """Return where a record is in the queue, or belongs: by key, then number."""
    low, high = 0, num
    while low < high:
        middle = (low + high) // 2
        other = lists.keys[middle]
        if other < key or (other == key and lists.order[middle] < record):
            low = middle + 1
        else:
            high = middle
    return low


@leaf
def insert(desk, record):
    """Put a record at its place in the queue."""
    book, lists, key = desk.book[0], desk.lists, desk.jobs.table[record, r.KEY]
    at = _place_of(lists, book.num_queued, key, record)
    for i in range(book.num_queued, at, -1):
        lists.order[i], lists.keys[i] = lists.order[i - 1], lists.keys[i - 1]
    lists.order[at], lists.keys[at] = record, key
    book.num_queued += 1


@leaf
def remove(desk, record):
    """Take a record out of the queue, if it is in it."""
    book, lists = desk.book[0], desk.lists
    at = _place_of(lists, book.num_queued, desk.jobs.table[record, r.KEY], record)
    if at < book.num_queued and lists.order[at] == record:
        book.num_queued -= 1
        for i in range(at, book.num_queued):
            lists.order[i], lists.keys[i] = lists.order[i + 1], lists.keys[i + 1]


@leaf
def take_out(desk, record):
    """Take the job of a record out of the queue, in all its partitions."""
    desk.book[0].num_waiting -= 1
    if desk.jobs.table[record, r.SEVERAL] == 0:
        remove(desk, record)
        return
    first = desk.jobs.first[desk.jobs.table[record, r.ROW]]
    for one in range(first, end_of(desk, first)):
        remove(desk, one)


@leaf
def enqueue(desk, cols, row, now):
    """Put a job into the queue, in each of its partitions; say why that cannot be done."""
    why = _add_job(desk, cols, row, now)
    if why != 0:
        return why
    first = desk.jobs.first[row]
    for record in range(first, end_of(desk, first)):
        prioritise(desk, record, now, True)
        insert(desk, record)
    desk.book[0].num_waiting += 1
    desk.book[0].arrived = 1
    return 0


@leaf
def _refresh(desk, now):
    """Work out all priorities anew; say whether the queue is still in order."""
    lists, in_order = desk.lists, True
    for i in range(desk.book[0].num_queued):
        record = lists.order[i]
        prioritise(desk, record, now, False)
        lists.keys[i] = desk.jobs.table[record, r.KEY]
        if i > 0 and in_order:
            before = lists.keys[i - 1]
            is_tied = before == lists.keys[i]
            in_order = before < lists.keys[i] or (is_tied and lists.order[i - 1] < record)
    return in_order


@inner
def sort_queue(desk, now):
    """Compute all priorities, and sort; return whether the order has changed."""
    if _refresh(desk, now):
        return False
    num, lists = desk.book[0].num_queued, desk.lists
    key, order = np.empty(num), lists.order[:num]
    # Whole numbers below 2^53.
    for i in range(num):
        key[i] = order[i]
    sort_by(key, order, num)
    for i in range(num):
        key[i] = desk.jobs.table[order[i], r.KEY]
    sort_by(key, order, num)
    for i in range(num):
        lists.keys[i] = desk.jobs.table[order[i], r.KEY]
    return True


# --- for Python -------------------------------------------------------------------------------


@kernel
def add_job(desk, cols, row, now):
    """Make the records of a job that may start from now on; say why that cannot be done."""
    return _add_job(desk, cols, row, now)


@kernel
def put(desk, record):
    """Put a record at its place in the queue."""
    insert(desk, record)


@kernel
def drop(desk, record):
    """Take the job of a record out of the queue."""
    take_out(desk, record)


@kernel
def rank(desk, record, now):
    """Work out the priority of a record that arrives."""
    prioritise(desk, record, now, True)


@kernel
def take_in(desk, cols, row, now):
    """Put a job into the queue; say why that cannot be done."""
    return enqueue(desk, cols, row, now)


@kernel
def reprioritise(desk, now):
    """Compute all priorities, and sort; return whether the order has changed."""
    return sort_queue(desk, now)
