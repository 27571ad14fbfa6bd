"""Errors of predictions, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictors.accuracy import accuracy, rank_correlation


def score(plan, runtime, requested=None, bound=None):
    plan = np.array(plan, dtype=np.int64)
    runtime = np.array(runtime, dtype=np.int64)
    requested = np.full(len(plan), 10**6) if requested is None else np.array(requested)
    return accuracy(plan, plan if bound is None else np.array(bound), runtime, requested)


def test_errors_of_four_jobs():
    """Errors 0, 100, 20 and 300; factors 1, 2, 1.25 (under), 4; both ends of 20 % count."""
    found = score([100, 200, 80, 400], [100, 100, 100, 100])
    assert found.jobs == 4
    assert found.mean_error_s == 105
    # Sorted: 0, ln 1.25, ln 2, ln 4; the median lies between the middle two.
    assert found.median_log_error == pytest.approx((math.log(1.25) + math.log(2)) / 2)
    assert (found.close, found.under) == (0.5, 0.25)
    assert found.rank is None


def test_a_runtime_of_zero_counts_as_a_second_in_log_errors():
    """Its error is what was predicted; it is close to nothing but 0."""
    found = score([10, 0], [0, 0])
    assert found.mean_error_s == 5
    assert found.median_log_error == pytest.approx(math.log(10) / 2)
    assert (found.close, found.under) == (0.5, 0)


def test_bounds_are_judged_on_runtimes_cut_at_the_request():
    """A job that overran its request has not run beyond a bound that equals it."""
    found = score([1, 1, 1], [50, 50, 5], requested=[40, 60, 60], bound=[40, 49, 5])
    assert found.bound_exceeded == pytest.approx(1 / 3)


def test_pinball_loss_of_a_bound():
    """9 tenths of what a runtime is above it, 1 tenth of what it is below; cut at the request."""
    # Cut to 40, 50 and 5, the bounds 30 (10 above), 50 (at) and 25 (20 below): 9, 0 and 2.
    found = score([1, 1, 1], [60, 50, 5], requested=[40, 60, 60], bound=[30, 50, 25])
    assert found.bound_loss_s == pytest.approx(11 / 3)


def test_no_job_and_one_job():
    """Nothing is made up."""
    assert score([], []).mean_error_s is None
    assert score([], []).jobs == 0
    assert score([3], [4]).to_dict() == {
        "jobs": 1, "mean_error_s": 1.0, "median_log_error": pytest.approx(math.log(4 / 3)),
        "close": 0.0, "under": 1.0, "rank": None, "bound_exceeded": 1.0,
        "bound_loss_s": pytest.approx(0.9),
    }  # fmt: skip


def test_shapes_must_agree():
    """Four arrays of one shape."""
    with pytest.raises(ValueError, match="one shape"):
        score([1, 2], [1])


def test_rank_correlation_with_ties():
    """Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5)."""
    found = rank_correlation(np.array([5, 7, 7, 9]), np.array([1, 2, 3, 4]))
    assert found == pytest.approx(4.5 / math.sqrt(4.5 * 5))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=20))
def test_rank_correlation_equals_pandas(pairs):
    """The same number from an independent implementation."""
    import pandas as pd

    first, second = (np.array(values) for values in zip(*pairs, strict=True))
    ranks = pd.DataFrame({"a": first, "b": second}).rank()
    found = rank_correlation(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(ranks["a"].corr(ranks["b"]), abs=1e-12)
