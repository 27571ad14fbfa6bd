"""Intervals: of paired repetitions, and over the days of a log."""

import math

import numpy as np
import pytest
from scipy.stats import t
from tiny import jobs

from cpsched.study.inputs import jittered
from cpsched.study.paired import Estimate, Sums, difference, over_days, ratio
from cpsched.util.types import MISSING


def test_a_ratio_and_its_interval_are_of_logarithms():
    """Ratios 1/2 and 2 have the mean 1; t(0.975, 1) = 12.706 and s / sqrt(2) = ln 2."""
    estimate = ratio([1, 4], [2, 2])
    assert estimate.mean == pytest.approx(1)
    assert math.log(estimate.high) == pytest.approx(12.7062 * math.log(2), rel=1e-4)
    assert estimate.low == pytest.approx(1 / estimate.high)
    assert estimate.number == 2


def test_a_difference_and_its_interval():
    """Differences 1, 2, 3: mean 2, s = 1, t(0.975, 2) = 4.3027."""
    estimate = difference([11, 22, 33], [10, 20, 30])
    assert estimate.mean == 2
    assert estimate.high - 2 == pytest.approx(4.30265 / math.sqrt(3), rel=1e-4)
    assert 2 - estimate.low == pytest.approx(estimate.high - 2)


def test_one_pair_has_no_interval_and_zeros_no_ratio():
    """There is no spread of one number, and no ratio to nothing."""
    assert ratio([3], [2]) == Estimate(pytest.approx(1.5), None, None, 1)
    assert difference([3], [2]) == Estimate(1.0, None, None, 1)
    assert ratio([1, 0], [1, 1]) is None
    assert ratio([], []) is None
    assert difference([], []) is None


