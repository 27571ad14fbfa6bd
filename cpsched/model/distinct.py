"""Equal values and rows, numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.arrays import is_constant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.util.types import AnyArray, IntArray, StrArray

#: Codes are renumbered before they could overflow.
_ROOM = 1 << 62


def distinct(columns: Iterable[AnyArray], num_rows: int) -> tuple[IntArray, IntArray]:
    """
    Return which rows are equal.

    Parameters
    ----------
    columns
        Integers or booleans, one value a row each.

    Returns
    -------
    code, first
        Equal rows have equal codes, shape ``(num_rows,)``; ``first[code]`` is the first row that
        has it.

    Notes
    -----
    One table of values a column that is not constant: much faster than comparing rows, and a log
    has many jobs and few distinct requests.
    """
    code = np.zeros(num_rows, dtype=np.int64)
    size = 1
    for column in columns:
        if not num_rows or is_constant(column) or (column == column[0]).all():
            continue
        own, values = by_size(column)
        if size * len(values) >= _ROOM:
            code, before = by_size(code)
            size = len(before)
        code = code * len(values) + own
        size *= len(values)
    return by_size(code)


def by_size(values: AnyArray) -> tuple[IntArray, IntArray]:
    """
    Number distinct integers by size, without sorting all of them.

    Returns
    -------
    code, first
        Each value's number, and where each number appears first.
    """
    code, first = by_appearance(values)
    order = np.argsort(values[first])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[code], first[order]


def distinct_rows(table: IntArray) -> tuple[IntArray, IntArray]:
    """
    Return the different rows of a table, sorted, and how often each occurs.

    Neighbours that are equal, as most nodes of a machine are, are compared once.
    """
    begins = np.flatnonzero((table[1:] != table[:-1]).any(axis=1)) + 1
    begins = np.append(0, begins) if len(table) else begins
    rows, kind = np.unique(table[begins], axis=0, return_inverse=True)
    counts = np.zeros(len(rows), dtype=np.int64)
    np.add.at(counts, kind.ravel(), np.diff(begins, append=len(table)))
    # Not a view of the records that NumPy compares.
    return rows.copy(), counts


def any_repeated(texts: StrArray) -> bool:
    """Tell whether a text occurs twice; of many, only a number for each is held."""
    number = np.zeros(len(texts), dtype=np.uint64)
    for characters in _characters(texts):
        # FNV-1a, a character at a time.
        number = (number ^ characters) * np.uint64(0x100000001B3)
    number.sort()
    if not (number[1:] == number[:-1]).any():
        return False
    # Different texts hardly ever have one number.
    return len(set(texts.tolist())) < len(texts)


def has_character(texts: StrArray, character: str) -> bool:
    """Tell whether a character occurs in a text."""
    return any((characters == ord(character)).any() for characters in _characters(texts))


def has_nul(texts: StrArray) -> bool:
    """Tell whether a text has a NUL inside; NumPy pads with them."""
    before = np.zeros(len(texts), dtype=np.bool_)
    for characters in _characters(texts):
        if (before & (characters != 0)).any():
            return True
        before |= characters == 0
    return False


def _characters(texts: StrArray) -> AnyArray:
    """Return the first character of each text, the second and so on, shape ``(width, n)``."""
    width = texts.dtype.itemsize // 4
    return np.ascontiguousarray(texts).view(np.uint32).reshape(len(texts), width).T


def by_appearance(values: AnyArray) -> tuple[IntArray, IntArray]:
    """
    Number distinct integers in the order in which they appear.

    Returns
    -------
    code, first
        Each value's number, and where each number appears first.
    """
    from cpsched.util.arrow import numbers, plain

    encoded = numbers(values.astype(np.int64)).dictionary_encode()
    code = plain(encoded.indices.cast("int64"))
    return code, np.flatnonzero(np.diff(np.maximum.accumulate(code), prepend=-1))


def renumbered(code: IntArray, first: IntArray) -> tuple[IntArray, IntArray]:
    """Return codes, and where each appears first, numbered in the order in which they appear."""
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return rank[code], first[order]
