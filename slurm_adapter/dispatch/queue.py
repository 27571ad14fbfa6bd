"""The queue as Slurm sorts it, and the jobs that run, as records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slurm_adapter.kernels import records as r

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.api.model import FloatArray, IntArray
    from slurm_adapter.dispatch.records import Records

_FEWEST = 256


class SortedQueue:
    """
    Waiting records: first those that cannot be preempted, and those in reservations.

    Then by tier of partition, priority and number.

    Between two computations of priorities the order is kept; new records are inserted.

    Parameters
    ----------
    records
        All records.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._order: IntArray = np.zeros(_FEWEST, dtype=np.int64)
        self._keys: IntArray = np.zeros(_FEWEST, dtype=np.int64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def order(self) -> IntArray:
        """The records in order."""
        return self._order[: self._size]

    def insert(self, record: int) -> None:
        """Put a record at its place."""
        size = self._size
        if size == len(self._order):
            self._order = np.concatenate([self._order, np.zeros_like(self._order)])
            self._keys = np.concatenate([self._keys, np.zeros_like(self._keys)])
        key = self._records.table.item(record, r.KEY)
        at = int(self._keys[:size].searchsorted(key, side="right"))
        while at and self._keys[at - 1] == key and self._order[at - 1] > record:
            at -= 1
        for array, value in ((self._order, record), (self._keys, key)):
            array[at + 1 : size + 1] = array[at:size]
            array[at] = value
        self._size = size + 1

    def remove(self, records: Iterable[int]) -> None:
        """Take records out; those that are not in it are passed over."""
        for record in records:
            size = self._size
            key = self._records.table.item(record, r.KEY)
            at = int(self._keys[:size].searchsorted(key))
            while at < size and self._keys[at] == key and self._order[at] != record:
                at += 1
            if at < size and self._order[at] == record:
                for array in (self._order, self._keys):
                    array[at : size - 1] = array[at + 1 : size]
                self._size = size - 1

    def prioritise(self, now: int, fair_share: FloatArray) -> bool:
        """Recompute all priorities, and sort; return whether the order has changed."""
        order = self.order
        if not len(order):
            return False
        before = order.copy()
        self._records.prioritise(order, now, fair_share)
        keys = self._records.table[order, r.KEY]
        sort = np.lexsort((order, keys))
        self._order[: self._size] = order[sort]
        self._keys[: self._size] = keys[sort]
        return not np.array_equal(before, self.order)


class Running:
    """Records of the jobs that run, in any order."""

    def __init__(self) -> None:
        self._records: IntArray = np.zeros(_FEWEST, dtype=np.int64)
        self._rows: IntArray = np.zeros(_FEWEST, dtype=np.int64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def records(self) -> IntArray:
        """The records."""
        return self._records[: self._size]

    @property
    def rows(self) -> IntArray:
        """Their rows of the job store."""
        return self._rows[: self._size]

    def add(self, record: int, row: int) -> None:
        """Note that a job has started."""
        if self._size == len(self._records):
            self._records = np.concatenate([self._records, np.zeros_like(self._records)])
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._records[self._size], self._rows[self._size] = record, row
        self._size += 1

    def take(self, places: IntArray) -> IntArray:
        """Take the records at some places out, and return them."""
        taken = self._records[places].copy()
        for at in places[::-1].tolist():
            last = self._size - 1
            self._records[at], self._rows[at] = self._records[last], self._rows[last]
            self._size = last
        return taken
