"""Arrow columns built from buffers are what pyarrow itself would make."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cpsched.util import arrow

pytestmark = pytest.mark.slow

TEXTS = st.lists(st.none() | st.text(st.characters(codec="utf-8")), max_size=20)


@given(TEXTS.filter(bool), st.data())
def test_coded(texts, data):
    """A negative code is null."""
    values = [text or "" for text in texts]
    codes = data.draw(st.lists(st.integers(-1, len(values) - 1), max_size=20))
    expected = [values[code] if code >= 0 else None for code in codes]
    column = arrow.coded(np.array(codes, dtype=np.int64), values)
    assert column.equals(pa.array(expected, pa.string()))


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=5), max_size=20))
@example(["1", "", "long name", "0012"])
@example(["a\0b", "c"])
@example(["é", "c"])
def test_texts_of_an_array(texts):
    """Those of ASCII are read as numbers; an array drops zeros at the end of a text."""
    array = np.array(texts, dtype=np.str_)
    assert arrow.texts(array).equals(pa.array(array.tolist(), pa.string()))


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "float64", "bool"])
def test_numbers(dtype):
    """With and without gaps."""
    values = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1], dtype=dtype)
    known = values == 1
    assert arrow.numbers(values).to_pylist() == values.tolist()
    assert arrow.numbers(values, known).to_pylist() == [
        1 if value_known else None for value_known in known
    ]


def test_repeating_are_texts_but_the_ids():
    table = pa.table({"job_id": ["a"], "nodes": ["n1"], "units": [1]})
    assert arrow.repeating(table) == ["nodes"]


def test_memory_is_handed_back_without_harm():
    """How much is the allocators' affair."""
    numbers_in_arrow = pa.array(range(1000))
    arrow.release_unused()
    assert numbers_in_arrow.to_pylist() == list(range(1000))
