"""The border to CP-SAT: statuses, limits, hints, models that are wrong, and when it is imported."""

import signal
import subprocess
import sys
import threading

import pytest

from cpsched.cp import cpsat
from cpsched.cp.cpsat import SolverLimits, SolverStatus
from cpsched.errors import ConfigError, DispatchError

ENOUGH = SolverLimits(deterministic=1.0)


def two(low=0, high=10, name="two"):
    """Return a model of two variables that must add up to 5 at least; the second costs double."""
    model = cpsat.new_model(name)
    variables = [model.new_int_var(low, high, label) for label in ("a", "b")]
    model.add(sum(variables) >= 5)
    model.minimize(variables[0] + 2 * variables[1])
    return model, variables


@pytest.mark.parametrize("presolve", [False, True])
@pytest.mark.parametrize("fixed", [False, True])
def test_the_best_solution_is_found_and_proven(presolve, fixed):
    """Values in the order asked for; bound meets objective."""
    model, (a, b) = two()
    cpsat.decide_in_order(model, [a, b])
    limits = SolverLimits(deterministic=1.0, presolve=presolve, fixed_search=fixed, seed=2**40)
    solved = cpsat.solve(model, [b, a], limits)
    assert solved.status is SolverStatus.OPTIMAL
    assert solved.has_solution
    assert solved.values == (0, 5)
    assert (solved.objective, solved.bound) == (5, 5)


def test_no_solution_is_a_status():
    """Proven, or not found in time; neither has values."""
    model, variables = two(high=2)
    solved = cpsat.solve(model, variables, ENOUGH)
    assert (solved.status, solved.values) == (SolverStatus.INFEASIBLE, ())
    assert not solved.has_solution


def crowded(num=40):
    """Return a model that takes long: unlike intervals on three machines."""
    model = cpsat.new_model("crowded")
    start = [model.new_int_var(0, 10_000, f"s{index}") for index in range(num)]
    interval = [
        model.new_fixed_size_interval_var(variable, 13 + 7 * index % 90, "")
        for index, variable in enumerate(start)
    ]
    model.add_cumulative(interval, [1 + index % 3 for index in range(num)], 3)
    model.minimize(sum((1 + index % 5) * variable for index, variable in enumerate(start)))
    return model, start


def test_a_long_solve_can_be_interrupted():
    """By a signal to the main thread, as ctrl-C is; half an hour would be left."""
    main = threading.main_thread()
    assert threading.current_thread() is main
    model, start = crowded()
    timer = threading.Timer(0.5, signal.pthread_kill, (main.ident, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        cpsat.solve(model, start, SolverLimits(deterministic=500))
    timer.join()


def test_a_deterministic_limit_ends_a_solve_at_the_same_answer():
    """Twice the same values, bound and deterministic time."""
    model, start = crowded()
    once, again = (cpsat.solve(model, start, SolverLimits(deterministic=0.02)) for _ in range(2))
    assert once.status in (SolverStatus.FEASIBLE, SolverStatus.UNKNOWN)
    assert (once.values, once.bound, once.deterministic) == (
        again.values,
        again.bound,
        again.deterministic,
    )


def test_an_overflowing_model_is_an_error_with_its_reason():
    """CP-SAT calls it invalid; nobody mistakes that for "no solution"."""
    model = cpsat.new_model("overflow")
    variable = model.new_int_var(0, 2**62, "x")
    model.minimize(2**40 * variable)
    with pytest.raises(DispatchError, match="overflow: CP-SAT answers 'model_invalid'"):
        cpsat.solve(model, [variable], ENOUGH)


def test_a_variable_is_hinted_once_and_within_its_domain():
    """CP-SAT would call the first invalid and pass the second over in silence."""
    model, (a, b) = two()
    with pytest.raises(DispatchError, match="two: a is hinted twice"):
        cpsat.add_hints(model, [a, b, a], [1, 2, 3])
    model, (a, b) = two()
    with pytest.raises(DispatchError, match=r"hint 11 is outside the domain \[0,10\] of b"):
        cpsat.add_hints(model, [a, b], [10, 11])


@pytest.mark.parametrize("value", [0, -1.0, float("nan")])
def test_a_limit_that_is_none_is_refused(value):
    """Also what is not a number."""
    with pytest.raises(ConfigError, match="limit is .*, must be above 0"):
        SolverLimits(deterministic=value)


def test_a_model_is_written_as_text_or_binary(tmp_path):
    """By the name's end; a place that does not exist is named."""
    model, _ = two()
    cpsat.dump(model, tmp_path / "model.pb.txt")
    assert "objective {" in (tmp_path / "model.pb.txt").read_text()
    cpsat.dump(model, tmp_path / "model.pb")
    assert b"\x03two" in (tmp_path / "model.pb").read_bytes()
    with pytest.raises(ConfigError, match="nowhere: the folder does not exist"):
        cpsat.dump(model, tmp_path / "nowhere" / "model.pb")


def test_or_tools_is_imported_by_the_first_model_only():
    """Whoever runs fifo, or asks for help, does not pay for it."""
    program = (
        "import sys; import cpsched.cp.cp_pool, cpsched.cp.cp_nodes, cpsched.cli.main;"
        "from cpsched.util.spec import build; build('dispatchers', 'cph-3');"
        "assert 'ortools' not in sys.modules; from cpsched.cp import cpsat; cpsat.new_model('x');"
        "assert 'ortools' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_time_in_the_solver_is_counted_by_thread():
    """Two simulations side by side do not count each other's."""
    model, start = crowded(8)
    before = cpsat.seconds_spent()
    other = threading.Thread(
        target=cpsat.solve, args=(model, start, SolverLimits(deterministic=0.01))
    )
    other.start()
    other.join()
    assert cpsat.seconds_spent() == before
    cpsat.solve(model, start, SolverLimits(deterministic=0.01))
    assert cpsat.seconds_spent() > before
