"""
Standard Workload Format: the logs of the Parallel Workloads Archive, plain or gzip.

How its 18 fields become a workload of layout ``processors``:

- 1 job number, 2 submit time, 4 run time: ``job_id``, ``submit``, ``runtime``.
- 3 wait time: ``recorded_start`` = submit + wait, where known.
- 8 requested processors where known, else 5 allocated processors: ``units`` of one core.
- 10 requested memory (KB per processor): resource ``mem``, if any job's is known; a job whose
  own is unknown asks for none.
- 9 requested time, 11 status, 12 user, 13 group, 14 executable (``name``), as they are; numbers
  as strings. 15 queue, 16 partition: what the header calls them (``Queue: 2 long``), else numbers.
- 6 average CPU time, 7 used memory: not kept (they tell what a job used, not what it asked).
- 17 preceding job, 18 think time: not kept. They describe how users react to answers; the
  recorded submit time contains that already, and making them a dependency would count it twice.

Some sites append fields of their own to every line. Those behind the 18th are not read; a ``Note``
in the workload's header counts them. All lines must have as many fields as the first. Other notes
name what the header says twice or wrongly.

Rows without a run time (``never ran``) or without processors (``no processors``) and the lines
that repeat a checkpointed job's pieces (status 2, 3, 4: ``partial execution``; the job has its
own line with status 0 or 1) are excluded and counted.

The format is that of the Parallel Workloads Archive, version 2.2: Feitelson et al., "The
Standard Workload Format", www.cs.huji.ac.il/labs/parallel/workload/swf.html.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from cpsched import _core
from cpsched.errors import TraceError
from cpsched.logs.rejects import RowChecks, repeated
from cpsched.logs.text import (
    MAX_COLUMNS,
    FilePosition,
    check_comments,
    check_num_rows,
    chunks,
    decode,
    title,
)
from cpsched.model.arrays import compact, is_constant, put_away
from cpsched.model.distinct import by_appearance
from cpsched.model.workload import Labels, Workload, names_of
from cpsched.util.quantities import integer
from cpsched.util.types import MAX_AMOUNT, MAX_TIME, MISSING, UNBOUNDED, Status
from cpsched.util.words import brief, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cpsched.logs.rejects import RejectedRows
    from cpsched.util.types import AnyArray, BoolArray, IntArray

_COMMENT = re.compile(r"([A-Z]\w*):(?:\s+(.*))?", re.DOTALL)
_UNIX_TIME = re.compile(r"-?[0-9]{1,13}(?!\S)")
_PARTIAL = (2, 3, 4)
#: Keys of the header that have one value.
_ONCE = ("MaxJobs", "MaxRecords", "MaxProcs", "MaxNodes", "MaxRuntime", "StartTime", "TimeZone")
_NUMBERS_LINE = re.compile(rb"\s*-?[0-9]+(?:[ \t]+-?[0-9.]+){9,}\s*")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_BLANK_SEPARATED = {"delimiter": " ", "quote_char": False}
_BLANKS = bytes.maketrans(b"\t\r\v\f", b"    ")


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

    def may_be(self, values: IntArray) -> BoolArray:
        """Tell which numbers the field may have."""
        allowed: BoolArray = ((values >= 0) | (values == -1)) & (values <= self.high)
        return allowed

    def parse(self, text: str) -> int:
        """
        Read what is no plain whole number.

        Raises
        ------
        ValueError
            If it is none that the field may have.
        """
        if not self.needed and text.lower() == "nan":
            return -1
        if not (self.measured or (self.time and "." in text)):
            return integer(text)
        if not _NUMBER.fullmatch(text):
            raise ValueError("is not a number")
        value = min(float(text), 2.0 * self.high)
        return round(value) if value >= 0 or value == -1 else -2


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
_HIGH = np.array([field.high for field in FIELDS], dtype=np.int64)
_MEASURED = np.array([field.measured for field in FIELDS])
_IN_TABLE = np.isin(np.arange(len(FIELDS)), TABLE_FIELDS)


class Swf:
    """
    Standard Workload Format (SWF), the format of the Parallel Workloads Archive, plain or gzip.

    The docstring of :mod:`cpsched.logs.swf` describes the use of each field.
    """

    name = "swf"
    summary = "Standard Workload Format (Parallel Workloads Archive), plain or gzip"
    suffixes = (".swf",)

    def matches(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Tell whether a file starts with ``;`` comments or a line of many numbers."""
        start = head.lstrip()
        return start.startswith(b";") or bool(_NUMBERS_LINE.fullmatch(start.split(b"\n", 1)[0]))

    def read(self, path: Path, rejected: RejectedRows) -> Workload:
        """
        Read a log.

        Raises
        ------
        TraceError
            If the file cannot be read or holds no job.
        """
        return _workload(path, SwfLines(path, rejected), rejected)

    def write(self, workload: Workload, path: Path) -> list[str]:
        """Write a workload; return what SWF cannot hold, see :mod:`cpsched.logs.swf_write`."""
        from cpsched.logs.swf_write import write

        return write(workload, path)


