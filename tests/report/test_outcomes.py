"""The lines on outcomes and offered load that stand in every summary."""

import numpy as np
import pytest
from tiny import FOUR_CORES, jobs

from cpsched.report import compare, what_if
from cpsched.report.outcomes import lines_of_run, load_lines, loads, outcome_lines
from cpsched.simulation.simulate import simulate
from cpsched.systems import parse as parse_system


def four():
    return parse_system(FOUR_CORES, where="four.toml")


def case_of(comparison):
    return comparison.table.study.runs[0].case


def killed():
    """One job of three runs longer than it asks for: 200 of 261 core seconds."""
    return jobs((100, 4, 50, 30), (100, 2, 30), (400, 1, 1, 10))


def steady(load, number=400):
    """Jobs of all four cores, one every 100 s."""
    return jobs(*[(100 * at, 4, round(100 * load)) for at in range(number)])


def test_what_is_the_same_in_all_runs_is_said_once():
    comparison = compare(killed(), four(), dispatchers=["easy", "fifo", "sjf"])
    assert outcome_lines(comparison.table, case_of(comparison)) == [
        "killed at the requested time: 1 job, 33.3 % of the jobs with 76.6 % of the core-hours"
        " (every run)"
    ]
    assert "killed at the requested time: 1 job" in comparison._repr_html_()
    outcomes = list(comparison.table.outcomes())
    assert [row["outcome"] for row in outcomes] == ["completed", "timeout"] * 3
    assert outcomes[1]["of_core_hours"] == pytest.approx(200 / 261)


def test_runs_that_differ_are_named_and_jobs_that_are_left_out_are_counted():
    """A cap on requested times kills a job; one is too wide for the machine in both runs."""
    log = jobs((0, 1, 50, 90), (5, 1, 30, 30), (9, 9, 20, 20))
    comparison = what_if(log, ["cap-request 0:00:40"], system=four())
    lines = outcome_lines(comparison.table, case_of(comparison))
    assert lines == [
        "rejected: 1 job, 33.3 % of the jobs with 69.2 % of the core-hours (every run)",
        "killed at the requested time: 1 job, 33.3 % of the jobs with 19.2 % of the core-hours"
        " (cap-request 0:00:40)",
    ]
    without = outcome_lines(comparison.table, case_of(comparison), without=["rejected"])
    assert without == lines[1:]


def test_more_than_the_machine_can_do_is_said_beside_the_results():
    comparison = what_if(steady(0.8), ["scale-load 1.5"], system=four())
    first, second = load_lines(comparison.table, case_of(comparison))
    assert first.startswith("offered load: 80.0 % of core, utilization in the steady window 80.")
    assert " (baseline); 1" in first
    assert first.endswith(" (scale-load 1.5)")
    assert second.startswith("offered load above 100 % (scale-load 1.5: 1")
    assert second.endswith(
        " % of core): the queue grows until the last submit, so mean waits depend on the length of"
        " the log and have no steady value"
    )
    _, over = loads(comparison.table, case_of(comparison)).values()
    assert over["core"] == pytest.approx(1.2, abs=0.04)


@pytest.mark.parametrize(("load", "number"), [(0.9, 1), (1.0, 1), (1.1, 2)])
def test_a_load_that_can_be_done_has_no_warning(load, number):
    comparison = compare(steady(load, 50), four(), dispatchers=["fifo"])
    assert len(list(load_lines(comparison.table, case_of(comparison)))) == number
    assert (
        len(lines_of_run(simulate(steady(load, 50), four(), dispatcher="fifo").summary)) == number
    )


def test_attempts_are_named_apart_from_jobs():
    log = jobs((0, 1, 5), (10, 1, 5), (20, 1, 5), job_id=["7", "7#2", "7#3"])
    comparison = compare(log, four(), dispatchers=["fifo"])
    key = next(iter(comparison.table.repetitions))
    counts = {name: comparison.table.get(key, name).value for name in ("simulated", "attempts")}
    assert counts == {"simulated": 3, "attempts": 2}
    (line,) = outcome_lines(comparison.table, case_of(comparison))
    assert line == (
        "further requeued attempts of jobs in the log: 2 rows, 66.7 % of the rows"
        " with 66.7 % of the core-hours"
    )


def test_rows_that_are_no_jobs_have_a_share_of_the_log():
    log = jobs(
        *[(0, 1, 5)] * 3, set_aside=[("never ran", 1)], recorded_start=np.zeros(3, dtype=int)
    )
    lines = lines_of_run(simulate(log, four(), dispatcher="fifo").summary)
    assert lines == ["excluded (never ran): 1 row, 25.0 % of the rows"]