def test_jitter_delays_by_whole_seconds_and_keeps_submit_order():
    """The same seed gives the same log; recorded waits stay."""
    log = jobs(*((i // 3, 1, 5) for i in range(300)))
    started = log.submit + 7
    started[5] = MISSING
    log = log.with_columns(recorded_start=started, cancel=np.where(started % 2, started, MISSING))
    later = jittered(log, 7, 5)
    assert later.digest() == jittered(log, 7, 5).digest()
    assert later.digest() != jittered(log, 8, 5).digest()
    assert (np.diff(later.submit) >= 0).all()
    before = dict(zip(log.job_id.tolist(), log.submit.tolist(), strict=True))
    delay = [now - before[job] for job, now in zip(later.job_id, later.submit, strict=True)]
    assert set(delay) == {0, 1, 2, 3, 4, 5}
    known = later.recorded_start != MISSING
    assert known.sum() == 299
    assert set((later.recorded_start - later.submit)[known].tolist()) == {7}
    gone = later.cancel != MISSING
    assert gone.sum() == np.count_nonzero(log.cancel != MISSING) > 100
    assert set((later.cancel - later.submit)[gone].tolist()) == {7}


def test_jittered_jobs_of_a_second_are_in_the_order_of_their_ids():
    """As a run folder reads them: job 1 is submitted after job 2, and delayed into its second."""
    log = jobs((0, 1, 5), (1, 1, 5)).with_columns(job_id=np.array(["2", "1"]))
    seed = next(seed for seed in range(99) if len(set(jittered(log, seed, 1).submit)) == 1)
    assert jittered(log, seed, 1).job_id.tolist() == ["1", "2"]


def _sums(values):
    return Sums.of(np.arange(len(values)), np.asarray(values, dtype=np.float64), len(values))


def test_the_interval_is_that_of_a_mean_of_days():
    """Of n independent days: about t(0.975, 0.4 n^(2/3)) s / sqrt(n)."""
    half = []
    for seed in range(50):
        values = np.random.default_rng(seed).normal(50, 8, size=343)
        estimate, _ = over_days(_sums(values), _sums(np.zeros(343)))
        assert estimate.high - estimate.mean == pytest.approx(estimate.mean - estimate.low)
        half.append(estimate.high - estimate.mean)
    freedom = round(0.4 * 343 ** (2 / 3))
    assert np.mean(half) == pytest.approx(t(freedom).ppf(0.975) * 8 / math.sqrt(343), rel=0.05)


def test_days_with_more_jobs_weigh_more():
    """A mean over jobs, not over days."""
    values = Sums(np.array([90.0, *[1.0] * 9]), np.array([9.0, *[1.0] * 9]))
    base = Sums(np.ones(10), np.ones(10))
    estimate, _ = over_days(values, base)
    assert estimate.mean == pytest.approx(99 / 18 - 1)


def test_both_dispatchers_see_the_same_days():
    """Twice the wait on every day is a ratio of 2 for sure, however much the days differ."""
    values = np.random.default_rng(1).uniform(1, 100, size=20)
    _, estimate = over_days(_sums(2 * values), _sums(values))
    assert estimate.low == pytest.approx(2)
    assert estimate.high == pytest.approx(2)


@pytest.mark.parametrize(("days", "number"), [(8, None), (9, 9), (57, 57)])
def test_intervals_need_eight_whole_days(days, number):
    """One rule for whoever asks; the last day of a log is seldom whole."""
    rng = np.random.default_rng(2)
    ours, theirs = (_sums(rng.uniform(1, 9, days)) for _ in range(2))
    assert [estimate and estimate.number for estimate in over_days(ours, theirs)] == [number] * 2


def test_a_log_without_its_last_days_jobs_is_as_long_as_the_other():
    """The days that a run has no job on count as its, too."""
    rng = np.random.default_rng(3)
    ours, theirs = rng.uniform(1, 9, 12), _sums(rng.uniform(1, 9, 12))
    none = Sums(np.array([*ours, 0.0]), np.array([*np.ones(12), 0.0]))
    estimates, same = over_days(_sums(ours), theirs.padded(13)), over_days(none, theirs)
    assert estimates == same
    assert estimates[0].number == 13


def test_too_few_jobs_have_no_interval():
    """No job, no mean; a mean of 0 has no ratio to it, nor has it one."""
    nobody = Sums(np.zeros(10), np.zeros(10))
    assert over_days(nobody, nobody) == (None, None)
    estimate, none = over_days(_sums([1.0] * 10), _sums([0.0] * 10))
    assert (estimate.mean, none) == (1, None)
    assert over_days(_sums([0.0] * 10), _sums([1.0] * 10))[1] is None
    rare = Sums(np.array([5.0, *[0.0] * 9]), np.array([1.0, *[0.0] * 9]))
    assert over_days(rare, rare) == (None, None)


@pytest.mark.parametrize("number", [3, 5, 10])
def test_intervals_of_repetitions_hold_the_truth_as_often_as_stated(number):
    """In 95 % of 1,000 draws, within four standard errors of that share."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(1000):
        base = rng.lognormal(8, 1, number)
        estimate = ratio(0.8 * base * np.exp(rng.normal(0, 0.2, number)), base)
        hits += estimate.low <= 0.8 <= estimate.high
    assert abs(hits / 1000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 1000)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("days", [9, 30, 120])
def test_intervals_over_days_hold_the_truth_as_often_as_stated(days, correlation):
    """
    A mean of normal days, independent or each like the one before: in 92 to 98 % of 400 draws, of
    nine days that depend on each other in 87 % at least.

    Student's intervals, which take days for independent, hold it there in 72 to 75 %.
    """
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(400):
        apart = rng.normal(0, 1, days)
        for at in range(1, days):
            apart[at] = correlation * apart[at - 1] + (1 - correlation**2) ** 0.5 * apart[at]
        base = rng.normal(50, 8, days)
        estimate, _ratio = over_days(_sums(base + 5 + 4 * apart), _sums(base))
        hits += estimate.low <= 5 <= estimate.high
    least = 0.87 if correlation and days < 30 else 0.92
    assert least <= hits / 400 <= 0.98, hits / 400