SWF = Swf()


def _workload(path: Path, lines: SwfLines, rejected: RejectedRows) -> Workload:
    # ``Key: text`` comments are pairs; other comments (continued text) have the key ''.
    matches = [(comment, _COMMENT.fullmatch(comment)) for comment in lines.comments]
    header = tuple(
        (match[1], (match[2] or "").strip()) if match else ("", comment)
        for comment, match in matches
    )
    field = lines.take_columns()
    processors = np.where(field[8] > 0, field[8], field[5])
    notes = _notes(lines, header, int(processors.max(initial=0)))
    header = (*header, *(("Note", note) for note in notes))
    partial = np.isin(field[11], _PARTIAL)
    never_ran = ~partial & (field[4] < 0)
    nowhere = ~partial & ~never_ran & (processors <= 0)
    checks = RowChecks(len(processors), rejected)
    _check(checks, field, processors, job=~(partial | never_ran | nowhere), partial=partial)
    checks.reject(lambda row: FilePosition(path, int(lines.line[row])))
    rows, excluded = checks.jobs(
        path,
        never_ran=never_ran,
        no_processors=nowhere,
        partial_execution=partial,
    )
    jobs = field
    if len(rows) < len(processors):
        jobs = {number: put_away(field.pop(number)[rows]) for number in tuple(field)}
    memory_known = bool((jobs[10] >= 0).any())
    request = np.ones((len(rows), 1 + memory_known), dtype=np.int64)
    if memory_known:
        request[:, 1] = np.maximum(jobs[10], 0)
    return Workload.build(
        title=title(path),
        epoch=_epoch(path, header),
        resources=("core", "mem") if memory_known else ("core",),
        layout="processors",
        # Non-negative numbers as text, no wider than the longest.
        job_id=put_away(jobs[1].astype(f"U{len(str(jobs[1].max()))}")),
        submit=jobs[2],
        recorded_start=put_away(np.where(jobs[3] >= 0, jobs[2] + jobs[3], MISSING)),
        runtime=jobs[4],
        units=put_away(processors[rows]),
        request=put_away(request),
        requested_time=put_away(np.where(jobs[9] >= 0, jobs[9], MISSING)),
        status=put_away(np.where(jobs[11] >= 0, jobs[11], Status.UNKNOWN)),
        user=_labels(jobs[12]),
        group=_labels(jobs[13]),
        name=_labels(jobs[14]),
        queue=_labels(jobs[15], names_of(header, "Queue")),
        partition=_labels(jobs[16], names_of(header, "Partition")),
        header=header,
        set_aside=excluded,
    )


def _notes(lines: SwfLines, header: Sequence[tuple[str, str]], largest: int) -> Iterator[str]:
    """Yield what is to be said of fields that are not read, and of contradictions."""
    if lines.surplus:
        yield f"the {lines.surplus} fields of each line behind the 18th are not read"
    if lines.rounded:
        number = counted(lines.rounded, "line")
        yield f"times with a fraction are rounded to whole seconds in {number}"
    yield from _contradictions(header, len(lines.line), largest)


def _contradictions(
    header: Sequence[tuple[str, str]], num_lines: int, largest: int
) -> Iterator[str]:
    """Yield where the header says something else than itself, or than the lines."""
    values: dict[str, str] = {}
    for key, text in header:
        if key in _ONCE and values.setdefault(key, text) != text:
            yield f"the header has {key} twice: {brief(values[key])} and {brief(text)}"
    if (records := _number(values.get("MaxRecords"))) not in (None, num_lines):
        yield f"the header says MaxRecords {records:,}, the log has {counted(num_lines, 'line')}"
    max_procs = _number(values.get("MaxProcs"))
    if max_procs and largest > max_procs:
        yield f"the header says MaxProcs {max_procs:,}, a job has {largest:,} processors"


