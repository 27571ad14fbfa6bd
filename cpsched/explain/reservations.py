"""The planned job that a job would delay if it started now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.explain.room import Fitting
from cpsched.kernels import placing

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.explain.context import DecisionContext
    from cpsched.explain.model import OtherJob
    from cpsched.model.allocation import Allocation

#: This many planned jobs are checked, the earliest first.
_MOST_PLANNED = 64


def delayed(context: DecisionContext, fitting: Fitting) -> OtherJob | None:
    """
    Return the first planned job that this job would delay if it were started now.

    The plan is carried out on paper, planned job by planned job in order of start, on nodes
    (those of the plan where it names them) and in sums over the machine. The answer is the first
    planned job that leaves this one no room from now to its expected end; None if there is always
    room.
    """
    until = context.end_of(context.row, context.view.now)
    planned = sorted(
        (one.start, at, one)
        for at, one in enumerate(context.reserved.values())
        if one.start < until and one.handle != context.handle and one.handle in context.row_of
    )[:_MOST_PLANNED]
    if not planned:
        return None
    future = _Future(context, [start for start, _, _ in planned])
    for start, _, one in planned:
        row = context.row_of[one.handle]
        future.reserve(row, start, context.end_of(row, start), one.nodes, one.units)
        if not future.has_room(fitting):
            return context.other_reserved(row, one)
    return None


class _Future:
    """
    Free capacity now and at every planned start; between them it only grows.

    Parameters
    ----------
    starts
        Planned starts, seconds.
    """

    def __init__(self, context: DecisionContext, starts: list[int]) -> None:
        view = context.view
        self._view = view
        self.times: IntArray = np.unique(np.asarray([view.now, *starts], dtype=np.int64))
        self.levels: IntArray = np.repeat(context.free_after[None], len(self.times), axis=0)
        for held in context.holdings():
            self.levels[np.ix_(self.times >= held.end, held.node)] += held.amount
        self.sums: IntArray = self.levels.sum(axis=1)

    def reserve(
        self, row: int, start: int, end: int, nodes: IntArray | None, units: IntArray | None
    ) -> None:
        """Subtract a planned job; if it fits on no nodes, from the sums alone."""
        fitting = Fitting(self._view, row)
        during = (self.times >= start) & (self.times < end)
        self.sums[during] -= fitting.demand
        low = self.levels[during].min(axis=0)
        placed = None
        if nodes is not None:
            if units is not None:
                placed = fitting.allocator.planned(self._view, row, nodes, units)
            elsewhere = np.ones(len(low), dtype=np.bool_)
            elsewhere[nodes] = False
            low[elsewhere] = 0
        if placed is None:
            placed = self._place(row, fitting, low)
        if placed is not None:
            self.levels[np.ix_(during, placed.node)] -= placed.amount

    def _place(self, row: int, fitting: Fitting, low: IntArray) -> Allocation | None:
        """Place a planned job, on busy nodes before free ones, as EASY reserves."""
        allocator, store = fitting.allocator, self._view.waiting.store
        takes = np.zeros(len(low), dtype=np.int64)
        fits = placing.place_preferring(
            allocator.order_for(store),
            store.columns,
            row,
            store.shapes,
            self._view.eligible,
            allocator.capacity,
            allocator.scarce,
            allocator.memory.places,
            low,
            np.maximum(low - self.levels[0], 0),
            takes,
        )
        return allocator.allocation(self._view, row, takes) if fits else None

    def has_room(self, fitting: Fitting) -> bool:
        """Whether a job fits from now until its end."""
        enough = bool((self.sums.min(axis=0) >= fitting.demand).all())
        return enough and fitting.place(self.levels.min(axis=0)) is not None
