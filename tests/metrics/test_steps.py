"""Step functions against every second written down."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import machines, run, workloads

from cpsched.metrics.steps import (
    Distribution,
    StepFunction,
    distinct,
    exact_dot,
    exact_sum,
    used,
    waiting,
)
from cpsched.metrics.window import busy_window, horizon
from cpsched.model.schedule import JobOutcome, Segments
from cpsched.util.types import MISSING

INTERVALS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(0, 5)), max_size=15
)


def every_second(rows, first, last):
    """Return the value at each second of ``[first, last)``."""
    seconds = np.zeros(last - first, dtype=np.int64)
    for start, length, weight in rows:
        for second in range(start, start + length):
            if first <= second < last:
                seconds[second - first] += weight
    return seconds


def test_intervals_are_half_open():
    """
    ::

        0123456
        aaa        [0, 3)
          bb       [2, 4)
           c       [3, 4): starts where a ends
           |       [3, 3): nothing
    """
    steps = StepFunction.over(np.array([0, 2, 3, 3]), np.array([3, 4, 4, 3]))
    assert steps.times.tolist() == [0, 2, 4]
    assert steps.values.tolist() == [1, 2, 0]
    assert steps.at(np.array([-1, 0, 1, 2, 3, 4, 9])).tolist() == [0, 1, 1, 2, 2, 0, 0]


def test_nothing_is_zero_everywhere():
    steps = StepFunction.over(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert steps.at(np.array([3])).tolist() == [0]
    assert steps.distribution(0, 10) == Distribution(np.array([0]), np.array([10]))


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="interval 1 ends at 3, before its start at 4"):
        StepFunction.over(np.array([0, 4]), np.array([1, 3]))
    with pytest.raises(ValueError, match=r"\[5, 5\) has no second in it"):
        StepFunction.over(np.array([0]), np.array([1])).within(5, 5)
    for q in (-0.1, 1.1):
        with pytest.raises(ValueError, match="must be within"):
            Distribution(np.array([0]), np.array([1])).quantile(q)


@given(INTERVALS, st.integers(-5, 20), st.integers(1, 40))
def test_steps_are_every_second(rows, first, length):
    """Mean, maximum, quantiles and integral are those of the values at every second."""
    start, size, weight = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    steps = StepFunction.over(start, start + size, weight)
    assert (np.diff(steps.times) > 0).all()
    last = first + length
    seconds = every_second(rows, first, last)
    assert steps.at(np.arange(first, last)).tolist() == seconds.tolist()
    assert exact_dot(*steps.within(first, last)) == seconds.sum()
    distribution = steps.distribution(first, last)
    assert np.repeat(distribution.levels, distribution.seconds).tolist() == sorted(seconds.tolist())
    assert distribution.mean() == pytest.approx(seconds.mean())
    assert distribution.maximum() == seconds.max()
    for q in (0, 0.25, 0.5, 0.75, 1):
        assert distribution.quantile(q) == np.quantile(seconds, q, method="inverted_cdf")


def test_waiting_jobs_by_hand(schedule):
    """
    Killed waits in [1, 3), empty in [2, 4), withdrawn (cancelled) in [2, 9), after (held by its
    dependency) in [3, 10), later (held by its begin time) in [3, 12); nobody else waits.
    """
    expected = [0, 1, 3, 4, 3, 3, 3, 3, 3, 2, 1, 1, 0, 0, 0]
    queue = waiting(schedule)
    assert queue.at(np.arange(15)).tolist() == expected
    assert exact_dot(*queue.within(0, 15)) == 2 + 2 + 7 + 7 + 9


def test_waiting_without_those_held_by_hand(schedule):
    """After may start at 10 and does, later at 12: held jobs leave nothing."""
    queue = waiting(schedule, held=False)
    assert queue.at(np.arange(15)).tolist() == [0, 1, 3, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_used_resources_by_hand(schedule):
    """
    Cores: plain 2, even 2 x 2, exclusive all 4 of its node, gpu 2, killed 1, after 4, later 1; the
    job of runtime 0 holds nothing for any time. One GPU in [1, 7).
    """
    cores = [2, 12, 12, 13, 13, 13, 9, 7, 6, 2, 4, 4, 5, 4, 4, 0]
    assert used(schedule, 0).at(np.arange(16)).tolist() == cores
    assert used(schedule, 1).at(np.arange(16)).tolist() == [0] + [1] * 6 + [0] * 9


def test_queue_of_a_cut_schedule_ends_at_the_cut(schedule):
    """Cut at 8: five jobs have not ended, those that never started wait until then."""
    start, end = schedule.start.copy(), schedule.end.copy()
    outcome = schedule.outcome.copy()
    start[[8, 9]] = end[[0, 2, 7, 8, 9]] = MISSING
    outcome[[0, 2, 7, 8, 9]] = JobOutcome.NOT_ENDED
    before_cut = schedule.segments.start < 8
    columns = {name: getattr(schedule.segments, name)[before_cut] for name in Segments.__slots__}
    segments = Segments(**columns | {"end": np.minimum(columns["end"], 8)})
    cut = replace(schedule, start=start, end=end, outcome=outcome, segments=segments)
    assert horizon(cut) == 8
    assert busy_window(cut) == (0, 8)
    assert waiting(cut).at(np.arange(10)).tolist() == [0, 1, 3, 4, 3, 3, 3, 3, 0, 0]
    assert waiting(cut, held=False).at(np.arange(9)).tolist() == [0, 1, 3, 2, 1, 1, 1, 1, 0]


def test_a_job_held_by_one_that_never_ends_is_never_released(schedule):
    start, end, outcome = (
        column.copy() for column in (schedule.start, schedule.end, schedule.outcome)
    )
    end[0], outcome[0] = MISSING, JobOutcome.NOT_ENDED
    start[8] = end[8] = MISSING
    outcome[8] = JobOutcome.NOT_ENDED
    cut = replace(schedule, start=start, end=end, outcome=outcome)
    # The record ends at 15; "after" is still held then, and waits all the same.
    assert waiting(cut).at(np.array([10, 14, 15])).tolist() == [2, 1, 0]
    assert waiting(cut, held=False).at(np.array([10, 14, 15])).tolist() == [0, 0, 0]


@given(workloads(), machines())
def test_integral_of_the_queue_is_the_sum_of_waits(workload, system):
    schedule = run(workload, system, "easy").schedule
    ran = schedule.start != MISSING
    waits = int((schedule.start - workload.submit)[ran].sum())
    last = int(max(horizon(schedule), 0)) + 1
    assert exact_dot(*waiting(schedule).within(0, last)) == waits


@given(st.lists(st.lists(st.integers(0, 20)), min_size=1, max_size=4))
def test_distinct_seconds(times):
    """What np.unique gives for all of them."""
    arrays = [np.array(sorted(values), dtype=np.int64) for values in times]
    assert distinct(*arrays).tolist() == sorted({value for values in times for value in values})


@given(st.lists(st.integers(-(2**62), 2**62), max_size=8))
def test_sums_are_exact(values):
    """Also where 64 bits do not hold them."""
    big = np.array([2**53, 2**53])
    assert exact_dot(big, np.array([10**12, 1])) == 2**53 * (10**12 + 1)
    assert exact_sum(np.array(values, dtype=np.int64)) == sum(values)
