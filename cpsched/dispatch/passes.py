"""From the arrays a kernel returns to a decision, and back to the kernels' arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.kernels import easy, pass_state, planning, start_log
from cpsched.kernels import list_pass as listing
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation
from cpsched.model.decision import NOTHING, Decision, PlannedStarts, Start

if TYPE_CHECKING:
    import numpy as np

    from cpsched.dispatch.allocators import Allocator
    from cpsched.dispatch.orders import Priority
    from cpsched.model.view import View
    from cpsched.util.types import AnyArray, BoolArray, IntArray

#: As many reservations as there are jobs.
ALL = 2**62


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
    Return of some rows of the store, read-only, which jobs could start now on their own.

    Never False for one that can; see the kernel.
    """
    allocator.memory.prepare_room(view)
    fits: BoolArray = listing.fits_now(rows, *_tables(view, allocator))
    return fits


def list_pass(view: View, rows: IntArray, allocator: Allocator, *, stop: bool) -> IntArray:
    """
    Return what :func:`start_in_order` decides, packed as by :mod:`cpsched.kernels.start_log`.
    """
    allocator.memory.prepare_room(view)
    policy = allocator.order_for(view)
    packed: IntArray = listing.list_pass(policy, stop, rows, *_tables(view, allocator))
    return packed


def easy_pass(
    view: View,
    rows: IntArray,
    behind: IntArray,
    allocator: Allocator,
    rule: np.int64 = easy.EASY,
) -> IntArray:
    """
    Return what EASY decides, packed as by :mod:`cpsched.kernels.start_log`.

    Parameters
    ----------
    rows
        Rows of the store, read-only, in priority order.
    behind
        The same in the order in which they are backfilled.
    rule
        See :data:`cpsched.kernels.easy.EASY`.
    """
    memory = allocator.memory
    memory.prepare(view)
    policy = allocator.order_for(view)
    packed: IntArray = easy.easy_pass(
        policy, rule, view.now, rows, behind, memory.class_of, None,
        *_tables(view, allocator), *_running(view),
    )  # fmt: skip
    return packed


def plan_pass(
    view: View, rows: IntArray, allocator: Allocator, depth: int, *, full: bool
) -> tuple[IntArray, IntArray]:
    """
    Plan the jobs of some rows of the store, read-only, in their order.

    Returns
    -------
    packed, planned
        What starts, packed as by :mod:`cpsched.kernels.start_log`, and the planned starts.
    """
    allocator.memory.prepare_room(view)
    policy = allocator.order_for(view)
    packed, planned = planning.plan_pass(
        policy, view.now, rows, depth, int(full), *_tables(view, allocator), *_running(view)
    )
    return packed, planned


def decision_of(view: View, packed: IntArray) -> Decision:
    """Return the decision a kernel's pass amounts to; its head becomes a plan of one job."""
    number = packed.item
    count, used, num_nodes = number(0), number(1), number(4)
    if not (count or num_nodes):
        return NOTHING
    columns = view.waiting.store.columns
    plan = None
    if num_nodes:
        handle = columns.item(number(2), c.HANDLE)
        plan = PlannedStarts((handle,), (number(3),), {handle: packed[-num_nodes:]})
    if not count:
        return Decision((), plan)
    at = start_log.HEADER + 2 * count + 1
    middle = at + used
    end = middle + used
    node = packed[at:middle]
    units = packed[middle:end]
    amount = packed[end : len(packed) - num_nodes].reshape(used, -1)
    if count == 1:
        handle = columns.item(number(start_log.HEADER), c.HANDLE)
        return Decision((Start(handle, Allocation(node, units, amount)),), plan)
    rows = packed[start_log.HEADER : start_log.HEADER + count]
    bounds = packed[start_log.HEADER + count : start_log.HEADER + 2 * count + 1].tolist()
    actions = [
        Start(handle, Allocation(node[first:last], units[first:last], amount[first:last]))
        for handle, first, last in zip(
            columns[rows, c.HANDLE].tolist(), bounds[:-1], bounds[1:], strict=True
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
    """Return the rows, in queue order, of the jobs worth ranking: see the kernel."""
    allocator.memory.prepare(view)
    rows: IntArray = pass_state.candidates(
        priority.by_age, view.waiting.rows, allocator.memory.class_of, *_tables(view, allocator)
    )
    return rows


def _tables(view: View, allocator: Allocator) -> tuple[Any, ...]:
    """Return the arrays that every pass takes, in its order."""
    store, memory = view.waiting.store, allocator.memory
    return (
        store.columns, store.shapes, view.eligible, memory.main, memory.job_classes, view.free,
    )  # fmt: skip


def _running(view: View) -> tuple[Any, ...]:
    """Return the running jobs by expected end, and their allocations."""
    running = view.running
    return running.rows, running.arena.node, running.arena.amount


def frozen(rows: IntArray) -> IntArray:
    """Mark an array of rows read-only, as the kernels are compiled for."""
    rows.flags.writeable = False
    return rows


def start_by(view: View, order: AnyArray, allocator: Allocator, *, stop: bool = False) -> Decision:
    """
    Start waiting jobs in an order, as long as they fit.

    Parameters
    ----------
    order
        Positions in ``view.waiting``, in the order of trial; jobs left out wait.
    allocator
        Chooses the nodes, see :func:`make_allocator`.
    stop
        Whether to stop at the first job that does not fit; otherwise it is skipped.
    """
    return start_in_order(view, frozen(view.waiting.rows[order]), allocator, stop=stop)
