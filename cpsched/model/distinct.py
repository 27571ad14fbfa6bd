"""Equal values and rows, numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.arrays import is_constant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.base.types import AnyArray, IntArray

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
    One sort a column that is not constant: much faster than comparing rows, and a log has
    many jobs and few distinct requests.
    """
    code = np.zeros(num_rows, dtype=np.int64)
    size = 1
    for column in columns:
        if not num_rows or is_constant(column) or (column == column[0]).all():
            continue
        values, own = np.unique(column, return_inverse=True)
        if size * len(values) >= _ROOM:
            found, code = np.unique(code, return_inverse=True)
            size = len(found)
        code = code * len(values) + own
        size *= len(values)
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    return code.astype(np.int64), first.astype(np.int64)


def by_appearance(values: AnyArray) -> tuple[IntArray, IntArray]:
    """
    Number distinct values in the order in which they appear.

    Returns
    -------
    code, first
        Each value's number, and where each number appears first.
    """
    _, first, code = np.unique(values, return_index=True, return_inverse=True)
    return renumbered(code, first)


def renumbered(code: IntArray, first: IntArray) -> tuple[IntArray, IntArray]:
    """Return codes, and where each appears first, numbered in the order in which they appear."""
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return rank[code], first[order]
