"""How close simulated waits are to recorded ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from cpsched.metrics.validation import WaitErrors


@given(waits=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=30))
def test_rank_correlation_is_spearmans(waits):
    """Equal waits share the mean of their ranks; without differences there is no order."""
    recorded, simulated = np.array(waits, dtype=np.int64).T
    rank = WaitErrors.of(recorded, simulated).rank
    if min(np.ptp(recorded), np.ptp(simulated)) == 0:
        assert rank is None
    else:
        assert rank == pytest.approx(spearmanr(recorded, simulated).statistic)
