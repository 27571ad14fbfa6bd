"""How close simulated waits are to recorded ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from cpsched.metrics.validation import WaitErrors, WaitPairs, agrees_much_worse


@given(waits=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=30))
def test_rank_correlation_is_spearmans(waits):
    """Equal waits share the mean of their ranks; without differences there is no order."""
    recorded, simulated = np.array(waits, dtype=np.int64).T
    rank = WaitErrors.of(recorded, simulated).rank
    if min(np.ptp(recorded), np.ptp(simulated)) == 0:
        assert rank is None
    else:
        assert rank == pytest.approx(spearmanr(recorded, simulated).statistic)


@given(
    waits=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 99), st.integers(0, 4), st.booleans()),
        min_size=2,
        max_size=60,
    )
)
def test_the_errors_of_a_group_are_those_of_its_waits_alone(waits):
    """Bit for bit, also where the group is much smaller than the number of different waits."""
    recorded, simulated, held, inside = np.array(waits, dtype=np.int64).T
    own = np.flatnonzero(inside)
    if not len(own):
        return
    pairs = WaitPairs(
        rows=np.arange(len(waits)), recorded=recorded, simulated=simulated, held=held, lag=0
    )
    assert pairs.errors(own) == WaitErrors.of(recorded[own], simulated[own], held[own])
    assert pairs.errors(inside > 0) == pairs.errors(own)


def test_a_group_agrees_much_worse_if_its_bias_is_large_and_its_grade_poor():
    hour = np.full(4, 3600)
    every = WaitErrors.of(hour, hour + 600)
    assert agrees_much_worse("queue", WaitErrors.of(hour, hour + 1800), every)
    assert not agrees_much_worse("user", WaitErrors.of(hour, hour + 1800), every)
    assert not agrees_much_worse("queue", WaitErrors.of(hour, hour + 800), every)
    assert not agrees_much_worse("queue", WaitErrors.of(20 * hour, 20 * hour + 1800), every)


def test_the_mean_over_repetitions_counts_jobs_once():
    hour = np.full(4, 3600)
    late = WaitErrors.of(hour, hour + 1200, missing=2)
    mean = WaitErrors.mean([WaitErrors.of(hour, hour, missing=2), late])
    assert (mean.jobs, mean.missing) == (4, 2)
    assert (mean.recorded, mean.simulated, mean.bias) == (3600, 4200, 600)
    assert mean.within == pytest.approx((1 / 3, 1 / 3, 2 / 3))
    assert mean.rank is None
    assert WaitErrors.mean([late]) == late
