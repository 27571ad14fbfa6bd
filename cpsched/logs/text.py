"""
What every reader of logs needs: files, lines, positions in them, and limits on their size.

The limits are far above real logs; a small file must not exhaust memory or time. Job ids lie in an
array of fixed width and amounts in a table of all jobs and resource types, so one long id, or a new
resource type in every job, would cost as much in every row.
"""

from __future__ import annotations

import gzip
import os
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from cpsched.errors import TraceError, unreadable
from cpsched.util.atomic_files import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

T = TypeVar("T")

#: Jobs (or rows) of one log. Equal rows take no space in Parquet: such a file may have so many, or
#: as many as it has bytes if that is more.
MAX_ROWS = 100_000_000
SMALL_ROWS = 10_000_000
#: Characters of a job id.
MAX_ID = 128
#: Resource types of one log.
MAX_KINDS = 64
#: Columns of a table, fields of a line.
MAX_COLUMNS = 1_000
#: Bytes of one line, and of all comment lines together.
MAX_LINE = 16 * 2**20
MAX_COMMENTS = 16 * 2**20
#: Bytes of one file, unpacked.
MAX_UNPACKED = 64 * 2**30
#: Of a packed file: so many times its size, or the second number of bytes if that is more.
MAX_RATIO = 100
SMALL_UNPACKED = 2**27

#: Bytes of whole lines handed on at once.
CHUNK = 4 * 2**20
#: Endings that are not part of a workload's title.
SUFFIXES = (".gz", ".swf", ".ext", ".csv", ".parquet", ".pbs", ".acct", ".sacct", ".txt", ".log")

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class FilePosition:
    """A line of a file, or an item of what has no lines, to say where something is wrong."""

    file: Path
    line: int | None = None
    item: str = ""

    def error(self, message: str, field: str | None = None, value: object = None) -> TraceError:
        """Return (not raise) the error for this position."""
        if self.item:
            message = f"{message} ({self.item})"
        return TraceError(message, file=self.file, line=self.line, field=field, value=value)

    def parse(self, reader: Callable[[str], T], field: str, value: str) -> T:
        """
        Read one value.

        Raises
        ------
        TraceError
            If ``reader`` raises ``ValueError``; names this position, the field and the value.
        """
        try:
            return reader(value)
        except ValueError as error:
            raise self.error(str(error), field, value) from None


class LogTooLargeError(TraceError):
    """A log that is beyond a limit as a whole; skipping bad lines does not help."""


def check_num_rows(number: int, path: Path, limit: int | None = None) -> None:
    """Raise for a log with more jobs than are read."""
    limit = MAX_ROWS if limit is None else limit
    if number > limit:
        raise LogTooLargeError(f"holds more than {limit} jobs. Cut it into parts.", file=path)


def check_comments(size: int, path: Path, line: int | None = None) -> None:
    """Raise for a log with more bytes of comments than are read."""
    if size > MAX_COMMENTS:
        raise LogTooLargeError(
            f"holds more than {MAX_COMMENTS} bytes of comments", file=path, line=line
        )


