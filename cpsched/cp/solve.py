"""Solve a model and follow the better of its answer and the list plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cpsched import cpsat
from cpsched.cp import stats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cpsched.cp.bounds import Bounds
    from cpsched.model.types import IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BuiltModel:
    """
    A decision's model, ready to be solved or written to a file.

    Attributes
    ----------
    model
        Minimises ``sum_i weight_i * (start_i - earliest_i)``, times in seconds from now on.
    start
        The start of each job of the window, in order of priority.
    other
        What else of a solution is of interest: see who built it.
    subject
        What it is the model of, in words.
    exact
        Whether every plan worth considering is a solution, see
        :class:`~cpsched.cp.capacity.Steps`.
    """

    model: cpsat.CpModel
    start: tuple[cpsat.IntVar, ...]
    other: tuple[cpsat.IntVar, ...] = ()
    subject: str = "the decision"
    exact: bool = True

    def dump(self, path: Path | str) -> None:
        """Write the model as a CP-SAT proto: text where the name ends in ``.txt``, else binary."""
        cpsat.dump(self.model, path)


class Candidate(NamedTuple):
    """
    A plan that could be followed.

    Attributes
    ----------
    starts
        Of each job, seconds from now.
    takes
        Where the plan knows it: units on each node of the jobs that start now, shape ``(n, N)``.
    """

    starts: Sequence[int]
    takes: IntArray | None = None


def add_objective(model: cpsat.CpModel, start: Sequence[cpsat.IntVar], bounds: Bounds) -> None:
    """Minimise the weighted delay beyond the earliest starts."""
    constant = sum(w * e for w, e in zip(bounds.weight, bounds.earliest, strict=True))
    cpsat.minimize(model, start, bounds.weight, constant)


def answer(
    built: BuiltModel,
    bounds: Bounds,
    limits: cpsat.Limits,
    listed: Candidate,
    *,
    read: Callable[[Sequence[int], Sequence[int]], Candidate],
    tighten: Callable[[Sequence[int]], Candidate],
) -> tuple[Candidate, dict[str, float]]:
    """
    Solve, and return the best plan known and the decision's statistics.

    The candidates are the list plan, the solver's answer, and, unless that is proven best, the
    list plan in the order of that answer's starts. The first of the best is taken.

    Parameters
    ----------
    read
        Makes a candidate of the values of ``built.start`` and ``built.other``.
    tighten
        Makes a list plan in the order of some starts.
    """
    solved = cpsat.solve(built.model, [*built.start, *built.other], limits)
    best, value = listed, bounds.delay(listed.starts)
    if solved.has_solution:
        count = len(built.start)
        starts = solved.values[:count]
        if bounds.delay(starts) < value:
            best, value = read(starts, solved.values[count:]), bounds.delay(starts)
        if solved.status is not cpsat.Status.OPTIMAL:
            tightened = tighten(starts)
            if min(tightened.starts) >= 0 and bounds.delay(tightened.starts) < value:
                best, value = tightened, bounds.delay(tightened.starts)
    return best, _stats(built, solved, bounds.slack, value)


def _stats(built: BuiltModel, solved: cpsat.Solved, listed: int, followed: int) -> dict[str, float]:
    # A model that leaves plans out proves nothing about them.
    proven = built.exact and solved.status is cpsat.Status.OPTIMAL
    bound = max(solved.bound, 0.0) if built.exact else 0.0
    cut_short = solved.status in (cpsat.Status.FEASIBLE, cpsat.Status.UNKNOWN)
    gap = 0.0 if proven or not followed else (followed - bound) / followed
    return {
        stats.SOLVER_CALLS: 1,
        stats.MODELLED_JOBS: len(built.start),
        stats.PROVEN_OPTIMAL: int(proven),
        stats.LIMIT_HITS: int(cut_short and not solved.wall_limit_hit),
        stats.WALL_LIMIT_HITS: int(solved.wall_limit_hit),
        stats.NO_SOLUTION: int(not solved.has_solution),
        stats.IMPROVED: int(followed < listed),
        stats.BOUND_GAP: max(gap, 0.0),
        stats.GAIN: (listed - followed) / listed if listed else 0.0,
        stats.DETERMINISTIC_TIME: solved.deterministic,
    }
