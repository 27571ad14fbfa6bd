"""What every log reader needs of text: files, lines, and where something is."""

from __future__ import annotations

import gzip
import os
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from cpsched.errors import TraceError
from cpsched.logs.limits import MAX_LINE, MAX_RATIO, MAX_UNPACKED, SMALL_UNPACKED
from cpsched.util.atomic_files import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

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
        raise TraceError(f"cannot be read: {error.strerror or error}", file=path) from error


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


def decode(raw: bytes, position: FilePosition) -> str:
    """
    Return the text of one line.

    Raises
    ------
    TraceError
        If it holds a NUL byte or is not UTF-8.
    """
    if b"\0" in raw:
        raise position.error(f"holds a NUL byte (byte {raw.index(0) + 1}); a text line is expected")
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
