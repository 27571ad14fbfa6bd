"""The window over which a schedule is measured."""

from dataclasses import replace

import numpy as np
from tiny import jobs, machine, run

from cpsched.metrics.window import Window, busy_window, horizon, steady_window
from cpsched.model.schedule import JobOutcome
from cpsched.util.types import MISSING


def test_window_is_from_first_submit_to_last_end(schedule):
    assert busy_window(schedule) == Window(0, 15)
    assert busy_window(schedule).length == 15
    # Job 0 asks for 9 cores of 1 and is rejected; job 1 comes at 5.
    schedule = run(jobs((0, 9, 1), (5, 1, 3)), machine((1,)), "fifo").schedule
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


def test_no_window_while_all_jobs_wait(schedule):
    num_jobs = len(schedule.workload)
    never = np.full(num_jobs, MISSING)
    waits = np.full(num_jobs, JobOutcome.NOT_ENDED, dtype=np.int64)
    assert busy_window(replace(schedule, start=never, end=never, outcome=waits)) is None


def _every(gap, number, runtime, units=1):
    """Return a schedule of equal jobs, one every so many seconds."""
    rows = [(gap * index, units, runtime) for index in range(number)]
    return run(jobs(*rows), machine((1,)), "fifo").schedule


def test_steady_window_is_between_the_submits_of_5_and_95_percent():
    """Of 100 jobs the 5th is submitted at 40 and the 95th at 940, whatever they wait."""
    assert steady_window(_every(10, 100, 1)) == Window(40, 940)
    assert steady_window(_every(10, 100, 100)) == Window(40, 940)


def test_no_steady_window_of_few_jobs():
    assert steady_window(_every(10, 99, 1)) is None
    # Those that are rejected do not count.
    assert steady_window(_every(10, 200, 1, units=2)) is None


def test_no_steady_window_where_jobs_come_in_a_burst():
    """All in one second, in one second but for the first, or within one job's runtime."""
    assert steady_window(_every(0, 200, 5)) is None
    late = [(0, 1, 5)] + [(50, 1, 5)] * 199
    assert steady_window(run(jobs(*late), machine((1,)), "fifo").schedule) is None
    assert steady_window(_every(10, 100, 901)) is None
    assert steady_window(_every(10, 100, 900)) == Window(40, 940)


def test_no_steady_window_where_a_simulation_was_cut():
    """Nothing is known after 500 s."""
    schedule = _every(10, 100, 1)
    before_cut = schedule.start < 500
    cut = replace(
        schedule,
        start=np.where(before_cut, schedule.start, MISSING),
        end=np.where(before_cut, schedule.end, MISSING),
        outcome=np.where(before_cut, schedule.outcome, JobOutcome.NOT_ENDED),
        segments=replace(
            schedule.segments,
            **{
                name: getattr(schedule.segments, name)[before_cut[schedule.segments.job]]
                for name in ("job", "start", "end", "node", "count", "units", "amount")
            },
        ),
    )
    assert steady_window(cut) is None
