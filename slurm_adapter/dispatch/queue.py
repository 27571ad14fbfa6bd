"""The queue as Slurm sorts it, and the jobs that run, as records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slurm_adapter.kernels import records as r

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.api.model import FloatArray, IntArray
    from slurm_adapter.dispatch.records import Records


class SortedQueue:
    """
    Waiting records: first those that cannot be preempted, and those in reservations.

    Then by tier of partition, priority and number.

    Between two computations of priorities the order is kept; new records are inserted.

    Parameters
    ----------
    records
        All records.

    Attributes
    ----------
    order
        The records in order.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self.order: IntArray = np.zeros(0, dtype=np.int64)
        self._keys: IntArray = self.order

    def __len__(self) -> int:
        return len(self.order)

    def insert(self, record: int) -> None:
        """Put a record at its place."""
        key = self._records.table.item(record, r.KEY)
        at = int(self._keys.searchsorted(key, side="right"))
        while at and self._keys[at - 1] == key and self.order[at - 1] > record:
            at -= 1
        self._splice(at, at, ([record], [key]))

    def remove(self, records: Iterable[int]) -> None:
        """Take records out; those that are not in it are passed over."""
        for record in records:
            key = self._records.table.item(record, r.KEY)
            at = int(self._keys.searchsorted(key))
            while at < len(self) and self._keys[at] == key and self.order[at] != record:
                at += 1
            if at < len(self) and self.order[at] == record:
                self._splice(at, at + 1, ([], []))

    def _splice(self, begin: int, end: int, new: tuple[list[int], list[int]]) -> None:
        """Replace a part of the queue by records with their keys."""
        self.order, self._keys = (
            np.concatenate([array[:begin], np.array(own, dtype=np.int64), array[end:]])
            for array, own in zip((self.order, self._keys), new, strict=True)
        )

    def prioritise(self, now: int, fair_share: FloatArray) -> bool:
        """Recompute all priorities, and sort; return whether the order has changed."""
        before = self.order
        self._records.prioritise(before, now, fair_share)
        keys = self._records.table[before, r.KEY]
        sort = np.lexsort((before, keys))
        self.order, self._keys = before[sort], keys[sort]
        return not np.array_equal(before, self.order)


class Running:
    """
    Records of the jobs that run, in any order.

    Attributes
    ----------
    records, rows
        The records, and their rows of the job store.
    """

    def __init__(self) -> None:
        self.records: IntArray = np.zeros(0, dtype=np.int64)
        self.rows: IntArray = self.records

    def __len__(self) -> int:
        return len(self.records)

    def add(self, record: int, row: int) -> None:
        """Note that a job has started."""
        self.records = np.append(self.records, record)
        self.rows = np.append(self.rows, row)

    def take(self, places: IntArray) -> IntArray:
        """Take the records at some places out, and return them."""
        taken = self.records[places]
        for at in places[::-1].tolist():
            # The last one takes the place.
            self.records[at], self.rows[at] = self.records[-1], self.rows[-1]
            self.records, self.rows = self.records[:-1], self.rows[:-1]
        return taken
