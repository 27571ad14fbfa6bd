"""The queue as Slurm sorts it, as records."""

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
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self.order: IntArray = np.zeros(0, dtype=np.int64)
        self._keys: IntArray = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.order)

    def insert(self, record: int) -> None:
        """Put a record at its place."""
        key = self._records.table.item(record, r.KEY)
        at = int(self._keys.searchsorted(key, side="right"))
        while at and self._keys[at - 1] == key and self.order[at - 1] > record:
            at -= 1
        self.order = _inserted(self.order, at, record)
        self._keys = _inserted(self._keys, at, key)

    def remove(self, records: Iterable[int]) -> None:
        """Take records out; those that are not in it are passed over."""
        for record in records:
            key = self._records.table.item(record, r.KEY)
            at = int(self._keys.searchsorted(key))
            while at < len(self) and self._keys[at] == key and self.order[at] != record:
                at += 1
            if at < len(self) and self.order[at] == record:
                self.order = np.concatenate([self.order[:at], self.order[at + 1 :]])
                self._keys = np.concatenate([self._keys[:at], self._keys[at + 1 :]])

    def prioritise(self, now: int, fair_share: FloatArray) -> bool:
        """Recompute all priorities, and sort; return whether the order has changed."""
        before = self.order
        if not len(before):
            return False
        self._records.prioritise(before, now, fair_share)
        keys = self._records.table[before, r.KEY]
        sort = np.lexsort((before, keys))
        self.order, self._keys = before[sort], keys[sort]
        return not np.array_equal(before, self.order)


def _inserted(values: IntArray, at: int, value: int) -> IntArray:
    """Return values with another one at a place; several times as fast as NumPy's ``insert``."""
    found = np.empty(len(values) + 1, dtype=np.int64)
    found[:at], found[at], found[at + 1 :] = values[:at], value, values[at:]
    return found
