"""Preferences, costs, alpha and beta."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpsched.papers.auction.preference import (
    TABLE_4_4,
    TABLE_5_2,
    BidClass,
    alpha,
    beta,
    costs,
    preferences,
    weights,
)

A, B, C = BidClass


def preferring_weights(priorities, job, values):
    """Return the values of bids with such preferences."""
    return weights(priorities, job, np.array(values), alpha(priorities))


def costing_weights(priorities, job, values):
    """Return the values of bids with such costs."""
    return weights(priorities, job, -np.array(values), beta(priorities))


def value(table, job_type, kind, nodes=5, nodesets=1, generic=0, most=0):
    """Return one preference on a machine of 99 nodes in 9 nodesets."""
    return preferences(
        table,
        np.array([job_type]),
        np.array([kind]),
        nodes=(np.array([nodes]), 99),
        nodesets=(np.array([nodesets]), 9),
        generic=(np.array([generic]), np.array([most])),
    )[0]


def test_preferences_of_table_4_4():
    """By hand: 1 - k1 - k2 5/100 - k3 2/10."""
    assert value(TABLE_4_4, 1, A) == pytest.approx(1 - 0.25 * 0.05)
    assert value(TABLE_4_4, 1, B) == pytest.approx(0.75 - 0.25 * 0.05)
    assert value(TABLE_4_4, 1, C, nodesets=2) == pytest.approx(0.5 - 0.25 * 0.05 - 0.25 * 0.2)
    assert value(TABLE_4_4, 2, A) == 1
    assert value(TABLE_4_4, 3, B) == 0.5
    assert value(TABLE_4_4, 2, C, nodesets=2) == pytest.approx(0.5 - 0.5 * 0.2)


def test_more_generic_resources_are_preferred():
    """The last term of (5.7): k4 (R_i + 1) / (R_max + 1)."""
    few, many = (value(TABLE_5_2, 2, A, generic=n, most=3) for n in (1, 3))
    assert (few, many) == (pytest.approx(1 + 0.1 * 2 / 4), pytest.approx(1.1))


@pytest.mark.parametrize("table", [TABLE_4_4, TABLE_5_2])
@pytest.mark.parametrize("job_type", [1, 2, 3])
@given(st.integers(1, 99), st.integers(1, 99), st.integers(1, 99), st.integers(2, 9))
def test_contiguous_and_aligned_bids_are_preferred(table, job_type, a, b, c, sets):
    """Section 4.2: A above B above C, whatever the number of nodes."""
    assert value(table, job_type, A, a) > value(table, job_type, B, b)
    assert value(table, job_type, B, b) > value(table, job_type, C, b, sets)
    assert value(table, job_type, B, 99) > value(table, 2, C, c, sets) or job_type == 1


def test_a_node_more_counts_on_any_machine():
    """4 nodes against 5 on 20,000, with ranks of 200 jobs; (4.12) differs by 0.0000125."""
    priorities = list(range(40_001, 40_201))
    few, many = (value(TABLE_4_4, 1, A, nodes=nodes) for nodes in (4, 5))
    scale = 100 / 20_001
    few, many = 1 - (1 - few) * scale, 1 - (1 - many) * scale
    weight_of_few, weight_of_many = preferring_weights(priorities, [0, 0], [few, many])
    assert weight_of_few > weight_of_many


def test_high_priorities_keep_programs_in_range():
    """Points of 2^31 for 200 jobs, and preferences are counted in fewer parts."""
    priorities = [2**31] * 200
    assert sum(preferring_weights(priorities, range(200), [1.1] * 200)) < 2**62
    assert sum(costing_weights(priorities, range(200), [0.1] * 200)) < 2**62


@given(
    st.lists(st.tuples(st.integers(1, 40), st.floats(0, 1.1)), min_size=2, max_size=6), st.data(),
)  # fmt: skip
def test_preferences_never_outweigh_a_point_of_priority(jobs, data):
    """With alpha = 1 / (1.1 |J| + 1), of two selections that with more priority is worth more."""
    priorities = [priority for priority, _ in jobs]
    worth = preferring_weights(priorities, range(len(jobs)), [preference for _, preference in jobs])
    chosen = data.draw(st.sets(st.sampled_from(range(len(jobs)))))
    others = data.draw(st.sets(st.sampled_from(range(len(jobs)))))
    if sum(priorities[job] for job in chosen) > sum(priorities[job] for job in others):
        assert sum(worth[job] for job in chosen) > sum(worth[job] for job in others)


def test_costs_of_bids():
    """(6.5) by hand: 1 + 4/8 + 1/2 - 1/3; and on one switch without GPUs, 1 + 4/8."""
    four, single = np.array([4]), np.array([1])
    assert costs(nodes=(four, 8), level=(single, 2), generic=(single, 3))[0] == pytest.approx(5 / 3)
    assert costs(nodes=(four, 8), level=(0 * single, 0), generic=(0 * single, 0))[0] == 1.5


def test_beta_by_hand():
    """A third of the smallest difference that is not 0; small and lonely priorities cap it."""
    for priorities, right in (
        ([10, 15, 12], 2 / 3),
        ([10, 10, 15], 5 / 3),
        ([1, 9], 0.999 / 3),
        ([7], 7 * 0.999 / 3),
    ):
        numerator, denominator = beta(priorities)
        assert numerator / denominator == pytest.approx(right)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.data())
def test_of_two_jobs_the_higher_priority_keeps_the_higher_weight(priorities, data):
    """What the thesis proves (6.8-6.13) holds, whatever the costs in (0, 3]."""
    cost = data.draw(
        st.lists(st.floats(0.001, 3), min_size=len(priorities), max_size=len(priorities))
    )
    worth = costing_weights(priorities, range(len(priorities)), cost)
    for first, second in combinations(range(len(priorities)), 2):
        if priorities[first] != priorities[second]:
            higher = priorities[first] > priorities[second]
            assert (worth[first] > worth[second]) is higher
    assert min(worth) > 0
