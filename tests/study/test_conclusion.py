"""The sentence that says what was gained and what it cost."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cpsched.study import Baseline, carry_out, load_study, make_tables
from cpsched.study.conclusion import conclusions
from cpsched.study.task import tasks_of


def said(*rows, baseline=None):
    """Return the sentences on rows of (dispatcher, predictor, mean wait, longest wait)."""
    rows = [
        {
            "workload": "log", "system": "machine", "dispatcher": dispatcher,
            "predictor": predictor, "wait_mean_s": mean, "wait_max_s": longest,
        }
        for dispatcher, predictor, mean, longest in rows
    ]  # fmt: skip
    return conclusions(
        SimpleNamespace(
            results=SimpleNamespace(baseline=baseline or Baseline(dispatcher="easy")),
            summary=SimpleNamespace(rows=lambda: rows),
        )
    )


def test_it_names_the_best_mean_and_what_it_cost():
    """A quarter off the mean, and the longest wait twice as long."""
    assert said(
        ("easy", "requested", 1200.0, 7200),
        ("prb", "requested", 1100.0, 7000),
        ("rollout", "last", 900.0, 14_400),
    ) == [
        "log on machine: with easy and requested, jobs waited 20 min on average and at most 2"
        " h; with rollout and last, 15 min on average (25 % shorter) and at most 4 h (100 %"
        " longer)."
    ]


@pytest.mark.parametrize(
    ("best", "expected"),
    [
        (("prb", "requested", 60.0, 600), "no other dispatcher or predictor had a shorter mean"),
        (("prb", "requested", 59.9, 600), "59.9 s on average (less than 1 % shorter) and at most"),
        (("prb", "requested", 30.0, 500), "at most 8.33 min (the same)"),
        (("easy", "last", 30.0, 250), "with easy and last, 30 s on average (50 % shorter)"),
    ],
)
def test_whatever_the_best_is(best, expected):
    """Nothing better, hardly better, at no cost, or by another predictor alone."""
    assert expected in said(("easy", "requested", 60.0, 500), best)[0]


def test_no_wait_has_a_unit_too():
    """Nobody waited."""
    sentence = said(("easy", "requested", 0.0, 0), ("prb", "requested", 0.0, 0))[0]
    assert "jobs waited 0 s on average and at most 0 s;" in sentence


def test_nothing_to_compare_is_nothing_to_say():
    """One run, no run of the baseline, or no jobs."""
    assert said(("easy", "requested", 60.0, 500)) == []
    assert said(("prb", "requested", 60.0, 500), ("sjf", "requested", 50.0, 500)) == []
    assert said(("easy", "requested", None, None), ("sjf", "requested", None, None)) == []


def test_it_is_of_the_runs_that_were_carried_out(place):
    """FIFO is the baseline; backfilling on four cores is better."""
    text = (place / "study.toml").read_text().replace("seeds = 3", "seeds = 1")
    (place / "study.toml").write_text(text + '[baseline]\ndispatcher = "FIFO"\n')
    carry_out(load_study(place / "study.toml"), place / "out")
    tables = make_tables(place / "out")
    (sentence,) = conclusions(tables)
    best = min(tables.summary.rows(), key=lambda row: row["wait_mean_s"])
    assert sentence.startswith("few on four: with FIFO and W, jobs waited ")
    assert f"; with {best['dispatcher']} and {best['predictor']}, " in sentence


def test_the_demo_has_all_that_it_should_show():
    """Backfilling, a priority, constraint programming and rollouts; two sources of runtimes."""
    cases = {(task.dispatcher, task.predictor) for task in tasks_of(load_study("demo"))}
    dispatchers = ("easy", "prb:priority=slowdown", "cph-3", "rollout")
    predictors = ("requested", "user-history-plus")
    assert cases == {(one, other) for one in dispatchers for other in predictors}
