"""Equal values and rows, numbered."""

from __future__ import annotations

import numpy as np
import pytest

from cpsched.model.distinct import distinct_rows


@pytest.mark.parametrize("rows", [0, 1, 2, 40, 500])
def test_distinct_rows_are_those_of_numpy(rows):
    rng = np.random.default_rng(rows)
    table = np.repeat(rng.integers(0, 3, (rows, 2)), rng.integers(1, 4, rows), axis=0)
    found, counts = distinct_rows(table)
    if not rows:
        assert found.shape == (0, 2)
        assert counts.shape == (0,)
        return
    expected, expected_counts = np.unique(table, axis=0, return_counts=True)
    assert found.tolist() == expected.tolist()
    assert counts.tolist() == expected_counts.tolist()
