"""Sorting and filling inside kernels, and the number that stands for never."""

from __future__ import annotations

import numpy as np
from numba import types

from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf

#: Later than any second, more than any amount.
FAR = np.int64(2**62)

# numba compiles a kernel once more for each *literal* whole number that it is called with; these
# are not literals.
ZERO, ONE, NONE = np.int64(0), np.int64(1), np.int64(-1)

# Of the C library, thrice as fast as a loop.
_memmove = types.ExternalFunction("memmove", types.intp(types.intp, types.intp, types.intp))


@leaf
def move(array, source, target, count):
    """Copy so many entries of a contiguous array from one place in it to another."""
    size = array.itemsize
    _memmove(array.ctypes.data + target * size, array.ctypes.data + source * size, count * size)


@inner
def sort_by(key, order, count):
    """
    Sort the first ``count`` entries of ``order`` by their ``key`` (aligned with it), stably.

    A bottom-up merge sort: numpy's own takes several seconds to compile. ``key`` is sorted along.
    """
    spare_key = np.empty(len(key))
    spare_order = np.empty(len(order), dtype=np.int64)
    width = 1
    while width < count:
        low = 0
        while low < count:
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or key[i] <= key[j]):
                    spare_key[k] = key[i]
                    spare_order[k] = order[i]
                    i += 1
                else:
                    spare_key[k] = key[j]
                    spare_order[k] = order[j]
                    j += 1
            low = high
        for k in range(count):
            key[k] = spare_key[k]
            order[k] = spare_order[k]
        width *= 2


@inner
def twice(array):
    """Return an array twice as long that begins with the entries of this one."""
    grown = np.empty(2 * len(array), dtype=array.dtype)
    for i in range(len(array)):
        grown[i] = array[i]
    return grown


@inner
def filled(length, value):
    """Return an array of one value."""
    array = np.empty(length, dtype=np.int64)
    for i in range(length):
        array[i] = value
    return array


@kernel
def all_marked(rows, count, marks):
    """Say whether the first ``count`` rows are all marked."""
    for i in range(count):
        if not marks[rows[i]]:
            return False
    return True
