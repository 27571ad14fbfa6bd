"""The cells of a table, whether they came as text (CSV) or typed (Parquet), as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cpsched.errors import TraceError, did_you_mean
from cpsched.logs.columns import filled, parsed, values_of
from cpsched.logs.rejects import RowChecks, repeated
from cpsched.logs.text import MAX_ID, FilePosition
from cpsched.model.arrays import constant, put_away
from cpsched.model.workload import Labels
from cpsched.util import arrow
from cpsched.util.csv_cells import csv_text, guarded
from cpsched.util.quantities import integer

# pyarrow.compute is imported where a table is read: who writes one has no need of it, and it is
# slow to load.

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from enum import IntEnum
    from pathlib import Path

    from cpsched.logs.rejects import RejectedRows
    from cpsched.util.types import BoolArray, IntArray, StrArray

_NUL = "contains a NUL character, must be text"
#: Texts that are Python's at once.
_PIECE = 1 << 16
_FLAGS = {"true": 1, "false": 0, "1": 1, "0": 0}


@dataclass(frozen=True, slots=True)
class LogTable:
    """
    A table as read from a file.

    Attributes
    ----------
    columns
        Column by name; text is ``""`` or null where a cell is empty.
    line
        Shape ``(rows,)``: line each row starts on; None where the file has no lines.
    metadata
        What the file says of itself, by key.
    comments
        Comment lines that are not metadata.
    """

    path: Path
    columns: Mapping[str, pa.ChunkedArray]
    num_rows: int
    line: IntArray | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    comments: tuple[str, ...] = ()

    def wrong_column(self, name: str, message: str) -> TraceError:
        """Return the error for a column."""
        return TraceError(message, file=self.path, field=name or "''")

    def position_of(self, row: int) -> FilePosition:
        """Return where a row is."""
        if self.line is None:
            return FilePosition(self.path, item=f"row {row + 1}")
        return FilePosition(self.path, int(self.line[row]))

    def texts_of(self, rows: Sequence[int]) -> list[str]:
        """Return rows as lines of CSV."""
        cells = [
            plain_cells(column.take(arrow.numbers(np.array(rows))))
            for column in self.columns.values()
        ]
        return [csv_text([[cell] for cell in row])[:-1] for row in zip(*cells, strict=True)]


class TableCells:
    """
    Columns of a table as arrays.

    Attributes
    ----------
    checks
        Where invalid cells are marked.
    """

    def __init__(self, table: LogTable, rejected: RejectedRows) -> None:
        self._table = table
        self.checks = RowChecks(table.num_rows, rejected)

    def __contains__(self, column: str) -> bool:
        return column in self._table.columns

    def jobs(self, never_ran: BoolArray) -> tuple[IntArray, tuple[tuple[str, int], ...]]:
        """Return the rows that are jobs, and how many others there are, by reason."""
        self.checks.reject(self._table.position_of, self._table.texts_of)
        return self.checks.jobs(self._table.path, never_ran=never_ran)

    def integers(self, column: str, low: int, high: int, blank: int | None = None) -> IntArray:
        """
        Return whole numbers from ``low`` to ``high``, shape ``(rows,)``.

        ``blank`` is what an empty cell stands for; None: it must not be empty. A column the
        table does not have is empty.
        """
        numbers: IntArray
        if column not in self and blank is not None:
            numbers = constant(blank, (self._table.num_rows,))
            return numbers
        values, empty, wrong = self._numbers(column)
        if blank is None:
            self._fail(empty, "must not be empty", column)
        self._fail(wrong, "is not a whole number", column)
        outside = ~empty & ~wrong & ((values < low) | (values > high))
        self._fail(outside, f"must be from {low} to {high}", column)
        values[empty] = blank if blank is not None else low
        numbers = put_away(values)
        return numbers

    def flag(self, column: str) -> BoolArray:
        """Return true (``true``, ``1``) and false (``false``, ``0``, empty) cells."""
        if column not in self:
            flags: BoolArray = constant(0, (self._table.num_rows,), np.bool_)
            return flags
        return self._coded(column, _FLAGS, 0, "is neither true nor false").astype(np.bool_)

    def choice(self, column: str, choices: type[IntEnum], blank: int) -> IntArray:
        """Return members of an enumeration, written by their names in lower case."""
        if column not in self:
            blanks: IntArray = constant(blank, (self._table.num_rows,))
            return blanks
        codes = {choice.name.lower(): int(choice) for choice in choices}
        return self._coded(column, codes, blank, f"is not one of {', '.join(codes)}")

    def labels(self, column: str) -> Labels:
        """Return strings, empty cells as unknown."""
        if column not in self:
            return Labels.unknown(self._table.num_rows)
        codes, texts = self._text(column)
        labels = Labels(codes, tuple(texts.to_pylist()))
        if "" in labels.values or pa.types.is_dictionary(self._table.columns[column].type):
            # Codes by first appearance, whatever the order in the file is.
            known = np.array([*map(bool, labels.values), False])[codes]
            labels = Labels(np.where(known, codes, -1), labels.values).in_order()
        # Neither a table nor NumPy's strings keep a NUL.
        if "\0" in "".join(labels.values):
            nuls = np.array([*("\0" in value for value in labels.values), False])
            self._fail(nuls[labels.codes], _NUL, column)
        return Labels(put_away(labels.codes), labels.values)

    def ids(self, column: str) -> StrArray:
        """Return ids of limited length, ``""`` where empty or wrong; shape ``(rows,)``."""
        import pyarrow.compute as pc

        codes, texts = self._text(column)
        length = values_of(pc.utf8_length(texts))
        nul = np.append(values_of(pc.match_substring(texts, "\0")), False)
        self._fail(nul[codes], _NUL, column)
        long = np.append(length > MAX_ID, False)
        self._fail(long[codes], f"must have at most {MAX_ID} characters", column)
        self._fail(np.append(length == 0, True)[codes], "must not be empty", column)
        as_is = bool((codes == np.arange(len(codes))).all())
        if not as_is:
            self._fail(repeated(codes), "is the id of another row", column)
        widest = int(length.max(initial=1, where=~long[:-1]))
        ids: StrArray = np.zeros(len(texts) + 1, dtype=f"U{widest}")
        # In parts: as many Python strings would take more memory than all columns.
        for first in range(0, len(texts), _PIECE):
            part = texts[first : first + _PIECE].to_pylist()
            ids[first : first + len(part)] = part
        ids[:-1][long[:-1]] = ""
        cells: StrArray = put_away(ids[:-1] if as_is else ids[codes])
        return cells

    def _fail(self, wrong: BoolArray, message: str, column: str) -> None:
        if wrong.any():
            self.checks.fail(wrong, message, column, self._table.columns.get(column))

    def _coded(self, column: str, codes: Mapping[str, int], blank: int, wrong: str) -> IntArray:
        """Return the numbers that words stand for."""
        labels = self.labels(column)
        known = [codes.get(value.strip().lower()) for value in labels.values]
        table = np.array([*(blank if code is None else code for code in known), blank])
        unknown = np.array([*(code is None for code in known), False])
        self._fail(unknown[labels.codes], wrong, column)
        coded: IntArray = put_away(table[labels.codes].astype(np.int64))
        return coded

    def _numbers(self, column: str) -> tuple[IntArray, BoolArray, BoolArray]:
        """Return values, which cells are empty, and which are not whole numbers."""
        num_rows = self._table.num_rows
        if column not in self:
            empty = np.ones(num_rows, dtype=np.bool_)
            return np.zeros(num_rows, dtype=np.int64), empty, ~empty
        cells = self._table.columns[column]
        if pa.types.is_floating(cells.type):
            return _from_floats(cells)
        if pa.types.is_string(cells.type):
            return parsed(cells, lambda text: integer(text.strip()))
        if not pa.types.is_integer(cells.type):
            codes, texts = self._text(column)
            values, empty, wrong = parsed(texts, lambda text: integer(text.strip()))
            return (
                np.append(values, 0)[codes],
                np.append(empty, True)[codes],
                np.append(wrong, False)[codes],
            )
        values = values_of(filled(cells, 0), np.int64)
        # What only an unsigned number can hold is beyond all bounds, and negative here.
        big = (values < 0) & pa.types.is_unsigned_integer(cells.type)
        values[big] = 0
        return values, values_of(cells.is_null()), big

    def _text(self, column: str) -> tuple[IntArray, pa.StringArray]:
        """Return a column as codes, -1 for null, and the texts that they stand for."""
        cells = self._table.columns[column]
        kind = cells.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if not (_is_string(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            raise self._table.wrong_column(
                column, f"has type {kind}, must be text or whole numbers"
            )
        if not (pa.types.is_dictionary(cells.type) and _is_string(kind)):
            cells = cells.cast(pa.string()).dictionary_encode()
        coded = cells.unify_dictionaries().combine_chunks()
        return values_of(filled(coded.indices, -1), np.int64), coded.dictionary


def check_columns(
    table: LogTable, what: str, known: Collection[str], required: Collection[str]
) -> None:
    """
    Check which columns a table has.

    Raises
    ------
    TraceError
        If one is not known (the closest known one is named), or one required is not there.
    """
    for name in table.columns:
        if name not in known:
            hint = did_you_mean(name, known)
            raise table.wrong_column(name, f"unknown column in {what}.{hint}")
    for name in required:
        if name not in table.columns:
            raise table.wrong_column(name, f"{what} needs this column")


def plain_cells(cells: pa.Array) -> list[Any]:
    """Return cells as CSV has them: nothing for null, true and false."""
    words = {None: "", True: "true", False: "false"}
    if pa.types.is_boolean(cells.type):
        return [words[cell] for cell in cells.to_pylist()]
    return ["" if cell is None else guarded(cell) for cell in cells.to_pylist()]


def _from_floats(cells: pa.ChunkedArray) -> tuple[IntArray, BoolArray, BoolArray]:
    """Other tools turn columns of whole numbers with gaps into floats; NaN is a gap."""
    floats = values_of(filled(cells.cast(pa.float64()), np.nan))
    empty = np.isnan(floats)
    wrong = ~empty & ((np.abs(floats) > 2**53) | (floats != np.round(floats)))
    return np.where(empty | wrong, 0, floats).astype(np.int64), empty, wrong


def _is_string(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
    )
