"""
Columns of text in Arrow: the rows of delimited text, and the numbers in them.

``pyarrow.scalar``, ``pyarrow.array`` and ``to_numpy`` import pandas whenever that is installed,
which takes longer than reading most logs; what is here does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from cpsched.util import arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.util.types import BoolArray, IntArray

#: Numbers of more digits are beyond all bounds.
_BEYOND = 10**18
_FITS = r"\A-?[0-9]{1,18}\z"


def rows_of(
    text: bytes,
    lines: IntArray,
    names: Sequence[str],
    reject: Callable[[int, int, str], None],
    **parse: Any,
) -> tuple[pa.Table, IntArray]:
    """
    Return rows of text as columns of texts.

    Parameters
    ----------
    text
        Rows that end in a newline; blank ones are passed over.
    lines
        Line of each row that is not blank.
    reject
        Takes the line of a row with another number of cells, that number, and the row.
    parse
        How cells are divided: arguments of ``pyarrow.csv.ParseOptions``.

    Returns
    -------
    table, lines
        The other rows, and their lines.
    """
    complete = np.ones(len(lines), dtype=np.bool_)

    def handle(row: csv.InvalidRow) -> str:
        complete[row.number - 1] = False
        reject(int(lines[row.number - 1]), row.actual_columns, row.text)
        return "skip"

    options = csv.ParseOptions(invalid_row_handler=handle, **parse)
    return typed_rows(text, dict.fromkeys(names, pa.string()), options), lines[complete]


def typed_rows(text: bytes, types: dict[str, Any], options: csv.ParseOptions) -> pa.Table:
    """Return rows of text as columns of the given types, by name."""
    return csv.read_csv(
        pa.py_buffer(text),
        read_options=csv.ReadOptions(
            column_names=list(types), use_threads=False, block_size=len(text) + 1
        ),
        parse_options=options,
        convert_options=csv.ConvertOptions(column_types=types, null_values=[]),
    )


def parsed(
    texts: pa.Array | pa.ChunkedArray, read: Callable[[str], int]
) -> tuple[IntArray, BoolArray, BoolArray]:
    """
    Return texts as whole numbers.

    Parameters
    ----------
    read
        Reads what Arrow does not take for a whole number, or raises ``ValueError``.

    Returns
    -------
    values, empty, wrong
        Each of shape ``(n,)``; 0 where a text is empty or wrong.
    """
    import pyarrow.compute as pc

    blank = pc.equal(texts, arrow.strings([""])[0])
    given = pc.if_else(blank, arrow.strings([None])[0], texts)
    empty = values_of(given.is_null())
    wrong = np.zeros(len(texts), dtype=np.bool_)
    # Arrow takes hexadecimal numbers for whole ones, too.
    if not _matches(pc.match_substring(given, "x", ignore_case=True)).any():
        try:
            return values_of(filled(given.cast(pa.int64()), 0)), empty, wrong
        except pa.ArrowInvalid:
            pass
    fits = _matches(pc.match_substring_regex(given, _FITS))
    values = np.zeros(len(texts), dtype=np.int64)
    values[fits] = values_of(given.filter(arrow.numbers(fits)).cast(pa.int64()))
    others = np.flatnonzero(~fits & ~empty)
    odd = given.filter(arrow.numbers(~fits & ~empty)).to_pylist()
    for row, text in zip(others.tolist(), odd, strict=True):
        try:
            values[row] = max(-_BEYOND, min(read(text), _BEYOND))
        except ValueError:
            empty[row] = not text.strip()
            wrong[row] = not empty[row]
    return values, empty, wrong


def filled(cells: Any, value: float) -> Any:
    """Return cells with a value for nulls; pyarrow.scalar, and so fill_null, imports pandas."""
    return cells.fill_null(arrow.numbers(np.array([value])).cast(cells.type)[0])


def _matches(cells: Any) -> BoolArray:
    matches: BoolArray = values_of(filled(cells, False))
    return matches


def values_of(cells: pa.ChunkedArray | pa.Array, dtype: Any = None) -> Any:
    """Return numbers or flags without nulls, from their buffers; of the given type, if any."""
    chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    # Not combined by Arrow, which would have a second copy of a long column.
    parts = [np.empty(0, dtype=_dtype(cells.type)), *(_values(chunk) for chunk in chunks)]
    return np.concatenate(parts, dtype=dtype)


def _values(array: pa.Array) -> Any:
    data, end = array.buffers()[1], array.offset + len(array)
    if data is None:
        return np.empty(0, dtype=_dtype(array.type))
    if pa.types.is_boolean(array.type):
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little", count=end)
        return bits[array.offset :].view(np.bool_)
    return np.frombuffer(data, _dtype(array.type))[array.offset : end]


def _dtype(kind: pa.DataType) -> str:
    return str(kind).replace("double", "float64")
