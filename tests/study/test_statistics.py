"""Intervals: of paired repetitions, and of a bootstrap over weeks."""

import math

import numpy as np
import pytest
from tiny import jobs

from cpsched.base.types import MISSING
from cpsched.study.paired import (
    DAY,
    DRAWS,
    FEWEST,
    Estimate,
    Sums,
    day_of,
    difference,
    intervals,
    over_blocks,
    ratio,
)
from cpsched.study.sources import jittered


def test_a_ratio_and_its_interval_are_of_logarithms():
    """Ratios 1/2 and 2 have the mean 1; t(0.975, 1) = 12.706 and s / sqrt(2) = ln 2."""
    found = ratio([1, 4], [2, 2])
    assert found.mean == pytest.approx(1)
    assert math.log(found.high) == pytest.approx(12.7062 * math.log(2), rel=1e-4)
    assert found.low == pytest.approx(1 / found.high)
    assert found.number == 2


def test_a_difference_and_its_interval():
    """Differences 1, 2, 3: mean 2, s = 1, t(0.975, 2) = 4.3027."""
    found = difference([11, 22, 33], [10, 20, 30])
    assert found.mean == 2
    assert found.high - 2 == pytest.approx(4.30265 / math.sqrt(3), rel=1e-4)
    assert 2 - found.low == pytest.approx(found.high - 2)


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


def test_days_are_counted_from_the_first_submit():
    """A day is [0, 86400) after it."""
    day, number = day_of(np.array([100, 100 + DAY - 1, 100 + DAY, 100 + 3 * DAY]))
    assert day.tolist() == [0, 0, 1, 3]
    assert number == 4
    assert day_of(np.array([], dtype=np.int64))[1] == 0


def _sums(values, per_week=1):
    week = np.repeat(np.arange(len(values)), per_week)
    return Sums.of(week, np.repeat(values, per_week), len(values))


def test_the_interval_is_that_of_a_mean_of_weeks():
    """Of n independent weeks: 1.96 s / sqrt(n), give or take what 4,000 draws leave open."""
    values = np.random.default_rng(3).normal(50, 8, size=200)
    found, _ = over_blocks(_sums(values), _sums(np.zeros(200)))
    half = 1.96 * values.std() / math.sqrt(200)
    assert found.high - found.mean == pytest.approx(half, rel=0.1)
    assert found.mean - found.low == pytest.approx(half, rel=0.1)
    assert DRAWS == 4000


def test_equals_of_few_weeks_are_seldom_told_apart():
    """Percentiles of 2.5 and 97.5 would tell 8.5 % of these apart; 5 % are wanted."""
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(400):
        values, base = rng.gamma(4, size=(2, FEWEST))
        found, _ratio = over_blocks(_sums(values), _sums(base))
        wrong += found.low > 0 or found.high < 0
    assert 0.02 <= wrong / 400 <= 0.07


def test_weeks_with_more_jobs_weigh_more():
    """A mean over jobs, not over weeks."""
    values = Sums(np.array([90.0, *[1.0] * 9]), np.array([9.0, *[1.0] * 9]))
    base = Sums(np.ones(10), np.ones(10))
    found, _ = over_blocks(values, base)
    assert found.mean == pytest.approx(99 / 18 - 1)


def test_both_dispatchers_see_the_same_draws():
    """Twice the wait in every week is a ratio of 2 for sure, however much the weeks differ."""
    values = np.random.default_rng(1).uniform(1, 100, size=20)
    _, found = over_blocks(_sums(2 * values), _sums(values))
    assert found.low == pytest.approx(2)
    assert found.high == pytest.approx(2)


@pytest.mark.parametrize(
    ("days", "blocks", "length"), [(8, None, None), (9, 9, 1), (56, 56, 1), (57, 9, 7)]
)
def test_blocks_are_weeks_or_days_of_which_eight_are_whole(days, blocks, length):
    """One rule for whoever asks; the last day of a log is seldom whole."""
    rng = np.random.default_rng(2)
    ours, theirs = (_sums(rng.uniform(1, 9, days)) for _ in range(2))
    found = intervals(ours, theirs)
    assert [one and (one.number, one.block_days) for one in found] == [
        length and (blocks, length)
    ] * 2
    if length == 7:
        by_week = [Sums.of(np.arange(days) // 7, one.total, 9) for one in (ours, theirs)]
        assert found[1].low == pytest.approx(over_blocks(*by_week)[1].low)


def test_too_few_jobs_have_no_interval():
    """No job, no mean; a mean of 0 has no ratio to it."""
    nobody = Sums(np.zeros(10), np.zeros(10))
    assert over_blocks(nobody, nobody) == (None, None)
    found, none = over_blocks(_sums([1.0] * 10), _sums([0.0] * 10))
    assert (found.mean, none) == (1, None)
    rare = Sums(np.array([5.0, *[0.0] * 9]), np.array([1.0, *[0.0] * 9]))
    found, _ = over_blocks(rare, rare)
    assert (found.low, found.high) == (0, 0)


@pytest.mark.parametrize("number", [3, 5, 10])
def test_intervals_of_repetitions_hold_the_truth_as_often_as_stated(number):
    """In 95 % of 1,000 draws, within four standard errors of that share."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(1000):
        base = rng.lognormal(8, 1, number)
        found = ratio(0.8 * base * np.exp(rng.normal(0, 0.2, number)), base)
        held += found.low <= 0.8 <= found.high
    assert abs(held / 1000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 1000)


def test_intervals_over_independent_blocks_hold_the_truth_as_often_as_stated():
    """A mean of normal blocks: in 95 % of 400 draws, within four standard errors of that share."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(400):
        base = rng.normal(50, 8, 12)
        found, _ratio = over_blocks(_sums(base + rng.normal(5, 4, 12)), _sums(base))
        held += found.low <= 5 <= found.high
    assert abs(held / 400 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 400)
