"""
The three solvers of a window's problem, by name.

Algorithms 1 and 2 are a best-first branch and bound. A node of the tree has decided on the first
jobs of the window. Its children put the next job in each slot in turn, and leave it out last
(section III.B.1). Of nodes with the same bound, the one is expanded first whose jobs are in the
lowest slots, in the order of the window; so the search goes down like the depth-first search of the
text where the bound does not decide, and of all best solutions it finds the one in the lowest
slots. Algorithm 3 is the greedy one, with the local exchanges of Martello and Toth (1981). CP-SAT
is for windows too large to branch.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from cpsched.cp import cpsat, stats
from cpsched.errors import ConfigError, check_choice, check_least
from cpsched.papers.wla.knapsack import LEFT_OUT, Fill, upper_bound

if TYPE_CHECKING:
    from cpsched.papers.wla.knapsack import Knapsack

BRANCH_AND_BOUND, GREEDY, CP_SAT = "branch-and-bound", "greedy", "cp-sat"
#: The largest window for branch and bound: its time grows exponentially.
MAX_BRANCHED = 10
#: Statistic: nodes of the tree that branch and bound has branched on.
EXPANDED = "nodes_expanded"


class Solver:
    """
    Solves the problem of a window.

    Parameters
    ----------
    name
        ``branch-and-bound``, ``greedy`` or ``cp-sat``.
    window
        Most jobs of a problem.
    limit
        Deterministic time of CP-SAT for one decision.

    Raises
    ------
    ConfigError
        If there is no such solver, or the window is too large for it.
    """

    def __init__(self, name: str, window: int, limit: float) -> None:
        check_choice("solver", name, (BRANCH_AND_BOUND, GREEDY, CP_SAT))
        check_least("window", window, 1)
        if name == BRANCH_AND_BOUND and window > MAX_BRANCHED:
            raise ConfigError(
                f"window is {window}, must be from 1 to {MAX_BRANCHED} with solver"
                f" {BRANCH_AND_BOUND}({CP_SAT} and {GREEDY} take larger windows)"
            )
        self.name = name
        self.window = window
        self.limits = cpsat.SolverLimits(deterministic=limit)

    def solve(self, problem: Knapsack) -> tuple[list[int], dict[str, float]]:
        """Return the slot of each job, or ``LEFT_OUT``, and statistics."""
        if self.name == BRANCH_AND_BOUND:
            solution = branch_and_bound(problem)
            return solution.slots, {EXPANDED: solution.expanded}
        if self.name == GREEDY:
            return greedy(problem), {}
        return cp_sat(problem, self.limits)


class BestSolution(NamedTuple):
    """A best solution: the slot of each job, or ``LEFT_OUT``, and how many nodes were expanded."""

    slots: list[int]
    expanded: int


def branch_and_bound(problem: Knapsack) -> BestSolution:
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

    def bound(value: int, job: int, free: tuple[int, ...]) -> int:
        return value + min(rest[job], sum(free))

    def usable(job: int, free: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(
            fill.fillable(kind, job, free_there)
            for kind, free_there in zip(sort, free, strict=True)
        )

    free = usable(0, tuple(problem.capacity))
    # Bound, so that the largest is first; slot of each job so far; value; nodes that can be used.
    heap: list[tuple[int, tuple[int, ...], int, tuple[int, ...]]] = []
    heappush(heap, (-bound(0, 0, free), (), 0, free))
    seen: set[tuple[object, ...]] = set()
    expanded = 0
    while True:
        _, path, value, free = heappop(heap)
        job = len(path)
        if job == num_jobs:
            return BestSolution(
                [LEFT_OUT if slot == num_slots else slot for slot in path], expanded
            )
        state = (job, *sorted(zip(sort, free, strict=True)))
        if state in seen:
            continue
        seen.add(state)
        expanded += 1
        for slot in range(num_slots + 1):
            profit, left = 0, free
            if slot < num_slots:
                if not problem.fits(job, slot, free[slot]):
                    continue
                profit = problem.profit[job]
                free_there = free[slot] - problem.weight[job][slot]
                left = (*free[:slot], free_there, *free[slot + 1 :])
            left = usable(job + 1, left)
            worth = value + profit
            heappush(heap, (-bound(worth, job + 1, left), (*path, slot), worth, left))


def greedy(problem: Knapsack) -> list[int]:
    """Return the slot of each job, or ``LEFT_OUT``: not always the best solution there is."""
    slots = [LEFT_OUT] * len(problem)
    free = list(problem.capacity)
    for slot in range(len(free)):
        _fill(problem, slots, free, slot)
    _interchange(problem, slots, free)
    _exclude(problem, slots, free)
    return slots


def _fill(problem: Knapsack, slots: list[int], free: list[int], slot: int) -> None:
    """Algorithm 3: put every job that is left out and fits in a slot, in order."""
    for job, weights in enumerate(problem.weight):
        if slots[job] == LEFT_OUT and problem.fits(job, slot, free[slot]):
            slots[job] = slot
            free[slot] -= weights[slot]


def _interchange(problem: Knapsack, slots: list[int], free: list[int]) -> None:
    """Swap two jobs of different slots where that frees enough nodes for one that is left out."""
    weight = problem.weight
    for first, second in combinations(range(len(problem)), 2):
        a, b = slots[first], slots[second]
        if LEFT_OUT in (a, b) or a == b:
            continue
        free_a = free[a] + weight[first][a]
        free_b = free[b] + weight[second][b]
        if not (problem.fits(second, a, free_a) and problem.fits(first, b, free_b)):
            continue
        free_a -= weight[second][a]
        free_b -= weight[first][b]
        # The most profitable job that now fits, the first of several.
        best, where = None, LEFT_OUT
        for job, slot in enumerate(slots):
            if slot != LEFT_OUT or (
                best is not None and problem.profit[job] <= problem.profit[best]
            ):
                continue
            for to, free_there in ((a, free_a), (b, free_b)):
                if problem.fits(job, to, free_there):
                    best, where = job, to
                    break
        if best is None:
            continue
        slots[first], slots[second], slots[best] = b, a, where
        free[a], free[b] = free_a, free_b
        free[where] -= weight[best][where]


def _exclude(problem: Knapsack, slots: list[int], free: list[int]) -> None:
    """Take out each job in turn, the last first, where jobs that are left out are worth more."""
    for job in reversed(range(len(problem))):
        slot = slots[job]
        if slot == LEFT_OUT:
            continue
        free_there = free[slot] + problem.weight[job][slot]
        instead = []
        for other, where in enumerate(slots):
            if where == LEFT_OUT and problem.fits(other, slot, free_there):
                instead.append(other)
                free_there -= problem.weight[other][slot]
        if sum(problem.profit[other] for other in instead) > problem.profit[job]:
            slots[job] = LEFT_OUT
            for other in instead:
                slots[other] = slot
            free[slot] = free_there


def cp_sat(problem: Knapsack, limits: cpsat.SolverLimits) -> tuple[list[int], dict[str, float]]:
    """
    Return the best solution found and statistics; it is the best there is if the limit allows.

    The greedy solution comes first, and is the answer where it meets the upper bound. Of jobs of
    one size the first in the window are selected, in the lowest slots.
    """
    best = greedy(problem)
    value = problem.value(best)
    if value == upper_bound(problem):
        return best, {stats.SKIPPED_BOUND: 1}
    # Jobs that need the same nodes in every slot, in the order of the window.
    groups: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for job, weights in enumerate(problem.weight):
        groups[tuple(weights)].append(job)
    alike = list(groups.values())
    model, counts = _program(problem, alike)
    given = dict.fromkeys(counts, 0)
    for number, jobs in enumerate(alike):
        for job in jobs:
            if best[job] != LEFT_OUT:
                given[best[job], number] += 1
    variables = list(counts.values())
    cpsat.add_hints(model, variables, given.values())
    solved = cpsat.solve(model, variables, limits)
    numbers = stats.of_solve(solved, len(problem))
    if solved.has_solution and round(-solved.objective) > value:
        best = [LEFT_OUT] * len(problem)
        waiting = [iter(jobs) for jobs in alike]
        for (slot, number), count in zip(counts, solved.values, strict=True):
            for _ in range(count):
                best[next(waiting[number])] = slot
    return best, numbers


def _program(
    problem: Knapsack, alike: list[list[int]]
) -> tuple[cpsat.CpModel, dict[tuple[int, int], cpsat.IntVar]]:
    """Return equations (1) to (5), and how many jobs of each group each slot gets."""
    model = cpsat.new_model("knapsack")
    counts: dict[tuple[int, int], cpsat.IntVar] = {}
    of_slot, of_group = defaultdict(list), defaultdict(list)
    for slot, free in enumerate(problem.capacity):
        for number, jobs in enumerate(alike):
            weight = problem.weight[jobs[0]][slot]
            if 0 < weight <= free:
                max_jobs = min(len(jobs), free // weight)
                count = model.new_int_var(0, max_jobs, f"n{number}s{slot}")
                counts[slot, number] = count
                of_slot[slot].append(weight * count)
                of_group[number].append(count)
    # (2): no slot gets more than it holds.
    for slot, taken in of_slot.items():
        model.add(sum(taken) <= problem.capacity[slot])
    # (3): no job is put in two slots.
    for number, selected in of_group.items():
        model.add(sum(selected) <= len(alike[number]))
    profits = [-problem.profit[alike[number][0]] for _, number in counts]
    cpsat.minimize(model, list(counts.values()), profits, 0)
    return model, counts