def check_header(names: Sequence[str], position: FilePosition) -> None:
    """Raise for too many columns, a name that is there twice, or one that is not printable."""
    if len(names) > MAX_COLUMNS:
        raise position.error(
            f"the header has {len(names)} columns, must have at most {MAX_COLUMNS}"
        )
    seen: set[str] = set()
    for name in names:
        if not name.isprintable():
            raise position.error(f"a column has the name {name!a:.60}, which is not text")
        if name in seen:
            raise position.error("is in the header twice", name or "''")
        seen.add(name)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """
    Open a file for reading, unpacked where its first bytes say gzip (whatever its name says).

    Raises
    ------
    TraceError
        If it cannot be opened or read, or the gzip file is truncated or damaged.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(2)
            file.seek(0)
            if magic == _GZIP_MAGIC:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield cast("BinaryIO", unpacked)
            else:
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(f"the gzip file is truncated or damaged ({error})", file=path) from error
    except OSError as error:
        raise TraceError(unreadable(error), file=path) from error


def head(path: Path, size: int = 2**16) -> bytes:
    """Return the first (unpacked) bytes of a file, for recognising its format."""
    with opened(path) as file:
        return file.read(size).removeprefix(_BYTE_ORDER_MARK)


def chunks(
    path: Path, size: int = CHUNK, *, keep_returns: bool = False
) -> Iterator[tuple[int, bytes]]:
    """
    Yield a file as pieces of whole lines: number of the first line (from 1), bytes.

    Every piece ends in a newline, CR LF is read as one newline (unless ``keep_returns``), a byte
    order mark is dropped. Memory stays bounded by ``size`` and the longest line.

    Raises
    ------
    TraceError
        As :func:`opened`, and if a line or the whole file is beyond the limits.
    """
    line, rest, total = 1, b"", 0
    with opened(path) as file:
        limit = MAX_UNPACKED
        if isinstance(cast("object", file), gzip.GzipFile):
            limit = min(limit, max(SMALL_UNPACKED, MAX_RATIO * path.stat().st_size))
        while block := file.read(size):
            if not total:
                block = block.removeprefix(_BYTE_ORDER_MARK)
            total += len(block)
            if total > limit:
                raise TraceError(f"holds more than {limit} bytes, unpacked", file=path)
            complete_lines, newline, tail = block.rpartition(b"\n")
            if not newline:
                rest += tail
            else:
                piece = rest + complete_lines + newline
                if not keep_returns and b"\r" in piece:
                    piece = piece.replace(b"\r\n", b"\n")
                yield line, piece
                line += piece.count(b"\n")
                rest = tail
            if len(rest) > MAX_LINE:
                raise TraceError(f"is longer than {MAX_LINE} bytes", file=path, line=line)
    if rest:
        rest += b"\n"
        yield line, rest if keep_returns else rest.replace(b"\r\n", b"\n")


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank: number (from 1), bytes without newline."""
    for first, piece in chunks(path):
        for number, raw in enumerate(piece[:-1].split(b"\n"), start=first):
            if raw.strip():
                yield number, raw


def texts_of(path: Path, numbers: Container[int]) -> dict[int, str]:
    """Return the text of some lines of a file by number, as far as it can be read."""
    texts = {}
    with suppress(TraceError):
        for number, raw in lines(path):
            if number in numbers:
                texts[number] = raw.decode("utf-8", "replace")
    return texts


def decode(raw: bytes, position: FilePosition) -> str:
    """
    Return the text of one line.

    Raises
    ------
    TraceError
        If it holds a NUL byte or is not UTF-8.
    """
    if b"\0" in raw:
        raise position.error(f"holds a NUL byte (byte {raw.index(0) + 1}), must be text")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise position.error(
            f"is not UTF-8 text (byte {error.start + 1} is {raw[error.start]:#04x})"
        ) from None


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """
    Open a file for writing, packed where its name ends in ``.gz``; it appears when complete.

    Raises
    ------
    TraceError
        If it cannot be written.
    """
    try:
        with replacing(path) as partial, partial.open("wb") as file:
            if path.suffix.lower() == ".gz":
                # No time and no name inside: the same workload gives the same bytes.
                with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                    yield cast("BinaryIO", packed)
            else:
                yield file
    except OSError as error:
        raise TraceError(f"cannot be written: {error.strerror or error}", file=path) from error


def title(path: Path) -> str:
    """Return a file's name without the endings of known formats (``x.ext.csv.gz`` is ``x``)."""
    # What is not UTF-8 in a name cannot be written into a report or a table.
    full = name = os.fsencode(path.name).decode("utf-8", "replace")
    while name.lower().endswith(SUFFIXES) and len(Path(name).stem) > 0:
        name = name[: name.rindex(".")]
    return name or full
