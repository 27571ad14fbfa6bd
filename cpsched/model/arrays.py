"""Arrays that others cannot make writable, that lie in files, and that are of one value."""

from __future__ import annotations

import os
from math import prod
from mmap import MADV_DONTNEED, PAGESIZE, mmap
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from cpsched.util.types import AnyArray, IntArray


#: Arrays of so many bytes lie in a file that is in no folder: what is not looked at for long need
#: not be in memory (:func:`let_go`).
_IN_FILE = 1 << 28
#: Rows that are copied at once.
_PIECE = 1 << 16


def shared(*shape: int) -> tuple[IntArray, IntArray]:
    """
    Return two arrays of zeros over the same memory, in a file if they are large.

    Returns
    -------
    writable, shown
        int64, for the owner and for everyone else.

    Raises
    ------
    OSError
        If there is no room for the file, in the folder for temporary files.
    """
    # An empty buffer need not be aligned.
    size = 8 * max(prod(shape), 1)
    memory = bytearray(size) if size < _IN_FILE else _file(size)
    writable, shown = (
        np.frombuffer(face, dtype=np.int64)[: prod(shape)].reshape(shape)
        for face in (memory, memoryview(memory).toreadonly())
    )
    return writable, shown


def _file(size: int) -> mmap:
    with TemporaryFile() as file:
        # Or the process would be killed where the disk is full.
        os.posix_fallocate(file.fileno(), 0, size)
        return mmap(file.fileno(), size)


def let_go(array: AnyArray, first: int, end: int) -> None:
    """
    Take rows ``[first, end)`` of an array out of memory where it lies in a file.

    A look brings them back, and megabytes around them: what is looked at row by row is let go from
    the first row on each time.
    """
    memory = _file_of(array)
    if memory is not None:
        start = array.ctypes.data - np.frombuffer(memory, dtype=np.uint8).ctypes.data
        low = -(-(start + first * array.strides[0]) // PAGESIZE) * PAGESIZE
        high = (start + end * array.strides[0]) // PAGESIZE * PAGESIZE
        if low < high:
            memory.madvise(MADV_DONTNEED, low, high - low)


def _file_of(array: AnyArray) -> mmap | None:
    memory: Any = array
    while isinstance(memory, np.ndarray):
        memory = memory.base
    if isinstance(memory, memoryview):
        memory = memory.obj
    return memory if isinstance(memory, mmap) else None


def move(rows: AnyArray, target: AnyArray) -> None:
    """Copy rows to the beginning of another array; of large ones only a part is in memory."""
    for first in range(0, len(rows), _PIECE):
        end = min(first + _PIECE, len(rows))
        target[first:end] = rows[first:end]
        let_go(rows, 0, end)
        let_go(target, 0, end)


def put_away(array: AnyArray) -> Any:
    """Return the array, or where it is large and not in a file, a copy of it in one."""
    return _file_copy(array) if _is_large(array) and _file_of(array) is None else array


def copied(array: AnyArray) -> Any:
    """Return a copy; a large one lies in a file, out of memory."""
    return _file_copy(array) if _is_large(array) else array.copy()


def _is_large(array: AnyArray) -> bool:
    return array.nbytes >= _IN_FILE and bool(array.ndim) and not is_constant(array)


def _file_copy(array: AnyArray) -> Any:
    memory = _file(array.nbytes)
    copy = np.frombuffer(memory, dtype=array.dtype).reshape(array.shape)
    move(array, copy)
    return copy


def plain(column: Any) -> Sequence[int]:
    """Return a column of numbers, to look at them one by one as Python's own; nothing is copied."""
    return memoryview(column)


def constant(value: int, shape: tuple[int, ...], dtype: DTypeLike = np.int64) -> Any:
    """Return an array of one value: it takes no memory, however long, and cannot be written to."""
    return np.broadcast_to(np.array(value, dtype=dtype), shape)


def compact(array: AnyArray) -> Any:
    """Return an array whose values are all equal as one of :func:`constant`, others as they are."""
    if not len(array) or is_constant(array) or (array != array[0]).any():
        return array
    return constant(array[0], array.shape, array.dtype)


def is_constant(array: AnyArray) -> bool:
    """Whether an array is of :func:`constant`, or rows of such a one."""
    return not any(array.strides)


def rows_of(array: AnyArray, rows: IntArray) -> Any:
    """Return the given rows; those of an array of one value are one, too."""
    if is_constant(array):
        shape = (len(rows), *array.shape[1:])
        return as_strided(array, shape, array.strides, writeable=False)
    selected = array[rows]
    # Reading scattered rows of a column in a file brings most of the file into memory.
    let_go(array, 0, len(array))
    return selected


def immutable(array: AnyArray) -> Any:
    """Return a copy that nobody can change."""
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)
