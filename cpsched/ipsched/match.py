"""
A best solution of IPSCHED's program, on nodes, with a proof where there is one.

First by list, then on classes of equal nodes, then, where the value found there is attained by no
nodes we find, node by node.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.cp import stats
from cpsched.ipsched import program as programs
from cpsched.ipsched.layout import Layout, lay_out, shares_of
from cpsched.ipsched.sharing import share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cpsched import cpsat
    from cpsched.ipsched.problem import Problem
    from cpsched.ipsched.program import Answer, Program
    from cpsched.model.types import IntArray

#: Jobs times nodes up to which a program is solved node by node.
MOST_PAIRS = 1000
#: What a program may take at first, as it is, as a share of the limit.
BRIEF = 1 / 40
#: What corrections may take at least, as a share of the limit, however much the program took.
LEAST = 0.01
#: How often a program on classes is corrected where no nodes attain its value.
CORRECTIONS = 8


class Matched(NamedTuple):
    """
    What a decision's programs came to.

    Attributes
    ----------
    layout
        None: the limit passed before the proof.
    numbers
        Statistics.
    """

    layout: Layout | None
    numbers: dict[str, float]


class Matcher:
    """
    Solves one decision.

    Parameters
    ----------
    problem
        The jobs that may start.
    free, capacity
        What each node has left, and has at all, shape ``(N, R)``.
    limits
        For all solves of the decision together.
    all_selected
        Whether all jobs must start, or none does (3.6 as it is printed).
    """

    def __init__(
        self,
        problem: Problem,
        free: IntArray,
        capacity: IntArray,
        limits: cpsat.Limits,
        *,
        all_selected: bool,
    ) -> None:
        self.problem = problem
        self.free, self.capacity = free, capacity
        self.limits = limits
        self.all_selected = all_selected
        self.numbers: dict[str, float] = {}
        self.best = Layout({}, 0)

    def match(self, lists: Iterable[Callable[[], Layout]]) -> Matched:
        """
        Return a best solution.

        Parameters
        ----------
        lists
            Make placements to begin with; the next is made only if those before left it open
            whether there is a better one.
        """
        problem = self.problem
        fewest = problem.fewest_nodes().tolist()
        most = sum(problem.worth(job, nodes) for job, nodes in enumerate(fewest))
        for make in lists:
            self._offer(make())
            if self.best.value == most:
                return self._done(stats.SKIPPED_BOUND, 1)
        self.numbers[stats.SOLVED] = 1
        program = self._program(problem)
        answer = self._best_on_classes(program)
        if not answer.is_solved:
            self._add(stats.LIMIT_HITS, 1)
            return Matched(None, self.numbers)
        bound = answer.bound
        if not self._attained(problem, answer):
            self.numbers[stats.NOT_ATTAINED] = 1
            bound = self._corrected(program, answer)
            if self.best.value < bound and self._num_pairs() <= MOST_PAIRS:
                bound = min(bound, self._on_nodes())
        if self.best.value >= bound:
            return self._done(stats.PROVEN_OPTIMAL, 1)
        return self._done(stats.BOUND_GAP, (bound - self.best.value) / bound)

    def _best_on_classes(self, program: Program) -> Answer:
        """
        Solve the program as it is, and where that does not go fast with more thought.

        Most are solved at once: what helps with the others would take longer than they do.
        """
        brief = BRIEF * self.limits.deterministic
        first = self._solve(program, replace(self.limits, deterministic=brief))
        if first.is_solved:
            return first
        thorough = replace(self._left(), presolve=True, probe=False)
        self._count(program, programs.bound_number(program, thorough))
        left = self._left().deterministic
        return self._solve(program, replace(thorough, deterministic=left))

    def _corrected(self, program: Program, answer: Answer) -> int:
        """
        Return the best value on classes after cuts; nodes that attain it are kept.

        What a set of jobs that no nodes hold as the classes do costs at least is found out, and
        put in the program.
        """
        problem, bound = self.problem, answer.bound
        for _ in range(CORRECTIONS):
            shared = share(problem, sorted(answer.shares), self._left())
            if shared is None:
                break
            self._spent(shared.solved)
            if shared.layout is not None:
                self._offer(shared.layout)
            if self.best.value >= bound:
                break
            if shared.feasible and shared.layout is None:
                break
            program.cut(sorted(answer.shares), shared.cost if shared.feasible else None)
            answer = self._solve(program, self._left())
            bound = min(bound, answer.bound)
            if not answer.is_solved or self._attained(problem, answer):
                break
        return bound

    def _on_nodes(self) -> int:
        """Return a bound on the value node by node; nodes that attain what is found are kept."""
        self.numbers[stats.SOLVED_ON_NODES] = 1
        problem = self.problem.on_nodes()
        answer = self._solve(self._program(problem), self._left())
        self._attained(problem, answer)
        return answer.bound

    def _num_pairs(self) -> int:
        return int(((self.problem.room > 0) @ self.problem.count).sum())

    def _left(self) -> cpsat.Limits:
        """Return limits for what is to do after the first solve: what it left of them."""
        whole = self.limits.deterministic
        left = whole - self.numbers.get(stats.DETERMINISTIC_TIME, 0.0)
        return replace(self.limits, deterministic=max(left, LEAST * whole))

    def _program(self, problem: Problem) -> Program:
        return programs.build(problem, all_selected=self.all_selected)

    def _offer(self, layout: Layout) -> None:
        """Keep a placement if it is better than the best and obeys 3.6."""
        if self.all_selected and len(layout.takes) < len(self.problem):
            return
        if layout.value > self.best.value:
            self.best = layout

    def _solve(self, program: Program, limits: cpsat.Limits) -> Answer:
        """Solve, from the best known on."""
        if self.best.takes:
            program.hint(shares_of(program.problem, self.best))
        answer = programs.solve(program, limits)
        self._count(program, answer.solved)
        return answer

    def _attained(self, problem: Problem, answer: Answer) -> bool:
        """Look for nodes that attain a solution's value; tell whether there are."""
        if self.best.value < answer.value:
            self._offer(lay_out(problem, answer.shares, self.free, self.capacity, answer.value))
        return self.best.value >= answer.value

    def _count(self, program: Program, solved: cpsat.Solved) -> None:
        variables, constraints = program.size
        self._add(stats.SOLVER_CALLS, 1)
        self._add(stats.MODELLED_JOBS, len(program.problem))
        self._add(stats.MODEL_VARIABLES, variables)
        self._add(stats.MODEL_CONSTRAINTS, constraints)
        self._add(stats.NO_SOLUTION, int(not solved.has_solution))
        self._spent(solved)

    def _spent(self, solved: cpsat.Solved) -> None:
        self._add(stats.DETERMINISTIC_TIME, solved.deterministic)
        self._add(stats.WALL_LIMIT_HITS, int(solved.wall_limit_hit))

    def _add(self, name: str, value: float) -> None:
        self.numbers[name] = self.numbers.get(name, 0) + value

    def _done(self, name: str, value: float) -> Matched:
        self._add(name, value)
        return Matched(self.best, self.numbers)


def density_order(problem: Problem) -> IntArray:
    """Return the jobs by what they are worth for the share of what is free that they take."""
    total = np.maximum((problem.free * problem.count[:, None]).sum(axis=0), 1)
    fewest = problem.fewest_nodes()
    asked = problem.request * problem.units[:, None] + problem.per_node * fewest[:, None]
    share = np.maximum((asked / total).max(axis=1), 1e-9)
    worth = [problem.worth(job, nodes) for job, nodes in enumerate(fewest.tolist())]
    return np.argsort(-np.array(worth, dtype=np.float64) / share, kind="stable")
