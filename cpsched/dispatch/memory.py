"""
What the kernels remember between two decisions, and when they have to forget it.

The arrays and what is in them: :mod:`cpsched.kernels.pass_state`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.kernels import pass_state as kernel_memory

if TYPE_CHECKING:
    from cpsched.model.jobstore import JobStore
    from cpsched.model.types import BoolArray, IntArray
    from cpsched.model.view import View

_SMALLEST_BOOK = 256


class Memory:
    """
    A cache, and no state: with an empty one every decision is the same, only slower.

    It is emptied where a view has another job store than the last, or one whose queue has been
    reordered; what fits where is forgotten where other nodes are eligible. A store's columns that
    are set at submit, and the masks of eligible nodes, must not be changed in place.

    Parameters
    ----------
    capacity
        Of each node, shape ``(N, R)``.
    scarce
        What every node has of each kind, shape ``(R,)``: more than that is scarce.

    Attributes
    ----------
    main, book, kind_of
        The arrays for the kernels, valid for the last view given to :meth:`prepare`.
    """

    def __init__(self, capacity: IntArray, scarce: IntArray) -> None:
        num_nodes, num_kinds = capacity.shape
        self.main: IntArray = np.zeros(
            kernel_memory.memory_size(num_nodes, num_kinds), dtype=np.int64
        )
        self.book: IntArray = np.zeros((0, kernel_memory.BOOK_WIDTH), dtype=np.int64)
        self.kind_of: IntArray = np.zeros(0, dtype=np.int64)
        first = kernel_memory.HEADER + num_kinds
        self.main[first : first + num_kinds] = scarce
        first += num_kinds + capacity.size
        self.main[first : first + capacity.size] = capacity.ravel()
        self.main[kernel_memory.LEAST] = num_nodes
        self.main[kernel_memory.GREATEST] = -1
        self.main[kernel_memory.SUMMED] = bool((capacity.sum(axis=0, dtype=float) < 2**62).all())
        self._first_open = kernel_memory.first_list(num_nodes, num_kinds)
        self._first_open += kernel_memory.OPEN * num_nodes
        first = kernel_memory.first_slot(num_nodes, num_kinds)
        self._slots = self.main[first : first + kernel_memory.SLOTS]
        self._store: JobStore | None = None
        self._columns: object = None
        self._shapes: object = None
        self._eligible: BoolArray = np.zeros((0, num_nodes), dtype=np.bool_)
        self._reordered = 0

    @property
    def open_nodes(self) -> IntArray:
        """
        Nodes on which something was free at the last pass, in their order.

        Valid until the next pass; on some of them nothing may be free.
        """
        first = self._first_open
        return self.main[first : first + self.main.item(kernel_memory.NUM_OPEN)]

    def repeat(self) -> None:
        """Say that the next pass is over the same view as the last: what is free is known."""
        self.main[kernel_memory.SAME] = 1

    def prepare(self, view: View) -> None:
        """Forget what does not hold for a view."""
        store = view.waiting.store
        if (
            store.columns is not self._columns
            or store.reordered != self._reordered
            or self.main.item(kernel_memory.FULL)
        ):
            self._refresh(view)
        else:
            self.prepare_room(view)

    def prepare_room(self, view: View) -> None:
        """Forget what does not hold for a view, kinds of jobs left aside."""
        if view.eligible is not self._eligible or view.waiting.store.shapes is not self._shapes:
            self._refresh(view)

    def _refresh(self, view: View) -> None:
        store = view.waiting.store
        full = bool(self.main[kernel_memory.FULL])
        same = store is self._store and store.reordered == self._reordered
        if not same or full or len(store.shapes) >= len(self.book):
            # Kinds enough that few decisions fill the book again, also for a deep queue.
            self._empty(max(len(store.shapes) + 1, 4 * len(view.waiting) if full else 0))
        if len(store.columns) > len(self.kind_of):
            grown = np.zeros(len(store.columns), dtype=np.int64)
            grown[: len(self.kind_of)] = self.kind_of
            self.kind_of = grown
        known, masks = self._eligible, view.eligible
        if masks is not known and not np.array_equal(masks[: len(known)], known):
            self._forget_room()
        self._store, self._reordered = store, store.reordered
        self._columns, self._shapes, self._eligible = store.columns, store.shapes, masks

    def _empty(self, needed: int) -> None:
        """Forget everything but what is free, with room for at least so many rows of the book."""
        size = max(1 << (needed - 1).bit_length(), _SMALLEST_BOOK, len(self.book))
        self.book = np.zeros((size, kernel_memory.BOOK_WIDTH), dtype=np.int64)
        self.kind_of[:] = 0
        self.main[kernel_memory.KINDS] = self.main[kernel_memory.FULL] = 0
        self._forget_room()

    def _forget_room(self) -> None:
        """Forget what fits where."""
        self.book[:, kernel_memory.ROOM] = -1
        self.main[kernel_memory.TRACKED] = 0
        self._slots[:] = 0