def _number(text: str | None) -> int | None:
    match = re.match(r"[0-9]{1,15}(?!\S)", text or "")
    return int(match[0]) if match else None


def _check(
    checks: RowChecks,
    field: dict[int, IntArray],
    processors: IntArray,
    *,
    job: BoolArray,
    partial: BoolArray,
) -> None:
    """Find what no single number gives away."""

    def fail(wrong: BoolArray, number: int, message: str) -> None:
        checks.fail(wrong, message, FIELDS[number - 1].name, field[number])

    fail(field[1] < 0, 1, "is missing. Every job needs a number.")
    again = np.zeros(len(job), dtype=np.bool_)
    again[~partial] = repeated(field[1][~partial])
    fail(again, 1, "is the number of another line")
    fail(job & (field[2] < 0), 2, "must be 0 or later for a job that ran")
    fail(job & (field[9] == 0), 9, "must be at least 1, or -1 for unknown")
    too_much = field[10] > MAX_AMOUNT // np.maximum(processors, 1)
    fail(job & too_much, 10, f"multiplied by the processors, must be at most {MAX_AMOUNT} KB")


def _epoch(path: Path, header: tuple[tuple[str, str], ...]) -> int | None:
    """Return what ``UnixStartTime`` says, None where it is absent or -1; raise if it is wrong."""
    texts = [text for key, text in header if key == "UnixStartTime"]
    if not texts:
        return None
    match = _UNIX_TIME.match(texts[0])
    if len(set(texts)) > 1:
        raise TraceError("is given twice", file=path, field="header UnixStartTime", value=texts[1])
    if not match or not -1 <= int(match[0]) <= MAX_TIME:
        raise TraceError(
            "must be seconds since 1970", file=path, field="header UnixStartTime", value=texts[0]
        )
    return int(match[0]) if int(match[0]) >= 0 else None


def _labels(values: IntArray, names: Mapping[str, str] = MappingProxyType({})) -> Labels:
    """Turn numbers (-1: unknown) into a column of strings, coded by first appearance."""
    # Many logs have the same number in all lines: one stands for them.
    shape, values = values.shape, values[:1] if is_constant(compact(values)) else values
    known = np.flatnonzero(values >= 0)
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[known], first = by_appearance(values[known])
    numbers = map(str, values[known[first]].tolist())
    return Labels(
        put_away(np.broadcast_to(codes, shape)),
        tuple(names.get(number, number) for number in numbers),
    )


# -- lines --------------------------------------------------------------------------------------


