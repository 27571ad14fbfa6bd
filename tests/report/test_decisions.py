"""The table of how decisions came about."""

import pytest

from cpsched.report.decisions import decision_table

PLAIN = ("easy", "requested", {"decisions": 9, "starts": 4}, {"decision_max_s": 1.0})
SOLVER = (
    "cph-0",
    "requested",
    {
        "decisions": 10,
        "starts": 7,
        "solver_calls": 4,
        "skipped_all_fit": 3,
        "skipped_bound": 1,
        "skipped_none_fit": 2,
        "proven_optimal": 3,
        "bound_gap": 0.5,
        "limit_hits": 1,
    },
    {"decision_median_s": 0.001, "decision_p99_s": 0.0125, "decision_max_s": 0.02},
)


def test_only_dispatchers_with_statistics_are_shown():
    """What they count under its own name; a gap of 0.5 in 4 solver calls; times in milliseconds."""
    assert decision_table([PLAIN]) is None
    table = decision_table([PLAIN, SOLVER])
    found = {column.header: column.cells() for column in table.columns}
    assert found["dispatcher"] == ["cph-0"]
    assert (found["solver calls"], found["skipped none fit"]) == (["4"], ["2"])
    assert (found["mean bound gap"], found["p99 decision"]) == (["12.5"], ["12.50"])


def test_no_solver_call_has_no_mean():
    """A share of nothing is not 0."""
    _, _, decisions, timing = SOLVER
    quiet = {**decisions, "solver_calls": 0, "bound_gap": 0.0}
    table = decision_table([("cp-1", "actual", quiet, timing), SOLVER])
    assert table.columns[1].header == "predictor"
    means = {column.header: column.values for column in table.columns}
    assert means["mean bound gap"] == (None, 12.5)


PLANNING = (
    "lookahead",
    "requested",
    {
        "decisions": 20,
        "starts": 15,
        "skipped_all_fit": 6,
        "skipped_none_fit": 4,
        "planned": 5,
        "gain_over_first": 0.35,
    },
    {"decision_median_s": 0.001, "decision_p99_s": 0.0125, "decision_max_s": 0.02},
)


def test_with_both_each_has_its_own_columns():
    """A gap where it could not happen; 0.35 won in 5 decisions that had something to choose."""
    found = {one.header: one.values for one in decision_table([PLANNING, SOLVER]).columns}
    assert found["solver calls"] == (None, 4)
    assert found["planned"] == (5, None)
    assert found["mean gain over first"] == (pytest.approx(7.0), None)
