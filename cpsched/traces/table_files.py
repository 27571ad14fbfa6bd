"""
Tables in files: CSV (plain or gzip) and Parquet, with what they say of themselves.

In a CSV file that is ``# key: value`` lines (JSON values) before the header, in Parquet one JSON
document in the schema's metadata under ``cpsched``. In both, empty cells are nulls.
"""

from __future__ import annotations

import csv
import io
import json
import re
from array import array
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cpsched import arrow
from cpsched.documents import read_json
from cpsched.errors import TraceError
from cpsched.traces.checks import check_header, too_many_rows
from cpsched.traces.limits import MAX_COMMENTS, MAX_ROWS, MAX_UNPACKED
from cpsched.traces.table_cells import Table
from cpsched.traces.text import Place, chunks, opened, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

#: First bytes of every Parquet file.
PARQUET_MAGIC = b"PAR1"
#: The keys of a file's own metadata.
METADATA = ("cpsched-table", "title", "epoch", "layout", "resources", "header", "set_aside")

_ROWS_AT_ONCE = 50_000
_METADATA_LINE = re.compile(r"#\s*([a-z_\-]+):\s*(.*?)\s*", re.DOTALL)


def is_parquet(path: Path) -> bool:
    """Tell whether a file says it is Parquet."""
    with opened(path) as file:
        return file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC


def read_parquet(path: Path) -> Table:
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
            _check_size(about, path)
            check_header(names, Place(path))
        # A plain read, not the dataset reader: that one takes names like "a=b" apart. A text that
        # the file holds once for millions of rows stays so.
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        texts = sorted(_with_dictionary(about) & set(texts))
        with pq.ParquetFile(path, read_dictionary=texts, page_checksum_verification=True) as file:
            table = file.read()
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise TraceError(f"cannot be read as Parquet: {_first_line(error)}", file=path) from error
    text = (table.schema.metadata or {}).get(b"cpsched", b"{}")
    metadata = _json(text.decode("utf-8", "replace"), "metadata", path)
    if not isinstance(metadata, dict):
        raise TraceError("must be a JSON object", file=path, field="metadata")
    columns = {name: table.column(name) for name in names}
    return Table(path, columns, table.num_rows, metadata=metadata)


def _with_dictionary(about: pq.FileMetaData) -> set[str]:
    """Return the columns that hold each distinct value once and numbers of them in the rows."""
    chunks = (
        about.row_group(group).column(column)
        for group in range(about.num_row_groups)
        for column in range(about.num_columns)
    )
    return {
        chunk.path_in_schema
        for chunk in chunks
        if any("DICTIONARY" in encoding for encoding in chunk.encodings)
    }


def _check_size(about: pq.FileMetaData, path: Path) -> None:
    """Raise for a file that is small packed and too large unpacked."""
    if about.num_rows > MAX_ROWS:
        raise too_many_rows(path)
    groups = (about.row_group(number) for number in range(about.num_row_groups))
    if sum(group.total_byte_size for group in groups) > MAX_UNPACKED:
        raise TraceError(f"holds more than {MAX_UNPACKED} bytes, unpacked", file=path)


def write_parquet(columns: Mapping[str, pa.Array], metadata: Mapping[str, Any], path: Path) -> None:
    """Write columns and metadata as Parquet."""
    table = pa.Table.from_arrays(list(columns.values()), names=list(columns))
    table = table.replace_schema_metadata({"cpsched": json.dumps(metadata)})
    with written(path) as file:
        pq.write_table(
            table,
            file,
            compression="zstd",
            use_dictionary=arrow.repeating(table),
            write_page_checksum=True,
        )


def read_csv(path: Path, *, skip_bad_lines: bool = False) -> Table:
    """
    Read a CSV file; all cells are text.

    Raises
    ------
    TraceError
        If the file cannot be read, or (unless ``skip_bad_lines``) a row does not have as many
        cells as the header, or has broken quotes, NUL bytes or bytes that are not UTF-8.
    """
    source = _Source(path)
    metadata, comments = _preamble(source)
    records = _Records(source, skip_bad_lines=skip_bad_lines)
    names = [name.strip() for name in records.header()]
    check_header(names, Place(path))
    pieces: list[pa.Table] = []
    rows = iter(records)
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
        arrays = [pa.array(column, pa.string()) for column in zip(*batch, strict=True)]
        pieces.append(pa.table(arrays, names))
        if len(records.lines) > MAX_ROWS:
            raise too_many_rows(path)
    empty = pa.table([pa.array([], pa.string())] * len(names), names)
    table = pa.concat_tables([empty, *pieces])
    columns = {name: table.column(name) for name in names}
    line = np.array(records.lines, dtype=np.int64)
    return Table(path, columns, table.num_rows, line, metadata, comments, records.bad)


