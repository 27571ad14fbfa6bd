"""Who was overtaken, and by how many jobs."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tiny import jobs, machine, machines, run, workloads

from cpsched.base.types import MISSING
from cpsched.metrics.jobs import later_and_below, overtaken
from cpsched.metrics.steps import released
from cpsched.metrics.window import ended
from cpsched.model.schedule import JobOutcome


def _by_definition(schedule):
    submit, start, free = schedule.workload.submit, schedule.start, released(schedule)
    rows = np.flatnonzero(start != MISSING)
    return [
        sum(submit[k] > submit[j] and free[j] <= start[k] < start[j] for k in rows)
        for j in np.flatnonzero(ended(schedule))
    ]


def test_fifo_overtakes_nobody_and_backfilling_does():
    """
    Two cores: job 0 has one, job 1 wants both, and 2 and 3 (of one second) fit beside job 0.

    ::

               0    5    10        submits: job 0 at 0, job 1 at 1, jobs 2 and 3 at 2
        core 0 0000000000 11
        core 1 ..2233.... 11
    """
    workload = jobs((0, 1, 10), (1, 2, 5), (2, 1, 2), (2, 1, 2))
    system = machine((2,))
    assert overtaken(run(workload, system, "fifo").schedule).tolist() == [0, 0, 0, 0]
    assert overtaken(run(workload, system, "easy").schedule).tolist() == [0, 2, 0, 0]


def test_a_job_that_starts_in_the_same_second_overtakes_nobody(schedule):
    """Killed (submitted at 1) starts at 3, empty (2) at 4, after (3) at 10, later (3) at 12."""
    assert overtaken(schedule).tolist() == [0] * 8


def test_a_held_job_is_overtaken_only_once_it_may_start():
    """
    One core. Job 0 may start at 6; job 1 starts at 1, job 2 at 6, job 0 at 8.

    Job 1 could not take job 0's turn, job 2 could.
    """
    workload = jobs((0, 1, 2), (1, 1, 5), (2, 1, 2), begin=[6, MISSING, MISSING])
    schedule = run(workload, machine((1,)), "fifo").schedule
    start = np.array([8, 1, 6])
    moved = replace(schedule, start=start, end=start + workload.runtime)
    assert overtaken(moved).tolist() == [1, 0, 0]


def test_jobs_that_still_run_overtake_and_are_not_counted():
    """A cut simulation: job 1 started before job 0 and has not ended."""
    workload = jobs((0, 1, 2), (1, 1, 50))
    schedule = run(workload, machine((2,)), "fifo").schedule
    cut = replace(
        schedule,
        start=np.array([3, 1]),
        end=np.array([5, MISSING]),
        outcome=np.array([JobOutcome.COMPLETED, JobOutcome.NOT_ENDED]),
    )
    assert overtaken(cut).tolist() == [1]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40), st.integers(0, 40)
)  # fmt: skip
def test_counting_is_that_of_all_pairs(points, counted):
    """Ties in either number count for nobody."""
    time, value = np.array(points, dtype=np.int64).reshape(-1, 2).T
    of = points[:counted]
    expected = [sum(t > own and v < below for t, v in of) for own, below in points]
    assert later_and_below(time, value, counted).tolist() == expected


@given(workloads(), machines())
def test_overtaking_is_as_defined(workload, system):
    schedule = run(workload, system, "easy:backfill=sjf").schedule
    assert overtaken(schedule).tolist() == _by_definition(schedule)
