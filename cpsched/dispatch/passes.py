"""Native passes over the queue of a view, and the decisions that they amount to."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cpsched.model import columns as c
from cpsched.model.allocation import Allocation
from cpsched.model.decision import NOTHING, Decision, PlannedStarts, Start

if TYPE_CHECKING:
    from cpsched import _core
    from cpsched.dispatch.allocators import Allocator
    from cpsched.dispatch.orders import Priority
    from cpsched.model.view import View
    from cpsched.util.types import AnyArray, BoolArray, IntArray

    #: What a pass starts and reserves, None where that is nothing: the rows that start, the bounds
    #: of their nodes (one more), the nodes, the tasks on each and what is taken of each; then the
    #: row of the job with the reservation (-1 for none), when it starts, and the reserved nodes.
    PassResult: TypeAlias = (
        tuple[IntArray, IntArray, IntArray, IntArray, IntArray, int, int, IntArray] | None
    )

#: As many reservations as there are jobs.
ALL = 2**62

#: How the queue behind the first job that does not fit is backfilled: around a reservation that
#: uses busy capacity first, as backfilled jobs use reserved capacity first; or without such a
#: preference, as with the first of several reservations.
EASY, PLAIN = 0, 1


def start_in_order(view: View, rows: IntArray, allocator: Allocator, *, stop: bool) -> Decision:
    """
    Start the jobs of some rows of the store in their order.

    Parameters
    ----------
    stop
        Whether the first that does not fit ends the pass; otherwise it is skipped.
    """
    return decision_of(view, list_pass(view, rows, allocator, stop=stop))


def fits_now(view: View, rows: IntArray, allocator: Allocator) -> BoolArray:
    """
    Return of some rows of the store which jobs could start now on their own.

    Exact except for bounds on the number of nodes, even splits and jobs whose nodes must go
    together, for which True may be too optimistic; never False for a job that fits.
    """
    fits: BoolArray = np.empty(len(rows), dtype=np.bool_)
    allocator.look_at(view).fits_now(rows, fits)
    return fits


def list_pass(view: View, rows: IntArray, allocator: Allocator, *, stop: bool) -> PassResult:
    """Return what :func:`start_in_order` decides, for :func:`decision_of`."""
    result: PassResult = allocator.look_at(view).list(rows, stop)
    return result


def easy_pass(
    view: View, rows: IntArray, behind: IntArray, allocator: Allocator, rule: int = EASY
) -> PassResult:
    """
    Return what EASY decides, for :func:`decision_of`.

    Jobs start from the head of the queue on. The first that does not fit gets a reservation, and
    those behind it are backfilled. A job that could not be placed even if all that runs had ended
    (nodes are down) is skipped as if it were not in the queue.

    Parameters
    ----------
    rows
        Rows of the store in priority order.
    behind
        The same in the order in which they are backfilled.
    rule
        :data:`EASY` or :data:`PLAIN`.
    """
    result: PassResult = look_at_all(view, allocator).easy(rows, behind, rule)
    return result


def plan_pass(
    view: View, rows: IntArray, allocator: Allocator, depth: int, *, full: bool
) -> tuple[PassResult, IntArray]:
    """
    Plan the jobs of some rows of the store in their order.

    Returns
    -------
    result, planned
        What starts, for :func:`decision_of`, and the planned starts.
    """
    result, planned = look_at_all(view, allocator).plan(rows, depth, full)
    return result, planned


def look_at_all(view: View, allocator: Allocator) -> _core.PassMemory:
    """Point the native passes to a view and its running jobs; return what they are called on."""
    memory, running = allocator.look_at(view), view.running
    arena = running.arena
    memory.look_at_running(view.now, running.rows, arena.node, arena.count, arena.amount)
    return memory


def decision_of(view: View, result: PassResult) -> Decision:
    """Return the decision a pass amounts to; its reservation becomes a plan of one job."""
    if result is None:
        return NOTHING
    rows, bounds, node, units, amount, head, reserved_at, reserved = result
    columns = view.waiting.store.columns
    plan = None
    if head >= 0:
        handle = columns.item(head, c.HANDLE)
        plan = PlannedStarts((handle,), (reserved_at,), {handle: reserved})
    if len(rows) == 0:
        return Decision((), plan)
    if len(rows) == 1:
        handle = columns.item(rows.item(0), c.HANDLE)
        return Decision((Start(handle, Allocation(node, units, amount)),), plan)
    limits = bounds.tolist()
    actions = [
        Start(handle, Allocation(node[first:last], units[first:last], amount[first:last]))
        for handle, first, last in zip(
            columns[rows, c.HANDLE].tolist(), limits[:-1], limits[1:], strict=True
        )
    ]
    return Decision(actions, plan)


def with_plan(view: View, decision: Decision, rows: IntArray, planned: IntArray) -> Decision:
    """Return a decision with the planned starts of some rows, as far as they are to come."""
    later = planned > view.now
    if not later.any():
        return decision
    handles = view.waiting.store.columns[rows[later], c.HANDLE]
    return decision._replace(
        planned_starts=PlannedStarts(handles.tolist(), planned[later].tolist())
    )


def candidates(view: View, priority: Priority, allocator: Allocator) -> IntArray:
    """
    Return the jobs worth ranking, those that could start now on their own, as rows in queue order.

    Exact except for bounds on the number of nodes, even splits and jobs whose nodes must go
    together, which may be included though they do not fit. Where a priority goes by age, only as
    many jobs of one class are returned as fit together: it puts earlier ones first, so later ones
    cannot start.
    """
    rows: IntArray = allocator.look_at(view).candidates(view.waiting.rows, priority.by_age)
    return rows


def frozen(rows: IntArray) -> IntArray:
    """Mark an array of rows read-only."""
    rows.flags.writeable = False
    return rows


def start_by(view: View, order: AnyArray, allocator: Allocator, *, stop: bool = False) -> Decision:
    """
    Return a decision that starts the waiting jobs that fit, tried one by one in an order.

    Each call begins with the free capacity of the view, without the starts of other calls.

    Parameters
    ----------
    order
        Positions in ``view.waiting``, in the order of trial. Jobs that are not among them wait.
    allocator
        Allocator that chooses the nodes, see :func:`make_allocator`.
    stop
        Whether to stop at the first job that does not fit. Otherwise it is skipped.
    """
    return start_in_order(view, frozen(view.waiting.rows[order]), allocator, stop=stop)
