"""One table: a row for each run, group of jobs and metric, with its comparison."""

import numpy as np
import pytest
from result_tables import repeated, run, table

from cpsched.metrics.definitions import ALL, RANKED
from cpsched.study import Baseline
from cpsched.study.paired import Sums


def test_a_row_has_value_baseline_ratio_and_repetitions():
    """Ratios 0.5, 0.5 and 0.5: an interval of no width."""
    results = table(*repeated("easy"), *repeated("sjf", bounded_slowdown_mean=10.0))
    row = results.get(("log", "machine", "sjf", "requested"), "bounded_slowdown_mean")
    assert (row.value, row.base_value, row.repetitions, row.pairs) == (10.0, 20.0, 3, 1)
    assert row.baseline[2] == "easy"
    assert row.ratio == 0.5
    (first,) = [
        row
        for row in results.as_rows()
        if (row["dispatcher"], row["metric"]) == ("sjf", "bounded_slowdown_mean")
    ]
    assert first["jobs"] == "all"
    assert first["difference"] == -10.0
    base = results.get(("log", "machine", "easy", "requested"), "bounded_slowdown_mean")
    assert base.baseline is base.ratio is base.interval is None


def test_zero_over_zero_is_a_ratio_of_one():
    """Of waits on a log without a queue; above a baseline of 0 there is no ratio."""
    results = table(
        run("easy", wait_mean_s=0.0), run("same", wait_mean_s=0.0), run("more", wait_mean_s=1.0)
    )
    ratios = [
        results.get(("log", "machine", name, "requested"), "wait_mean_s").ratio
        for name in ("same", "more")
    ]
    assert ratios == [1.0, None]


def test_what_nobody_measured_is_no_metric_of_a_section():
    results = table(run("easy", utilization_core=0.5, utilization_gpu=None, lost_killed=0.1))
    assert [metric.name for metric in results.metrics("log on machine", "system")] == [
        "utilization_core",
        "steady_utilization_core",
    ]
    assert [metric.title for metric in results.metrics("log on machine", "lost work")] == [
        "lost, killed"
    ]


def test_names_have_the_estimate_where_there_are_several():
    results = table(run("easy"), run("fifo"))
    assert [results.name(key) for key in results.repetitions] == ["easy", "fifo"]
    two = table(run("easy"), run("easy", predictor="actual"))
    assert [two.name(key) for key in two.repetitions] == [
        "easy with requested time",
        "easy with actual runtime",
    ]


def test_a_baseline_may_be_another_predictor():
    results = table(
        run("easy"), run("easy", predictor="actual"), baseline=Baseline(predictor="actual")
    )
    key = ("log", "machine", "easy", "requested")
    assert results.baseline_of(key) == ("log", "machine", "easy", "actual")
    assert results.baselines == {("log", "machine", "easy", "actual")}


def test_a_data_frame_has_a_row_for_each(monkeypatch):
    pytest.importorskip("pandas")
    frame = table(run("easy"), run("fifo", wait_mean_s=7200.0)).to_pandas()
    pivot = frame.pivot_table("value", "dispatcher", "metric")
    assert pivot["wait_mean_s"].to_dict() == {"easy": 3600.0, "fifo": 7200.0}


BASE = [
    dict(zip(RANKED, values, strict=True))
    for values in ((100.0, 50.0, 10.0), (102.0, 50.0, 11.0), (101.0, 50.0, 12.0))
]


def ranked(dispatcher, *runs, **how):
    """Return repetitions with area-weighted response, p99.9 wait and slowdown."""
    return [
        run(dispatcher, seed, **dict(zip(RANKED, values, strict=True)), **how)
        for seed, values in enumerate(runs, 1)
    ]


EASY = ranked("easy", *(tuple(row.values()) for row in BASE))


def front(*runs):
    results = table(*runs)
    return [key[2] for case in results.cases for key in results.front(case)]


def test_a_difference_that_every_repetition_shows_removes_a_run_from_the_front():
    better = ranked("a", (100.0, 50.0, 9.0), (102.0, 50.0, 10.0), (101.0, 50.0, 11.0))
    assert front(*EASY, *better) == ["a"]


def test_a_difference_within_the_noise_does_not():
    """The mean is lower by one, and it is 8 lower, 2 higher and 3 higher."""
    noisy = ranked("a", (100.0, 50.0, 2.0), (102.0, 50.0, 13.0), (101.0, 50.0, 15.0))
    assert front(*EASY, *noisy) == ["easy", "a"]


def test_a_run_that_is_a_little_worse_in_one_metric_removes_none():
    worse = ranked("a", (1.0, 50.01, 1.0), (1.0, 50.01, 1.0), (1.0, 50.01, 1.0))
    assert front(*EASY, *worse) == ["easy", "a"]


def test_one_run_each_is_compared_by_values():
    assert front(*ranked("a", (100.0, 50.0, 10.0)), *ranked("b", (100.0, 50.0, 9.9))) == ["b"]


def test_days_that_do_not_agree_keep_a_run_on_the_front():
    """All repetitions agree on a lower slowdown, which comes from one day of ten."""

    def days(values):
        return {(ALL, "bounded_slowdown_mean"): Sums(np.array(values), np.ones(10))}

    base = ranked("easy", (100.0, 50.0, 10.0), (100.0, 50.0, 10.1), days=days([10.0] * 10))
    runs = (100.0, 50.0, 9.0), (100.0, 50.0, 9.1)
    assert front(*base, *ranked("a", *runs, days=days([11.0] * 9 + [0.0]))) == ["easy", "a"]
    assert front(*base, *ranked("a", *runs, days=days([9.0] * 10))) == ["a"]


def test_each_log_and_each_knowledge_has_its_own_front():
    """With actual runtimes all is better; the other log is easier."""
    knowing = ranked("a", (1.0, 1.0, 1.0), knows=True)
    other = ranked("b", (1.0, 1.0, 1.0), log="other")
    unmeasured = ranked("c", (None, None, None))
    assert front(*EASY, *knowing, *other, *unmeasured) == ["easy", "a", "b"]
