"""The table of how decisions were made."""

from cpsched.report.decisions import count_view, decision_view

PLAIN = ("easy", {"decisions": 9, "starts": 4}, {"decision_max_s": 1.0})
COUNTS = {
    "decisions": 10,
    "starts": 7,
    "solver_calls": 4,
    "skipped_all_fit": 3,
    "skipped_bound": 1,
    "skipped_none_fit": 2,
    "proven_optimal": 3,
    "bound_gap": 0.5,
    "limit_hits": 1,
}
TIMES = {"decision_median_s": 0.001, "decision_p99_s": 0.0125, "decision_max_s": 0.02}
SOLVER = ("cph-0", COUNTS, TIMES)


def columns(view):
    """Return the cells of each column by its header."""
    return dict(zip(view.headers, zip(*view.rows, strict=True), strict=True))


def test_only_dispatchers_with_statistics_are_shown():
    """What they count under its own name; a gap of 0.5 in 4 solver calls; times in milliseconds."""
    assert decision_view([PLAIN]) is None
    cells = columns(decision_view([PLAIN, SOLVER]))
    assert cells["dispatcher"] == ("cph-0",)
    assert (cells["solver calls"], cells["skipped none fit"]) == (("4",), ("2",))
    assert (cells["mean bound gap"], cells["p99 decision"]) == (("12.5 %",), ("12.50 ms",))


def test_no_solver_call_has_no_mean():
    """A share of nothing is not 0."""
    quiet = {**COUNTS, "solver_calls": 0, "bound_gap": 0.0}
    cells = columns(decision_view([("cp-1", quiet, TIMES), SOLVER]))
    assert cells["mean bound gap"] == ("-", "12.5 %")


def test_with_both_each_has_its_own_columns():
    """A gap where it could not happen; 0.35 won in 5 decisions that had something to choose."""
    planning = {
        "decisions": 20,
        "starts": 15,
        "skipped_all_fit": 6,
        "skipped_none_fit": 4,
        "planned": 5,
        "gain_over_first": 0.35,
    }
    cells = columns(decision_view([("lookahead", planning, TIMES), SOLVER]))
    assert cells["solver calls"] == ("-", "4")
    assert cells["planned"] == ("5", "-")
    assert cells["mean gain over first"] == ("7.0 %", "-")


def test_counts_of_a_predictor_have_their_share_of_the_jobs():
    assert count_view("answers", {}, 10) is None
    assert count_view("answers", {"no history": 3}, 12).rows == [["no history", "3", "25.0 %"]]
