"""
Arrow columns from NumPy, built from their buffers.

``pyarrow.array`` imports pandas whenever that is installed, which takes longer than writing most
runs; these do not.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.types import AnyArray, BoolArray

_TYPES = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "int8": pa.int8(),
    "float64": pa.float64(),
}


def numbers(values: AnyArray, known: BoolArray | None = None) -> pa.Array:
    """
    Return numbers or flags as a column.

    Parameters
    ----------
    values
        int64, int32, int8, float64 or bool, shape ``(n,)``.
    known
        Where there is a value; null elsewhere. All, where None.
    """
    validity = None if known is None else _bits(known)
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [validity, _bits(values)])
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(_TYPES[values.dtype.name], len(values), [validity, data])


def strings(texts: Sequence[str | None]) -> pa.Array:
    """Return texts as a column, null where None."""
    encoded = [b"" if text is None else text.encode() for text in texts]
    ends = np.fromiter(accumulate(map(len, encoded)), dtype=np.int64, count=len(encoded))
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), ends])
    if offsets[-1] >= 2**31:
        raise ValueError("a column of texts may hold 2 GB")
    known = np.array([text is not None for text in texts], dtype=np.bool_)
    return pa.StringArray.from_buffers(
        len(encoded),
        pa.py_buffer(offsets.astype(np.int32)),
        pa.py_buffer(b"".join(encoded)),
        None if known.all() else _bits(known),
    )


def coded(codes: AnyArray, values: Sequence[str]) -> pa.Array:
    """Return ``values[codes]`` as a column of texts, null where a code is negative."""
    indices = numbers(codes.astype(np.int64), codes >= 0)
    return pa.DictionaryArray.from_arrays(indices, strings(values)).dictionary_decode()


def _bits(flags: BoolArray) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