class SwfLines:
    """
    A file's job lines, gathered piece by piece.

    Lines of whole numbers are read natively; the others one after the other, which takes longer.
    Lines are rejected that do not have 18 fields (or as many as the first one), or a field of which
    is no number, has a fraction where none can be, is negative other than -1, or beyond belief.

    Attributes
    ----------
    comments
        Text of the comment lines, without the semicolon.
    rounded
        Number of lines with a time that has a fraction.
    """

    def __init__(self, path: Path, rejected: RejectedRows) -> None:
        self.comments: list[str] = []
        self.rounded = 0
        self._path = path
        self._rejected = rejected
        #: The columns of each piece, by field.
        self._columns: list[list[AnyArray]] = [[] for _ in TABLE_FIELDS]
        self._lines: list[AnyArray] = []
        self._comment_bytes = 0
        self._num_rows = 0
        #: Fields of each line, as the first one has them; 0 until it is read.
        self._width = 0
        for first, piece in chunks(path):
            self._take(first, piece)

    def take_columns(self) -> dict[int, IntArray]:
        """
        Return the fields kept by their number from 1, and forget them here.

        -1 is unknown, as in the file.
        """
        return {
            index + 1: put_away(_joined(pieces))
            for index, pieces in zip(TABLE_FIELDS, self._columns, strict=True)
        }

    @cached_property
    def line(self) -> IntArray:
        """Number of each row's line, from 1, shape ``(rows,)``."""
        return _joined(self._lines)

    @property
    def surplus(self) -> int:
        """Fields of each line behind the 18 of the format, which are not read."""
        return max(0, self._width - len(FIELDS))

    def _take(self, first: int, piece: bytes) -> None:
        """Read lines, the first of which has the given number."""
        self._width = self._width or _width_of(piece)
        table, lines, others = _core.number_lines(piece, self._width, _HIGH, _MEASURED, _IN_TABLE)
        lines += first
        if len(others):
            numbers, rest = self._job_lines(first, piece, others)
            if len(numbers):
                columns, numbers = self._checked_columns(rest, numbers)
                kept = np.stack([columns[index] for index in TABLE_FIELDS])
                lines = np.concatenate([lines, numbers])
                order = np.argsort(lines)
                table = np.concatenate([table, kept], axis=1)[:, order]
                lines = lines[order]
        for pieces, column in zip(self._columns, table, strict=True):
            pieces.append(_narrow(column))
        self._lines.append(_narrow(lines))
        self._num_rows += len(lines)
        check_num_rows(self._num_rows, self._path)

    def _job_lines(self, first: int, piece: bytes, which: IntArray) -> tuple[IntArray, bytes]:
        """
        Return the lines that are no comments and are text, and their numbers.

        ``which`` lines of the piece are looked at: number in it, begin and end, shape ``(n, 3)``.
        """
        numbers, lines = [], []
        for place, begin, end in which.tolist():
            raw, number = piece[begin:end], first + place
            if self._is_comment(raw.strip()):
                continue
            try:
                decode(raw, FilePosition(self._path, number))
            except TraceError as error:
                self._rejected.add(error)
                continue
            numbers.append(number)
            lines.append(raw + b"\n")
        return np.array(numbers, dtype=np.int64), _single_spaced(b"".join(lines))

    def _is_comment(self, raw: bytes) -> bool:
        """Keep a comment; False if the line is none and not blank either."""
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
        check_comments(self._comment_bytes, self._path)
        return True

    def _checked_columns(self, piece: bytes, numbers: IntArray) -> tuple[list[IntArray], IntArray]:
        """Return the fields of the lines that are right, and the numbers of these lines."""
        import pyarrow.compute as pc

        from cpsched.logs.columns import parsed, rows_of, values_of

        width = self._width or len(FIELDS)

        def reject(line: int, number: int, _: str) -> None:
            why = f"the line has {number} fields, must have {width}"
            self._rejected.add(TraceError(why, file=self._path, line=line))

        names = [str(number) for number in range(1, width + 1)]
        texts, numbers = rows_of(piece, numbers, names, reject, **_BLANK_SEPARATED)
        checks = RowChecks(len(numbers), self._rejected)
        columns = []
        rounded = np.zeros(len(numbers), dtype=np.bool_)
        for field, cells in zip(FIELDS, texts.columns, strict=False):
            values, _, wrong = parsed(cells, field.parse)
            what = "a number" if field.measured else "a whole number"
            checks.fail(wrong, f"is not {what}", field.name, cells)
            right = f"must be from 0 to {field.high}, or -1 for unknown"
            checks.fail(~field.may_be(values), right, field.name, cells)
            if field.time:
                rounded |= values_of(pc.match_substring(cells, "."))
            columns.append(values)
        checks.reject(lambda row: FilePosition(self._path, int(numbers[row])))
        self.rounded += int(np.count_nonzero(rounded & checks.good))
        return [column[checks.good] for column in columns], numbers[checks.good]


def _narrow(column: IntArray) -> AnyArray:
    """Return a copy in half the memory, if all numbers fit: a log is read a piece at a time."""
    fits = column.max(initial=0) <= np.iinfo(np.int32).max
    return column.astype(np.int32 if fits else np.int64)


def _joined(pieces: list[AnyArray]) -> IntArray:
    """Return the column of all pieces, and empty the list."""
    column = np.concatenate([np.empty(0, dtype=np.int64), *pieces])
    pieces.clear()
    return column


def _single_spaced(piece: bytes) -> bytes:
    """Return lines with one space between their words, and none around them."""
    piece = piece.translate(_BLANKS)
    while b"  " in piece:
        piece = piece.replace(b"   ", b" ").replace(b"  ", b" ")
    return piece.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")


def _width_of(piece: bytes) -> int:
    """Return how many fields the first line has that is right, 0 if none is."""
    for line in BytesIO(piece):
        try:
            values = _single_spaced(line)[:-1].decode("utf-8").split(" ")
        except UnicodeDecodeError:
            continue
        if b"\0" in line or len(values) < len(FIELDS):
            continue
        if all(map(_is_right, FIELDS, values)):
            return min(len(values), MAX_COLUMNS)
    return 0


def _is_right(field: Field, text: str) -> bool:
    try:
        value = field.parse(text)
    except ValueError:
        return False
    return -1 <= value <= field.high
