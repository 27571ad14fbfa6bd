"""The multiple knapsack problem as a program for CP-SAT, for windows too large to branch."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.api.dispatchers import stats
from cpsched.api.solver import cpsat
from cpsched_papers.wla.greedy import greedy
from cpsched_papers.wla.knapsack import LEFT_OUT, upper_bound

if TYPE_CHECKING:
    from cpsched_papers.wla.knapsack import Knapsack


@dataclass(slots=True)
class Program(cpsat.HasModel):
    """
    Equations (1) to (5) with jobs of one size counted.

    Attributes
    ----------
    alike
        Jobs that need the same nodes in every slot, in the order of the window.
    counts
        How many of them each slot gets: the slot, the group's number, and the variable.
    """

    model: cpsat.CpModel
    alike: list[list[int]]
    counts: list[tuple[int, int, cpsat.IntVar]]


def build(problem: Knapsack) -> Program:
    """Return the program of a problem."""
    groups: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for job, weights in enumerate(problem.weight):
        groups[tuple(weights)].append(job)
    alike = list(groups.values())
    model = cpsat.new_model("knapsack")
    counts = []
    for slot, room in enumerate(problem.capacity):
        for number, jobs in enumerate(alike):
            weight = problem.weight[jobs[0]][slot]
            if 0 < weight <= room:
                most = min(len(jobs), room // weight)
                counts.append((slot, number, model.new_int_var(0, most, f"n{number}s{slot}")))
    of_slot, of_group = defaultdict(list), defaultdict(list)
    for slot, number, count in counts:
        of_slot[slot].append(problem.weight[alike[number][0]][slot] * count)
        of_group[number].append(count)
    # (2): no slot gets more than it holds.
    for slot, taken in of_slot.items():
        model.add(sum(taken) <= problem.capacity[slot])
    # (3): no job is put in two slots.
    for number, selected in of_group.items():
        model.add(sum(selected) <= len(alike[number]))
    variables = [count for *_, count in counts]
    profits = [problem.profit[alike[number][0]] for _, number, _ in counts]
    cpsat.minimize(model, variables, [-profit for profit in profits], 0)
    return Program(model, alike, counts)


def solve(problem: Knapsack, limits: cpsat.Limits) -> tuple[list[int], dict[str, float]]:
    """
    Return the best solution found and statistics; it is the best there is if the limit allows.

    The greedy solution comes first, and is the answer where it meets the upper bound. Of jobs of
    one size the first in the window are selected, in the lowest slots.
    """
    best = greedy(problem)
    value = problem.value(best)
    if value == upper_bound(problem):
        return best, {stats.SKIPPED_BOUND: 1}
    program = build(problem)
    given = {(slot, number): 0 for slot, number, _ in program.counts}
    for number, jobs in enumerate(program.alike):
        for job in jobs:
            if best[job] != LEFT_OUT:
                given[best[job], number] += 1
    variables = [count for *_, count in program.counts]
    cpsat.add_hints(program.model, variables, given.values())
    solved = cpsat.solve(program.model, variables, limits)
    numbers = stats.of_solve(solved, len(problem))
    if solved.has_solution and round(-solved.objective) > value:
        best = [LEFT_OUT] * len(problem)
        waiting = [iter(jobs) for jobs in program.alike]
        for (slot, number, _), count in zip(program.counts, solved.values, strict=True):
            for _ in range(count):
                best[next(waiting[number])] = slot
        numbers[stats.IMPROVED] = 1
    return best, numbers
