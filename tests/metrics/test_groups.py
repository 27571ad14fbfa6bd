"""Jobs by size and by user."""

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.metrics.groups import (
    SIZES,
    JobSize,
    by_user,
    fairness,
    groups_of,
    job_size,
    requested_share,
)


def test_sizes_by_hand(schedule):
    """
    24 cores and 4 GPUs on 6 nodes.

    Plain asks for 2 cores, even and after for 4, gpu for one of 4 GPUs, exclusive for a node of 6;
    too wide is rejected, and killed, empty, withdrawn and later ask for one core.
    """
    shares = [2 / 24, 4 / 24, 1 / 6, 1 / 4, 1 / 24, 1 / 24, 100 / 24, 1 / 24, 4 / 24, 1 / 24]
    assert requested_share(schedule).tolist() == pytest.approx(shares)
    s, m, lg, h = JobSize.SERIAL, JobSize.MIDSIZE, JobSize.LARGE, JobSize.HUGE
    assert job_size(schedule).tolist() == [m, lg, lg, lg, s, s, h, s, lg, s]
    assert list(SIZES) == [size.name.lower() for size in JobSize]


def test_limits_belong_to_the_smaller_class():
    """Of 100 cores: 1, 2, 3, 10, 11, 50, 51."""
    workload = jobs(*((0, units, 1) for units in (1, 2, 3, 10, 11, 50, 51)))
    schedule = run(workload, machine((100,)), "fifo").schedule
    assert [JobSize(size).name for size in job_size(schedule)] == [
        "SERIAL", "SMALL", "MIDSIZE", "MIDSIZE", "LARGE", "LARGE", "HUGE",
    ]  # fmt: skip


def test_the_scarcest_kind_counts():
    """Two cores of 100 and 3 of 4 GPUs."""
    workload = jobs((0, 1, 1), resources=("core", "gpu"), request=[(2, 3)])
    schedule = run(workload, machine((100, 4), resources=("core", "gpu")), "fifo").schedule
    assert requested_share(schedule).tolist() == [0.75]


def test_groups_are_rows_of_kinds_with_several_groups():
    """Of five jobs: two of queue 1, two of 0, one of none; all are of one user."""
    kinds = {
        "queue": (np.array([1, 0, 1, -1, 0], dtype=np.int16), ("night", "day")),
        "user": (np.zeros(5, dtype=np.int64), ("ann",)),
    }
    groups = [(kind, name, rows.tolist()) for kind, name, rows in groups_of(kinds, 2)]
    assert groups == [("queue", "night", [1, 4]), ("queue", "day", [0, 2])]
    assert not list(groups_of(kinds, 3))


def test_a_user_counts_once():
    """One waits 0, 10 and 20 s, one 4, one 100; of one job the user is unknown."""
    wait = np.array([0, 10, 4, 20, 100, 9999])
    statistics = by_user(wait, np.array([0, 0, 2, 0, 5, -1]))
    assert statistics == {"users": 3, "mean": 114 / 3, "median": 10.0, "p95": 91.0, "max": 100.0}


@pytest.mark.parametrize("users", [[], [-1, -1]])
def test_unknown_users_have_no_waits(users):
    statistics = by_user(np.zeros(len(users), dtype=np.int64), np.array(users, dtype=np.int64))
    assert statistics == {"users": 0, "mean": None, "median": None, "p95": None, "max": None}


def test_fairness_is_jains_index_of_users():
    user = np.array([0, 0, 1, 3, -1])
    # Means of 2, 2 and 2: all alike. Then 2, 4 and 6: 12^2 / (3 (4 + 16 + 36)).
    assert fairness(np.array([1.0, 3.0, 2.0, 2.0, 99.0]), user) == pytest.approx(1)
    assert fairness(np.array([2.0, 2.0, 4.0, 6.0, 99.0]), user) == pytest.approx(144 / 168)
    assert fairness(np.array([5.0]), np.array([-1])) is None
