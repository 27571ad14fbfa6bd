"""Draws that meet their shares."""

import numpy as np
import pytest

from cpsched.logs.generators import heavy_sizes, pick, stratified
from cpsched.papers.generators.eurora_arrivals import persistent_normals


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("largest", [1, 30, 500])
def test_stratified_shares_hold_by_weight(rng, largest):
    """The weight below p is a share p of all, to within one item."""
    weights = np.array([largest] + [1] * 500)
    for _ in range(20):
        uniforms = stratified(rng, weights)
        for share in (0.1, 0.3, 0.9):
            below = weights[uniforms < share].sum()
            assert abs(below - share * weights.sum()) <= largest


def test_stratified_uniforms_are_in_range(rng):
    uniforms = stratified(rng, np.ones(10_000))
    assert uniforms.min() >= 0
    assert uniforms.max() < 1


def test_stratified_of_nothing_is_nothing(rng):
    assert len(stratified(rng, np.empty(0))) == 0


def test_pick_cuts_the_unit_interval():
    """Shares 1, 0, 3 cut at 0.25: the empty share is never picked."""
    assert pick(np.array([0.0, 0.2499, 0.25, 0.9999]), [1, 0, 3]).tolist() == [0, 0, 2, 2]


@pytest.mark.parametrize("total", [0, 1, 2, 1000])
def test_heavy_sizes_sum_to_the_total(rng, total):
    sizes = heavy_sizes(rng, total, median=5.0, sigma=1.5, largest=40)
    assert sizes.sum() == total
    assert total == 0 or (sizes.min() >= 1 and sizes.max() <= 40)


def test_persistent_normals_are_the_quantiles_in_some_order(rng):
    first = persistent_normals(rng, 200, persistence=0.8)
    second = persistent_normals(rng, 200, persistence=0.8)
    assert not np.array_equal(first, second)
    assert np.array_equal(np.sort(first), np.sort(second))
    assert np.corrcoef(first[1:], first[:-1])[0, 1] > 0.5
