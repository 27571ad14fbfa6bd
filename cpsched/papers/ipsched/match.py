"""
The best solution found for IPSCHED's program, on nodes, with a proof where there is one.

Lists come first, then the program on classes of equal nodes. If no nodes are found for the jobs
it selects, other sets of jobs are tried, and a small program is solved again node by node.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import cpsat, stats
from cpsched.papers.ipsched import program as programs
from cpsched.papers.ipsched.layout import JobLayout, lay_out, shares_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cpsched.papers.ipsched.problem import CoAllocationProblem, CoAllocationProgram
    from cpsched.papers.ipsched.program import ProgramSolution
    from cpsched.util.types import IntArray

#: Jobs times nodes up to which a program is solved node by node.
MAX_PAIRS = 1000
#: Part of the limit that the program may take at first, as it is.
BRIEF = 1 / 40
#: Part of the limit that later programs may take at least, however much the first one took.
LEAST = 0.01
#: How many other sets of jobs are tried if no nodes are found for those selected.
OTHER_SETS = 8


class Matcher:
    """
    Solves one decision.

    Parameters
    ----------
    free, capacity
        Free amounts and capacity of each node, shape ``(N, R)``.
    limits
        For all solves of the decision together.
    """

    def __init__(
        self,
        problem: CoAllocationProblem,
        free: IntArray,
        capacity: IntArray,
        limits: cpsat.SolverLimits,
    ) -> None:
        self.problem = problem
        self.free, self.capacity = free, capacity
        self.limits = limits
        self.numbers: defaultdict[str, float] = defaultdict(float)
        self.best = JobLayout({}, 0)

    def match(
        self, lists: Iterable[Callable[[], JobLayout]]
    ) -> tuple[JobLayout | None, dict[str, float]]:
        """
        Return the best solution found, None if the limit passed before a proof, and statistics.

        ``lists`` make placements to begin with; each is called only if those before it leave open
        whether there is a better one.
        """
        problem = self.problem
        fewest = problem.fewest_nodes().tolist()
        upper_bound = sum(problem.worth(job, nodes) for job, nodes in enumerate(fewest))
        for make in lists:
            self._keep(make())
            if self.best.value == upper_bound:
                return self.best, {stats.SKIPPED_BOUND: 1}
        self.numbers[stats.SOLVED] = 1
        program = programs.build(problem)
        answer = self._best_on_classes(program)
        if not answer.is_solved:
            return None, {**self.numbers, stats.LIMIT_HITS: 1}
        bound = answer.bound
        if not self._attained(problem, answer):
            self.numbers[stats.NOT_ATTAINED] = 1
            self._try_other_sets(program, answer)
            if (
                self.best.value < bound
                and ((problem.fitting > 0) @ problem.count).sum() <= MAX_PAIRS
            ):
                bound = min(bound, self._on_nodes())
        if self.best.value >= bound:
            return self.best, {**self.numbers, stats.PROVEN_OPTIMAL: 1}
        return self.best, {**self.numbers, stats.BOUND_GAP: (bound - self.best.value) / bound}

    def _best_on_classes(self, program: CoAllocationProgram) -> ProgramSolution:
        """
        Solve the program as it is; if that takes long, bound the number of jobs and simplify.

        Most programs are solved at once, and what helps with the others takes longer than that.
        """
        brief = BRIEF * self.limits.deterministic
        first = self._solve(program, replace(self.limits, deterministic=brief))
        if first.is_solved:
            return first
        thorough = replace(self._left(), presolve=True, probe=False)
        self._count(program, programs.bound_job_count(program, thorough))
        left = self._left().deterministic
        return self._solve(program, replace(thorough, deterministic=left))

    def _try_other_sets(self, program: CoAllocationProgram, answer: ProgramSolution) -> None:
        """Keep the best solution found for the sets of jobs that are worth most after the first."""
        for _ in range(OTHER_SETS):
            program.exclude(answer.shares)
            answer = self._solve(program, self._left())
            if self._attained(self.problem, answer) or not answer.is_solved:
                break

    def _on_nodes(self) -> int:
        """Return a bound on the value node by node; keep nodes that attain what is found."""
        self.numbers[stats.SOLVED_ON_NODES] = 1
        problem = self.problem.on_nodes()
        answer = self._solve(programs.build(problem), self._left())
        self._attained(problem, answer)
        return answer.bound

    def _left(self) -> cpsat.SolverLimits:
        """Return the limits that remain after the solves so far."""
        total = self.limits.deterministic
        left = total - self.numbers[stats.DETERMINISTIC_TIME]
        return replace(self.limits, deterministic=max(left, LEAST * total))

    def _keep(self, layout: JobLayout) -> None:
        """Keep a placement if it is better than the best so far."""
        if layout.value > self.best.value:
            self.best = layout

    def _solve(self, program: CoAllocationProgram, limits: cpsat.SolverLimits) -> ProgramSolution:
        """Solve a program, with the best solution so far as a hint."""
        if self.best.takes:
            program.hint(shares_of(program.problem, self.best))
        answer = programs.solve(program, limits)
        self._count(program, answer.solved)
        return answer

    def _attained(self, problem: CoAllocationProblem, answer: ProgramSolution) -> bool:
        """Look for nodes that attain a solution's value; return whether there are any."""
        if self.best.value < answer.value:
            self._keep(lay_out(problem, answer.shares, self.free, self.capacity, answer.value))
        return self.best.value >= answer.value

    def _count(self, program: CoAllocationProgram, solved: cpsat.Solved) -> None:
        variables, constraints = program.size
        self.numbers[stats.SOLVER_CALLS] += 1
        self.numbers[stats.MODELLED_JOBS] += len(program.problem)
        self.numbers[stats.MODEL_VARIABLES] += variables
        self.numbers[stats.MODEL_CONSTRAINTS] += constraints
        self.numbers[stats.NO_SOLUTION] += int(solved.status is cpsat.SolverStatus.UNKNOWN)
        if solved.status is cpsat.SolverStatus.INFEASIBLE:
            # To start nothing is a solution.
            self.numbers[stats.WRONGLY_INFEASIBLE] += 1
        self.numbers[stats.DETERMINISTIC_TIME] += solved.deterministic


def density_order(problem: CoAllocationProblem) -> IntArray:
    """Return the jobs by value for the share of the free amounts that they take."""
    total = np.maximum((problem.free * problem.count[:, None]).sum(axis=0), 1)
    fewest = problem.fewest_nodes()
    asked = problem.request * problem.units[:, None] + problem.per_node * fewest[:, None]
    share = np.maximum((asked / total).max(axis=1), 1e-9)
    worth = [problem.worth(job, nodes) for job, nodes in enumerate(fewest.tolist())]
    return np.argsort(-np.array(worth, dtype=np.float64) / share, kind="stable")
