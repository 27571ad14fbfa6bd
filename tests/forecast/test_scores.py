"""Scores by hand, and against what they are by definition."""

from itertools import pairwise

import numpy as np
import pytest

from cpsched.forecast.scores import crps, interval_score, ratio_interval


def single(function, *values):
    return float(function(*(np.array([value], dtype=float) for value in values))[0])


def test_a_miss_costs_ten_times_its_distance():
    """Equation 43 with alpha = 0.2, worked out."""
    assert single(interval_score, 2, 5, 4) == 3
    assert single(interval_score, 2, 5, 1) == 3 + 10 * 1
    assert single(interval_score, 2, 5, 7) == 3 + 10 * 2


def test_crps_by_hand():
    """Of a point it is the absolute error; of 0 and 1 at 0 it is 1/2 - 1/4."""
    assert single(crps, [7.0], 4) == 3
    assert single(crps, [0.0, 1.0], 0) == 0.25
    assert single(crps, [1.0, 0.0], 3) == 2.25


def _pinball(quantile, level, value):
    return (level - (value < quantile)) * (value - quantile)


def _area(ensemble, value):
    """The area between the ensemble's distribution and a step at the value, squared."""
    points = sorted([*ensemble, value])
    area = 0.0
    for low, high in pairwise(points):
        below = sum(member <= low for member in ensemble) / len(ensemble)
        area += (high - low) * (below - (value <= low)) ** 2
    return area


@pytest.mark.parametrize("seed", range(20))
def test_both_scores_are_what_they_are_by_definition(seed):
    """The interval score is that of its ends as quantiles; CRPS is an integral over distances."""
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.integers(0, 30, 2))
    ensemble, value = rng.integers(0, 30, rng.integers(1, 9)).astype(float), rng.integers(0, 30)
    by_ends = (_pinball(low, 0.1, value) + _pinball(high, 0.9, value)) * 2 / 0.2
    assert single(interval_score, low, high, value) == pytest.approx(by_ends)
    assert single(crps, ensemble, value) == pytest.approx(_area(ensemble, value))


def test_the_interval_of_a_ratio_is_wide_where_neighbours_err_together():
    """The same scores, in runs of a hundred equal ones or shuffled; a constant ratio is certain."""
    runs = np.repeat(np.random.default_rng(0).exponential(size=20), 100)
    base = np.ones(len(runs))
    assert ratio_interval(base / 2, base, 0) == (0.5, 0.5)
    low, high = ratio_interval(runs, base, 0)
    mixed_low, mixed_high = ratio_interval(np.random.default_rng(1).permutation(runs), base, 0)
    assert low < runs.mean() < high
    assert high - low > 3 * (mixed_high - mixed_low)
