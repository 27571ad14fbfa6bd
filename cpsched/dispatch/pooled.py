"""
Resources of the system summed over all nodes: smallest demand of jobs, free capacity over time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched import _core

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View
    from cpsched.util.types import IntArray


def pooled_demand(view: View, jobs: JobTable, allocator: Allocator) -> IntArray:
    """
    Return the smallest amounts that each job takes of the whole system, shape ``(n, R)``.

    An amount is summed over the nodes of the job, for R resource types. It has all tasks and the
    per-node request, on as few nodes as possible. A job that shares no node takes at least that
    many whole nodes. For example, 8 tasks of 2 cores take 16 cores.

    Parameters
    ----------
    jobs
        The n jobs.
    allocator
        Any allocator that is prepared for the system.
    """
    demand = jobs.units[:, None] * jobs.request
    per_node, exclusive = jobs.per_node, jobs.exclusive
    rows = np.flatnonzero(per_node.any(axis=1) | (exclusive != 0))
    if not len(rows):
        return demand
    units, nodes_min, shapes = jobs.units, jobs.nodes_min, jobs.shape
    known: dict[int, tuple[int, IntArray]] = {}
    for row in rows.tolist():
        shape = int(shapes[row])
        if shape not in known:
            known[shape] = _on_empty_nodes(view, shape, allocator)
        max_units, smallest = known[shape]
        nodes = max(int(nodes_min[row]), -(-int(units[row]) // max_units))
        demand[row] += nodes * per_node[row]
        if exclusive[row]:
            demand[row] = np.maximum(demand[row], nodes * smallest)
    return demand


def _on_empty_nodes(view: View, shape: int, allocator: Allocator) -> tuple[int, IntArray]:
    """Return the most units of a request one node can hold, and the least its nodes have."""
    capacity = allocator.capacity
    shapes = view.waiting.store.shapes
    units = _core.num_fitting_tasks(capacity, capacity, view.eligible, shapes, shape)
    usable = capacity[units > 0]
    smallest = usable.min(axis=0) if len(usable) else np.zeros_like(capacity[0])
    return max(int(units.max(initial=0)), 1), smallest


def given_back(view: View) -> IntArray:
    """
    Return the amounts that each running job releases at its end, shape ``(B, R)``.

    An amount is summed over the nodes of the job, for B jobs and R resource types.
    """
    running = view.running
    arena = running.arena
    back: IntArray = _core.given_back(
        running.rows, running.store.columns, arena.count, arena.amount
    )
    return back


def free_now(view: View) -> IntArray:
    """
    Return the free amounts of the whole system, shape ``(R,)`` for R resource types.

    Nodes with a negative free amount (allocated beyond their capacity) count as 0.
    """
    free: IntArray = np.maximum(view.free, 0).sum(axis=0)
    return free


def free_over_time(view: View, back: IntArray, free: IntArray) -> tuple[IntArray, IntArray]:
    """
    Return the free amounts of the whole system over time, as running jobs are expected to end.

    Parameters
    ----------
    back
        Amounts that each running job releases, as :func:`given_back` returns them, shape ``(B,
        R)``.
    free
        Amounts that are free now, as :func:`free_now` returns them, shape ``(R,)``.

    Returns
    -------
    times, level
        From second ``times[k]`` on ``level[k]`` is free, shapes ``(S,)`` and ``(S, R)``. The first
        time is now, and levels never decrease.
    """
    running = view.running
    times, level = _core.pool_profile(view.now, running.store.columns, running.rows, back, free)
    return times, level
