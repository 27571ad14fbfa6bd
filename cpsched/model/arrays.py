"""Arrays that others read and cannot make writable: over memory that refuses to be written to."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from cpsched.base.types import AnyArray, IntArray


def shared(*shape: int) -> tuple[IntArray, IntArray]:
    """
    Return two arrays of zeros over the same memory.

    Returns
    -------
    writable, shown
        int64, for the owner and for everyone else.
    """
    # An empty buffer need not be aligned, and kernels are compiled for aligned arrays.
    memory = bytearray(8 * max(prod(shape), 1))
    writable, shown = (
        np.frombuffer(face, dtype=np.int64)[: prod(shape)].reshape(shape)
        for face in (memory, memoryview(memory).toreadonly())
    )
    return writable, shown


def immutable(array: AnyArray) -> Any:
    """Return a copy that nobody can change."""
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)
