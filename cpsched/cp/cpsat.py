"""
CP-SAT, and the only module that imports OR-tools: limits, seeds, statuses, traps.

OR-tools is imported when the first model is made, so its import costs nothing without a solver.
Every solve runs on one worker with a fixed seed and a limit in *deterministic* time, so the same
model gives the same answer on a loaded machine too (same versions, same platform).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, DispatchError
from cpsched.util.atomic_files import replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ortools.sat.python.cp_model import CpModel as CpModel
    from ortools.sat.python.cp_model import CpSolver
    from ortools.sat.python.cp_model import IntervalVar as IntervalVar
    from ortools.sat.python.cp_model import IntVar as IntVar
    from ortools.sat.python.cp_model import LinearExprT as LinearExprT


class _Spent(threading.local):
    """Seconds of wall time that this thread has spent in the solver so far."""

    seconds = 0.0


_spent = _Spent()

#: Of deterministic time: its last bits were seen to differ between solves of equal models.
_DETERMINISTIC_DIGITS = 12
#: Deterministic time a solve must be given to be worth a thread: a quarter of a second.
_LONG = 0.05

#: CP-SAT refuses models whose sums can leave 64 bits; sums of ours stay below this.
MAX_VALUE = 2**62


class SolverStatus(Enum):
    """Status of the solver at the end of a call. Any other status is an error in the model."""

    OPTIMAL = "optimal"
    """The best solution there is, proven."""
    FEASIBLE = "feasible"
    """A solution; the limit came before the proof."""
    INFEASIBLE = "infeasible"
    """Proven to have no solution."""
    UNKNOWN = "unknown"
    """No solution before the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverLimits:
    """
    Limits and settings of a call of the CP-SAT solver.

    Attributes
    ----------
    deterministic
        Limit of CP-SAT's deterministic time. A unit is about a second of work, the same on every
        run.
    seed
        Seed of the solver's random choices.
    presolve
        Whether the solver simplifies the model first.
    probe
        Whether it simplifies thoroughly: with probing, symmetry detection, and repetition until
        nothing changes. This counts as deterministic time, and may use all of it.
    relax
        Whether all constraints enter the linear relaxation, and not only those that usually help.
    fixed_search
        Whether the solver only follows the decision strategies of the model.
    """

    deterministic: float
    seed: int = 0
    presolve: bool = True
    probe: bool = True
    relax: bool = False
    fixed_search: bool = False

    def __post_init__(self) -> None:
        # Written so that nan fails too.
        if not self.deterministic > 0:
            raise ConfigError(f"limit is {self.deterministic}, must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """
    Result of a call of the solver.

    Attributes
    ----------
    values
        Values of the requested variables, in their order. Empty without a solution.
    objective
        Objective of the best solution, 0 without a solution.
    bound
        Lower bound of the objective (models are minimized).
    deterministic
        Used deterministic time, in units of the solver.
    """

    status: SolverStatus
    values: tuple[int, ...]
    objective: float
    bound: float
    deterministic: float

    @property
    def has_solution(self) -> bool:
        """Whether the solver has found a solution."""
        return self.status in (SolverStatus.OPTIMAL, SolverStatus.FEASIBLE)


class HasModel:
    """Base class of objects with a CP-SAT model, for inspection."""

    __slots__ = ()
    model: CpModel

    @property
    def size(self) -> tuple[int, int]:
        """Number of variables and of constraints of the model."""
        proto = self.model.proto
        return len(proto.variables), len(proto.constraints)

    def dump(self, path: Path | str) -> None:
        """Write the model as a CP-SAT proto: as text if the name ends in ``.txt``, else binary."""
        dump(self.model, path)


@cache
def _model_class() -> type[CpModel]:
    from ortools.sat.python import cp_model

    class Model(cp_model.CpModel):
        """Without its methods' names of before PEP 8: adding them takes longer than our models."""

        def _add_pre_pep8_methods(self) -> None:
            pass

    return Model


def new_model(name: str) -> CpModel:
    """Return an empty CP-SAT model with a name."""
    model = _model_class()()
    model.name = name
    return model


def minimize(
    model: CpModel, variables: Sequence[IntVar], weights: Sequence[int], less: int
) -> None:
    """Minimize a weighted sum of variables minus a constant in a model."""
    from ortools.sat.python import cp_model

    model.minimize(cp_model.LinearExpr.weighted_sum(variables, weights) - less)


def decide_in_order(model: CpModel, variables: Sequence[IntVar], *, largest: bool = False) -> None:
    """
    Let a fixed search set these variables one after the other, each to its smallest value first.
    """
    from ortools.sat.python import cp_model

    value = cp_model.SELECT_MAX_VALUE if largest else cp_model.SELECT_MIN_VALUE
    model.add_decision_strategy(variables, cp_model.CHOOSE_FIRST, value)


def add_ascending(model: CpModel, variables: Sequence[IntVar], groups: Iterable[int]) -> None:
    """Add constraints: the variables of a group do not decrease, in the given order."""
    before: dict[int, IntVar] = {}
    for variable, group in zip(variables, groups, strict=True):
        if group in before:
            model.add(before[group] <= variable)
        before[group] = variable


def add_hints(model: CpModel, variables: Sequence[IntVar], values: Iterable[int]) -> None:
    """
    Add hints to a model without hints: values that the solver tries first.

    Raises
    ------
    DispatchError
        If a variable is named twice (CP-SAT calls the model invalid) or a value is outside its
        domain (CP-SAT would silently drop the hint).
    """
    proposed: dict[int, int] = {}
    for variable, value in zip(variables, values, strict=True):
        if variable.index in proposed:
            raise DispatchError(f"{model.name}: {variable.name} is hinted twice")
        if not variable.domain.contains(value):
            raise DispatchError(
                f"{model.name}: hint {value} is outside the domain {variable.domain} of"
                f" {variable.name}"
            )
        proposed[variable.index] = int(value)
    # At once: one by one takes a twentieth of a short decision.
    hint = model.proto.solution_hint
    hint.vars.extend(list(proposed))
    hint.values.extend(list(proposed.values()))


def max_weight(num_terms: int, largest_value: int) -> int:
    """
    Return the largest weight with which a sum of ``num_terms`` products has no integer overflow.
    """
    return max(1, (MAX_VALUE - 1) // (max(num_terms, 1) * max(largest_value, 1)))


def seconds_spent() -> float:
    """Return the wall-clock seconds that this thread has spent in the solver so far."""
    return _spent.seconds


def solve(model: CpModel, variables: Sequence[IntVar], limits: SolverLimits) -> Solved:
    """
    Minimize a model, and return the values of some variables.

    Parameters
    ----------
    variables
        Variables whose values are returned.

    Raises
    ------
    DispatchError
        If CP-SAT calls the model invalid, or returns any other status than that of a solve.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    _set(solver, limits)
    is_long = limits.deterministic > _LONG
    answer = _interruptibly(solver, model) if is_long else solver.solve(model)
    name = solver.status_name(answer).lower()
    try:
        status = SolverStatus(name)
    except ValueError:
        reason = model.validate().strip() or "no reason given"
        raise DispatchError(f"{model.name}: CP-SAT answers '{name}': {reason}") from None
    has_solution = status in (SolverStatus.OPTIMAL, SolverStatus.FEASIBLE)
    _spent.seconds += solver.wall_time
    return Solved(
        status=status,
        values=tuple(solver.value(variable) for variable in variables) if has_solution else (),
        objective=solver.objective_value if has_solution else 0.0,
        bound=solver.best_objective_bound,
        deterministic=round(solver.deterministic_time, _DETERMINISTIC_DIGITS),
    )


def _interruptibly(solver: CpSolver, model: CpModel) -> Any:
    """
    Solve in a thread of its own, so that ctrl-C ends it.

    Python sees a signal only when its main thread is not in the solver.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(solver.solve, model).result()
        except KeyboardInterrupt:
            solver.stop_search()
            raise


def _set(solver: CpSolver, limits: SolverLimits) -> None:
    parameters = solver.parameters
    parameters.num_workers = 1
    parameters.interleave_search = False
    parameters.random_seed = limits.seed % 2**31
    parameters.max_deterministic_time = limits.deterministic
    parameters.cp_model_presolve = limits.presolve
    if not (limits.presolve and limits.probe):
        # Neither is turned off with the presolve, and they take a third of a solve that is to be
        # short.
        parameters.cp_model_probing_level = 0
        parameters.symmetry_level = 0
    if limits.presolve and not limits.probe:
        parameters.max_presolve_iterations = 1
    if limits.relax:
        parameters.linearization_level = 2
    # Embedding programs keep their own handling of Ctrl-C.
    parameters.catch_sigint_signal = False
    if limits.fixed_search:
        from ortools.sat.python import cp_model

        parameters.search_branching = cp_model.FIXED_SEARCH


def dump(model: CpModel, path: Path | str) -> None:
    """
    Write a model for other programs: as text if the name ends in ``.txt``, else binary.

    Raises
    ------
    ConfigError
        If the file cannot be written.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise ConfigError("the folder does not exist", where=path.parent)
    with replacing(path) as partial:
        if not model.export_to_file(str(partial)):
            raise ConfigError("the model cannot be written there", where=path)
