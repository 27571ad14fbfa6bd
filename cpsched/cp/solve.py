"""Solve a model and follow the better of its answer and the list plan."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.cp import cpsat, stats
from cpsched.errors import DispatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.cp.objective import Bounds, Delay
    from cpsched.model.jobtable import JobTable
    from cpsched.util.types import IntArray


class Candidate(NamedTuple):
    """
    A plan that may be followed.

    Attributes
    ----------
    starts
        Start of each of n jobs, seconds from now, shape ``(n,)``.
    takes
        Number of tasks of each job on each node, shape ``(n, N)``. Empty for a plan without nodes.
    """

    starts: IntArray
    takes: IntArray = np.empty((0, 0), dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class DecisionProblem(ABC):
    """
    Planning problem of a decision: n waiting jobs, a list plan, and bounds of the starts.

    A list plan places jobs one after the other, each at its earliest possible start.

    Attributes
    ----------
    jobs
        The jobs, in order of priority.
    duration
        Predicted runtimes, seconds, at least 1, shape ``(n,)``.
    listed
        The best known list plan.
    bounds
        Bounds of the starts that hold for every objective.
    delay
        The built-in objective, with narrower bounds.
    """

    jobs: JobTable
    duration: IntArray
    listed: Candidate
    bounds: Bounds
    delay: Delay

    @property
    def all_first(self) -> bool:
        """
        Whether the list plan starts every job at its earliest start without other waiting jobs.
        """
        return tuple(self.listed.starts.tolist()) == self.bounds.earliest

    @abstractmethod
    def list_plan(self, order: IntArray) -> Candidate:
        """
        Return the list plan in an order: each job at its earliest start, one after the other.

        Parameters
        ----------
        order
            Positions of the jobs.
        """


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BuiltModel(cpsat.HasModel):
    """
    CP-SAT model of a decision, ready to be solved or written to a file. Times are seconds from now.

    Attributes
    ----------
    model
        The model. The solver minimizes its objective.
    value
        Function that returns the objective of any plan, given its starts: an integer of at least 0.
        Plans are compared by it alone. A later start of a job must not decrease it.
    start
        Start variable of each planned job, in order of priority.
    other
        Further variables whose values :attr:`read` needs.
    read
        Function that returns the plan, given the values of ``start`` and ``other``.
    exact
        Whether every useful plan is a solution. Otherwise large amounts were rounded.
    """

    model: cpsat.CpModel
    value: Callable[[IntArray], int]
    start: tuple[cpsat.IntVar, ...]
    other: tuple[cpsat.IntVar, ...] = ()
    read: Callable[[IntArray, Sequence[int]], Candidate] = lambda starts, _: Candidate(starts)
    exact: bool = True


def answer(
    problem: DecisionProblem, built: BuiltModel, limits: cpsat.SolverLimits
) -> tuple[Candidate, dict[str, float]]:
    """
    Return the best plan that the solver and list plans find, and statistics of the decision.

    The candidates are the list plan, the solver's solution, and, unless that is proven optimal, the
    list plan in the order of its starts. The first of equally good plans is returned.

    Raises
    ------
    DispatchError
        If the objective of the model is not its ``value``.
    """
    solved = cpsat.solve(built.model, [*built.start, *built.other], limits)
    listed = built.value(problem.listed.starts)
    best, value = problem.listed, listed
    if solved.has_solution:
        count = len(built.start)
        starts = np.array(solved.values[:count], dtype=np.int64)
        answered = built.value(starts)
        _check_value(built, solved, answered)
        if answered < value:
            best, value = built.read(starts, solved.values[count:]), answered
        if solved.status is not cpsat.SolverStatus.OPTIMAL:
            # No job of it starts later than in the answer.
            again = problem.list_plan(np.argsort(starts, kind="stable"))
            if again.starts.min() >= 0 and built.value(again.starts) < value:
                best, value = again, built.value(again.starts)
    return best, _stats(built, solved, listed, value)


def _check_value(built: BuiltModel, solved: cpsat.Solved, value: int) -> None:
    """Refuse a value above the model's objective; below it is a solution that is not tight yet."""
    # The solver's objective is a floating-point number, and sums may exceed its precision.
    if value > solved.objective and not math.isclose(value, solved.objective, rel_tol=1e-9):
        raise DispatchError(
            f"{built.model.name}: the model minimises {solved.objective:g} for starts of value"
            f" {value:g}: BuiltModel.value must be what the model minimises"
        )


def _stats(built: BuiltModel, solved: cpsat.Solved, listed: int, followed: int) -> dict[str, float]:
    # A model that leaves plans out proves nothing about them.
    proven = built.exact and solved.status is cpsat.SolverStatus.OPTIMAL
    bound = max(solved.bound, 0.0) if built.exact else 0.0
    gap = 0.0 if proven or not followed else (followed - bound) / followed
    return {
        **stats.of_solve(solved, len(built.start)),
        stats.PROVEN_OPTIMAL: int(proven),
        stats.IMPROVED: int(followed < listed),
        stats.BOUND_GAP: max(gap, 0.0),
        stats.GAIN: (listed - followed) / listed if listed else 0.0,
    }
