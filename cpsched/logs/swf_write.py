"""
Writing a workload as Standard Workload Format.

What SWF has a field for is kept, so that reading the file gives an equal workload; what it has
none for is either counted in a ``Note`` of the header or, like the layout on nodes, lost:

- layout ``units``: processors = units x cores of one, plus the cores per node on the least
  number of nodes; memory is the job's total divided by that, rounded up.
- strings that are not numbers (job ids, users, queues, ...) are numbered from 1; queues and
  partitions are listed in the header as the standard asks, the others are not.
- a timeout becomes status 0 (failed), a preempted job status 5 (cancelled);
- a requested time that was only assumed becomes unknown; a recorded start before the submit
  becomes an unknown wait.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import TraceError
from cpsched.logs.text import written
from cpsched.util.types import MAX_AMOUNT, MISSING, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.model.workload import Labels, Workload
    from cpsched.util.types import BoolArray, IntArray

_NUMERAL = re.compile(r"0|[1-9][0-9]{0,15}")
_ROWS_AT_ONCE = 50_000
_LABELS = ("user", "group", "name", "queue", "partition")
#: Keys of the header's lines that name their numbers.
_NAMED = ("Queue", "Partition")


def write(workload: Workload, path: Path) -> list[str]:
    """
    Write a workload, gzip where the name ends in ``.gz``; return what SWF has no place for.

    Raises
    ------
    TraceError
        If the file cannot be written, or the workload has no cores to count as processors.
    """
    notes: list[str] = []
    columns = _columns(workload, path, notes)
    comments = [*_header(workload), *(f"Note: {note}" for note in notes)]
    with written(path) as file:
        for comment in comments:
            # Nothing in it may end its line.
            line = " ".join(comment.replace("\0", " ").splitlines()).rstrip()
            file.write(f"; {line}\n".encode())
        for start in range(0, workload.num_jobs, _ROWS_AT_ONCE):
            rows = columns[start : start + _ROWS_AT_ONCE].tolist()
            file.write("".join(" ".join(map(str, row)) + "\n" for row in rows).encode())
    return notes


def _columns(workload: Workload, path: Path, notes: list[str]) -> IntArray:
    """Return the 18 fields of every job, shape ``(J, 18)``, and note what they cannot say."""
    processors, memory = _processors(workload, path, notes)
    wait = workload.recorded_start - workload.submit
    known = (workload.recorded_start != MISSING) & (wait >= 0)
    early = (workload.recorded_start != MISSING) & (wait < 0)
    requested = (workload.requested_time != MISSING) & ~workload.requested_time_assumed
    timeouts = workload.status == Status.TIMEOUT
    preempted = workload.status == Status.PREEMPTED
    _note(notes, early, "recorded start(s) before the submit are written as unknown")
    _note(notes, workload.requested_time_assumed, "assumed requested time(s) written as unknown")
    _note(notes, timeouts, "timeout(s) are written as status 0")
    _note(notes, preempted, "preempted job(s) are written as status 5")
    table = np.full((workload.num_jobs, 18), -1, dtype=np.int64)
    table[:, 0] = _job_numbers(workload, notes)
    table[:, 1] = workload.submit
    table[:, 2] = np.where(known, wait, -1)
    table[:, 3] = workload.runtime
    table[:, 4] = table[:, 7] = processors
    table[:, 8] = np.where(requested, workload.requested_time, -1)
    table[:, 9] = memory
    table[:, 10] = np.where(timeouts, Status.FAILED, workload.status)
    table[preempted, 10] = Status.CANCELLED
    for position, name in enumerate(_LABELS, start=11):
        table[:, position] = _label_numbers(name, getattr(workload, name), notes)
    return table


def _processors(
    workload: Workload, path: Path, notes: list[str]
) -> tuple[IntArray, IntArray | int]:
    """Return processors, and memory in KB per processor (-1 where memory is not modelled)."""
    if "core" not in workload.resources:
        raise TraceError(
            f"SWF counts cores, and the log has none (only {', '.join(workload.resources)})",
            file=path,
        )
    total = workload.request * workload.units[:, None]
    total = total + workload.per_node * workload.nodes_min[:, None]
    processors = total[:, workload.resources.index("core")]
    if (processors < 1).any():
        row = int(np.flatnonzero(processors < 1)[0])
        raise TraceError(
            f"SWF counts cores, and job {workload.job_id[row]} asks for none", file=path
        )
    if workload.layout == "units" or not np.array_equal(processors, workload.units):
        notes.append("processors = all cores of a job, without their placement on nodes")
    others = sorted(set(workload.resources) - {"core", "mem"})
    if others:
        notes.append(f"requests for {', '.join(others)} are not written")
    if "mem" not in workload.resources:
        return processors, -1
    return processors, -(-total[:, workload.resources.index("mem")] // processors)


def _job_numbers(workload: Workload, notes: list[str]) -> IntArray:
    ids = workload.job_id.tolist()
    if all(_is_numeral(text) for text in ids) and len(set(ids)) == len(ids):
        return np.array([int(text) for text in ids], dtype=np.int64)
    notes.append("job numbers count the jobs, as the ids of the source are not distinct numbers")
    return np.arange(1, len(ids) + 1)


def _label_numbers(name: str, labels: Labels, notes: list[str]) -> IntArray:
    """Return the numbers that stand for a column's strings, -1 where unknown."""
    if _are_numerals(labels.values):
        numbers = [int(text) for text in labels.values]
    else:
        numbers = list(range(1, len(labels.values) + 1))
        notes.append(f"{name}s are numbered in order of appearance")
    return np.array([*numbers, -1], dtype=np.int64)[labels.codes]


def _header(workload: Workload) -> list[str]:
    """Return the comment lines: the log's own, the epoch, and the names of numbered things."""
    named = [key for key in _NAMED if not _are_numerals(getattr(workload, key.lower()).values)]
    pairs = [pair for pair in workload.header if pair[0] not in ("UnixStartTime", *named)]
    lines = [f"{key}: {text}" if key else f"      {text}" for key, text in pairs]
    if workload.epoch is not None:
        at = next(
            (row for row, pair in enumerate(workload.header) if pair[0] == "UnixStartTime"), 0
        )
        lines.insert(at, f"UnixStartTime: {workload.epoch}")
    for key in named:
        values = getattr(workload, key.lower()).values
        lines += [f"{key}: {number} {text}" for number, text in enumerate(values, 1)]
    lines += [f"Note: excluded: {count} {reason}" for reason, count in workload.set_aside]
    return lines


def _are_numerals(texts: Sequence[str]) -> bool:
    return all(map(_is_numeral, texts))


def _is_numeral(text: str) -> bool:
    return bool(_NUMERAL.fullmatch(text)) and int(text) <= MAX_AMOUNT


def _note(notes: list[str], rows: BoolArray, text: str) -> None:
    count = int(np.count_nonzero(rows))
    if count:
        notes.append(f"{count} {text}")
