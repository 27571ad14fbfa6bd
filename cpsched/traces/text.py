"""
What every log reader needs of text: files, lines, numbers, durations, sizes.

Readers of single values (:func:`whole`, :func:`duration`, :func:`amount`, ...) raise
``ValueError`` with the reason alone; a :class:`Place` turns that into a
:class:`~cpsched.errors.TraceError` which says where.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from cpsched.atomic_files import replacing
from cpsched.errors import TraceError
from cpsched.model.types import MAX_TIME
from cpsched.traces.limits import MAX_LINE, MAX_UNPACKED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T")

#: Bytes of whole lines handed on at once.
CHUNK = 4 * 2**20
#: Endings that are not part of a workload's title.
SUFFIXES = (".gz", ".swf", ".ext", ".csv", ".parquet", ".pbs", ".acct", ".sacct", ".txt", ".log")

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WHOLE = re.compile(r"[+-]?[0-9]{1,25}")
_AMOUNT = re.compile(r"([0-9]{1,25})(?:\.([0-9]{1,12}))?([A-Za-z]*)")
_DURATION = re.compile(r"(?:([0-9]{1,12})-)?([0-9]{1,15}(?::[0-9]{1,15}){0,3})")
#: Days, hours, minutes, seconds: what a part must stay below unless it is the first one.
_CLOCK = (1, 24, 60, 60)
_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.[0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, to say where something is wrong."""

    file: Path
    line: int | None = None

    def error(self, message: str, field: str | None = None, value: object = None) -> TraceError:
        """Return (not raise) the error for this place."""
        return TraceError(message, file=self.file, line=self.line, field=field, value=value)

    def parse(self, reader: Callable[[str], T], field: str, value: str) -> T:
        """
        Read one value.

        Raises
        ------
        TraceError
            If ``reader`` raises ``ValueError``; names this place, the field and the value.
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
        If it cannot be opened or read, or the gzip is cut off or damaged.
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
        raise TraceError(f"the gzip is cut off or damaged ({error})", file=path) from error
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
    end_lines = bytes if keep_returns else _one_newline
    with opened(path) as file:
        while block := file.read(size):
            if not total:
                block = block.removeprefix(_BYTE_ORDER_MARK)
            total += len(block)
            if total > MAX_UNPACKED:
                raise TraceError(f"holds more than {MAX_UNPACKED} bytes, unpacked", file=path)
            whole_lines, newline, tail = block.rpartition(b"\n")
            if not newline:
                rest += tail
            else:
                piece = end_lines(rest + whole_lines + newline)
                yield line, piece
                line += piece.count(b"\n")
                rest = tail
            if len(rest) > MAX_LINE:
                raise TraceError(f"is longer than {MAX_LINE} bytes", file=path, line=line)
    if rest:
        yield line, end_lines(rest + b"\n")


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank: number (from 1), bytes without newline."""
    for first, piece in chunks(path):
        for number, raw in enumerate(piece[:-1].split(b"\n"), start=first):
            if raw.strip():
                yield number, raw


def decode(raw: bytes, place: Place) -> str:
    """
    Return the text of one line.

    Raises
    ------
    TraceError
        If it holds a NUL byte or is not UTF-8.
    """
    if b"\0" in raw:
        raise place.error(f"holds a NUL byte (byte {raw.index(0) + 1}); a text line is expected")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise place.error(
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


def whole(value: str) -> int:
    """Read a whole number, sign allowed; nothing that only Python would take for one."""
    if not _WHOLE.fullmatch(value):
        raise ValueError("is not a whole number")
    return int(value)


def duration(value: str) -> int:
    """
    Read a length of time as seconds.

    Accepted are ``S``, ``M:S``, ``H:M:S``, ``D:H:M:S``, and with days in front ``D-H``,
    ``D-H:M``, ``D-H:M:S``. The first part may be any size, the others are below 60 (hours: 24).
    """
    match = _DURATION.fullmatch(value)
    clock = [int(part) for part in match[2].split(":")] if match else []
    if match and match[1] is not None:
        # After days the clock starts with the hours, and what it leaves out is zero.
        first = 0
        clock = [int(match[1]), *clock, 0, 0][:4] if len(clock) <= 3 else []
    else:
        first = 4 - len(clock)
        clock = [0] * first + clock
    if not match or not clock:
        raise ValueError("is not a length of time ([days-]hours:minutes:seconds)")
    if any(part >= limit for part, limit in list(zip(clock, _CLOCK, strict=True))[first + 1 :]):
        raise ValueError("is not a length of time (hours go to 23, minutes and seconds to 59)")
    days, hours, minutes, seconds = clock
    return seconds_within(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def minutes(value: str) -> int:
    """Read a length of time as Slurm's options take it, as seconds: a number alone is minutes."""
    return duration(f"{value}:0" if value.isascii() and value.isdigit() else value)


def seconds_within(value: int, least: int = 0) -> int:
    """Return a time or length of time if it is at least ``least`` and can be believed."""
    if not least <= value <= MAX_TIME:
        raise ValueError(f"must be from {least} to {MAX_TIME} seconds")
    return value


def instant(value: str) -> tuple[int, bool]:
    """
    Read a moment as unix seconds, and whether the text said its offset from UTC.

    Accepted are ``2024-03-01T10:00:00`` (taken as UTC), the same with ``Z`` or ``+01:00``, and
    unix seconds. Fractions of a second are cut off.
    """
    if value.isascii() and value.isdigit():
        return seconds_within(whole(value)), True
    match = _INSTANT.fullmatch(value)
    if not match:
        raise ValueError("is not a date and time like 2024-03-01T10:00:00")
    try:
        moment = datetime.fromisoformat(f"{match[1]}T{match[2]}{match[3] or ''}")
    except ValueError as error:
        raise ValueError(f"is not a date and time ({error})") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return seconds_within(int(moment.timestamp())), match[3] is not None


def amount(value: str, units: Mapping[str, int], *, per: int = 1) -> int:
    """
    Read a number with a unit, such as ``16gb`` or ``187.5G``, rounded up to a whole amount.

    Parameters
    ----------
    units
        What each unit (lower case; ``""`` for none) is worth, in parts of the result.
    per
        Parts in one of the result.
    """
    match = _AMOUNT.fullmatch(value)
    if not match or match[3].lower() not in units:
        known = ", ".join(unit for unit in units if unit)
        raise ValueError(f"is not an amount (a number, then nothing or one of {known})")
    digits, fraction, unit = match[1], match[2] or "", units[match[3].lower()]
    scale: int = per * 10 ** len(fraction)
    return -(-int(digits + fraction) * unit // scale)


def _one_newline(piece: bytes) -> bytes:
    return piece.replace(b"\r\n", b"\n") if b"\r" in piece else piece
