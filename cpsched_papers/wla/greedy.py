"""Algorithm 3, and the local exchanges of Martello and Toth (1981) that improve what it finds."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from cpsched_papers.wla.knapsack import LEFT_OUT

if TYPE_CHECKING:
    from cpsched_papers.wla.knapsack import Knapsack


def greedy(problem: Knapsack) -> list[int]:
    """Return the slot of each job, or ``LEFT_OUT``: not always the best solution there is."""
    slots = [LEFT_OUT] * len(problem)
    rooms = list(problem.capacity)
    for slot in range(len(rooms)):
        _fill(problem, slots, rooms, slot)
    _interchange(problem, slots, rooms)
    _exclude(problem, slots, rooms)
    return slots


def _fill(problem: Knapsack, slots: list[int], rooms: list[int], slot: int) -> None:
    """Algorithm 3: put every job that is left out and fits in a slot, in order."""
    for job, weights in enumerate(problem.weight):
        if slots[job] == LEFT_OUT and problem.fits(job, slot, rooms[slot]):
            slots[job] = slot
            rooms[slot] -= weights[slot]


def _interchange(problem: Knapsack, slots: list[int], rooms: list[int]) -> None:
    """Swap two jobs of different slots where that makes room for one that is left out."""
    weight = problem.weight
    for one, other in combinations(range(len(problem)), 2):
        a, b = slots[one], slots[other]
        if LEFT_OUT in (a, b) or a == b:
            continue
        room_a = rooms[a] + weight[one][a]
        room_b = rooms[b] + weight[other][b]
        if not (problem.fits(other, a, room_a) and problem.fits(one, b, room_b)):
            continue
        room_a -= weight[other][a]
        room_b -= weight[one][b]
        # The most profitable job that now fits, the first of several.
        best, where = None, LEFT_OUT
        for job, slot in enumerate(slots):
            if slot != LEFT_OUT or (
                best is not None and problem.profit[job] <= problem.profit[best]
            ):
                continue
            for to, room in ((a, room_a), (b, room_b)):
                if problem.fits(job, to, room):
                    best, where = job, to
                    break
        if best is None:
            continue
        slots[one], slots[other], slots[best] = b, a, where
        rooms[a], rooms[b] = room_a, room_b
        rooms[where] -= weight[best][where]


def _exclude(problem: Knapsack, slots: list[int], rooms: list[int]) -> None:
    """Take out each job in turn, the last first, where jobs that are left out are worth more."""
    for job in reversed(range(len(problem))):
        slot = slots[job]
        if slot == LEFT_OUT:
            continue
        room = rooms[slot] + problem.weight[job][slot]
        instead = []
        for other, where in enumerate(slots):
            if where == LEFT_OUT and problem.fits(other, slot, room):
                instead.append(other)
                room -= problem.weight[other][slot]
        if sum(problem.profit[other] for other in instead) > problem.profit[job]:
            slots[job] = LEFT_OUT
            for other in instead:
                slots[other] = slot
            rooms[slot] = room
