"""Errors of predictions, and scores of distributions, worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpsched.model.prediction import HORIZONS, LEVELS
from cpsched.study.prediction.accuracy import (
    Accuracy,
    accuracy,
    crps,
    distribution_score,
    rank_correlation,
)


def score(plan, runtime, requested=None, bound=None):
    plan = np.array(plan, dtype=np.int64)
    runtime = np.array(runtime, dtype=np.int64)
    requested = np.full(len(plan), 10**6) if requested is None else np.array(requested)
    return accuracy(plan, plan if bound is None else np.array(bound), runtime, requested)


def test_errors_of_four_jobs():
    """Errors 0, 100, 20 and 300; factors 1, 2, 1.25 (under), 4; both ends of 20 % count."""
    errors = score([100, 200, 80, 400], [100, 100, 100, 100])
    assert errors.jobs == 4
    assert errors.mean_error_s == 105
    # Sorted: 0, ln 1.25, ln 2, ln 4; the median lies between the middle two.
    assert errors.median_log_error == pytest.approx((math.log(1.25) + math.log(2)) / 2)
    assert (errors.close, errors.under) == (0.5, 0.25)
    assert errors.rank is None


def test_a_runtime_of_zero_counts_as_a_second_in_log_errors():
    """Its error is what was predicted; it is close to nothing but 0."""
    errors = score([10, 0], [0, 0])
    assert errors.mean_error_s == 5
    assert errors.median_log_error == pytest.approx(math.log(10) / 2)
    assert (errors.close, errors.under) == (0.5, 0)


def test_bounds_are_judged_on_runtimes_cut_at_the_request():
    """A job that overran its request has not run beyond a bound that equals it."""
    errors = score([1, 1, 1], [50, 50, 5], requested=[40, 60, 60], bound=[40, 49, 5])
    assert errors.bound_exceeded == pytest.approx(1 / 3)


def test_pinball_loss_of_a_bound():
    """9 tenths of what a runtime is above it, 1 tenth of what it is below; cut at the request."""
    # Cut to 40, 50 and 5, the bounds 30 (10 above), 50 (at) and 25 (20 below): 9, 0 and 2.
    errors = score([1, 1, 1], [60, 50, 5], requested=[40, 60, 60], bound=[30, 50, 25])
    assert errors.bound_loss_s == pytest.approx(11 / 3)


def test_no_job_and_one_job():
    """Nothing is made up."""
    assert score([], []) == Accuracy(jobs=0)
    assert score([3], [4]) == Accuracy(
        jobs=1, mean_error_s=1.0, median_log_error=pytest.approx(math.log(4 / 3)), close=0.0,
        under=1.0, bound_exceeded=1.0, bound_loss_s=pytest.approx(0.9),
    )  # fmt: skip


def test_shapes_must_agree():
    """Four arrays of one shape."""
    with pytest.raises(ValueError, match="one shape"):
        score([1, 2], [1])


def test_rank_correlation_with_ties():
    """Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5)."""
    correlation = rank_correlation(np.array([5, 7, 7, 9]), np.array([1, 2, 3, 4]))
    assert correlation == pytest.approx(4.5 / math.sqrt(4.5 * 5))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=20))
def test_rank_correlation_equals_pandas(pairs):
    """The same number from an independent implementation."""
    import pandas as pd

    first, second = (np.array(values) for values in zip(*pairs, strict=True))
    ranks = pd.DataFrame({"a": first, "b": second}).rank()
    correlation = rank_correlation(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert correlation is None
    else:
        assert correlation == pytest.approx(ranks["a"].corr(ranks["b"]), abs=1e-12)


def test_crps_of_one_second_at_all_levels():
    """
    All quantiles and the request at 100 s, a runtime of 10 s, half of the way there (T = ln 100).

    F goes from 0 to 0.05 at the runtime, to 0.1 at 100 s, where it jumps to 1.
    """
    score_of_log = crps(np.full((1, 9), 100), None, np.array([10]), np.array([100]))
    half = np.log(100) / 2
    below = half * 0.05**2 / 3
    above = half * (0.95**2 + 0.95 * 0.9 + 0.9**2) / 3
    assert score_of_log[0] == pytest.approx(below + above)


@pytest.mark.parametrize("runtime", [1, 20, 3000, 10**6])
@pytest.mark.parametrize("with_chances", [False, True])
def test_crps_of_an_even_distribution(runtime, with_chances):
    """
    Even in the logarithm from 1 s to the request, T = ln request, y = ln runtime.

    The integral of (x / T)^2 below y and of (1 - x / T)^2 above: (y^3 + (T - y)^3) / (3 T^2).
    """
    request = 10**6
    top, at = np.log(request), np.log(runtime)
    quantiles = np.exp(top * np.array(LEVELS))[None]
    chances = (np.log(HORIZONS) / top)[None] if with_chances else None
    score_of_log = crps(quantiles, chances, np.array([runtime]), np.array([request]))
    wanted = (at**3 + (top - at) ** 3) / (3 * top**2)
    assert score_of_log[0] == pytest.approx(wanted, rel=1e-9)


def test_crps_is_least_for_the_truth():
    """Of samples of a known distribution, its own quantiles score better than others."""
    rng = np.random.default_rng(1)
    runtime = np.exp(rng.normal(6, 1, 20_000))
    requested = np.full(20_000, 10**6)
    spread = np.array([-1.2816, -0.8416, -0.5244, -0.2533, 0, 0.2533, 0.5244, 0.8416, 1.2816])

    def mean(centre, width):
        quantiles = np.tile(np.exp(centre + width * spread), (20_000, 1))
        return crps(quantiles, None, runtime, requested).mean()

    truth = mean(6, 1)
    # That of a normal distribution itself is its deviation / sqrt(pi); straight tails cost some.
    assert 0.564 < truth < 0.59
    assert all(truth < mean(*other) for other in ((6.3, 1), (6, 0.6), (6, 1.6)))


def test_coverage_counts_the_ends_of_the_interval():
    """Of four runtimes one lies below, one at an end, one inside, one above."""
    quantiles = np.tile([10, *[50] * 7, 90], (4, 1))
    coverage = distribution_score(quantiles, None, np.array([9, 10, 50, 91]), np.full(4, 100))
    assert (coverage.below, coverage.coverage, coverage.above) == (0.25, 0.5, 0.25)
    assert distribution_score(np.full((4, 9), -1), None, np.ones(4), np.full(4, 100)) is None
