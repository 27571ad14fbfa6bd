"""What may be said of a difference: from one run, from repetitions, and over days."""

import numpy as np
import pytest

from cpsched.study.paired import Estimate, Sums
from cpsched.study.verdicts import (
    EQUAL,
    HIGHER,
    LOWER,
    ONE_RUN,
    RESOLUTION,
    THIS_LOG,
    UNCLEAR,
    UNKNOWN,
    Compared,
    is_clear,
    of_mean,
    shown,
)


def days(values):
    return Sums(np.asarray(values, dtype=np.float64), np.ones(len(values)))


#: Twenty days on which a run has a tenth less than its baseline, and twenty that do not agree.
BASE = days([10.0, 12.0] * 10)
AGREED = days([9.0, 10.8] * 10)
APART = days([1.0, 1.0, *[11.0, 11.0] * 9])


@pytest.mark.parametrize("daily", [None, (AGREED, BASE)])
def test_one_run_has_no_verdict_on_a_log_of_any_length(daily):
    """The interval over the days says nothing of what a moved submit changes, but is shown."""
    compared = Compared.of([9.0], [10.0], daily)
    assert compared.verdict == ONE_RUN
    assert (compared.span is None) == (daily is None)
    assert Compared.of([10.0], [10.0]).verdict == EQUAL


@pytest.mark.parametrize(("values", "verdict"), [
    ([9.0, 9.1, 8.9, 9.0, 9.05], LOWER),
    ([11.0, 11.1, 10.9, 11.0, 11.05], HIGHER),
    ([9.0, 9.1, 8.9, 9.0, 12.0], UNCLEAR),
    # Half a percent in every repetition is certain, and no difference.
    ([9.95, 9.951, 9.949, 9.95, 9.95], UNCLEAR),
    ([9.91] * 5, UNCLEAR),
    ([10.0] * 5, EQUAL),
])  # fmt: skip
def test_repetitions_must_exclude_every_change_below_one_percent(values, verdict):
    compared = Compared.of(values, [10.0] * 5)
    assert compared.verdict == (verdict + THIS_LOG if is_clear(verdict) else verdict)
    mirrored = Compared.of([10.0] * 5, values)
    other = {LOWER: HIGHER, HIGHER: LOWER}.get(verdict, verdict)
    assert mirrored.verdict == (other + THIS_LOG if is_clear(other) else other)


def test_days_that_do_not_agree_leave_a_verdict_on_this_log():
    """And the interval that is shown never contradicts the verdict."""
    values, bases = [9.0, 9.1, 8.9], [10.0, 10.0, 10.0]
    both = Compared.of(values, bases, (AGREED, BASE))
    assert both.verdict == LOWER
    assert both.span[1] < 0
    apart = Compared.of(values, bases, (APART, BASE))
    assert apart.daily_difference.high > 0
    assert apart.verdict == LOWER + THIS_LOG
    assert apart.span[1] < 0
    noise = Compared.of([9.0, 12.0, 8.0], bases, (AGREED, BASE))
    assert noise.verdict == UNCLEAR
    assert noise.span[0] < 0 < noise.span[1]


def test_a_second_is_no_difference_of_times():
    """Submits that are half a second later wait half a second less in every repetition."""
    values, bases = [4.5, 4.51, 4.49, 4.5], [5.0] * 4
    assert Compared.of(values, bases).verdict == LOWER + THIS_LOG
    assert Compared.of(values, bases, resolution=RESOLUTION).verdict == UNCLEAR
    nothing = Compared.of([0.4, 0.5, 0.6], [0.0] * 3, resolution=RESOLUTION)
    assert nothing.ratio is None
    assert nothing.verdict == UNCLEAR
    waits = Compared.of([40.0, 50.0, 60.0], [0.0] * 3, resolution=RESOLUTION)
    assert waits.verdict == HIGHER + THIS_LOG


def test_the_interval_shown_is_the_wider_unless_the_repetitions_alone_decide():
    own, daily = (0.8, 0.9), (0.7, 1.1)
    assert shown(own, daily, UNCLEAR) == (0.7, 1.1)
    assert shown(own, daily, LOWER + THIS_LOG) == own
    assert shown(None, daily, ONE_RUN) == daily
    assert shown(own, None, LOWER + THIS_LOG) == own
    assert shown(None, None, ONE_RUN) is None


@pytest.mark.parametrize(("ends", "verdict"), [
    ((0.9, 0.98), LOWER), ((0.9, 0.995), UNCLEAR), ((1.02, 1.1), HIGHER), ((None, None), UNKNOWN),
])  # fmt: skip
def test_a_mean_over_logs_follows_the_same_rule(ends, verdict):
    assert of_mean(Estimate(0.95, *ends, 5)) == verdict


def test_equal_runs_have_a_verdict_in_fewer_than_one_of_twenty():
    """Of 2,000 draws of five pairs that are equal but for noise of any size, and skewed."""
    rng = np.random.default_rng(5)
    wrong = 0
    for draw in range(2000):
        spread = 10 ** rng.uniform(-4, -0.5)
        noise = (rng.exponential(1, 5) - 1 if draw % 2 else rng.normal(0, 1, 5)) * spread
        wrong += is_clear(Compared.of(np.exp(noise).tolist(), [1.0] * 5).verdict)
    assert wrong / 2000 < 0.05