def write_csv(columns: Mapping[str, pa.Array], metadata: Mapping[str, Any], path: Path) -> None:
    """Write columns and metadata as CSV, gzip where the name ends in ``.gz``."""
    names = list(columns)
    num_rows = len(columns[names[0]])
    with written(path) as file:
        for key, value in metadata.items():
            file.write(f"# {key}: {json.dumps(value)}\n".encode())
        file.write(_csv_text([[name] for name in names]).encode())
        for start in range(0, num_rows, _ROWS_AT_ONCE):
            lists = [_plain(columns[name].slice(start, _ROWS_AT_ONCE)) for name in names]
            file.write(_csv_text(lists).encode())


class _Source:
    """Text lines of a file, with their ends, numbered; what is not text is kept to be found."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        #: Whether a NUL or a byte that is not UTF-8 was seen; only then cells are searched for it.
        self.suspicious = False
        self._lines = self._read()
        self._pushed: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._pushed.pop() if self._pushed else next(self._lines)
        self.number += 1
        return line

    def push_back(self, line: str) -> None:
        """Give the last line again."""
        self._pushed.append(line)
        self.number -= 1

    def error(self, message: str, line: int) -> TraceError:
        """Return the error for a line."""
        return TraceError(message, file=self.path, line=line)

    def problem(self, text: str) -> str | None:
        """Return what makes a piece of a line no text, None if it is text."""
        if "\0" in text:
            return "holds a NUL byte; text is expected"
        try:
            text.encode()
        except UnicodeEncodeError:
            return "is not UTF-8 text"
        return None

    def _read(self) -> Iterator[str]:
        for _, piece in chunks(self.path, keep_returns=True):
            text = piece.decode("utf-8", "surrogateescape")
            self.suspicious = self.suspicious or self.problem(text) is not None
            for line in text[:-1].split("\n"):
                yield line + "\n"


class _Records:
    """
    The records of a CSV file, each with as many cells as the header.

    Attributes
    ----------
    lines
        Line each record given so far starts on.
    bad
        Number of records left out.
    """

    def __init__(self, source: _Source, *, skip_bad_lines: bool) -> None:
        self.lines: array[int] = array("q")
        self.bad = 0
        self._source = source
        self._skip = skip_bad_lines
        self._width = 0
        self._reader = csv.reader(source, strict=True)

    def header(self) -> list[str]:
        """Return the first record that is not blank."""
        for record, line, problem in self._records():
            if problem:
                raise self._source.error(problem, line)
            self._width = len(record)
            return record
        raise TraceError("no header line: the file is empty", file=self._source.path)

    def __iter__(self) -> Iterator[list[str]]:
        for record, line, problem in self._records():
            wrong = problem
            if not wrong and len(record) != self._width:
                wrong = f"the header has {self._width} columns, here are {len(record)}"
            if not wrong:
                self.lines.append(line)
                yield record
            elif self._skip:
                self.bad += 1
            else:
                raise self._source.error(wrong, line)

    def _records(self) -> Iterator[tuple[list[str], int, str | None]]:
        """Yield every record that is not blank: cells, line it starts on, what is wrong."""
        while True:
            line = self._source.number + 1
            try:
                record = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield [], line, f"is not a row of CSV: {error}"
                continue
            if record:
                suspicious = self._source.suspicious
                yield record, line, self._source.problem("".join(record)) if suspicious else None


def _preamble(source: _Source) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read the ``#`` lines before the header: metadata by key, and other comments."""
    metadata: dict[str, Any] = {}
    comments: list[str] = []
    size = 0
    for line in source:
        if not line.startswith("#"):
            source.push_back(line)
            break
        if problem := source.problem(line):
            raise source.error(problem, source.number)
        size += len(line)
        if size > MAX_COMMENTS:
            raise source.error(f"holds more than {MAX_COMMENTS} bytes of comments", source.number)
        match = _METADATA_LINE.fullmatch(line)
        if match and match[1] in METADATA:
            metadata[match[1]] = _json(match[2], f"# {match[1]}", source.path)
        elif text := line.lstrip("#").strip():
            comments.append(text)
    return metadata, tuple(comments)


def _json(text: str, field: str, path: Path) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        raise TraceError(str(error), file=path, field=field) from error


def _plain(cells: pa.Array) -> list[Any]:
    """Return cells as CSV has them: nothing for null, true and false."""
    words = {None: "", True: "true", False: "false"}
    if pa.types.is_boolean(cells.type):
        return [words[cell] for cell in cells.to_pylist()]
    return ["" if cell is None else cell for cell in cells.to_pylist()]


def _csv_text(columns: list[list[Any]]) -> str:
    # csv quotes only the line end it writes itself, but stops at others when it reads.
    returns = any("\r" in cell for cells in columns for cell in cells if isinstance(cell, str))
    text = io.StringIO()
    writer = csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    )
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
