"""What a schedule makes of the machine, worked out by hand and against the jobs."""

import numpy as np
import pytest
from hypothesis import given
from tiny import jobs, machine, machines, run, workloads

from cpsched.metrics.nominal import nominal
from cpsched.metrics.summary import summarize
from cpsched.metrics.system import loss_of_capacity, utilization, weighted_means
from cpsched.metrics.window import busy_window


def test_steady_utilization_leaves_out_warm_up_and_drain():
    """
    Two cores; a job of one core and 10 s every 10 s, 200 of them, and one of 1000 s at the end.

    One core is in use all the time up to 2000 s, and one half of a core after that.
    """
    rows = [(10 * index, 1, 10) for index in range(200)] + [(1995, 1, 1000)]
    schedule = run(jobs(*rows), machine((2,)), "fifo").schedule
    told = summarize(schedule)
    assert told["steady_utilization"] == {"core": 0.5}
    assert told["utilization"] == {"core": (2000 + 1000) / (2 * 2995)}


def test_nothing_is_lost_while_nobody_waits():
    """Two of four cores idle, but both jobs run."""
    schedule = run(jobs((0, 1, 5), (0, 1, 5)), machine((4,)), "fifo").schedule
    assert loss_of_capacity(schedule) == {"core": 0.0}
    assert utilization(schedule, busy_window(schedule)) == {"core": 0.5}


def test_width_by_hand(schedule):
    """Alone holds its whole node; rejected and cancelled jobs hold nothing."""
    assert nominal(schedule).width.tolist() == [2, 4, 4, 2, 1, 1, 0, 0, 4, 1]


def test_weighted_means_by_hand():
    """Response 10 on 1 core and 40 on 3: 130 / 4. Areas 5 and 60, responses times width 10, 120."""
    assert weighted_means(*map(np.array, ([10, 40], [5, 20], [1, 3]))) == {
        "response_by_area_s": 2450 / 65,
        "response_by_width_s": 32.5,
        "slowdown_by_area": 130 / 65,
    }


def test_response_by_area_does_not_see_how_a_job_is_split():
    """Three cores for 20 s, or one and two at the same time."""
    whole = weighted_means(*map(np.array, ([10, 40], [5, 20], [1, 3])))
    parts = weighted_means(*map(np.array, ([10, 40, 40], [5, 20, 20], [1, 1, 2])))
    assert whole["response_by_area_s"] == parts["response_by_area_s"]


def test_weighted_means_of_nothing_are_none():
    none = np.zeros(0, dtype=np.int64)
    assert set(weighted_means(none, none, none).values()) == {None}
    area = weighted_means(np.array([4]), np.array([0]), np.array([1]))
    assert (area["response_by_area_s"], area["slowdown_by_area"]) == (None, None)


def test_a_machine_that_never_ran_has_no_measures():
    told = summarize(run(jobs((3, 9, 1)), machine((1,)), "fifo").schedule)
    assert told["utilization"] == told["loss_of_capacity"] == {"core": None}
    assert told["throughput_jobs_per_hour"] is told["makespan_s"] is None
    assert told["placement"] is told["theoretical_utilization"] is None


def test_a_kind_the_machine_has_none_of_has_no_utilization():
    system = machine((2, 0), resources=("core", "gpu"))
    schedule = run(jobs((0, 1, 5), resources=("core", "gpu")), system, "fifo").schedule
    assert utilization(schedule, busy_window(schedule))["gpu"] is None


@given(workloads(), machines())
def test_utilization_is_the_jobs_area(workload, system):
    """Over the whole window, what steps give is what jobs hold times how long they run."""
    schedule = run(workload, system, "prb").schedule
    window = busy_window(schedule)
    found = utilization(schedule, window)["core"]
    if window is None:
        assert found is None
        return
    area = int((nominal(schedule).width * (schedule.end - schedule.start)).sum())
    assert found == pytest.approx(area / (int(system.total[0]) * window.length))
    lost = loss_of_capacity(schedule)["core"]
    assert 0 <= lost <= 1 - found + 1e-12
