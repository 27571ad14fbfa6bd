"""The three solvers by name, and that for windows too large to branch: CP-SAT."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from cpsched.api.dispatchers import stats
from cpsched.api.errors import ConfigError, check_choice, check_least
from cpsched.api.solver import cpsat
from cpsched_papers.wla.branch_and_bound import branch_and_bound
from cpsched_papers.wla.greedy import greedy
from cpsched_papers.wla.knapsack import LEFT_OUT, upper_bound

if TYPE_CHECKING:
    from cpsched_papers.wla.knapsack import Knapsack

BRANCH_AND_BOUND, GREEDY, CP_SAT = "branch-and-bound", "greedy", "cp-sat"
#: The largest window for branch and bound: its time grows exponentially.
MOST_BRANCHED = 10
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
        if name == BRANCH_AND_BOUND and window > MOST_BRANCHED:
            raise ConfigError(
                f"window is {window}, must be from 1 to {MOST_BRANCHED} with solver"
                f" {BRANCH_AND_BOUND}; {CP_SAT} and {GREEDY} take larger ones"
            )
        self.name = name
        self.window = window
        self.limits = cpsat.Limits(deterministic=limit)

    def solve(self, problem: Knapsack) -> tuple[list[int], dict[str, float]]:
        """Return the slot of each job, or ``LEFT_OUT``, and statistics."""
        if self.name == BRANCH_AND_BOUND:
            found = branch_and_bound(problem)
            return found.slots, {EXPANDED: found.expanded}
        if self.name == GREEDY:
            return greedy(problem), {}
        return cp_sat(problem, self.limits)


def cp_sat(problem: Knapsack, limits: cpsat.Limits) -> tuple[list[int], dict[str, float]]:
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
    for slot, room in enumerate(problem.capacity):
        for number, jobs in enumerate(alike):
            weight = problem.weight[jobs[0]][slot]
            if 0 < weight <= room:
                most = min(len(jobs), room // weight)
                count = model.new_int_var(0, most, f"n{number}s{slot}")
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
