"""``cpsched log convert --split``: one log for each value of a column."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.model.workload import LABEL_COLUMNS, SET_ASIDE
from cpsched.study.folder import plain
from cpsched.util.atomic_files import check_new_file
from cpsched.util.terminal import table_text
from cpsched.util.words import brief, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cpsched.model.workload import Labels, Workload
    from cpsched.util.types import IntArray

#: In the name of the file of jobs without a value.
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Part:
    """
    The jobs of a log that have one value in a column.

    Attributes
    ----------
    value
        None for the jobs without a value.
    file
        The file for these jobs.
    rows
        Their rows in the log, ascending.
    """

    value: str | None
    file: Path
    rows: IntArray

    def jobs_of(self, workload: Workload) -> Workload:
        """
        Return the jobs as a log of their own.

        Rows that were excluded belong to no part, because they have no value.
        """
        header = tuple(pair for pair in workload.header if pair[0] != SET_ASIDE)
        title, _ = _stem_and_ending(self.file)
        return replace(workload.take(self.rows), title=title, header=header, set_aside=())


def parts_of(workload: Workload, column: str, target: Path, *, overwrite: bool) -> list[Part]:
    """
    Return the parts into which a column divides a log: each job is in exactly one.

    Parts are in the order of their values, jobs without a value come last. Files have the name of
    ``target`` with the value after the stem, ``march-batch.csv.gz``. Of a value, a name has the
    letters, digits and ``+`` only, and a number where two names would be equal.

    Raises
    ------
    ConfigError
        If no job has a value in the column, or a file must not be written.
    """
    known = [name for name in LABEL_COLUMNS if getattr(workload, name).values]
    if column not in known:
        raise ConfigError(
            f"the column '{brief(column)}' is empty or unknown."
            f" Columns with values: {', '.join(known) or 'none'}.",
            key="--split",
        )
    by_value = dict(_rows_by_value(getattr(workload, column)))
    names = _names(list(by_value))
    stem, ending = _stem_and_ending(target)
    parts = [
        Part(value, target.with_name(f"{stem}-{name}{ending}"), rows)
        for name, (value, rows) in zip(names, by_value.items(), strict=True)
    ]
    for part in parts:
        check_new_file(part.file, overwrite=overwrite)
    return parts


def _rows_by_value(labels: Labels) -> Iterator[tuple[str | None, IntArray]]:
    """Yield each value in ascending order with the rows that have it; None last."""
    order = np.argsort(labels.codes, kind="stable")
    ends = np.searchsorted(labels.codes[order], np.arange(-1, len(labels.values)), side="right")
    rows = dict(zip([None, *labels.values], np.split(order, ends[:-1]), strict=True))
    missing = rows.pop(None)
    for value in sorted(labels.values):
        if len(rows[value]):
            yield value, rows[value]
    if len(missing):
        yield None, missing


def _names(values: Sequence[str | None]) -> list[str]:
    """Return a name of a file for each value, all different also where case does not count."""
    taken = {_UNKNOWN} if None in values else set()
    uses: Counter[str] = Counter()
    names = []
    for value in values:
        if value is None:
            names.append(_UNKNOWN)
            continue
        base = name = plain(value) or "unnamed"
        while name in taken:
            uses[base] += 1
            name = f"{base}-{uses[base] + 1}"
        taken.add(name)
        names.append(name)
    return names


def _stem_and_ending(file: Path) -> tuple[str, str]:
    """Return a file's name in two parts: ``a.b`` and ``.csv.gz`` of ``a.b.csv.gz``."""
    packed = file.suffix if file.suffix.lower() == ".gz" else ""
    inner = file.with_suffix("") if packed else file
    return inner.stem, inner.suffix + packed


def notes_of(workload: Workload, parts: Sequence[Part]) -> list[str]:
    """Return what of a log is in none of its parts, in words."""
    notes = []
    if excluded := sum(number for _, number in workload.set_aside):
        why = ", ".join(f"{number:,} {reason}" for reason, number in workload.set_aside)
        notes.append(f"{counted(excluded, 'excluded row')} of the log in no file: {why}")
    part_of = np.empty(len(workload), dtype=np.int64)
    for number, part in enumerate(parts):
        part_of[part.rows] = number
    rows = np.flatnonzero(workload.dependency >= 0)
    across = np.count_nonzero(part_of[rows] != part_of[workload.dependency[rows]])
    if across:
        jobs = "1 job depends" if across == 1 else f"{across:,} jobs depend"
        notes.append(f"{jobs} on a job of another file, which is not written")
    return notes


def table_of(parts: Sequence[Part], width: int) -> str:
    """Return value, file and number of jobs of each part as a table."""
    rows = [
        [
            "(no value)" if part.value is None else brief(part.value),
            brief(str(part.file), 1000),
            f"{len(part.rows):,}",
        ]
        for part in parts
    ]
    return table_text(["value", "file", "jobs"], rows, width=width, names=2)
