"""
Tables in files: CSV (plain or gzip) and Parquet, with their metadata.

In a CSV file that is ``# key: value`` lines (JSON values) before the header, in Parquet one JSON
document in the schema's metadata under ``cpsched``. In both, empty cells are nulls. In CSV, text
that a spreadsheet would evaluate is marked, see :mod:`cpsched.util.csv_cells`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from array import array
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cpsched.errors import TraceError
from cpsched.logs.checks import check_header, too_many_rows
from cpsched.logs.limits import MAX_COMMENTS, MAX_ROWS, MAX_UNPACKED, SMALL_ROWS
from cpsched.logs.table_cells import LogTable
from cpsched.logs.text import FilePosition, chunks, opened, written
from cpsched.util import arrow
from cpsched.util.csv_cells import guarded, unguarded
from cpsched.util.documents import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    Columns = Mapping[str, pa.Array]

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
            max_rows = min(max(SMALL_ROWS, path.stat().st_size), MAX_ROWS)
            if about.num_rows > max_rows:
                raise too_many_rows(path, max_rows)
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


def read_csv(path: Path, *, skip_bad_lines: bool = False) -> LogTable:
    """
    Read a CSV file; all cells are text.

    Raises
    ------
    TraceError
        If the file cannot be read, or (unless ``skip_bad_lines``) a row does not have as many
        cells as the header, or has broken quotes, NUL bytes or bytes that are not UTF-8.
    """
    source = _Source(path)
    metadata, comments, above, lines = _preamble(path, iter(source))
    records = _records(source, lines, above)
    line, header, problem = next(records, (None, [], "no header line: the file is empty"))
    if problem:
        raise TraceError(problem, file=path, line=line)
    names = [name.strip() for name in header]
    check_header(names, FilePosition(path))
    numbers, bad = array("q"), 0
    batch: list[list[str]] = []
    pieces = [pa.table([pa.array([], pa.string())] * len(names), names)]

    def keep() -> None:
        if batch:
            cells = [pa.array(column, pa.string()) for column in zip(*batch, strict=True)]
            pieces.append(pa.table(cells, names))
            batch.clear()
        if len(numbers) > MAX_ROWS:
            raise too_many_rows(path, MAX_ROWS)

    for line, record, problem in records:
        wrong = problem
        if not wrong and len(record) != len(names):
            wrong = f"the header has {len(names)} columns, here are {len(record)}"
        if not wrong:
            numbers.append(line)
            batch.append(record)
            if len(batch) == _ROWS_AT_ONCE:
                keep()
        elif skip_bad_lines:
            bad += 1
        else:
            raise TraceError(wrong, file=path, line=line)
    keep()
    table = pa.concat_tables(pieces)
    columns = {name: table.column(name) for name in names}
    line_of = np.array(numbers, dtype=np.int64)
    return LogTable(path, columns, table.num_rows, line_of, metadata, comments, bad)


def write_csv(tables: Iterable[Columns], metadata: Mapping[str, Any], path: Path) -> None:
    """Write columns and metadata as CSV, gzip where the name ends in ``.gz``."""
    with written(path) as file:
        for key, value in metadata.items():
            # Only a comma inside a text is followed so, and a spreadsheet would begin a cell there.
            text = re.sub(r",(?= *[=+\-@])", r"\\u002c", json.dumps(value))
            file.write(f"# {key}: {text}\n".encode())
        for number, columns in enumerate(tables):
            if not number:
                file.write(_csv_text([[name] for name in columns]).encode())
            for start in range(0, len(columns["job_id"]), _ROWS_AT_ONCE):
                lists = [_plain(column.slice(start, _ROWS_AT_ONCE)) for column in columns.values()]
                file.write(_csv_text(lists).encode())


class _Source:
    """The text lines of a file, with their ends; what is not text is kept to be found."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: Whether a NUL or a byte that is not UTF-8 was seen; only then cells are searched for it.
        self.suspicious = False
        #: Whether there is an apostrophe, which may be a mark in front of a cell's text.
        self.marked = False

    def __iter__(self) -> Iterator[str]:
        for _, piece in chunks(self.path, keep_returns=True):
            text = piece.decode("utf-8", "surrogateescape")
            self.suspicious = self.suspicious or _problem(text) is not None
            self.marked = self.marked or "'" in text
            for line in text[:-1].split("\n"):
                yield line + "\n"


def _problem(text: str) -> str | None:
    """Return what makes a piece of a line no text, None if it is text."""
    if "\0" in text:
        return "holds a NUL byte; text is expected"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "is not UTF-8 text"
    return None


def _records(
    source: _Source, lines: Iterator[str], above: int
) -> Iterator[tuple[int, list[str], str | None]]:
    """Yield each record that is not blank: the line it starts on, its cells, what is wrong."""
    reader = csv.reader(lines, strict=True)
    while True:
        line = above + reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, [], f"is not a row of CSV: {error}"
            continue
        if record:
            problem = _problem("".join(record)) if source.suspicious else None
            yield line, list(map(unguarded, record)) if source.marked else record, problem


def _preamble(
    path: Path, lines: Iterator[str]
) -> tuple[dict[str, Any], tuple[str, ...], int, Iterator[str]]:
    """Return the metadata and other comments above the header, their lines, and the lines left."""
    metadata: dict[str, Any] = {}
    comments: list[str] = []
    size = number = 0
    for number, line in enumerate(lines):
        if not line.startswith("#"):
            return metadata, tuple(comments), number, chain([line], lines)
        problem = _problem(line)
        size += len(line)
        if not problem and size > MAX_COMMENTS:
            problem = f"holds more than {MAX_COMMENTS} bytes of comments"
        if problem:
            raise TraceError(problem, file=path, line=number + 1)
        match = _METADATA_LINE.fullmatch(line)
        if match and match[1] in METADATA:
            metadata[match[1]] = _json(match[2], f"# {match[1]}", path)
        elif text := line.lstrip("#").strip():
            comments.append(text)
    return metadata, tuple(comments), number, lines


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
    return ["" if cell is None else guarded(cell) for cell in cells.to_pylist()]


def _csv_text(columns: list[list[Any]]) -> str:
    # csv quotes only the line end it writes itself, but stops at others when it reads.
    returns = any("\r" in cell for cells in columns for cell in cells if isinstance(cell, str))
    text = io.StringIO()
    writer = csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    )
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()
