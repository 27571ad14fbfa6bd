"""Runs of free nodes are those that a look at one node after the other finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cpsched_papers.wla.machine_slots import runs


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=12))
def test_runs_are_as_long_as_can_be_and_of_one_sort(nodes: list[tuple[bool, int]]):
    """A node goes on with the run before it if both are free and of one sort."""
    expected: list[list[int]] = []
    before = None
    for node, (is_free, sort) in enumerate(nodes):
        if is_free and before == (True, sort):
            expected[-1][1] = node + 1
        elif is_free:
            expected.append([node, node + 1])
        before = is_free, sort
    free = np.array([is_free for is_free, _ in nodes], dtype=np.bool_)
    begins = np.flatnonzero(np.diff([sort for _, sort in nodes], prepend=-1))
    assert np.transpose(runs(free, begins)).tolist() == expected
