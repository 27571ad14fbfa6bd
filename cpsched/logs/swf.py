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
own line with status 0 or 1) are set aside and counted.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import TraceError
from cpsched.logs.checks import RowChecks, repeated
from cpsched.logs.swf_lines import FIELDS, TABLE_FIELDS, SwfLines, read_lines
from cpsched.logs.text import title
from cpsched.model.distinct import by_appearance
from cpsched.model.workload import Labels, Workload, names_of
from cpsched.util.types import MAX_AMOUNT, MAX_TIME, MISSING, Status
from cpsched.util.words import brief, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cpsched.util.types import BoolArray, IntArray

_COMMENT = re.compile(r"([A-Z]\w*):(?:\s+(.*))?", re.DOTALL)
_UNIX_TIME = re.compile(r"-?[0-9]{1,13}(?!\S)")
_PARTIAL = (2, 3, 4)
#: Keys of the header that have one value.
_ONCE = ("MaxJobs", "MaxRecords", "MaxProcs", "MaxNodes", "MaxRuntime", "StartTime", "TimeZone")
_NUMBERS_LINE = re.compile(rb"\s*-?[0-9]+(?:[ \t]+-?[0-9.]+){9,}\s*")


class Swf:
    """The Standard Workload Format; see the module for what its fields become."""

    name = "swf"
    summary = "Standard Workload Format (Parallel Workloads Archive), plain or gzip"
    suffixes = (".swf",)

    def matches(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Tell whether a file starts with ``;`` comments or a line of many numbers."""
        start = head.lstrip()
        return start.startswith(b";") or bool(_NUMBERS_LINE.fullmatch(start.split(b"\n", 1)[0]))

    def read(self, path: Path, *, skip_bad_lines: bool = False) -> Workload:
        """
        Read a log.

        Raises
        ------
        TraceError
            At the first invalid line (unless ``skip_bad_lines``), and if the file
            cannot be read or holds no job.
        """
        lines = read_lines(path, skip_bad_lines=skip_bad_lines)
        return _workload(path, lines, skip_bad_lines=skip_bad_lines)

    def write(self, workload: Workload, path: Path) -> list[str]:
        """Write a workload; return what SWF cannot hold, see :mod:`cpsched.logs.swf_write`."""
        from cpsched.logs.swf_write import write

        return write(workload, path)


SWF = Swf()


def _workload(path: Path, lines: SwfLines, *, skip_bad_lines: bool) -> Workload:
    # ``Key: text`` comments are pairs; other comments (continued text) have the key ''.
    matches = [(comment, _COMMENT.fullmatch(comment)) for comment in lines.comments]
    header = tuple(
        (match[1], (match[2] or "").strip()) if match else ("", comment)
        for comment, match in matches
    )
    header = (*header, *(("Note", note) for note in _notes(lines, header)))
    field = {index + 1: column for index, column in zip(TABLE_FIELDS, lines.table.T, strict=True)}
    processors = np.where(field[8] > 0, field[8], field[5])
    partial = np.isin(field[11], _PARTIAL)
    never_ran = ~partial & (field[4] < 0)
    nowhere = ~partial & ~never_ran & (processors <= 0)
    checks = _check(field, processors, job=~(partial | never_ran | nowhere), partial=partial)
    rows, set_aside = checks.settle(
        path,
        lines.line,
        skip_bad_lines=skip_bad_lines,
        bad_lines=lines.bad,
        never_ran=never_ran,
        no_processors=nowhere,
        partial_execution=partial,
    )
    jobs = {number: column[rows] for number, column in field.items()}
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
        job_id=jobs[1].astype(f"U{len(str(jobs[1].max()))}"),
        submit=jobs[2],
        recorded_start=np.where(jobs[3] >= 0, jobs[2] + jobs[3], MISSING),
        runtime=jobs[4],
        units=processors[rows],
        request=request,
        requested_time=np.where(jobs[9] >= 0, jobs[9], MISSING),
        status=np.where(jobs[11] >= 0, jobs[11], Status.UNKNOWN),
        user=_labels(jobs[12]),
        group=_labels(jobs[13]),
        name=_labels(jobs[14]),
        queue=_labels(jobs[15], names_of(header, "Queue")),
        partition=_labels(jobs[16], names_of(header, "Partition")),
        header=header,
        set_aside=set_aside,
    )


def _notes(lines: SwfLines, header: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield what is to be said of fields that are not read, and of contradictions."""
    if lines.surplus:
        yield f"the {lines.surplus} fields of each line behind the 18th are not read"
    if lines.rounded:
        number = counted(lines.rounded, "line")
        yield f"times with a fraction are rounded to whole seconds in {number}"
    column = {index: at for at, index in enumerate(TABLE_FIELDS)}
    got, requested = (lines.table[:, column[index]] for index in (4, 7))
    yield from _contradictions(
        header, len(lines.line), int(np.where(requested > 0, requested, got).max(initial=0))
    )


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
    field: dict[int, IntArray], processors: IntArray, *, job: BoolArray, partial: BoolArray
) -> RowChecks:
    """Find what no single number gives away."""
    checks = RowChecks(len(job))

    def fail(wrong: BoolArray, number: int, message: str) -> None:
        checks.fail(wrong, message, FIELDS[number - 1].name, field[number])

    fail(field[1] < 0, 1, "every job needs its number")
    again = np.zeros(len(job), dtype=np.bool_)
    again[~partial] = repeated(field[1][~partial])
    fail(again, 1, "another line has this number")
    fail(job & (field[2] < 0), 2, "a job that ran was submitted at some time (0 or later)")
    fail(job & (field[9] == 0), 9, "must be at least 1, or -1 for unknown")
    too_much = field[10] > MAX_AMOUNT // np.maximum(processors, 1)
    fail(job & too_much, 10, f"times the processors, this must be at most {MAX_AMOUNT} KB")
    return checks


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
    known = np.flatnonzero(values >= 0)
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[known], first = by_appearance(values[known])
    numbers = map(str, values[known[first]].tolist())
    return Labels(codes, tuple(names.get(number, number) for number in numbers))
