"""How much of each wait is not the scheduler's, by hand."""

from dataclasses import replace

import numpy as np
from tiny import jobs, machine, run

from cpsched.base.types import MISSING, DependencyType
from cpsched.metrics.jobs import held


def test_begin_times_dependencies_and_a_full_machine_by_hand():
    """
    One core. Job 1 may begin at 4 and starts at 10, when job 0 ends: 4 s are its begin time's, the
    rest the machine's. Job 2 waits for job 1, which ends at 15, from its begin time 12 on.
    """
    workload = jobs(
        (0, 1, 10), (0, 1, 5), (2, 1, 5), (3, 1, 1), begin=[MISSING, 4, 12, MISSING],
        dependency=[-1, -1, 1, -1], dependency_type=[0, 0, DependencyType.AFTERANY, 0],
    )  # fmt: skip
    schedule = run(workload, machine((1,)), "fifo").schedule
    assert schedule.start.tolist() == [0, 10, 15, 20]
    found = held(schedule)
    assert found.by_time.tolist() == [0, 4, 10, 0]
    assert found.by_jobs.tolist() == [0, 0, 3, 0]


def test_an_array_waits_for_itself_while_it_runs_as_many_as_it_may():
    """
    Four cores, tasks of 10 s, two at once, all submitted at 0: the last two wait 10 s for the first.

    A job of another array that starts as late waits for the machine.
    """
    workload = jobs(
        *[(0, 1, 10)] * 4, (0, 4, 5), array=["7"] * 4 + ["8"], array_limit=[2, 2, 2, 2, 1]
    )
    done = run(workload, machine((4,)), "fifo").schedule
    limited = replace(done, start=np.array([0, 0, 10, 10, 20]), end=np.array([10, 10, 20, 20, 25]))
    assert held(limited).by_jobs.tolist() == [0, 0, 10, 10, 0]
    assert held(limited).by_time.tolist() == [0] * 5
    # All four at once: this dispatcher does not know the limit.
    late = replace(done, start=np.array([0, 0, 0, 5, 20]), end=np.array([10, 10, 10, 15, 25]))
    assert held(late).by_jobs.tolist() == [0] * 5


def test_jobs_that_never_start_were_kept_from_nothing():
    schedule = run(jobs((0, 9, 10), begin=[5]), machine((1,)), "fifo").schedule
    assert held(schedule).by_time.tolist() == [0]
