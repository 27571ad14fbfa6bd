"""A model with an objective of its own: the largest wait, which no sum of starts says."""

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.cp import cpsat, dispatcher, solve, stats
from cpsched.cp.cp_nodes import CpNodes
from cpsched.cp.cp_pool import CpPool
from cpsched.cp.objective import add_starts
from cpsched.cp.pool import Limit, add_pool
from cpsched.cp.solve import BuiltModel
from cpsched.errors import DispatchError
from cpsched.report.decisions import solver_notes
from cpsched.verification import verify

pytestmark = pytest.mark.slow


class LargestEnd(CpPool):
    """Minimises the end of the job that ends last, on the pool."""

    name = "largest-end"

    def model(self, problem):
        """Build the model within the bounds that hold for every objective."""
        duration = problem.duration.tolist()
        model = cpsat.new_model(self.name)
        start = add_starts(model, problem.bounds, problem.jobs.handle)
        horizon = problem.bounds.end(duration)
        exact = add_pool(
            model, start, duration, problem.demand, problem.times, problem.level, horizon
        )
        last = model.new_int_var(0, horizon, "last")
        for variable, length in zip(start, duration, strict=True):
            model.add(last >= variable + length)
        model.minimize(last)
        return BuiltModel(
            model=model,
            value=lambda starts: int((starts + problem.duration).max()),
            start=tuple(start),
            exact=exact,
        )


class Later(CpPool):
    """Lets no job start before second 5 by a constraint of the model alone."""

    def model(self, problem):
        """Return the model with that constraint."""
        built = super().model(problem)
        for variable in built.start:
            built.model.add(variable >= 5)
        return built


class WrongLimit(CpPool):
    """Has a limit with arrays of other lengths."""

    def __init__(self, more: int = 0, running: int = 0) -> None:
        super().__init__()
        self.more = more
        self.running = running

    def own_limits(self, view, jobs):
        """Return a limit of that many jobs more than there are."""
        counts = len(jobs) + self.more, len(view.running) + self.running
        return [Limit(*(np.ones(count, dtype=np.int64) for count in counts), 100)]


class WrongValue(LargestEnd):
    """Says that a plan is worth more than the model minimises."""

    def model(self, problem):
        """Return the model with a value that is not its own."""
        built = super().model(problem)
        return BuiltModel(
            model=built.model, start=built.start, value=lambda starts: built.value(starts) + 1
        )


def drawn(seed):
    """Return 40 jobs of up to 4 cores and 60 s whose limits are right."""
    rng = np.random.default_rng(seed)
    return jobs(
        *zip(
            np.sort(rng.integers(0, 200, 40)).tolist(),
            rng.integers(1, 5, 40).tolist(),
            (length := rng.integers(1, 60, 40).tolist()),
            length,
            strict=True,
        )
    )


@pytest.fixture
def answers(monkeypatch):
    """Return a list of (model, followed plan, solver's outcome, statistics), one for each solve."""
    seen, solved = [], []

    def solve_model(model, variables, limits):
        solved.append(cpsat_solve(model, variables, limits))
        return solved[-1]

    def answer(problem, built, limits):
        solution, numbers = solve.answer(problem, built, limits)
        seen.append((built, solution, solved[-1], numbers))
        return solution, numbers

    cpsat_solve = cpsat.solve
    monkeypatch.setattr(cpsat, "solve", solve_model)
    monkeypatch.setattr(dispatcher, "answer", answer)
    return seen


@pytest.mark.parametrize("limit", [0.0003, 0.05])
def test_the_plan_followed_is_the_best_for_the_models_own_objective(answers, limit):
    """Never worse than the solver's, and counted as proven only with the value it has proven."""
    result = run(drawn(1), machine((5,)), LargestEnd(limit=limit))
    assert not verify(result.schedule)
    assert len(answers) > 5
    proven = 0
    for built, followed, solved, numbers in answers:
        value = built.value(followed.starts)
        if solved.has_solution:
            count = len(built.start)
            assert value <= built.value(np.array(solved.values[:count]))
        if numbers[stats.PROVEN_OPTIMAL]:
            proven += 1
            assert value == solved.bound == solved.objective
    assert proven


def test_a_value_that_the_model_does_not_minimise_is_refused():
    """The first solve says both numbers."""
    with pytest.raises(DispatchError, match="largest-end: the model minimises .* of value"):
        run(drawn(1), machine((5,)), WrongValue())


def test_a_constraint_of_the_model_alone_is_named_as_the_cause():
    """The list plan is followed then, which does not keep it."""
    counts = run(drawn(1), machine((5,)), Later()).decisions
    assert counts[stats.NO_LIST_PLAN] > 0
    assert stats.WRONGLY_INFEASIBLE not in counts
    (note,) = solver_notes([("mine:Later", counts)])
    assert note.startswith("mine:Later: the model allows no list plan in ")
    assert note.endswith("Use own_limits() of CpPool.")


@pytest.mark.parametrize(("options", "message"), [
    ({"more": 1}, r"WrongLimit.own_limits: demand of a Limit has shape \(2,\). It needs \(1,\)"),
    ({"running": 1}, r"allocated of a Limit has shape \(1,\). It needs \(0,\), .* running job"),
])  # fmt: skip
def test_a_limit_needs_a_number_for_each_job(options, message):
    with pytest.raises(DispatchError, match=message):
        run(drawn(1), machine((5,)), WrongLimit(**options))


@pytest.mark.parametrize("kind", [CpPool, CpNodes])
def test_the_narrow_bounds_belong_to_the_built_in_sum(kind):
    """A plan that ends first of all may start a job later than any plan with a smaller sum."""
    problems = []

    class RecordsProblems(kind):
        def model(self, problem):
            problems.append(problem)
            return super().model(problem)

    run(drawn(1), machine((5,)), RecordsProblems())
    assert problems
    narrower = 0
    for problem in problems:
        wide, narrow = problem.bounds, problem.delay.bounds
        assert wide.earliest == narrow.earliest
        # Whatever the objective: when all that runs and all other jobs have ended.
        ends = {late + length for late, length in zip(wide.latest, problem.duration, strict=True)}
        assert len(ends) == 1
        pairs = list(zip(narrow.latest, wide.latest, strict=True))
        assert all(narrow <= wide for narrow, wide in pairs)
        narrower += any(narrow < wide for narrow, wide in pairs)
    assert narrower
