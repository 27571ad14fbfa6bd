"""Native functions on long columns, against numpy and plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpsched._core import num_up_to, numbered_sequences

rising = st.lists(st.integers(-20, 20), max_size=30).map(sorted)


@given(rising, rising)
def test_num_up_to_is_a_search_of_each_limit(values, limits):
    """Of equal values all count; limits may repeat."""
    values, limits = (np.array(column, dtype=np.int64) for column in (values, limits))
    expected = np.searchsorted(values, limits, side="right")
    assert num_up_to(values, limits).tolist() == expected.tolist()


pairs = st.tuples(st.integers(0, 2), st.integers(1, 2))


@given(st.lists(st.lists(pairs, max_size=3), max_size=20))
def test_equal_sequences_have_the_same_number(sequences):
    """Numbers are in order of first appearance; an empty sequence is one, too."""
    rows = np.array([pair for sequence in sequences for pair in sequence], dtype=np.int64).reshape(
        -1, 2
    )
    begin = np.cumsum([0, *map(len, sequences)])
    number, first = numbered_sequences(rows, begin)
    distinct = list(dict.fromkeys(map(tuple, sequences)))
    assert number.tolist() == [distinct.index(tuple(sequence)) for sequence in sequences]
    assert first.tolist() == [sequences.index(list(sequence)) for sequence in distinct]


@pytest.mark.parametrize("begin", [[0, 3], [-1, 1], [1, 0]])
def test_sequences_outside_the_rows_are_refused(begin):
    """There are two rows."""
    with pytest.raises(ValueError, match="begin must rise"):
        numbered_sequences(np.zeros((2, 2), dtype=np.int64), np.array(begin))
