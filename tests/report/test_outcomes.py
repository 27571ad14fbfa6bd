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
        "Killed at the requested time: 1 job, 33.3 % of the jobs with 76.6 % of the core-hours"
        " (every run)"
    ]
    assert "Killed at the requested time: 1 job" in comparison._repr_html_()
    outcomes = list(comparison.table.outcomes())
    assert [row["outcome"] for row in outcomes] == ["completed", "timeout"] * 3
    assert outcomes[1]["of_core_hours"] == pytest.approx(200 / 261)


def test_runs_that_differ_are_named_and_jobs_that_are_left_out_are_counted():
    """A cap on requested times kills a job; one is too wide for the machine in both runs."""
    log = jobs((0, 1, 50, 90), (5, 1, 30, 30), (9, 9, 20, 20))
    comparison = what_if(log, ["cap-request 0:00:40"], system=four())
    lines = outcome_lines(comparison.table, case_of(comparison))
    assert lines == [
        "Rejected: 1 job, 33.3 % of the jobs with 69.2 % of the core-hours (every run)",
        "Killed at the requested time: 1 job, 33.3 % of the jobs with 19.2 % of the core-hours"
        " (cap-request 0:00:40)",
    ]
    without = outcome_lines(comparison.table, case_of(comparison), without=["rejected"])
    assert without == lines[1:]


def test_more_than_the_machine_can_do_is_said_beside_the_results():
    comparison = what_if(steady(0.8), ["scale-load 1.5"], system=four())
    first, second, third = load_lines(comparison.table, case_of(comparison))
    assert first.startswith("Offered load under baseline: core 80.0 % (utilization 80.")
    assert second.startswith("Offered load under scale-load 1.5: core 1")
    assert third.startswith("Offered load above 100 % (scale-load 1.5: core 1")
    assert third.endswith(
        " %): the queue grows until the last submit. Mean waits therefore depend on the length of"
        " the log."
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
        "Further attempts of jobs that were queued again in the log: 2 rows, 66.7 % of the rows"
        " with 66.7 % of the core-hours"
    )


def test_excluded_rows_are_those_of_the_whole_log():
    """Also where a part of it is simulated, of which they would have a wrong share."""
    log = jobs(
        *[(0, 1, 5)] * 3, set_aside=[("never ran", 1)], recorded_start=np.zeros(3, dtype=int)
    )
    lines = lines_of_run(simulate(log.select(first=2), four(), dispatcher="fifo").summary)
    assert lines == ["Excluded (never ran): 1 row of the whole log"]
