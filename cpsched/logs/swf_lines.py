"""
The lines of a Standard Workload Format file as a table of whole numbers.

Two readers give the same table. Pieces of plain digits are parsed in bulk; a piece with
anything else in it, or with a value out of bounds, is read again line by line, which accepts
what is allowed after all (comments between the jobs) and says exactly what is not.

The format is that of the Parallel Workloads Archive, version 2.2: Feitelson et al., "The
Standard Workload Format", www.cs.huji.ac.il/labs/parallel/workload/swf.html.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import TraceError
from cpsched.logs.checks import LogTooLargeError, too_many_rows
from cpsched.logs.limits import MAX_COLUMNS, MAX_COMMENTS, MAX_ROWS
from cpsched.logs.text import FilePosition, chunks, decode
from cpsched.util.quantities import integer
from cpsched.util.types import MAX_AMOUNT, MAX_TIME, UNBOUNDED

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.util.types import AnyArray, IntArray


@dataclass(frozen=True, slots=True)
class Field:
    """
    One of the 18 fields.

    Attributes
    ----------
    high
        The largest value believed.
    measured
        Whether it may have a fraction, which is dropped: nothing is made of the field.
    time
        Whether it may have a fraction, which is rounded to whole seconds.
    needed
        Whether it may not be ``nan``, which elsewhere is read as -1, for unknown.
    """

    name: str
    high: int
    measured: bool = False
    time: bool = False
    needed: bool = False


FIELDS: tuple[Field, ...] = (
    Field("1 (job number)", MAX_AMOUNT, needed=True),
    Field("2 (submit time)", MAX_TIME, time=True, needed=True),
    Field("3 (wait time)", MAX_TIME, time=True),
    Field("4 (run time)", MAX_TIME, time=True, needed=True),
    Field("5 (allocated processors)", UNBOUNDED),
    Field("6 (average CPU time)", MAX_TIME, measured=True),
    Field("7 (used memory)", MAX_AMOUNT, measured=True),
    Field("8 (requested processors)", UNBOUNDED),
    Field("9 (requested time)", MAX_TIME, time=True),
    Field("10 (requested memory)", MAX_AMOUNT),
    Field("11 (status)", 5),
    Field("12 (user)", MAX_AMOUNT),
    Field("13 (group)", MAX_AMOUNT),
    Field("14 (executable)", MAX_AMOUNT),
    Field("15 (queue)", MAX_AMOUNT),
    Field("16 (partition)", MAX_AMOUNT),
    Field("17 (preceding job)", MAX_AMOUNT),
    Field("18 (think time)", MAX_TIME),
)
#: Columns of the table, as indices into ``FIELDS``: all that a workload has a place for.
TABLE_FIELDS = (0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15)

_PLAIN = b"0123456789-+. \n\t"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def read_lines(path: Path, *, skip_bad_lines: bool = False, bulk: bool = True) -> SwfLines:
    """
    Read every line of a file.

    Parameters
    ----------
    skip_bad_lines
        Count lines that cannot be read instead of raising.
    bulk
        False reads every line by itself; the result is the same.

    Raises
    ------
    TraceError
        If the file or (unless they are skipped) a line cannot be read: not 18 fields, not
        numbers, fractions where none can be, negative other than -1, or beyond belief.
    """
    read = SwfLines(path, skip_bad_lines)
    for first, piece in chunks(path):
        start = read.comments_at_start(first, piece)
        number = first + piece.count(b"\n", 0, start)
        rest = piece[start:] if start else piece
        if rest and not (bulk and read.bulk(number, rest)):
            read.line_by_line(number, rest)
    return read


def parse_line(text: str, position: FilePosition, width: int = len(FIELDS)) -> list[int]:
    """Read one line of ``width`` fields."""
    values = text.split()
    if len(values) != width:
        raise position.error(f"{width} fields are expected, here are {len(values)}")
    return [
        _parse_field(value, field, position) for value, field in zip(values, FIELDS, strict=False)
    ]


def _parse_field(text: str, field: Field, position: FilePosition) -> int:
    if not field.needed and text.lower() == "nan":
        return -1
    fraction = field.measured or (field.time and "." in text)
    value = position.parse(_measured if fraction else integer, field.name, text)
    if value != -1 and not 0 <= value <= field.high:
        raise position.error(f"must be from 0 to {field.high}, or -1 for unknown", field.name, text)
    return round(value) if field.time else int(value)


def _measured(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError("is not a number")
    return float(text)


class SwfLines:
    """
    A file's job lines, gathered piece by piece.

    Attributes
    ----------
    comments
        Text of the comment lines, without the semicolon.
    bad
        Number of lines that could not be read.
    rounded
        Number of lines with a time that has a fraction.
    """

    def __init__(self, path: Path, skip_bad_lines: bool) -> None:
        self.comments: list[str] = []
        self.bad = self.rounded = 0
        self._path = path
        self._skip = skip_bad_lines
        self._tables = [np.empty((0, len(TABLE_FIELDS)), dtype=np.int64)]
        self._lines = [np.empty(0, dtype=np.int64)]
        self._comment_bytes = 0
        self._rows = 0
        #: Fields of each line, as the first one has them; 0 until it is read.
        self._width = 0

    @property
    def table(self) -> IntArray:
        """The fields kept, shape ``(rows, len(TABLE_FIELDS))``; -1 is unknown, as in the file."""
        return np.concatenate(self._tables)

    @property
    def line(self) -> IntArray:
        """Number of each row's line, from 1, shape ``(rows,)``."""
        return np.concatenate(self._lines)

    @property
    def surplus(self) -> int:
        """Fields of each line behind the 18 of the format, which are not read."""
        return max(0, self._width - len(FIELDS))

    def comments_at_start(self, first: int, piece: bytes) -> int:
        """Read the comment and blank lines a piece begins with; return the bytes they take."""
        start = 0
        while start < len(piece):
            end = piece.index(b"\n", start) + 1
            if not self._comment(piece[start:end].strip()):
                break
            first, start = first + 1, end
        return start

    def bulk(self, first: int, piece: bytes) -> bool:
        """Read plain job lines at once; False (and nothing read) if they are not so plain."""
        if piece.translate(None, _PLAIN):
            return False
        start = len(piece) - len(piece.lstrip())
        width = self._width or len(piece[start : piece.find(b"\n", start)].split())
        if not len(FIELDS) <= width <= MAX_COLUMNS:
            return False
        columns = _parse_plain(piece)
        num_rows = piece.count(b"\n")
        # A blank line between jobs would make the line numbers wrong.
        if len(columns) != width or len(columns[0]) != num_rows:
            return False
        for column, field in zip(columns, FIELDS, strict=False):
            if column.dtype != np.int64 and not (field.measured and column.dtype == np.float64):
                return False
            if not (((column >= 0) | (column == -1)) & (column <= field.high)).all():
                return False
        self._width = width
        self._keep(
            np.stack([columns[index] for index in TABLE_FIELDS], axis=1),
            np.arange(first, first + num_rows, dtype=np.int64),
        )
        return True

    def line_by_line(self, first: int, piece: bytes) -> None:
        """Read a piece line by line."""
        rows: list[list[int]] = []
        numbers: list[int] = []
        for number, raw in enumerate(piece[:-1].split(b"\n"), start=first):
            if self._comment(raw.strip()):
                continue
            position = FilePosition(self._path, number)
            try:
                row = self._row(decode(raw, position), position)
            except TraceError:
                if not self._skip:
                    raise
                self.bad += 1
                continue
            rows.append([row[index] for index in TABLE_FIELDS])
            numbers.append(number)
        table = np.array(rows, dtype=np.int64).reshape(len(rows), len(TABLE_FIELDS))
        self._keep(table, np.array(numbers, dtype=np.int64))

    def _row(self, text: str, position: FilePosition) -> list[int]:
        """Read a job line; the first good one with 18 fields or more says how many there are."""
        width = self._width or min(max(len(FIELDS), len(text.split())), MAX_COLUMNS)
        row = parse_line(text, position, width)
        self._width = width
        if "." in text:
            fields = zip(text.split(), FIELDS, strict=False)
            self.rounded += any(field.time and "." in value for value, field in fields)
        return row

    def _keep(self, table: IntArray, numbers: IntArray) -> None:
        self._tables.append(table)
        self._lines.append(numbers)
        self._rows += len(table)
        if self._rows > MAX_ROWS:
            raise too_many_rows(self._path, MAX_ROWS)

    def _comment(self, raw: bytes) -> bool:
        """Keep a comment; False if the (stripped) line is none and not blank either."""
        if raw and not raw.startswith(b";"):
            return False
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            # Old logs have names and places in Latin-1, and no comment is worth a log.
            text = raw.decode("latin-1")
        text = text.replace("\0", " ").lstrip(";").strip()
        self.comments.extend([text] if text else [])
        self._comment_bytes += len(raw)
        if self._comment_bytes > MAX_COMMENTS:
            raise LogTooLargeError(
                f"holds more than {MAX_COMMENTS} bytes of comments", file=self._path
            )
        return True


def _parse_plain(piece: bytes) -> list[AnyArray]:
    """Return the columns of lines of plain numbers; none where the lines differ in length."""
    piece = piece.replace(b"\t", b" ")
    while b"  " in piece:
        piece = piece.replace(b"  ", b" ")
    piece = piece.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
    # Not before they are needed: importing takes a while. Arrow is, because runs are written
    # with it too.
    arrow: Any = import_module("pyarrow")
    csv: Any = import_module("pyarrow.csv")
    try:
        table = csv.read_csv(
            arrow.py_buffer(piece),
            read_options=csv.ReadOptions(
                autogenerate_column_names=True, use_threads=False, block_size=len(piece) + 1
            ),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False),
        )
    except arrow.ArrowInvalid:
        return []
    kinds = {arrow.int64(): np.int64, arrow.float64(): np.float64}
    chunks = [column.combine_chunks() for column in table.columns]
    if any(chunk.type not in kinds or chunk.null_count for chunk in chunks):
        return []
    # Not to_numpy(), which would import pandas.
    return [np.frombuffer(chunk.buffers()[1], kinds[chunk.type], len(chunk)) for chunk in chunks]
