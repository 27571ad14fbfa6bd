"""The three solvers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError, check_choice, check_least
from cpsched.api.solver import cpsat
from cpsched_papers.wla import program
from cpsched_papers.wla.branch_and_bound import branch_and_bound
from cpsched_papers.wla.greedy import greedy

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
        return program.solve(problem, self.limits)
