"""Per-job measures: values worked out by hand, boundaries, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpsched.metrics import jobs
from cpsched.metrics.jobs import JobClass


def test_wait_and_turnaround_count_from_submit():
    submit, start, end = np.array([0, 5]), np.array([0, 9]), np.array([3, 9])
    assert jobs.wait(submit, start).tolist() == [0, 4]
    assert jobs.turnaround(submit, end).tolist() == [3, 4]


def test_slowdown_by_hand():
    """40 s for 10 s of running; the last one has more units than it prefers."""
    response, runtime = np.array([40, 10, 5]), np.array([10, 10, 10])
    assert jobs.slowdown(response, runtime).tolist() == [4.0, 1.0, 0.5]


def test_slowdown_of_runtime_0_counts_1_second():
    """Infinite by the formula; 1 for those that did not wait, as for any other job."""
    assert jobs.slowdown(np.array([0, 7]), np.array([0, 0])).tolist() == [1.0, 8.0]


def test_bounded_slowdown_by_hand():
    """
    Below tau the runtime counts as tau: (30 + 1) / 10; (2 + 1) / 10 is below 1; (30 + 20) / 20
    is not bounded; runtime 0: 30 / 10.
    """
    runtime = np.array([1, 1, 20, 0])
    response = np.array([30, 2, 30, 30]) + runtime
    assert jobs.bounded_slowdown(response, runtime).tolist() == [3.1, 1.0, 2.5, 3.0]
    assert jobs.bounded_slowdown(response, runtime, tau=1).tolist() == [31.0, 3.0, 2.5, 30.0]


@pytest.mark.parametrize(
    ("runtime", "expected"),
    [
        (0, JobClass.SHORT),
        (3600, JobClass.SHORT),
        (3601, JobClass.MEDIUM),
        (43200, JobClass.MEDIUM),
        (43201, JobClass.LONG),
    ],
)
def test_class_limits_belong_to_the_shorter_class(runtime, expected):
    assert jobs.job_class(np.array([runtime])).tolist() == [expected]


@pytest.mark.parametrize(
    ("measure", "columns", "message"),
    [
        (jobs.wait, ([0, 5], [0, 4]), "row 1: start is 4, before the submit at 5"),
        (jobs.turnaround, ([0, 5], [0]), r"submit has shape \(2,\), end has \(1,\)"),
        # A job that never started has no wait; whoever passes its MISSING is told.
        (jobs.slowdown, ([3, -1], [1, 1]), "row 1: turnaround is -1, must be non-negative"),
        (jobs.job_class, ([-2],), "row 0: runtime is -2"),
        (jobs.bounded_slowdown, ([3], [1, 1]), r"runtime has shape \(2,\), turnaround has \(1,\)"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_row(measure, columns, message):
    with pytest.raises(ValueError, match=message):
        measure(*map(np.array, columns))


def test_no_jobs_give_no_values_and_tau_is_a_second():
    none = np.zeros(0, dtype=np.int64)
    assert jobs.wait(none, none).shape == jobs.job_class(none).shape == (0,)
    with pytest.raises(ValueError, match="tau is 0, must be at least one second"):
        jobs.bounded_slowdown(none, none, tau=0)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1))
def test_slowdown_is_1_exactly_for_who_did_not_wait(rows):
    wait, runtime = np.array(rows).T
    response = wait + runtime
    slowdown, bounded = jobs.slowdown(response, runtime), jobs.bounded_slowdown(response, runtime)
    assert ((slowdown == 1) == (wait == 0)).all()
    assert (bounded >= 1).all()
    # The bound only ever makes it smaller.
    assert (bounded <= slowdown).all()
