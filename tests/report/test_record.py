"""Whether the record is reproduced, in words."""

from types import SimpleNamespace

import pytest
from notebooks import SYSTEM

from cpsched.model.workload import Workload
from cpsched.report import what_if
from cpsched.report.record import misfit, of_groups, reproduced
from cpsched.simulation.simulate import simulate
from cpsched.study.validation.errors import compare_starts
from cpsched.systems import parse as parse_system


def run(over=0.0, seed=0, predictor="requested"):
    use = {"mean": 1.38, "peak": 2.92, "over": over}
    return SimpleNamespace(
        record={"recorded_use": use}, case="log on four", dispatcher="baseline", seed=seed,
        predictor=predictor,
    )  # fmt: skip


def tables(grade, *groups, over=0.0, scenarios=True):
    """Return what is said of the record of one run: all jobs, and groups by kind, name and grade."""
    rows = [
        {"workload": "log", "system": "four", "dispatcher": "easy", "predictor": "requested", "kind": kind, "group": name, "reproduced": one,
         "simulated_wait_mean_s": 450_000.0, "recorded_wait_mean_s": 900.0, "held_mean_s": 0.0, "lag_s": 0, "within_10_min": 0.4}
        for kind, name, one in (("all", "all", grade), *groups)
        if one
    ]  # fmt: skip
    return SimpleNamespace(
        results=SimpleNamespace(runs=(run(over),), by_group=scenarios),
        record=SimpleNamespace(rows=lambda: rows),
    )


VALUES = (
    "(mean wait from submit simulated 5 d 5 h, recorded 15 min; 40 % of the jobs start within ten"
    " minutes of their recorded start)"
)


@pytest.mark.parametrize(("grade", "line"), [
    ("closely", f"the baseline reproduces the recorded waits closely {VALUES}"),
    ("roughly", f"the baseline reproduces the recorded waits roughly {VALUES}: take directions and large"
     " differences from it, not numbers"),
    ("not", f"the baseline does not reproduce the recorded waits {VALUES}, so all this is of the simulated"
     " system, not of the site"),
    ("", "the log records no starts, so nothing says how close the baseline is to the site"),
])  # fmt: skip
def test_the_verdict_stands_in_one_line(grade, line):
    assert list(reproduced(tables(grade), "log on four")) == [line]


def test_where_dispatchers_are_compared_the_baseline_is_named():
    (line,) = reproduced(tables("closely", scenarios=False), "log on four")
    assert line.startswith("easy reproduces the recorded waits closely (")


def test_of_several_repetitions_it_is_said_which_is_compared():
    found = tables("closely")
    found.results.runs += (run(seed=1),)
    (line,) = reproduced(found, "log on four")
    assert "start; the first repetition)" in line


def test_of_several_predictors_it_is_said_which_is_compared():
    found = tables("closely", scenarios=False)
    found.results.runs += (run(predictor="last"),)
    (line,) = reproduced(found, "log on four")
    assert line.startswith("easy with requested time reproduces the recorded waits closely (")


def test_a_record_that_is_ignored_is_not_missing():
    found = tables("")
    found.results.runs[0].record.clear()
    assert list(reproduced(found, "log on four")) == []


def test_a_log_without_starts_is_no_matter_where_only_dispatchers_are_compared():
    assert list(reproduced(tables("", scenarios=False), "log on four")) == []


def test_a_log_that_the_machine_cannot_have_run_is_all_that_is_said():
    """Not that waits are alike, as if that were to be believed."""
    (line,) = reproduced(tables("closely", over=0.2), "log on four")
    assert line == misfit(run(over=0.2))
    assert "used 138 % of its cores on average (292 % at the peak, above 100 % for 20 %" in line
    assert misfit(run(over=0.049)) == ""


def test_groups_that_a_scenario_names_or_changes_most_are_judged_by_themselves():
    some = tables(
        "roughly", ("queue", "8", "not"), ("queue", "short", "not"), ("user", "8", "closely"),
        ("account", "bio", "not"), ("QOS", "high", "not"),
    )  # fmt: skip
    of = f"; of {{}} the recorded waits are not reproduced {VALUES}"
    assert of_groups(some, ["scale-load:factor=0.8,seed=8"], None) == ""
    assert of_groups(some, ["max-time:queue=short,time=1:00:00"], None) == of.format("queue short")
    assert of_groups(some, ["set qos.high.MaxJobsPU=4"], None) == of.format("QOS high")
    assert of_groups(some, [], ("account", "bio")) == of.format("account bio")
    assert of_groups(tables("not", ("queue", "short", "not")), ["queue=short"], None) == ""
    unfit = tables("roughly", ("queue", "short", "not"), over=0.2)
    assert of_groups(unfit, ["queue=short"], None) == ""


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


def test_the_verdict_is_no_part_of_the_finding():
    """It is that of ``cpsched validate``, whose rule is the same function."""
    system = parse_system(SYSTEM, where="four.toml")
    for late, grade in ((0, "closely"), (4000, "roughly"), (90_000, "not")):
        log = recorded(late)
        found = what_if(log, ["scale-load 0.5", "scale-load 0.9"], system=system)
        assert compare_starts(simulate(log, system).schedule, lag=None).overall.grade == grade
        rows = found.to_pandas("record")
        assert rows["kind"].tolist() == ["all", "queue", "queue"]
        assert set(rows["reproduced"]) == {grade}
        assert "reproduce" not in found.finding
        assert "Of 2 scenarios" in found.finding
        assert f"{found.tables.results.runs[0].case}\nthe baseline " in found._repr_html_()[:80]
