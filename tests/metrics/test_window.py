"""The window over which a schedule is measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tiny import jobs, machine, run

from cpsched.metrics.window import Window, busy_window, horizon
from cpsched.model.schedule import JobOutcome, Schedule
from cpsched.model.types import MISSING


def test_window_is_from_first_submit_to_last_end(schedule: Schedule):
    window = busy_window(schedule)
    assert window == Window(0, 15)
    assert window.length == 15


def test_rejected_jobs_do_not_open_the_window():
    """Job 0 asks for 9 cores of 1 and is rejected; job 1 comes at 5."""
    schedule = run(jobs((0, 9, 1), (5, 1, 3)), machine((1,)), "fifo").schedule
    assert schedule.outcome.tolist() == [JobOutcome.REJECTED, JobOutcome.COMPLETED]
    assert busy_window(schedule) == (5, 8)


def test_no_window_without_a_job_that_ran():
    everything_rejected = run(jobs((3, 9, 1)), machine((1,)), "fifo").schedule
    assert busy_window(everything_rejected) is None
    assert horizon(everything_rejected) == 3
    no_second = run(jobs((3, 1, 0), (3, 1, 0)), machine((1,)), "fifo").schedule
    assert busy_window(no_second) is None
    nothing = run(jobs(), machine((1,)), "fifo").schedule
    assert busy_window(nothing) is None
    assert horizon(nothing) == 0


def test_no_window_while_all_jobs_wait(schedule: Schedule):
    num_jobs = len(schedule.workload)
    never = np.full(num_jobs, MISSING)
    waits = np.full(num_jobs, JobOutcome.NOT_ENDED, dtype=np.int64)
    assert busy_window(replace(schedule, start=never, end=never, outcome=waits)) is None
