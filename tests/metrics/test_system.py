"""What a schedule makes of the machine, worked out by hand and against the jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from tiny import jobs, machine, machines, run, workloads

from cpsched.metrics import system as measures
from cpsched.metrics.nominal import nominal
from cpsched.metrics.window import busy_window

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule


def test_utilization_by_hand(schedule: Schedule):
    """
    Core seconds: plain 20, even 20, exclusive 4 x 8, gpu 12, killed 5, after 20, later 1 = 110 of
    24 cores x 15 s. GPUs: 6 of 4 x 15.
    """
    assert measures.utilization(schedule) == {"core": 110 / 360, "gpu": 6 / 60}


def test_steady_utilization_leaves_out_warm_up_and_drain():
    """
    Two cores; a job of one core and 10 s every 10 s, 200 of them, and one of 1000 s at the end.

    One core is in use all the time up to 2000 s, and one half of a core after that.
    """
    rows = [(10 * index, 1, 10) for index in range(200)] + [(1995, 1, 1000)]
    schedule = run(jobs(*rows), machine((2,)), "fifo").schedule
    assert measures.steady_utilization(schedule) == {"core": 0.5}
    whole = measures.utilization(schedule)["core"]
    assert whole == (2000 + 1000) / (2 * 2995)


def test_loss_of_capacity_by_hand(schedule: Schedule):
    """
    Somebody who may start waits in [1, 9). Cores used there: 12 12 13 13 13 9 7 6, so idle are
    12 12 11 11 11 15 17 18 = 107 of 360. GPUs: 4 x 8 - 6 of 60.
    """
    assert measures.loss_of_capacity(schedule) == {"core": 107 / 360, "gpu": 26 / 60}


def test_nothing_is_lost_while_nobody_waits():
    """Two of four cores idle, but both jobs run."""
    schedule = run(jobs((0, 1, 5), (0, 1, 5)), machine((4,)), "fifo").schedule
    assert measures.loss_of_capacity(schedule) == {"core": 0.0}
    assert measures.utilization(schedule) == {"core": 0.5}


def test_throughput_by_hand(schedule: Schedule):
    """Eight jobs ended in 15 s; the cancelled one did not."""
    assert measures.throughput(schedule) == 8 * 3600 / 15


def test_makespan_and_width_by_hand(schedule: Schedule):
    assert measures.makespan(schedule) == 15
    # Alone holds its whole node; rejected and cancelled jobs hold nothing.
    assert nominal(schedule).width.tolist() == [2, 4, 4, 2, 1, 1, 0, 0, 4, 1]


def test_weighted_means_by_hand():
    """Response 10 on 1 core and 40 on 3: 130 / 4. Areas 5 and 60; responses x width 10 and 120."""
    wait, runtime, width = np.array([5, 20]), np.array([5, 20]), np.array([1, 3])
    assert measures.response_by_width(wait + runtime, width) == 32.5
    assert measures.slowdown_by_area(wait + runtime, runtime, width) == 130 / 65
    # The responses 10 and 40 weigh 5 and 60.
    assert measures.response_by_area(wait + runtime, runtime, width) == 2450 / 65


def test_response_by_area_does_not_see_how_a_job_is_split():
    """Three cores for 20 s, or one and two at the same time."""
    whole = measures.response_by_area(*map(np.array, ([10, 40], [5, 20], [1, 3])))
    parts = measures.response_by_area(*map(np.array, ([10, 40, 40], [5, 20, 20], [1, 1, 2])))
    assert whole == parts


def test_weighted_means_of_nothing_are_none():
    none = np.zeros(0, dtype=np.int64)
    assert measures.response_by_width(none, none) is None
    assert measures.slowdown_by_area(np.array([4]), np.array([0]), np.array([1])) is None
    assert measures.response_by_area(np.array([4]), np.array([0]), np.array([1])) is None


def test_a_machine_that_never_ran_has_no_measures():
    schedule = run(jobs((3, 9, 1)), machine((1,)), "fifo").schedule
    assert measures.utilization(schedule) == {"core": None}
    assert measures.loss_of_capacity(schedule) == {"core": None}
    assert measures.throughput(schedule) is None
    assert measures.makespan(schedule) is None


def test_a_kind_the_machine_has_none_of_has_no_utilization():
    system = machine((2, 0), resources=("core", "gpu"))
    workload = jobs((0, 1, 5), resources=("core", "gpu"))
    assert measures.utilization(run(workload, system, "fifo").schedule)["gpu"] is None


@given(workloads(), machines())
def test_utilization_is_the_jobs_area(workload, system):
    """Over the whole window, what steps give is what jobs hold times how long they run."""
    schedule = run(workload, system, "prb").schedule
    window = busy_window(schedule)
    found = measures.utilization(schedule)["core"]
    if window is None:
        assert found is None
        return
    area = int((nominal(schedule).width * (schedule.end - schedule.start)).sum())
    assert found == pytest.approx(area / (int(system.total[0]) * window.length))
    lost = measures.loss_of_capacity(schedule)["core"]
    assert 0 <= lost <= 1 - found + 1e-12
