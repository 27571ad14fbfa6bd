"""Nodes for the jobs of a plan whose starts are given: one sweep over time."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.dispatchers import Allocator, FirstFit
from cpsched.api.model import Start

if TYPE_CHECKING:
    from cpsched.api.dispatchers import Reservation
    from cpsched.api.model import Allocation, Decision, IntArray, View
    from cpsched_papers.planning.instance import Instance


def assign(instance: Instance, decision: Decision, start: IntArray) -> dict[int, Allocation]:
    """
    Place each job at its planned start on what those before it leave, by handle.

    What a decision starts now lies where it says, a planned job on the nodes the plan names if it
    names any. A job without room at its start is left out: the plan may be one for the machine as
    one pool, or need another choice of nodes for the jobs before.
    """
    view, end = instance.view, start + instance.duration
    allocator = getattr(instance.cluster.dispatcher, "allocator", None)
    if not isinstance(allocator, Allocator):
        allocator = FirstFit()
        allocator.reset(view.system)
    decided = {
        action.handle: action.allocation for action in decision.actions if isinstance(action, Start)
    }
    reserved = {one.handle: one for one in instance.cluster.dispatcher.reservations(view, decision)}
    free = np.array(view.free)
    placed: dict[int, Allocation] = {}
    running: list[tuple[int, int]] = []
    # At the same second, what is decided comes before what is still to be placed.
    for handle in sorted(range(len(start)), key=lambda job: (start[job], job not in decided, job)):
        while running and running[0][0] <= start[handle]:
            _, done = heapq.heappop(running)
            free[placed[done].node] += placed[done].amount
        row = int(view.waiting.rows[handle])
        allocation = decided.get(handle) or _placed(
            allocator, view, row, free, reserved.get(handle)
        )
        if allocation is None:
            continue
        free[allocation.node] -= allocation.amount
        placed[handle] = allocation
        heapq.heappush(running, (int(end[handle]), handle))
    return placed


def _placed(
    allocator: Allocator, view: View, row: int, free: IntArray, reserved: Reservation | None
) -> Allocation | None:
    """Place a job, as its reservation says if that names nodes, or units on nodes."""
    if reserved is None or reserved.nodes is None:
        return allocator.place(view, row, free)
    named = reserved.nodes
    if reserved.units is not None:
        planned = allocator.planned(view, row, named, reserved.units)
        if planned is not None and (planned.amount <= free[planned.node]).all():
            return planned
    only = np.zeros_like(free)
    only[named] = free[named]
    return allocator.place(view, row, only)
