"""The front of a study: what repetitions do not bear out pushes nothing off it."""

from types import SimpleNamespace

import numpy as np
import pytest
from cpsched.study.measures import AREA
from cpsched.study.tables import HEADLINE, fronts

from cpsched.study.paired import Sums


def repeated(dispatcher, *runs, weeks=None, knows_runtimes=False):
    """Return the repetitions of a dispatcher, each with response, tail and slowdown."""
    nothing = Sums(np.ones(1), np.ones(1))
    return [
        SimpleNamespace(
            workload="log", system="machine", dispatcher=dispatcher, seed=seed, figures=figures,
            groups={"all": figures}, sizes={}, knows_runtimes=knows_runtimes,
            days={(name, "all"): weeks or nothing for name in (AREA, "bounded_slowdown_mean")},
        )
        for seed, values in enumerate(runs, 1)
        for figures in (dict(zip(HEADLINE, values, strict=True)),)
    ]  # fmt: skip


EASY = repeated("easy", (100.0, 50.0, 10.0), (102.0, 50.0, 11.0), (101.0, 50.0, 12.0))


def test_a_difference_that_every_repetition_shows_pushes_off():
    better = repeated("a", (100.0, 50.0, 9.0), (102.0, 50.0, 10.0), (101.0, 50.0, 11.0))
    assert fronts([EASY, better]) == [False, True]


def test_a_difference_within_the_noise_does_not():
    """The mean is lower by one, and it is 8 lower, 2 higher and 3 higher."""
    noisy = repeated("a", (100.0, 50.0, 2.0), (102.0, 50.0, 13.0), (101.0, 50.0, 15.0))
    assert fronts([EASY, noisy]) == [True, True]


def test_one_run_each_is_taken_as_it_is():
    first, second = repeated("a", (100.0, 50.0, 10.0)), repeated("b", (100.0, 50.0, 9.9))
    assert fronts([first, second]) == [False, True]


def test_weeks_that_do_not_agree_keep_a_run_on_the_front():
    """All repetitions agree on a lower slowdown, which comes from one week of ten."""
    weeks = Sums(np.array([10.0] * 10), np.ones(10))
    other = Sums(np.array([11.0] * 9 + [0.0]), np.ones(10))
    base = repeated("easy", (100.0, 50.0, 10.0), (100.0, 50.0, 10.1), weeks=weeks)
    better = repeated("a", (100.0, 50.0, 9.0), (100.0, 50.0, 9.1), weeks=other)
    assert fronts([base, better]) == [True, True]
    agreed = Sums(np.array([9.0] * 10), np.ones(10))
    better = repeated("a", (100.0, 50.0, 9.0), (100.0, 50.0, 9.1), weeks=agreed)
    assert fronts([base, better]) == [False, True]


def test_each_workload_and_each_kind_has_its_own():
    """With actual runtimes all is better; the other log is easier."""
    truth = repeated("a", (1.0, 1.0, 1.0), knows_runtimes=True)
    other = repeated("b", (1.0, 1.0, 1.0))
    other[0].workload = "other"
    nothing = repeated("c", (None, None, None))
    assert fronts([EASY, truth, other, nothing]) == [True, True, True, None]


@pytest.mark.slow
def test_a_study_is_marked(finished):
    """FIFO and EASY with requested times; those with actual runtimes have their own front."""
    from cpsched.study import make_tables

    rows = make_tables(finished).summary.rows()
    means = {
        (row["dispatcher"], row["predictor"]): [row[name] for name in HEADLINE] for row in rows
    }
    for row in rows:
        marks = {row["dispatcher"]: row["on_front"] for row in rows if row["predictor"] == "W"}
        assert any(marks.values())
        if not row["on_front"]:
            other = "EASY" if row["dispatcher"] == "FIFO" else "FIFO"
            ours, theirs = (means[who, row["predictor"]] for who in (row["dispatcher"], other))
            assert all(a >= b for a, b in zip(ours, theirs, strict=True))
