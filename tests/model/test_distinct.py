"""Equal values and rows, numbered."""

from __future__ import annotations

import numpy as np
import pytest

from cpsched.model.distinct import distinct, distinct_rows, has_character


@pytest.mark.parametrize("rows", [0, 1, 2, 40, 500])
def test_distinct_rows_are_those_of_numpy(rows):
    rng = np.random.default_rng(rows)
    table = np.repeat(rng.integers(0, 3, (rows, 2)), rng.integers(1, 4, rows), axis=0)
    distinct, counts = distinct_rows(table)
    if not rows:
        assert distinct.shape == (0, 2)
        assert counts.shape == (0,)
        return
    expected, expected_counts = np.unique(table, axis=0, return_counts=True)
    assert distinct.tolist() == expected.tolist()
    assert counts.tolist() == expected_counts.tolist()


@pytest.mark.parametrize("rows", [0, 1, 2, 40, 500])
def test_distinct_codes_are_those_of_numpy(rows):
    rng = np.random.default_rng(rows)
    table = rng.integers(-3, 3, (rows, 3))
    code, first = distinct([*table.T, table[:, 0] > 0, np.zeros(rows)], rows)
    _, expected_first, expected = np.unique(table, axis=0, return_index=True, return_inverse=True)
    assert code.tolist() == expected.ravel().tolist()
    assert first.tolist() == expected_first.tolist()


def test_distinct_codes_do_not_overflow():
    """Fifteen columns of twenty values make more codes than an integer has."""
    table = np.random.default_rng(1).permuted(np.tile(np.arange(20), (15, 1)), axis=1).T
    code, first = distinct([*table.T] * 2, 20)
    assert sorted(code.tolist()) == list(range(20))
    assert table[first][code].tolist() == table.tolist()


@pytest.mark.parametrize(
    ("texts", "expected"), [([], False), (["12", "a"], False), (["12", "", "1#2"], True)]
)
def test_a_character_is_found_in_any_text(texts, expected):
    assert has_character(np.array(texts, dtype=np.str_), "#") == expected
