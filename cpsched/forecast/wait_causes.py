"""Why one waiting job does not start in one decision: room, others, reservations, order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.contract import WaitReason
from cpsched.forecast.explanation import WaitCause
from cpsched.forecast.free_capacity import Fitting, node_list

if TYPE_CHECKING:
    from cpsched.forecast.context import DecisionContext
    from cpsched.forecast.explanation import OtherJob
    from cpsched.model.allocation import Allocation
    from cpsched.util.types import IntArray

#: With more running jobs in the way than this, all are named, not only the needed ones.
_MOST_PRUNED = 256


def why_waiting(context: DecisionContext) -> WaitCause:
    """Return the reason why a waiting job does not start."""
    fitting = Fitting(context.view, context.row)
    capacity = fitting.free_capacity(context.view.free)
    fits_after = fitting.place(context.free_after) is not None
    ahead: OtherJob | None = None
    note: str | None
    never = context.dispatcher.never_starts(context.shown).get(context.row, "")
    note = never or context.dispatcher.wait_note(context.row)
    if note:
        reason = WaitReason.NEVER if never else WaitReason.LIMIT
    elif not capacity.fits:
        reason = WaitReason.NO_ROOM
    elif (note := _unconsidered(context)) is not None:
        derived = WaitReason.NOT_CONSIDERED
        reason, ahead = _reason_of_dispatcher(context, derived), context.first_ahead()
    elif not fits_after:
        reason = WaitReason.OTHERS_START
    else:
        reason, ahead = _why_passed_over(context, fitting)
    needed, could_start = ([], None) if fits_after else waits_for(context, fitting)
    reserved = context.reserved.get(context.handle)
    nodes = None if reserved is None else reserved.nodes
    names = context.view.system.node_names
    return WaitCause(
        reason=reason,
        room=capacity,
        before=_starting(context, fitting) if reason is WaitReason.OTHERS_START else (),
        ahead=ahead,
        waits_for=tuple(needed),
        could_start=could_start,
        would_end=context.end_of(context.row, context.view.now),
        planned=None if reserved is None else reserved.start,
        planned_nodes=None if nodes is None else node_list(names, np.sort(nodes)),
        open_ended=context.is_open_ended(None if reserved is None else reserved.start)
        or context.is_open_ended(None if ahead is None else ahead.start),
        asked_again=context.decision.again_at,
        note=note or "",
    )


def _unconsidered(context: DecisionContext) -> str | None:
    """Return why the dispatcher does not consider a job, '' if it does not say; None if it does."""
    dispatcher, row = context.dispatcher, context.row
    note = dispatcher.not_considered(context.shown, context.decision, row)
    considered = dispatcher.considered(context.shown)
    return note if note or (considered is not None and row not in considered) else None


def _reason_of_dispatcher(context: DecisionContext, derived: WaitReason) -> WaitReason:
    """Return the dispatcher's reason where it has a better one than what follows."""
    return context.dispatcher.wait_reason(context.shown, context.decision, context.row, derived)


def _why_passed_over(
    context: DecisionContext, fitting: Fitting
) -> tuple[WaitReason, OtherJob | None]:
    """
    Say why a job that fits beside all starting jobs does not start, and which job is in its way.
    """
    delays = delayed(context, fitting)
    if delays is not None:
        derived = WaitReason.RESERVATION
    elif context.dispatcher.selects_sets:
        derived = WaitReason.NOT_SELECTED
    elif not context.reserved and context.first_ahead() is not None:
        derived = WaitReason.ORDER
    else:
        derived = WaitReason.PLANNED_LATER
    reason = _reason_of_dispatcher(context, derived)
    if reason is WaitReason.RESERVATION:
        return reason, delays
    return reason, context.first_ahead() if reason is WaitReason.ORDER else None


def _starting(context: DecisionContext, fitting: Fitting) -> tuple[OtherJob, ...]:
    """Return the jobs that start now on nodes that this job may use, in the dispatcher's order."""
    starting = []
    for start in context.starts:
        node = start.allocation.node
        if fitting.eligible[node].any():
            row, now = context.row_of[start.handle], context.view.now
            starting.append(context.other(row, now, context.end_of(row, now), node))
    return tuple(sorted(starting, key=lambda job: job.rank or 0))


def waits_for(context: DecisionContext, fitting: Fitting) -> tuple[list[OtherJob], int | None]:
    """
    Return the running jobs whose ends make room for a job, and when they have ended.

    Jobs end when expected and no other job starts. Jobs whose end makes no difference are left out,
    the earliest first.
    """
    holdings = [holding for holding in context.holdings() if fitting.eligible[holding.node].any()]
    holdings.sort(key=lambda holding: (holding.end, holding.row))
    free = context.free_after.copy()
    needed = 0
    while fitting.place(free) is None and needed < len(holdings):
        # All jobs that end in the same second make room together.
        end = holdings[needed].end
        while needed < len(holdings) and holdings[needed].end == end:
            free[holdings[needed].node] += holdings[needed].amount
            needed += 1
    if fitting.place(free) is None:
        return [], None
    in_the_way = []
    for holding in holdings[:needed]:
        if needed <= _MOST_PRUNED:
            free[holding.node] -= holding.amount
            if fitting.place(free) is not None:
                continue
            free[holding.node] += holding.amount
        in_the_way.append(context.other(holding.row, holding.start, holding.end, holding.node))
    return in_the_way, holdings[needed - 1].end


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
        (reservation.start, at, reservation)
        for at, reservation in enumerate(context.reserved.values())
        if reservation.start < until
        and reservation.handle != context.handle
        and reservation.handle in context.row_of
    )[:_MOST_PLANNED]
    if not planned:
        return None
    future = _Future(context, [start for start, _, _ in planned])
    for start, _, reservation in planned:
        row = context.row_of[reservation.handle]
        future.reserve(row, start, context.end_of(row, start), reservation.nodes, reservation.units)
        if not future.fits(fitting):
            return context.other_reserved(row, reservation)
    return None


class _Future:
    """Free capacity now and at every planned start; between them it only grows."""

    def __init__(self, context: DecisionContext, starts: list[int]) -> None:
        view = context.view
        self._view = view
        self.times: IntArray = np.unique(np.asarray([view.now, *starts], dtype=np.int64))
        self.levels: IntArray = np.repeat(context.free_after[None], len(self.times), axis=0)
        for holding in context.holdings():
            self.levels[np.ix_(self.times >= holding.end, holding.node)] += holding.amount
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
        preferred = np.maximum(low - self.levels[0], 0)
        takes = allocator.look_at(self._view).place(store.columns[row], low, preferred)
        return None if takes is None else allocator.allocation(self._view, row, takes)

    def fits(self, fitting: Fitting) -> bool:
        """Whether a job fits from now until its end."""
        enough = bool((self.sums.min(axis=0) >= fitting.demand).all())
        return enough and fitting.place(self.levels.min(axis=0)) is not None
