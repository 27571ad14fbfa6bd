"""From the arrays a kernel returns to a decision, and back to the kernels' arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched import kernels, registry
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation
from cpsched.model.decision import NOTHING, Decision, Start

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.types import IntArray
    from cpsched.model.view import View
    from cpsched.priority import Priority


def make_allocator(name: str) -> Allocator:
    """Return a registered allocator."""
    allocator: Allocator = registry.load("allocators", name)()
    return allocator


def make_priority(name: str) -> Priority:
    """Return a registered priority."""
    priority: Priority = registry.load("priorities", name)()
    return priority


def start_in_order(view: View, rows: IntArray, allocator: Allocator, *, stop: bool) -> Decision:
    """
    Start the jobs of some rows of the store in their order.

    Parameters
    ----------
    stop
        Whether the first that does not fit ends the pass; otherwise it is skipped.
    """
    store = view.waiting.store
    started, ends, node, units, amount = kernels.list_pass(
        allocator.policy,
        stop,
        rows,
        store.columns,
        store.shapes,
        view.eligible,
        allocator.capacity,
        allocator.scarce,
        view.free,
    )
    if not len(started):
        return NOTHING
    return Decision(starts_of(view, started, ends, node, units, amount))


def starts_of(
    view: View,
    started: IntArray,
    ends: IntArray,
    node: IntArray,
    units: IntArray,
    amount: IntArray,
) -> list[Start]:
    """Return the start actions of a pass; job i's nodes are ``ends[i]:ends[i + 1]``."""
    handles = view.waiting.store.columns[c.HANDLE]
    if len(started) == 1:
        return [Start(int(handles[started[0]]), Allocation(node, units, amount))]
    bounds = ends.tolist()
    return [
        Start(
            int(handles[row]),
            Allocation(node[first:last], units[first:last], amount[first:last]),
        )
        for row, first, last in zip(started.tolist(), bounds[:-1], bounds[1:], strict=True)
    ]


def frozen(rows: IntArray) -> IntArray:
    """Mark an array of rows read-only, as the kernels are compiled for."""
    rows.flags.writeable = False
    return rows
