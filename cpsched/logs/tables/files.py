"""
Tables in files: CSV (plain or gzip) and Parquet, with their metadata.

In a CSV file that is ``# key: value`` lines (JSON values) before the header, in Parquet one JSON
document in the schema's metadata under ``cpsched``. In both, empty cells are nulls. In CSV, text
that a spreadsheet would evaluate is marked, see :mod:`cpsched.util.csv_cells`.

Arrow reads both. As it takes almost any text for CSV, lines with quotes and lines that
are no text are checked before, one by one.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cpsched.errors import TraceError
from cpsched.logs.columns import rows_of
from cpsched.logs.tables.cells import LogTable, plain_cells
from cpsched.logs.text import (
    MAX_LINE,
    MAX_ROWS,
    MAX_UNPACKED,
    SMALL_ROWS,
    FilePosition,
    check_comments,
    check_header,
    check_num_rows,
    chunks,
    decode,
    written,
)
from cpsched.util import arrow
from cpsched.util.csv_cells import FORMULA, csv_text
from cpsched.util.documents import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from cpsched.logs.rejects import RejectedRows
    from cpsched.util.types import IntArray

    Columns = Mapping[str, pa.Array]

#: The keys of a file's own metadata.
METADATA = ("cpsched-table", "title", "epoch", "layout", "resources", "header", "set_aside")

_ROWS_AT_ONCE = 50_000
_METADATA_LINE = re.compile(r"#\s*([a-z_\-]+):\s*(.*?)\s*", re.DOTALL)
_CELL = r'(?:"(?:[^"]++|"")*+"|[^",\r\n][^,\r\n]*+)?+'
_RECORD = re.compile(rf"{_CELL}(?:,{_CELL})*+\r?\n".encode())
#: The beginning of a record with a quote that does not end yet.
_OPEN = re.compile(rf'(?:{_CELL},)*+"(?:[^"]++|"")*+\Z'.encode())


# -- Parquet ------------------------------------------------------------------------------------


def read_parquet(path: Path) -> LogTable:
    """
    Read a Parquet file.

    Raises
    ------
    TraceError
        If it cannot be read.
    """
    try:
        with pq.ParquetFile(path) as file:
            about, schema = file.metadata, file.schema_arrow
            names = schema.names
            most = min(max(SMALL_ROWS, path.stat().st_size), MAX_ROWS)
            check_num_rows(about.num_rows, path, most)
            groups = (about.row_group(number) for number in range(about.num_row_groups))
            # A file may be small packed and too large unpacked.
            if sum(group.total_byte_size for group in groups) > MAX_UNPACKED:
                raise TraceError(f"holds more than {MAX_UNPACKED} bytes, unpacked", file=path)
            check_header(names, FilePosition(path))
            texts = sorted(_with_dictionary(file))
    except _DAMAGED as error:
        raise _unreadable(path, error) from error
    text = (schema.metadata or {}).get(b"cpsched", b"{}")
    metadata = _json(text.decode("utf-8", "replace"), "metadata", path)
    if not isinstance(metadata, dict):
        raise TraceError("must be a JSON object", file=path, field="metadata")
    return LogTable(path, _Columns(path, names, texts), about.num_rows, metadata=metadata)


class _Columns(Mapping[str, pa.ChunkedArray]):
    """The columns of a Parquet file, each read when it is looked at; the last one is kept."""

    def __init__(self, path: Path, names: list[str], texts: list[str]) -> None:
        self._path = path
        self._names = {name: at for at, name in enumerate(names)}
        # A text that the file holds once for millions of rows stays so.
        self._texts = texts
        self._last: tuple[str, pa.ChunkedArray] = ("", None)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        at = self._names[name]
        if self._last[0] != name or self._last[1] is None:
            self._last = ("", None)
            try:
                # Not the dataset reader: that one takes names like "a=b" apart.
                with pq.ParquetFile(
                    self._path, read_dictionary=self._texts, page_checksum_verification=True
                ) as file:
                    # Columns are counted otherwise where some have parts.
                    flat = file.metadata.num_columns == len(self)
                    column = file.reader.read_column(at) if flat else file.read().column(name)
                column.validate(full=True)
            except _DAMAGED as error:
                raise _unreadable(self._path, error) from error
            self._last = (name, column)
        return self._last[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


#: What reading a damaged file raises.
_DAMAGED = (pa.ArrowException, OSError, UnicodeDecodeError)


def _unreadable(path: Path, error: Exception) -> TraceError:
    reason = str(error).partition("\n")[0]
    return TraceError(f"cannot be read as Parquet: {reason}", file=path)


def _with_dictionary(file: pq.ParquetFile) -> set[str]:
    """Return the texts that hold each distinct value once and numbers of them in the rows."""
    about, names = file.metadata, set()
    for at, field in enumerate(file.schema_arrow):
        # Columns are counted otherwise where some have parts.
        if not pa.types.is_string(field.type) or about.num_columns != len(file.schema_arrow):
            continue
        for group in range(about.num_row_groups):
            # Reading refuses a damaged description of a column; asking for it ends the process.
            next(file.iter_batches(1, [group], [field.name], use_threads=False), None)
            if any(
                "DICTIONARY" in encoding for encoding in about.row_group(group).column(at).encodings
            ):
                names.add(field.name)
    return names


def write_parquet(tables: Iterable[Columns], metadata: Mapping[str, Any], path: Path) -> None:
    """Write columns, some rows after others, and metadata as Parquet."""
    with written(path) as file:
        arrow.write_file(file, tables, {"cpsched": json.dumps(metadata)}, write_page_checksum=True)


# -- CSV ----------------------------------------------------------------------------------------


def read_csv(path: Path, rejected: RejectedRows) -> LogTable:
    """
    Read a CSV file; all cells are text.

    Rows are rejected that do not have as many cells as the header, or have broken quotes, NUL bytes
    or bytes that are not UTF-8.

    Raises
    ------
    TraceError
        If the file cannot be read, or its comments or its header are wrong.
    """
    return _CsvReader(path, rejected).table()


class _CsvReader:
    """Reads a file as pieces of whole records."""

    def __init__(self, path: Path, rejected: RejectedRows) -> None:
        self.path = path
        self.rejected = rejected
        self.metadata: dict[str, Any] = {}
        self.comments: list[str] = []
        self.names: list[str] = []
        self._comment_size = 0
        self._num_rows = 0

    def table(self) -> LogTable:
        rest, rest_line = b"", 1
        tables, numbers = [], [np.empty(0, dtype=np.int64)]
        for first, piece in chunks(self.path, keep_returns=True):
            line = rest_line if rest else first
            records, lines, rest, rest_line = self._records(line, rest + piece)
            if records:
                table, right = self._parsed(records, lines)
                tables.append(table)
                numbers.append(right)
                self._num_rows += table.num_rows
                check_num_rows(self._num_rows, self.path)
        if rest:
            self._reject(rest_line, rest, "unexpected end of data")
        if not self.names:
            raise TraceError("no header line: the file is empty", file=self.path)
        none = pa.Table.from_arrays([arrow.strings([])] * len(self.names), names=self.names)
        table = pa.concat_tables([none, *tables])
        columns = {name: table.column(name) for name in self.names}
        lines, comments = np.concatenate(numbers), tuple(self.comments)
        return LogTable(self.path, columns, self._num_rows, lines, self.metadata, comments)

    def _records(self, line: int, piece: bytes) -> tuple[bytes, IntArray, bytes, int]:
        """
        Return the records of a piece for Arrow, and read what is above them.

        Returns
        -------
        records, lines
            Those that are text and rows of CSV, and the line on which each begins.
        rest, rest_line
            The beginning of a record that goes on in the next piece, and its line.
        """
        start, line = self._above(line, piece) if not self.names else (0, line)
        rest = piece[start:]
        plain = rest.replace(b"\r\n", b"\n")
        if self.names and _is_plain(plain):
            ends = np.flatnonzero(np.frombuffer(plain, dtype=np.uint8) == ord("\n"))
            filled = np.diff(ends, prepend=-1) > 1
            return plain, line + np.flatnonzero(filled), b"", line
        return self._scanned(line, rest)

    def _above(self, line: int, piece: bytes) -> tuple[int, int]:
        """Read the comments and the header at the beginning of a piece; return where they end."""
        start = 0
        while piece.startswith(b"#", start):
            end = piece.index(b"\n", start) + 1
            self._comment(decode(piece[start:end], FilePosition(self.path, line)), line)
            start, line = end, line + 1
        return start, line

    def _scanned(self, line: int, piece: bytes) -> tuple[bytes, IntArray, bytes, int]:
        """Return the records of a piece as :meth:`_records`, looked at one by one."""
        records, lines, at = [], [], 0
        while at < len(piece):
            match = _RECORD.match(piece, at)
            # A quote that does not end for so long is taken for a slip on one line.
            is_open = not match and len(piece) - at <= MAX_LINE and _OPEN.match(piece, at)
            if is_open:
                break
            end = match.end() if match else piece.index(b"\n", at) + 1
            record = piece[at:end]
            if match is None:
                returns = b"\r" in record.rstrip(b"\r\n")
                why = "a carriage return needs quotes" if returns else "',' expected after '\"'"
                self._reject(line, record, why)
            elif record.strip(b"\r\n") and self._is_text(line, record):
                records.append(record)
                lines.append(line)
            at, line = end, line + record.count(b"\n")
        return b"".join(records), np.array(lines, dtype=np.int64), piece[at:], line

    def _is_text(self, line: int, record: bytes) -> bool:
        """Tell whether a record is text, or else reject it; the first one is the header."""
        try:
            text = decode(record, FilePosition(self.path, line))
        except TraceError as error:
            if not self.names:
                raise
            self.rejected.add(error, record.decode("utf-8", "replace"))
            return False
        if self.names:
            return True
        self.names = [name.strip() for name in next(csv.reader(io.StringIO(text, newline="")))]
        check_header(self.names, FilePosition(self.path))
        return False

    def _reject(self, line: int, record: bytes, why: str) -> None:
        error = TraceError(f"is not a row of CSV: {why}", file=self.path, line=line)
        if not self.names:
            raise error
        self.rejected.add(error, record.decode("utf-8", "replace").rstrip("\r\n"))

    def _parsed(self, records: bytes, lines: IntArray) -> tuple[pa.Table, IntArray]:
        """Return records as a table of texts, and the lines of its rows."""

        def reject(line: int, number: int, row: str) -> None:
            why = f"the row has {number} columns, and the header has {len(self.names)}"
            self.rejected.add(TraceError(why, file=self.path, line=line), row)

        table, lines = rows_of(records, lines, self.names, reject, newlines_in_values=True)
        return _unguarded(table) if b"'" in records else table, lines

    def _comment(self, line: str, number: int) -> None:
        """Read a comment, which may be metadata."""
        self._comment_size += len(line)
        check_comments(self._comment_size, self.path, number)
        match = _METADATA_LINE.fullmatch(line)
        if match and match[1] in METADATA:
            self.metadata[match[1]] = _json(match[2], f"# {match[1]}", self.path)
        elif text := line.lstrip("#").strip():
            self.comments.append(text)


def _is_plain(records: bytes) -> bool:
    """Tell whether records are text with one on each line, which Arrow reads as they are."""
    if any(byte in records for byte in (b"\0", b"\r")) or not _are_cells_quoted(records):
        return False
    try:
        records.decode()
    except UnicodeDecodeError:
        return False
    return True


def _are_cells_quoted(records: bytes) -> bool:
    """Tell whether quotes are around whole cells, without quotes or line ends between them."""
    if b'"' not in records:
        return True
    text = np.frombuffer(b"\n" + records, dtype=np.uint8)
    quotes = np.flatnonzero(text == ord('"'))
    if len(quotes) % 2 or quotes[-1] + 1 == len(text):
        return False
    first, last = quotes[::2], quotes[1::2]
    ends = np.flatnonzero(text == ord("\n"))
    one_line = np.searchsorted(ends, first) == np.searchsorted(ends, last)
    around = np.concatenate([text[first - 1], text[last + 1]])
    return bool(one_line.all() and np.isin(around, list(b",\n")).all())


def _json(text: str, field: str, path: Path) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        raise TraceError(str(error), file=path, field=field) from error


def write_csv(tables: Iterable[Columns], metadata: Mapping[str, Any], path: Path) -> None:
    """Write columns and metadata as CSV, gzip where the name ends in ``.gz``."""
    with written(path) as file:
        for key, value in metadata.items():
            # Only a comma inside a text is followed so, and a spreadsheet would begin a cell there.
            text = re.sub(r",(?= *[=+\-@])", r"\\u002c", json.dumps(value))
            file.write(f"# {key}: {text}\n".encode())
        for number, columns in enumerate(tables):
            if not number:
                file.write(csv_text([[name] for name in columns]).encode())
            for start in range(0, len(columns["job_id"]), _ROWS_AT_ONCE):
                lists = [
                    plain_cells(column.slice(start, _ROWS_AT_ONCE)) for column in columns.values()
                ]
                file.write(csv_text(lists).encode())


def _unguarded(table: pa.Table) -> pa.Table:
    """Take the apostrophe off texts that would be formulas, as :func:`csv_cells.unguarded`."""
    import pyarrow.compute as pc

    for at, name in enumerate(table.column_names):
        cells = pc.replace_substring_regex(
            table.column(at),
            pattern=rf"\A'({FORMULA.pattern})",
            replacement=r"\1",
            max_replacements=1,
        )
        table = table.set_column(at, name, cells)
    return table
