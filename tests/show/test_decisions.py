"""The table of how decisions came about."""

from cpsched.show.decisions import decision_table

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
        "wall_limit_hits": 0,
    },
    {"decision_median_s": 0.001, "decision_p99_s": 0.0125, "decision_max_s": 0.02},
)


def test_only_dispatchers_with_statistics_are_shown():
    """Shares are of solver calls: 3 of 4 proven, gaps of 0.5 in all; times in milliseconds."""
    assert decision_table([PLAIN]) is None
    table = decision_table([PLAIN, SOLVER])
    lines = table.text().splitlines()
    assert lines[-1].split() == [
        "cph-0", "10", "4", "3", "2", "1", "75.0", "12.5", "1", "1.00", "12.50", "20.00",
    ]  # fmt: skip
    assert [column.header for column in table.columns[3:6]] == [
        "skipped all fit",
        "skipped none fit",
        "skipped bound",
    ]
    assert "| cph-0 | 10 | 4 | 3 | 2 | 1 | 75.0 |" in table.markdown()


def test_no_solver_call_has_no_shares():
    """A share of nothing is not 0."""
    _, _, decisions, timing = SOLVER
    quiet = {**decisions, "solver_calls": 0, "proven_optimal": 0, "bound_gap": 0.0}
    table = decision_table([("cp-1", "actual", quiet, timing), SOLVER])
    assert table.columns[1].header == "predictor"
    shares = {column.header: column.values for column in table.columns}
    assert shares["proven optimal"] == (None, 75.0)
    assert "cp-1 " in table.text()


def test_a_wall_clock_limit_is_said_above():
    _, _, decisions, timing = SOLVER
    row = ("cph-0", "requested", {**decisions, "wall_limit_hits": 2}, timing)
    assert decision_table([row]).caption == (
        "cph-0 is not repeatable: a wall-clock limit stopped 2 solver calls"
    )


WEIGHING = (
    "rollout",
    "requested",
    {
        "decisions": 20,
        "starts": 15,
        "skipped_all_fit": 6,
        "skipped_none_fit": 4,
        "judged": 5,
        "agreed": 3,
        "gain_over_first": 0.35,
        "followed_skip_typical": 5,
    },
    {"decision_median_s": 0.001, "decision_p99_s": 0.0125, "decision_max_s": 0.02},
)


def test_without_a_solver_there_are_plans_and_proposals_instead():
    """0.35 won in 5 decisions that had something to choose."""
    table = decision_table([PLAIN, WEIGHING])
    assert table.text().splitlines()[-1].split() == [
        "rollout", "20", "6", "4", "3", "5", "7.0", "1.00", "12.50", "20.00",
    ]  # fmt: skip
    assert [column.header for column in table.columns[4:7]] == [
        "decisions agreed",
        "decisions judged",
        "gain over first",
    ]


def test_with_both_each_has_its_own_columns():
    """A gap where it could not happen."""
    table = decision_table([WEIGHING, SOLVER])
    found = {column.header: column.values for column in table.columns}
    assert found["solver calls"] == (None, 4)
    assert found["proven optimal"] == (None, 75.0)
    assert found["decisions judged"] == (5, None)
