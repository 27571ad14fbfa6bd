"""Scores of chances and distributions, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cpsched.model.prediction import HORIZONS, LEVELS
from predictors.accuracy import chance_score, crps, distribution_score, reliability


def _score(score, within, in_doubt=None):
    return chance_score(np.array(score, dtype=float), np.array(within, dtype=bool), in_doubt)


def test_recall_counts_what_is_found_before_one_in_twenty_others():
    """Of 20 others one may be taken for a hit: two of the three hits stand before the second."""
    score = [0.9, 0.8, 0.7, 0.6, 0.5, *np.linspace(0.4, 0, 18)]
    within = [1, 0, 1, 0, 1, *[0] * 18]
    assert _score(score, within).recall == pytest.approx(2 / 3)


def test_recall_of_a_score_that_says_nothing_is_the_false_alarms():
    """With one score for all, as many of either are taken."""
    found = _score([0.5] * 40, [1, 0] * 20)
    assert found.recall == pytest.approx(0.05)
    assert found.auc == pytest.approx(0.5)


def test_auc_is_the_share_of_pairs_in_order():
    """Hits at 3 and 1, others at 2 and 1: pairs in order 1, 1, 0 and a tie that counts half."""
    assert _score([3, 1, 2, 1], [1, 1, 0, 0]).auc == pytest.approx(2.5 / 4)


@pytest.mark.parametrize("within", [[1, 1], [0, 0], []])
def test_nothing_is_told_where_all_jobs_are_alike(within):
    """No recall and no area where only one kind of job is there."""
    found = _score([0.5] * len(within), within)
    assert (found.recall, found.auc) == (None, None)


def test_jobs_of_which_nothing_is_said_are_left_out():
    """NaN is no score."""
    assert _score([np.nan, 0.9, 0.1], [0, 1, 0]).share == pytest.approx(0.5)


def test_calibration_error_is_that_of_groups():
    """Chances 0.2 and 0.8 of which 0.3 and 0.8 come true: off by 0.1 in one half of the jobs."""
    chance = np.repeat([0.2, 0.8], 100)
    within = np.concatenate([np.arange(100) < 30, np.arange(100) < 80])
    found = chance_score(chance, within, np.ones(200, dtype=bool))
    assert found.calibration_error == pytest.approx(0.05)
    assert found.worst_group == pytest.approx(0.1)
    # Only the second half is in doubt.
    assert chance_score(chance, within, chance > 0.5).calibration_error == pytest.approx(0)


def test_groups_are_tenths_and_ties_stay_together():
    """A small rest beside many equal chances joins the group below."""
    chance = np.concatenate([np.linspace(0, 0.5, 400), [0.6] * 10, [1.0] * 590])
    predicted, _, size = reliability(chance, chance > 0.5)
    assert size.tolist() == [100, 100, 100, 110, 590]
    assert predicted[-1] == 1.0


def test_crps_of_one_second_at_all_levels():
    """
    All quantiles and the request at 100 s, a runtime of 10 s, half of the way there (T = ln 100).

    F goes from 0 to 0.05 at the runtime, to 0.1 at 100 s, where it jumps to 1.
    """
    found = crps(np.full((1, 9), 100), None, np.array([10]), np.array([100]))
    half = np.log(100) / 2
    below = half * 0.05**2 / 3
    above = half * (0.95**2 + 0.95 * 0.9 + 0.9**2) / 3
    assert found[0] == pytest.approx(below + above)


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
    found = crps(quantiles, chances, np.array([runtime]), np.array([request]))
    wanted = (at**3 + (top - at) ** 3) / (3 * top**2)
    assert found[0] == pytest.approx(wanted, rel=1e-9)


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
    found = distribution_score(quantiles, None, np.array([9, 10, 50, 91]), np.full(4, 100))
    assert (found.below, found.coverage, found.above) == (0.25, 0.5, 0.25)
    assert distribution_score(np.full((4, 9), -1), None, np.ones(4), np.full(4, 100)) is None
