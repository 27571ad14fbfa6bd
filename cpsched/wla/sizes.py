"""How many wholly free nodes jobs need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model import columns as c
from cpsched.model.jobtable import JobTable

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.types import IntArray
    from cpsched.model.view import View
    from cpsched.wla.machine_slots import MachineSlots

#: Of a shape: what a job says itself of how it is to lie.
OWN_PLACES = [c.SHAPE_SEGMENT, c.SHAPE_SWITCHES, c.SHAPE_BOX]
_DEMAND = (c.SHAPE, c.UNITS, c.NODES_MIN, c.NODES_MAX)


class Sizes:
    """
    The sizes of jobs on each sort of nodes.

    They are found by placing a job on all nodes of a sort as if they were free, once for each
    distinct request; they are kept until the sorts of nodes change.
    """

    def __init__(self, allocator: Allocator, machine: MachineSlots) -> None:
        self._allocator, self._machine = allocator, machine
        self._known: dict[tuple[int, ...], IntArray] = {}
        self._longest: IntArray = np.zeros(0, dtype=np.int64)
        self.forget()

    def forget(self) -> None:
        """Take up other sorts of nodes."""
        self._known.clear()
        machine = self._machine
        first = np.flatnonzero(machine.begins)
        self._longest = np.zeros(machine.num_sorts, dtype=np.int64)
        length = np.diff(first, append=len(machine.begins))
        np.maximum.at(self._longest, machine.sort[first], length)

    def of(self, view: View, rows: IntArray) -> IntArray:
        """
        Return how many neighbouring nodes of each sort jobs need, shape ``(n, number of sorts)``.

        0 for nodes that a job may not use, where even the whole machine has no run of them that is
        long enough, and for jobs that say themselves how they are to lie (segments, switches, box).
        """
        columns = view.waiting.store.columns
        code, first = JobTable(view.waiting.store, rows).distinct()
        sizes = np.zeros((len(first), self._machine.num_sorts), dtype=np.int64)
        for at, row in enumerate(rows[first].tolist()):
            demand = tuple(columns[row, _DEMAND].tolist())
            if demand not in self._known:
                self._known[demand] = self._find(view, row)
            sizes[at] = self._known[demand]
        return sizes[code]

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
