"""What a run says of the time its decisions took."""

from tiny import jobs, machine, run

QUEUE = jobs(*((0, units, 10 + units, 60) for units in (3, 2, 3, 1, 2, 4, 1, 3)))


def test_the_solver_and_what_is_around_it_are_told_apart():
    """They are of decisions that called the solver, and together they are those decisions."""
    result = run(QUEUE, machine((4,)), "cp-0:window=8")
    timing = result.timing
    assert result.decisions["solver_calls"] > 0
    assert timing["solve_total_s"] > 0
    assert timing["build_total_s"] > 0
    assert timing["solve_total_s"] + timing["build_total_s"] <= timing["decision_total_s"] + 1e-9
    assert timing["solve_median_s"] <= timing["solve_p99_s"] <= timing["solve_max_s"]


def test_without_a_solver_there_is_no_such_time():
    """Also after a run in the same process that had one."""
    run(QUEUE, machine((4,)), "cp-0:window=8")
    timing = run(QUEUE, machine((4,)), "easy").timing
    assert "decision_median_s" in timing
    assert not any(key.startswith(("solve_", "build_")) for key in timing)
