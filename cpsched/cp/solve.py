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
    A plan that could be followed.

    Attributes
    ----------
    starts
        Of each job, seconds from now, shape ``(n,)``.
    takes
        Units of each job on each node, shape ``(n, N)``; empty where the plan is of one pool.
    """

    starts: IntArray
    takes: IntArray = np.empty((0, 0), dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class DecisionProblem(ABC):
    """
    The waiting jobs of a decision; n jobs.

    Attributes
    ----------
    jobs
        In order of priority.
    duration
        Predicted seconds, at least 1, shape ``(n,)``.
    listed
        The best list plan known.
    bounds
        Of the starts, for every objective.
    delay
        The built-in objective, with its own narrower bounds.
    """

    jobs: JobTable
    duration: IntArray
    listed: Candidate
    bounds: Bounds
    delay: Delay

    @property
    def all_first(self) -> bool:
        """Whether the list plan starts every job as early as it could start alone."""
        return tuple(self.listed.starts.tolist()) == self.bounds.earliest

    @abstractmethod
    def list_plan(self, order: IntArray) -> Candidate:
        """Return the list plan in an order, given by positions of the jobs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BuiltModel(cpsat.HasModel):
    """
    A decision's model, ready to be solved or written to a file.

    Attributes
    ----------
    model
        Times are seconds from now on.
    value
        What the model minimises, of the starts of any plan: a whole number of at least 0. Plans
        are compared by it and by nothing else. No job improves it by starting later.
    start
        The start of each job of the window, in order of priority.
    other, read
        What else of a solution is of interest, and what makes a plan of the values of both.
    exact
        Whether every plan worth considering is a solution, see
        :class:`~cpsched.cp.capacity.Steps`.
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
    Solve a problem's model, and return the best plan known and the decision's statistics.

    The candidates are the list plan, the solver's answer, and, unless that is proven best, the
    list plan in the order of that answer's starts. The first of the best is taken.

    Raises
    ------
    DispatchError
        If the model minimises something other than its ``value``.
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
