"""How many wholly free nodes jobs need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model import columns as c

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobstore import JobStore
    from cpsched.model.view import View
    from cpsched_papers.wla.machine_slots import MachineSlots

#: Of a shape: what a job says itself of how it is to lie.
OWN_PLACES = [c.SHAPE_SEGMENT, c.SHAPE_SWITCHES]
_DEMAND = (c.SHAPE, c.UNITS, c.NODES_MIN, c.NODES_MAX)


class Sizes:
    """
    The sizes of jobs on each sort of nodes.

    They are found by placing a job on all nodes of a sort as if they were free, once for each
    distinct request; they are kept until the sorts of nodes change.
    """

    def __init__(self, allocator: Allocator, machine: MachineSlots) -> None:
        self._allocator, self._machine = allocator, machine
        self.forget()

    def forget(self) -> None:
        """Take up other sorts of nodes."""
        machine = self._machine
        first = machine.begins
        self._longest = np.zeros(machine.num_sorts, dtype=np.int64)
        length = np.diff(first, append=len(machine.sort))
        np.maximum.at(self._longest, machine.sort[first], length)
        self._number: dict[tuple[int, ...], int] = {}
        self._sizes: IntArray = np.zeros((0, machine.num_sorts), dtype=np.int64)
        # The number of each row's request, -1 where it has not been looked at.
        self._of_row: IntArray = np.zeros(0, dtype=np.int64)
        self._store: JobStore | None = None
        self._reordered = 0

    def of(self, view: View, rows: IntArray) -> IntArray:
        """
        Return how many neighbouring nodes of each sort jobs need, shape ``(n, number of sorts)``.

        0 for nodes that a job may not use, where even the whole machine has no run of them that is
        long enough, and for jobs that say themselves how they are to lie (segments, switches).
        """
        store = view.waiting.store
        if store is not self._store or store.reordered != self._reordered:
            self.forget()
            self._store, self._reordered = store, store.reordered
        more = len(store.columns) - len(self._of_row)
        if more:
            self._of_row = np.append(self._of_row, np.full(more, -1))
        for row in rows[self._of_row[rows] < 0].tolist():
            demand = tuple(store.columns[row, _DEMAND].tolist())
            if demand not in self._number:
                self._number[demand] = len(self._number)
                self._sizes = np.vstack([self._sizes, self._find(view, row)])
            self._of_row[row] = self._number[demand]
        return self._sizes[self._of_row[rows]]

    def _find(self, view: View, row: int) -> IntArray:
        found = np.zeros(self._machine.num_sorts, dtype=np.int64)
        store = view.waiting.store
        if store.shapes[store.columns[row, c.SHAPE], OWN_PLACES].any():
            return found
        for sort, longest in enumerate(self._longest.tolist()):
            nodes = self._machine.sort == sort
            free = np.where(nodes[:, None], self._allocator.capacity, 0)
            allocation = self._allocator.place(view, row, free)
            if allocation is not None and len(allocation.node) <= longest:
                found[sort] = len(allocation.node)
        return found
