"""No schedule is below the bounds."""

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.metrics.summary import summarize
from cpsched.study.bench.bounds import lower_bounds, mean_busy_times


def test_by_hand():
    """Four cores; a long job is interrupted by a short one that comes at second 2."""
    area = np.array([40.0, 4.0]) / 4
    busy = mean_busy_times(np.array([0, 2]), area, np.array([1.0, 1.0]))
    # The long one is busy in [0, 2) and [3, 11), the short one in [2, 3).
    assert busy.tolist() == [(2 * 1 + 8 * 7) / 10, 2.5]
    slowdown, response = lower_bounds(np.array([0, 2]), np.array([10, 4]), np.array([4, 1]), 4)
    assert slowdown == 1
    assert response == pytest.approx((40 * (5.8 + 5) + 4 * (2.5 + 2 - 2)) / 44)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dispatcher", ["fifo", "easy", "sjf", "easy-wsept", "greedy"])
def test_no_schedule_is_below(seed, dispatcher):
    rng = np.random.default_rng(seed)
    rows = np.stack(
        [np.sort(rng.integers(0, 400, 60)), rng.integers(1, 9, 60), rng.integers(1, 90, 60)], axis=1
    )
    workload = jobs(*rows.tolist())
    schedule = run(workload, machine(*[(1,)] * 8), dispatcher).schedule
    ran = schedule.end - schedule.start
    slowdown, response = lower_bounds(workload.submit, ran, rows[:, 1], 8)
    summary = summarize(schedule)
    assert 1 <= slowdown <= summary["bounded_slowdown"]["all"]["mean"] + 1e-9
    assert response <= summary["response_by_area_s"] + 1e-6


def test_jobs_as_wide_as_the_machine_reach_it():
    """Of equal ones first come first served is the best there is."""
    workload = jobs(*[(0, 8, 50)] * 5)
    schedule = run(workload, machine(*[(1,)] * 8), "fifo").schedule
    slowdown, response = lower_bounds(workload.submit, np.full(5, 50), np.full(5, 8), 8)
    summary = summarize(schedule)
    assert slowdown == pytest.approx(summary["bounded_slowdown"]["all"]["mean"])
    assert response == pytest.approx(summary["response_by_area_s"])
