"""
Algorithms 1 and 2: best-first branch and bound.

A node of the tree has decided on the first jobs of the window. Its children put the next job in
each slot in turn, and leave it out last (section III.B.1). Of nodes with the same bound, the one
is expanded first whose jobs are in the lowest slots, in the order of the window; so the search goes
down like the depth-first search of the text where the bound does not decide, and of all best
solutions it finds the one in the lowest slots.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

from cpsched_papers.wla.knapsack import LEFT_OUT, Fill, Knapsack


class Found(NamedTuple):
    """
    A best solution.

    Attributes
    ----------
    slots
        Slot of each job, or ``LEFT_OUT``.
    expanded
        Nodes of the tree that were branched on.
    """

    slots: list[int]
    expanded: int


def branch_and_bound(problem: Knapsack) -> Found:
    """
    Return the best solution, with the first jobs in the lowest slots where several are best.

    Notes
    -----
    The bound of a node is its value and the smaller of two sums: the profits of the jobs that
    remain, and for each slot the most nodes of it that these jobs can fill. A node is not expanded
    if one with the same rooms left was before: that one was worth as much, in lower slots.
    """
    num_jobs, num_slots = len(problem), len(problem.capacity)
    fill, sort = Fill(problem), problem.sort
    # Profits of the jobs that remain.
    rest = [sum(problem.profit[job:]) for job in range(num_jobs + 1)]

    def bound(value: int, job: int, rooms: tuple[int, ...]) -> int:
        return value + min(rest[job], sum(rooms))

    def usable(job: int, rooms: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(fill.most(kind, job, room) for kind, room in zip(sort, rooms, strict=True))

    rooms = usable(0, tuple(problem.capacity))
    # Bound, so that the largest is first; slot of each job so far; value; nodes that can be used.
    heap: list[tuple[int, tuple[int, ...], int, tuple[int, ...]]] = []
    heappush(heap, (-bound(0, 0, rooms), (), 0, rooms))
    seen: set[tuple[object, ...]] = set()
    expanded = 0
    while True:
        _, path, value, rooms = heappop(heap)
        job = len(path)
        if job == num_jobs:
            return Found([LEFT_OUT if slot == num_slots else slot for slot in path], expanded)
        state = (job, *sorted(zip(sort, rooms, strict=True)))
        if state in seen:
            continue
        seen.add(state)
        expanded += 1
        for slot in range(num_slots + 1):
            profit, left = 0, rooms
            if slot < num_slots:
                if not problem.fits(job, slot, rooms[slot]):
                    continue
                profit = problem.profit[job]
                room = rooms[slot] - problem.weight[job][slot]
                left = (*rooms[:slot], room, *rooms[slot + 1 :])
            left = usable(job + 1, left)
            worth = value + profit
            heappush(heap, (-bound(worth, job + 1, left), (*path, slot), worth, left))
