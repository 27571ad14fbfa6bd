"""Why one waiting job does not start in one decision: room, others, reservations, order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.contract import WaitReason
from cpsched.explain.model import Waiting
from cpsched.explain.nearest import nearest_node
from cpsched.explain.reservations import delayed
from cpsched.explain.room import Fitting, node_list

if TYPE_CHECKING:
    from cpsched.explain.context import DecisionContext
    from cpsched.explain.model import OtherJob

#: With more running jobs in the way than this, all are named, not only the needed ones.
_MOST_PRUNED = 256


def why_waiting(context: DecisionContext) -> Waiting:
    """Say why a waiting job is not among those started."""
    fitting = Fitting(context.view, context.row)
    room = fitting.room(context.view.free)
    fits_after = fitting.place(context.free_after) is not None
    ahead: OtherJob | None = None
    note = context.dispatcher.wait_note(context.row)
    if note:
        reason = WaitReason.LIMIT
    elif not room.fits:
        reason = WaitReason.NO_ROOM
    elif not fits_after:
        reason = WaitReason.OTHERS_START
    else:
        reason, ahead = _held_back(context, fitting)
    needed, could_start = ([], None) if fits_after else waits_for(context, fitting)
    reserved = context.reserved.get(context.handle)
    nodes = None if reserved is None else reserved.nodes
    names = context.view.system.node_names
    lacks = not fits_after
    return Waiting(
        reason=reason,
        room=room,
        before=_starting(context, fitting) if reason is WaitReason.OTHERS_START else (),
        ahead=ahead,
        waits_for=tuple(needed),
        could_start=could_start,
        nearest=nearest_node(fitting, context.free_after, context.holdings()) if lacks else None,
        would_end=context.end_of(context.row, context.view.now),
        planned=None if reserved is None else reserved.start,
        planned_nodes=None if nodes is None else node_list(names, np.sort(nodes)),
        asked_again=context.decision.again_at,
        note=note,
    )


def _held_back(context: DecisionContext, fitting: Fitting) -> tuple[WaitReason, OtherJob | None]:
    """
    Say why a job that fits beside all starting jobs does not start, and which job is in its way.
    """
    derived, delays = _derived(context, fitting)
    dispatcher, row = context.dispatcher, context.row
    reason = dispatcher.wait_reason(context.shown, context.decision, row, derived)
    if reason is WaitReason.RESERVATION:
        return reason, delays
    return reason, context.first_ahead() if reason is WaitReason.ORDER else None


def _derived(context: DecisionContext, fitting: Fitting) -> tuple[WaitReason, OtherJob | None]:
    """Return the reason that follows from what a dispatcher says, and the job it would delay."""
    considered = context.dispatcher.considered(context.shown)
    if considered is not None and context.row not in considered:
        return WaitReason.NOT_CONSIDERED, None
    found = delayed(context, fitting)
    if found is not None:
        return WaitReason.RESERVATION, found
    if context.dispatcher.selects_sets:
        return WaitReason.NOT_SELECTED, None
    if not context.reserved and context.first_ahead() is not None:
        return WaitReason.ORDER, None
    return WaitReason.PLANNED_LATER, None


def _starting(context: DecisionContext, fitting: Fitting) -> tuple[OtherJob, ...]:
    """Return the jobs that start now on nodes that this job may use, in the dispatcher's order."""
    found = []
    for start in context.starts:
        node = start.allocation.node
        if fitting.eligible[node].any():
            row, now = context.row_of[start.handle], context.view.now
            found.append(context.other(row, now, context.end_of(row, now), node))
    return tuple(sorted(found, key=lambda job: job.rank or 0))


def waits_for(context: DecisionContext, fitting: Fitting) -> tuple[list[OtherJob], int | None]:
    """
    Return the running jobs whose ends make room for a job, and when they have ended.

    Jobs end when expected and no other job starts. Jobs whose end makes no difference are left out,
    the earliest first.
    """
    held = [one for one in context.holdings() if fitting.eligible[one.node].any()]
    held.sort(key=lambda one: (one.end, one.row))
    free = context.free_after.copy()
    needed = 0
    while fitting.place(free) is None and needed < len(held):
        # All jobs that end in the same second make room together.
        end = held[needed].end
        while needed < len(held) and held[needed].end == end:
            free[held[needed].node] += held[needed].amount
            needed += 1
    if fitting.place(free) is None:
        return [], None
    kept = []
    for one in held[:needed]:
        if needed <= _MOST_PRUNED:
            free[one.node] -= one.amount
            if fitting.place(free) is not None:
                continue
            free[one.node] += one.amount
        kept.append(context.other(one.row, one.start, one.end, one.node))
    return kept, held[needed - 1].end
