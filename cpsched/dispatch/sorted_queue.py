"""
Waiting jobs kept sorted by a queue order between decisions.

Sorting a queue of tens of thousands at every decision makes a backlog quadratic; where a priority
never changes while a job waits, only the changes since the last decision are merged in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.orders import FifoOrder
from cpsched.dispatch.passes import frozen
from cpsched.model import columns as c
from cpsched.model.jobtable import JobTable

if TYPE_CHECKING:
    from cpsched.dispatch.orders import Priority
    from cpsched.model.view import View
    from cpsched.util.types import AnyArray, BoolArray, IntArray


class QueueOrder:
    """
    The waiting jobs in the order of a priority, kept sorted between decisions if it is static.

    What is kept is a cache, not state: without it, or with another store, the order is computed
    again and is the same.

    Parameters
    ----------
    priority
        Sets the order; ties stay in queue order.
    """

    def __init__(self, priority: Priority) -> None:
        self._priority = priority
        #: Whether jobs are taken as they wait.
        kind = type(priority)
        self.is_fifo = (kind.order, kind.keys, kind.rows) == (
            FifoOrder.order,
            FifoOrder.keys,
            FifoOrder.rows,
        )
        self.forget()

    def forget(self) -> None:
        """Reset."""
        self._store: object = None
        self._rows: IntArray = np.zeros(0, dtype=np.int64)
        #: Of :attr:`_rows`, most significant first.
        self._keys: tuple[AnyArray, ...] = ()
        #: Of each row of the store: whether it is among :attr:`_rows`.
        self._is_ordered: BoolArray = np.zeros(0, dtype=np.bool_)
        self._last = -1
        self._reordered = 0

    def rows(self, view: View) -> IntArray:
        """Return the store's rows of the waiting jobs in order, read-only."""
        if self.is_fifo:
            return view.waiting.rows
        return frozen(
            self._ordered_rows(view) if self._priority.static else self._priority.rows(view)
        )

    def _ordered_rows(self, view: View) -> IntArray:
        """Bring the kept order up to date, and return it."""
        waiting = view.waiting
        store = waiting.store
        if store is not self._store or store.reordered != self._reordered:
            self.forget()
            self._store, self._reordered = store, store.reordered
        # Rows are in submit order, so new ones follow the last one seen.
        new = waiting.rows[np.searchsorted(waiting.rows, self._last, side="right") :]
        self._drop(view, len(self._rows) + len(new) - len(waiting))
        if len(store.columns) > len(self._is_ordered):
            self._is_ordered = np.zeros(len(store.columns), dtype=np.bool_)
            self._is_ordered[self._rows] = True
        known = len(waiting) - len(new)
        if len(self._rows) != known or not self._is_ordered[waiting.rows[:known]].all():
            # The view leaves out jobs that wait, or has some the last one left out.
            self._keep(slice(0))
            new = waiting.rows
        if len(new):
            self._insert(view, new)
        return self._rows.view()

    def _drop(self, view: View, gone: int) -> None:
        """Take out the jobs that no longer wait; mostly they are the first few."""
        columns = view.waiting.store.columns
        first = 0
        while first < gone and columns[self._rows[first], c.STATE] != c.WAITING:
            first += 1
        if first:
            self._is_ordered[self._rows[:first]] = False
            self._rows = self._rows[first:]
            self._keys = tuple(key[first:] for key in self._keys)
        if first < gone:
            self._keep(columns[self._rows, c.STATE] == c.WAITING)

    def _keep(self, which: slice | AnyArray) -> None:
        """Keep some of the rows."""
        self._is_ordered[self._rows] = False
        self._rows = self._rows[which]
        self._is_ordered[self._rows] = True
        self._keys = tuple(key[which] for key in self._keys)

    def _insert(self, view: View, new: IntArray) -> None:
        keys = self._priority.keys(JobTable(view.waiting.store, new), view.now)
        if len(keys) == 1 and len(self._keys) == 1:
            (key,), (known,) = keys, self._keys
            order = np.argsort(key, kind="stable")
            new, key = new[order], key[order]
            at = np.searchsorted(known, key, side="right")
            self._rows = np.insert(self._rows, at, new)
            self._keys = (np.insert(known, at, key),)
        else:
            # Known jobs were submitted before the new ones: both sorts keep them first in a tie.
            self._rows = np.concatenate([self._rows, new])
            if len(self._keys):
                keys = tuple(np.concatenate(pair) for pair in zip(self._keys, keys, strict=True))
            order = np.lexsort(keys[::-1])
            self._rows, self._keys = self._rows[order], tuple(key[order] for key in keys)
        self._is_ordered[new] = True
        self._last = int(view.waiting.rows[-1])
