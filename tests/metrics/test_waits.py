"""One definition of the wait: from submit to first start, recorded and simulated."""

import numpy as np
import pytest
from scripted import Does
from tiny import jobs, machine, run

from cpsched.metrics.columns import job_columns
from cpsched.metrics.summary import summarize
from cpsched.metrics.validation import WaitErrors, wait_pairs
from cpsched.metrics.waits import began, held, recorded_wait
from cpsched.metrics.workload import as_data
from cpsched.model.decision import Requeue, Suspend
from cpsched.util.types import MISSING


def schedule_of(todo, *rows):
    each = {"restartable": True, "checkpoint": 0, "restart_cost": 0}
    log = jobs(*rows, **{name: [value] * len(rows) for name, value in each.items()})
    return run(log, machine((1,)), Does(todo)).schedule


def test_the_wait_of_a_suspended_job_ends_at_its_first_start():
    """Job 0 runs from 0 to 20, then after job 1 from 70 on."""
    schedule = schedule_of({20: Suspend(0)}, (0, 1, 100), (10, 1, 50))
    assert schedule.start.tolist() != began(schedule).tolist()
    assert began(schedule)[0] == 0
    waits = (began(schedule) - schedule.workload.submit).tolist()
    assert job_columns(schedule)["wait"].to_pylist() == waits
    summary = summarize(schedule)
    assert summary["wait_s"]["all"]["max"] == max(waits)
    assert summary["queue_jobs"]["mean"] * summary["makespan_s"] == pytest.approx(sum(waits))


def test_some_of_several_jobs_are_suspended():
    """Jobs 0 and 1 are suspended for no time at 20 and 120; jobs 2 and 3 are not."""
    todo = {20: Suspend(0), 120: Suspend(1)}
    schedule = schedule_of(todo, (0, 1, 100), (10, 1, 50), (30, 1, 5), (40, 1, 5))
    assert schedule.start.tolist() == [20, 120, 150, 155]
    assert began(schedule).tolist() == [0, 100, 150, 155]
    assert summarize(schedule)["wait_s"]["all"]["max"] == 120


def test_a_job_that_is_queued_again_waits_until_its_next_start():
    schedule = schedule_of({20: Requeue(0)}, (0, 1, 100), (10, 1, 50))
    assert began(schedule).tolist() == schedule.start.tolist()
    both = schedule_of({20: Requeue(0), 90: Suspend(0)}, (0, 1, 100), (10, 1, 50))
    assert 0 < began(both)[0] < both.start[0]


def test_recorded_and_simulated_waits_are_the_same_measure():
    """A job held for an hour starts a minute later in the record: 3,660 s, of them 3,600 held."""
    log = jobs((0, 1, 5), begin=np.array([3600]), recorded_start=np.array([3660]))
    schedule = run(log, machine((1,)), "easy").schedule
    assert recorded_wait(log).tolist() == [3660]
    assert held(log).tolist() == [3600]
    waits = wait_pairs(schedule, np.array([True]), lag=0)
    summary = summarize(schedule)
    assert summary["recorded_wait_s"]["mean"] == waits.recorded[0] == 3660
    assert as_data(log)["recorded_wait_s"]["mean"] == 3660
    assert summary["wait_s"]["all"]["mean"] == waits.simulated[0] == 3600


def test_what_a_job_was_held_for_does_not_make_a_record_look_reproduced():
    """A day of begin time in both, and waits of an hour instead of six hours."""
    day, hour = 86400, 3600
    errors = WaitErrors.of(np.array([day + 6 * hour]), np.array([day + hour]), np.array([day]))
    assert errors.grade == "poor"
    assert errors.share == pytest.approx(-5 / 6)
    assert WaitErrors.of(np.array([day + 6 * hour]), np.array([day + hour])).grade == "moderate"


def test_an_unknown_wait_is_missing():
    log = jobs((5, 1, 5), recorded_start=np.array([MISSING]))
    assert recorded_wait(log).tolist() == [MISSING]
    assert held(log).tolist() == [0]
