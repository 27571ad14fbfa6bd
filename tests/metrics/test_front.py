"""Who is on the front of three figures."""

import pytest
from cpsched.metrics.results_table_columns import on_front

from cpsched.metrics.predictions import knows_runtimes


def test_off_the_front_is_who_is_beaten_in_one_figure_and_ahead_in_none():
    """b trades, c is a but for one figure, d equals a, e has nothing."""
    runs = [(10.0, 10.0, 10.0), (20.0, 5.0, 10.0), (10.0, 11.0, 10.0), (10.0, 10.0, 10.0), None]
    assert on_front(runs, [0] * 5) == [True, True, False, True, None]


def test_runs_of_different_kinds_do_not_beat_each_other():
    assert on_front([(1.0, 1.0, 1.0), (2.0, 2.0, 2.0)], ["truth", "forecast"]) == [True, True]


def test_a_difference_that_is_not_certain_beats_nobody():
    """The second is better in two figures, of which the last is certain or none is."""
    runs = [(10.0, 10.0, 10.0), (9.0, 10.0, 9.0)]
    asked = []

    def certain(one, other, figure):
        asked.append((one, other, figure))
        return figure == 2

    assert on_front(runs, [0, 0], certain) == [False, True]
    assert asked == [(1, 0, 0), (1, 0, 2)]
    assert on_front(runs, [0, 0], lambda *_: False) == [True, True]


def test_a_run_that_is_a_little_worse_in_one_figure_beats_nobody():
    """However much better it is in the others, and whether that little is certain or not."""
    assert on_front([(10.0, 10.0, 10.0), (1.0, 10.01, 1.0)], [0, 0]) == [True, True]


def test_no_runs_have_no_front():
    assert on_front([], []) == []


@pytest.mark.parametrize(
    ("predictor", "seen", "knows"),
    [
        ("actual", None, True),
        ("actual:factor=2", None, True),
        ("requested", None, False),
        ("user-history", None, False),
        ("gbm-log:model=a.npz", "was trained on these jobs", True),
        ("of-somebody-else", None, False),
        ("of-somebody-else", "was trained on about 3 % of these jobs", True),
    ],
)
def test_who_knows_the_runtimes(predictor, seen, knows):
    """By being told or by having seen the jobs; what is not installed is taken for a forecast."""
    assert knows_runtimes({"predictor": predictor, "not_a_forecast": seen}) is knows
