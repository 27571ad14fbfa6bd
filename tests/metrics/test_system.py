"""What a schedule makes of the machine, worked out by hand and against the jobs."""

import numpy as np
import pytest
from hypothesis import given
from tiny import jobs, machine, machines, run, workloads

from cpsched.metrics.nominal import nominal
from cpsched.metrics.summary import summarize
from cpsched.metrics.system import loss_of_capacity, response_by_area, utilization
from cpsched.metrics.window import busy_window


def test_steady_utilization_leaves_out_warm_up_and_drain():
    """
    Two cores; a job of one core and 10 s every 10 s, 200 of them, and one of 1000 s at the end.

    One core is in use all the time up to 2000 s, and one half of a core after that.
    """
    rows = [(10 * index, 1, 10) for index in range(200)] + [(1995, 1, 1000)]
    schedule = run(jobs(*rows), machine((2,)), "fifo").schedule
    summary = summarize(schedule)
    assert summary["steady_utilization"] == {"core": 0.5}
    assert summary["utilization"] == {"core": (2000 + 1000) / (2 * 2995)}


def test_nothing_is_lost_while_nobody_waits():
    """Two of four cores idle, but both jobs run."""
    schedule = run(jobs((0, 1, 5), (0, 1, 5)), machine((4,)), "fifo").schedule
    assert loss_of_capacity(schedule) == {"core": 0.0}
    assert utilization(schedule, busy_window(schedule)) == {"core": 0.5}


def test_width_by_hand(schedule):
    """Alone holds its whole node; rejected and cancelled jobs hold nothing."""
    assert nominal(schedule).width.tolist() == [2, 4, 4, 2, 1, 1, 0, 0, 4, 1]


def test_response_by_area_by_hand():
    """Response 10 on 1 core and 40 on 3; areas 5 and 60. How a job is split does not matter."""
    assert response_by_area(*map(np.array, ([10, 40], [5, 20], [1, 3]))) == 2450 / 65
    assert response_by_area(*map(np.array, ([10, 40, 40], [5, 20, 20], [1, 1, 2]))) == 2450 / 65
    none = np.zeros(0, dtype=np.int64)
    assert response_by_area(none, none, none) is None
    assert response_by_area(np.array([4]), np.array([0]), np.array([1])) is None


def test_a_machine_that_never_ran_has_no_measures():
    summary = summarize(run(jobs((3, 9, 1)), machine((1,)), "fifo").schedule)
    assert summary["utilization"] == summary["loss_of_capacity"] == {"core": None}
    assert summary["throughput_jobs_per_hour"] is summary["makespan_s"] is None
    assert summary["placement"] is None


def test_a_kind_the_machine_has_none_of_has_no_utilization():
    system = machine((2, 0), resources=("core", "gpu"))
    schedule = run(jobs((0, 1, 5), resources=("core", "gpu")), system, "fifo").schedule
    assert utilization(schedule, busy_window(schedule))["gpu"] is None


@given(workloads(), machines())
def test_utilization_is_the_jobs_area(workload, system):
    """Over the whole window, what steps give is what jobs hold times how long they run."""
    schedule = run(workload, system, "greedy").schedule
    window = busy_window(schedule)
    share = utilization(schedule, window)["core"]
    if window is None:
        assert share is None
        return
    area = int((nominal(schedule).width * (schedule.end - schedule.start)).sum())
    assert share == pytest.approx(area / (int(system.total[0]) * window.length))
    lost = loss_of_capacity(schedule)["core"]
    assert 0 <= lost <= 1 - share + 1e-12
