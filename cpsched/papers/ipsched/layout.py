"""
From a solution on classes of nodes to nodes, and back.

Nodes that attain the best value on classes are a best solution of the whole program. Which of equal
nodes a job gets does not change the value: those of a class with the least room for the job are
taken first (best fit).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched import _core
from cpsched.model.node_sets import unit_capacity
from cpsched.papers.ipsched.problem import Share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.papers.ipsched.problem import CoAllocationProblem
    from cpsched.util.types import IntArray


class JobLayout(NamedTuple):
    """
    Which jobs start, and where; N nodes.

    Attributes
    ----------
    takes
        Units on each node, shape ``(N,)``, by position of the job.
    value
        Of 3.1 times ``2 |N|``.
    """

    takes: Mapping[int, IntArray]
    value: int


def layout_of(problem: CoAllocationProblem, takes: Mapping[int, IntArray]) -> JobLayout:
    """Return a placement with its value."""
    value = sum(problem.worth(job, int(np.count_nonzero(on))) for job, on in takes.items())
    return JobLayout(dict(takes), value)


def shares_of(problem: CoAllocationProblem, layout: JobLayout) -> dict[int, dict[int, Share]]:
    """Return how much of each job is on each class."""
    class_of = np.full(problem.num_nodes, -1, dtype=np.int64)
    for k, nodes in enumerate(problem.members):
        class_of[nodes] = k
    shares: dict[int, dict[int, Share]] = {}
    for job, takes in layout.takes.items():
        nodes = np.flatnonzero(takes)
        of = class_of[nodes]
        units = np.bincount(of, weights=takes[nodes], minlength=len(problem.members))
        count = np.bincount(of, minlength=len(problem.members))
        shares[job] = {
            int(k): Share(int(units[k]), int(count[k])) for k in np.flatnonzero(count).tolist()
        }
    return shares


def lay_out(
    problem: CoAllocationProblem,
    shares: Mapping[int, Mapping[int, Share]],
    free: IntArray,
    capacity: IntArray,
    target: int,
) -> JobLayout:
    """
    Put the jobs of a solution on nodes.

    Parameters
    ----------
    shares
        The jobs that start, and how much of each is on each class.
    free, capacity
        Free amounts and capacity of each node, shape ``(N, R)``.
    target
        The solution's value; there is nothing better to find.

    Returns
    -------
    Layout
        The first that attains the target, or the best found, without jobs that do not fit.
    """
    best = JobLayout({}, 0)
    for strict in (True, False):
        for order in _orders(problem, list(shares)):
            nodes = _Nodes(problem, free, capacity)
            put = nodes.as_planned if strict else nodes.anywhere
            placed = {job: put(job, shares[job]) for job in order}
            takes = {job: on for job, on in placed.items() if on is not None}
            repaired = layout_of(problem, takes)
            if repaired.value > best.value:
                best = repaired
            if best.value >= target:
                return best
    return best


def _orders(problem: CoAllocationProblem, jobs: list[int]) -> list[list[int]]:
    """
    Return the orders in which jobs are placed, without repetitions.

    First come the jobs that fill most of a node, since they fit beside the fewest others; then the
    largest first; then by priority; then those that need most nodes.
    """
    largest = np.maximum(problem.free.max(axis=0), 1)
    each = np.where(problem.even, problem.units // np.maximum(problem.nodes_max, 1), 1)
    footprint = ((each[:, None] * problem.request + problem.per_node) / largest).max(axis=1)
    footprint = np.where(problem.exclusive | problem.contiguous, 2.0, footprint)
    size = (problem.request * problem.units[:, None] / largest).max(axis=1)
    orders = [
        sorted(jobs, key=lambda job: (-footprint[job], -size[job], job)),
        sorted(jobs, key=lambda job: (-size[job], job)),
        sorted(jobs),
        sorted(jobs, key=lambda job: (-problem.nodes_min[job], -size[job], job)),
    ]
    return [order for index, order in enumerate(orders) if order not in orders[:index]]


class _Nodes:
    """What nodes have left while jobs are placed on them."""

    def __init__(self, problem: CoAllocationProblem, free: IntArray, capacity: IntArray) -> None:
        self.problem = problem
        self.left = free.copy()
        self.capacity = capacity

    def as_planned(self, job: int, shares: Mapping[int, Share]) -> IntArray | None:
        """Put a job on as many nodes of each class as planned, or fewer."""
        problem = self.problem
        takes = np.zeros(problem.num_nodes, dtype=np.int64)
        bounded = bool(problem.even[job]) or problem.nodes_min[job] > 1
        for k, share in shares.items():
            nodes = problem.members[k]
            fitting = self._fitting_units(job, nodes, problem.fitting[job, k])
            least = share.nodes if bounded else 1
            on = _choose(fitting, share.units, least, share.nodes, even=bool(problem.even[job]))
            if on is None:
                return None
            takes[nodes] = on
        if problem.contiguous[job] and np.ptp(np.flatnonzero(takes)) >= np.count_nonzero(takes):
            return None
        self._take(job, takes)
        return takes

    def anywhere(self, job: int, shares: Mapping[int, Share]) -> IntArray | None:
        """Put a job where it fits, if possible on no more nodes than planned."""
        problem = self.problem
        fitting = np.zeros(problem.num_nodes, dtype=np.int64)
        for k in np.flatnonzero(problem.fitting[job]).tolist():
            nodes = problem.members[k]
            fitting[nodes] = self._fitting_units(job, nodes, problem.fitting[job, k])
        nodes_min, nodes_max = int(problem.nodes_min[job]), int(problem.nodes_max[job])
        planned = sum(share.nodes for share in shares.values())
        for bound in dict.fromkeys((min(planned, nodes_max), nodes_max)):
            takes = _choose(
                fitting,
                int(problem.units[job]),
                nodes_min,
                bound,
                even=bool(problem.even[job]),
                contiguous=bool(problem.contiguous[job]),
            )
            if takes is not None:
                self._take(job, takes)
                return takes
        return None

    def _fitting_units(self, job: int, nodes: IntArray, max_units: int) -> IntArray:
        """Return how many units of a job, at most ``max_units``, fit on each of some nodes now."""
        problem, left = self.problem, self.left[nodes]
        request, per_node = problem.request[[job]], problem.per_node[[job]]
        fitting: IntArray = unit_capacity(left, request, per_node, np.array([max_units]))[0]
        if problem.exclusive[job]:
            fitting[(left != self.capacity[nodes]).any(axis=1)] = 0
        return fitting

    def _take(self, job: int, takes: IntArray) -> None:
        problem, nodes = self.problem, np.flatnonzero(takes)
        if problem.exclusive[job]:
            self.left[nodes] -= self.capacity[nodes]
        else:
            amounts = takes[nodes, None] * problem.request[job] + problem.per_node[job]
            self.left[nodes] -= amounts


def _choose(
    fitting: IntArray,
    units: int,
    nodes_min: int,
    nodes_max: int,
    *,
    even: bool,
    contiguous: bool = False,
) -> IntArray | None:
    """Return the units on each node, least room first; None if they do not fit."""
    if int(fitting.sum()) < units:
        return None
    order = np.flatnonzero(fitting)
    order = order[np.argsort(fitting[order], kind="stable")]
    takes: IntArray | None = _core.place_in_order(
        fitting,
        order,
        tasks=units,
        nodes_min=nodes_min,
        nodes_max=nodes_max,
        even=even,
        contiguous=contiguous,
    )
    return takes
