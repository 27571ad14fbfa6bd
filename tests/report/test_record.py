"""The baseline against recorded waits, in words."""

from statistics import fmean
from types import SimpleNamespace

import numpy as np
import pytest
from notebooks import SYSTEM

from cpsched.model.workload import Workload
from cpsched.report import compare, what_if
from cpsched.report.record import misfit, validation_lines
from cpsched.simulation.simulate import simulate
from cpsched.study.validation.errors import compare_starts
from cpsched.systems import parse as parse_system
from cpsched.util.words import duration


def run(over=0.0):
    use = {"mean": 1.38, "peak": 2.92, "over": over}
    return SimpleNamespace(record={"recorded_use": use}, case="log on four")


def table(grade, *groups, over=0.0, scenarios=True):
    """Return the results of one run: all jobs, and groups by kind, name and grade, each larger."""
    rows = [
        {"workload": "log", "system": "four", "dispatcher": "easy", "kind": kind, "group": name,
         "predictor": "requested", "grade": verdict, "simulated_wait_mean_s": 450_000.0, "recorded_wait_mean_s": 900.0,
         "held_mean_s": 0.0, "lag_s": 0, "within_10_min": 0.4,
         "jobs": jobs, "much_worse": verdict == "poor" and kind != "all"}
        for jobs, (kind, name, verdict) in enumerate((("all", "all", grade), *groups))
        if verdict
    ]  # fmt: skip
    return SimpleNamespace(
        study=SimpleNamespace(runs=(run(over),), by_group=scenarios),
        record=tuple(rows),
        name=lambda key: key[2],
    )


VALUES = (
    "Mean wait: simulated 5 d 5 h, recorded 15 min. Within ten minutes of their recorded start:"
    " 40 % of the jobs."
)


@pytest.mark.parametrize(("grade", "line"), [
    ("good", f"Agreement with recorded waits, baseline: good. {VALUES}"),
    ("moderate", f"Agreement with recorded waits, baseline: moderate. {VALUES} Read differences"
     " between runs as trends."),
    ("poor", f"Agreement with recorded waits, baseline: poor. {VALUES} The results hold for the"
     " simulated system only."),
    ("", "No recorded start times in the log: the baseline cannot be validated."),
])  # fmt: skip
def test_the_grade_stands_in_one_line(grade, line):
    assert list(validation_lines(table(grade), "log on four")) == [line]


def test_where_dispatchers_are_compared_the_baseline_is_named():
    (line,) = validation_lines(table("good", scenarios=False), "log on four")
    assert line.startswith("Agreement with recorded waits, easy: good.")


def test_recorded_waits_that_are_ignored_are_not_missing():
    results = table("")
    results.study.runs[0].record.clear()
    assert list(validation_lines(results, "log on four")) == []


def test_a_log_without_starts_is_no_matter_where_only_dispatchers_are_compared():
    assert list(validation_lines(table("", scenarios=False), "log on four")) == []


def test_a_log_that_the_system_cannot_have_run_is_all_that_is_said():
    """Not that waits are alike, as if that were to be believed."""
    (line,) = validation_lines(table("good", over=0.2), "log on four")
    assert line == misfit(run(over=0.2))
    assert "used 138 % of the cores on average and 292 % at the peak" in line
    assert misfit(run(over=0.049)) == ""


def test_groups_that_agree_much_worse_are_named_the_largest_first():
    groups = ("queue", "8", "poor"), ("user", "8", "good"), ("QOS", "high", "poor")
    _, line = validation_lines(table("moderate", *groups), "log on four")
    assert line == "Results do not hold for (poor agreement): QOS high, queue 8."
    assert len(list(validation_lines(table("poor", *groups), "log on four"))) == 1


def recorded(late):
    """Fifty jobs of the whole machine, an hour each; the record starts each ``late`` s later."""
    number = 50
    log = Workload.build(
        title="recorded", job_id=[str(job) for job in range(number)], resources=["core"],
        submit=[600 * job for job in range(number)], units=[4] * number,
        request=[[1]] * number, runtime=[3600] * number, requested_time=[3600] * number,
        queue=["a", "b"] * 25,
    )  # fmt: skip
    start = simulate(log, parse_system(SYSTEM, where="four.toml")).schedule.start
    return log.with_columns(recorded_start=start + late)


def test_the_statement_is_the_grade_of_validate_and_stands_once():
    """The same grade as of ``cpsched validate``, whose rule is the same function."""
    system = parse_system(SYSTEM, where="four.toml")
    for late, grade in ((0, "good"), (4000, "moderate"), (90_000, "poor")):
        log = recorded(late)
        comparison = what_if(log, ["scale-load 0.5", "scale-load 0.9"], system=system)
        assert compare_starts(simulate(log, system).schedule, lag=None).overall.grade == grade
        record = comparison.table.record
        assert [row["kind"] for row in record] == ["all", "queue", "queue"]
        assert {row["grade"] for row in record} == {grade}
        assert "recorded" not in comparison.finding
        shown = comparison._repr_html_()
        assert shown.count(f"Agreement with recorded waits, baseline: {grade}.") == 1


def test_the_statement_is_of_all_repetitions_of_the_baseline():
    """As the table: the first repetition alone has another mean wait."""
    system = parse_system(SYSTEM, where="four.toml")
    log = recorded(100).select(first=12).with_columns(submit=np.arange(12) // 4)
    comparison = what_if(log, "scale-load 0.5", system=system, repeat=3, jitter=900)
    schedules = [run.schedule for run in comparison.runs if run.label == "baseline"]
    checks = [compare_starts(schedule, lag=0).overall for schedule in schedules]
    row = comparison.table.record[0]
    simulated = [check.simulated for check in checks]
    assert len(simulated) == 3
    assert min(simulated) < max(simulated)
    assert row["jobs"] == 12
    assert row["never_started"] == 0
    assert row["simulated_wait_mean_s"] == pytest.approx(fmean(simulated) + row["lag_s"])
    means = [run.values["wait_mean_s"] for run in comparison.table.study.runs[:3]]
    assert fmean(means) == pytest.approx(fmean(simulated))
    (line,) = validation_lines(comparison.table, *comparison.table.cases)
    assert f"Mean wait: simulated {duration(row['simulated_wait_mean_s'])}" in line


def test_a_study_of_predictors_names_its_dispatcher():
    """Its baseline is a predictor."""
    system = parse_system(SYSTEM, where="four.toml")
    comparison = compare(
        recorded(90_000), system, dispatchers="easy", predictors=["requested", "actual"]
    )
    (case,) = comparison.table.cases
    (line,) = validation_lines(comparison.table, case)
    assert line.startswith("Agreement with recorded waits, easy with requested time: poor.")
