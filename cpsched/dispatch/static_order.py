"""
The queue in the order of a priority that never changes while a job waits.

Sorting a queue of tens of thousands at every decision makes a backlog quadratic; here only what
has come and gone since the last decision is worked in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model import columns as c
from cpsched.model.jobtable import JobTable

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.model.types import AnyArray, IntArray
    from cpsched.model.view import View
    from cpsched.priority import Priority


class StaticOrder:
    """
    Keeps the waiting jobs sorted between decisions.

    It is a cache and no state: without it, or with another store than last time, the order is
    found anew, and is the same.

    Parameters
    ----------
    priority
        One with a single key that never changes while a job waits.
    """

    def __init__(self, priority: Priority) -> None:
        if not priority.static:
            raise ValueError(f"priority '{priority.name}' changes while jobs wait")
        self._priority = priority
        self._forget()

    def reset(self, system: System) -> None:
        """Prepare for a system."""
        self._priority.reset(system)
        self._forget()

    def _forget(self) -> None:
        self._store: object = None
        self._rows: IntArray = np.zeros(0, dtype=np.int64)
        self._keys: AnyArray = np.zeros(0)
        self._last = -1
        self._reordered = 0

    def rows(self, view: View) -> IntArray:
        """Return the store's rows of the waiting jobs, first by priority, then in queue order."""
        waiting = view.waiting
        store = waiting.store
        if store is not self._store or store.reordered != self._reordered:
            self._forget()
            self._store, self._reordered = store, store.reordered
        # Rows are in order of submit, so what is new lies behind the last one seen.
        new = waiting.rows[np.searchsorted(waiting.rows, self._last, side="right") :]
        self._drop(view, len(self._rows) + len(new) - len(waiting))
        if len(new):
            self._insert(view, new)
        rows = self._rows.view()
        rows.flags.writeable = False
        return rows

    def _drop(self, view: View, gone: int) -> None:
        """Take out the jobs that no longer wait; mostly they are the first few."""
        columns = view.waiting.store.columns
        first = 0
        while first < gone and columns[self._rows[first], c.STATE] != c.WAITING:
            first += 1
        if first:
            self._rows, self._keys = self._rows[first:], self._keys[first:]
        if first < gone:
            stay = columns[self._rows, c.STATE] == c.WAITING
            self._rows, self._keys = self._rows[stay], self._keys[stay]

    def _insert(self, view: View, new: IntArray) -> None:
        (keys,) = self._priority.keys(JobTable(view.waiting.store, new), view.now)
        order = np.argsort(keys, kind="stable")
        new, keys = new[order], keys[order]
        at = np.searchsorted(self._keys, keys, side="right")
        self._rows = np.insert(self._rows, at, new)
        self._keys = np.insert(self._keys, at, keys)
        self._last = int(view.waiting.rows[-1])
