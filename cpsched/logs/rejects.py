"""
The rows of a log that cannot be read, collected in one way by every reader.

A reader hands every such row to :class:`RejectedRows` and goes on; whether the first of them ends
the reading is decided when all have been read (:func:`cpsched.logs.read`). Readers that hold
columns find wrong rows with :class:`RowChecks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.errors import TraceError
from cpsched.logs.text import LogTooLargeError, texts_of, written
from cpsched.util.csv_cells import csv_text, guarded
from cpsched.util.types import MAX_AMOUNT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from cpsched.logs.text import FilePosition
    from cpsched.util.types import AnyArray, BoolArray, IntArray

#: What the rows are counted as among the excluded rows of a workload.
BAD_LINE = "bad line"
#: How many rows of one reason the header names.
EXAMPLES = 3


class RejectedRow(NamedTuple):
    """
    A row that cannot be read, as it is written.

    ``line`` is its line; of Parquet its row, of JSON its job, counted from 1. ``text`` is as in the
    file; None: the line of this number.
    """

    line: int
    field: str
    value: str
    reason: str
    text: str | None


class RejectedRows:
    """
    Collects the rows of a log that cannot be read.

    Parameters
    ----------
    listed
        Whether each row is kept for :meth:`write`; else they are counted alone.

    Attributes
    ----------
    count
        Number of rows.
    first
        The error of the first of them; None if there is none.
    examples
        Lines of those that were first added, in words.
    """

    def __init__(self, *, listed: bool = False) -> None:
        self.listed = listed
        self.count = 0
        self.first: TraceError | None = None
        self.examples: list[str] = []
        self._first_line = 0
        self._rows: list[RejectedRow] = []

    def add(self, error: TraceError, text: str | None = None, number: int = 0) -> None:
        """
        Take a row.

        Parameters
        ----------
        error
            What is wrong; a log that is too large as a whole is not a matter of rows, so this
            error is raised.
        text
            The row; None: the line that the error names.
        number
            The row's number in a file without lines.
        """
        if isinstance(error, LogTooLargeError):
            raise error
        line = error.line or number
        self.count += 1
        if error.line is not None and len(self.examples) < EXAMPLES:
            self.examples.append(f"line {error.line}")
        if self.first is None or line < self._first_line:
            self.first, self._first_line = error, line
        self.note(error, text, number)

    def note(self, error: TraceError, text: str | None = None, number: int = 0) -> None:
        """List a row that the reader counts by itself, for another reason."""
        if self.listed:
            value = "" if error.value is None else str(error.value)
            row = RejectedRow(error.line or number, error.field or "", value, error.reason, text)
            self._rows.append(row)

    def rows(self, path: Path) -> list[RejectedRow]:
        """Return the listed rows of a file by line, each with its text."""
        rows = sorted(self._rows, key=lambda row: row.line)
        unknown = {row.line for row in rows if row.text is None}
        texts = texts_of(path, unknown) if unknown else {}
        return [
            row._replace(text=texts.get(row.line, "") if row.text is None else row.text)
            for row in rows
        ]

    def write(self, log: Path, target: Path) -> None:
        """Write the rows of a log as CSV: ``line, field, value, reason, text``."""
        rows = [RejectedRow._fields, *(tuple(map(guarded, row)) for row in self.rows(log))]
        with written(target) as file:
            file.write(csv_text(zip(*rows, strict=True)).encode("utf-8", "replace"))


class RowChecks:
    """
    Collects what is wrong with the rows of columns.

    Attributes
    ----------
    good
        Shape ``(rows,)``; True where nothing is wrong so far.
    """

    def __init__(self, num_rows: int, rejected: RejectedRows) -> None:
        self.good: BoolArray = np.ones(num_rows, dtype=np.bool_)
        self._rejected = rejected
        self._faults: list[tuple[int, str | None, object, str]] = []

    def fail(
        self, wrong: BoolArray, message: str, field: str | None = None, values: Any = None
    ) -> None:
        """
        Mark rows as wrong.

        Parameters
        ----------
        wrong
            Shape ``(rows,)``.
        message
            What would be right.
        field, values
            The column and what it holds (indexable by row), for the message.
        """
        rows = np.flatnonzero(wrong & self.good)
        self.good[rows] = False
        # Of rows that are only counted, the first of each check tells the first of all.
        for row in rows[: None if self._rejected.listed else 1].tolist():
            value = None if values is None else values[row]
            # NumPy's numbers and Arrow's cells as Python's.
            plain = next((name for name in ("item", "as_py") if hasattr(value, name)), None)
            self._faults.append((row, field, getattr(value, plain)() if plain else value, message))

    def fail_totals(self, units: IntArray, request: IntArray, field: str) -> None:
        """Mark rows whose units ``(rows,)`` times request ``(rows, R)`` exceed any system."""
        limit = MAX_AMOUNT // np.maximum(units, 1)
        wrong = np.asarray((request > limit[:, None]).any(axis=1))
        self.fail(wrong, f"times the request must be at most {MAX_AMOUNT}", field, units)

    def reject(
        self,
        position_of: Callable[[int], FilePosition],
        texts_of: Callable[[Sequence[int]], Sequence[str]] | None = None,
    ) -> None:
        """
        Hand on the rows that are wrong.

        Parameters
        ----------
        position_of
            Returns where a row is.
        texts_of
            Returns the texts of rows; None where lines of the file have them.
        """
        self._faults.sort(key=lambda fault: fault[0])
        texts: Sequence[str | None] = [None] * len(self._faults)
        if self._faults and self._rejected.listed and texts_of is not None:
            texts = texts_of([fault[0] for fault in self._faults])
        for (row, field, value, message), text in zip(self._faults, texts, strict=True):
            self._rejected.add(position_of(row).error(message, field, value), text, row + 1)
        self._rejected.count += int(np.count_nonzero(~self.good)) - len(self._faults)
        self._faults.clear()

    def jobs(
        self, path: Path, **excluded: BoolArray
    ) -> tuple[IntArray, tuple[tuple[str, int], ...]]:
        """
        Return the rows that are jobs, and how many others there are, by reason.

        Parameters
        ----------
        excluded
            Rows that are right and no jobs, by reason.

        Raises
        ------
        TraceError
            If there is no job.
        """
        jobs = self.good.copy()
        counts = []
        for reason, others in excluded.items():
            counts.append((reason.replace("_", " "), int(np.count_nonzero(others & self.good))))
            jobs &= ~others
        counts.append((BAD_LINE, self._rejected.count))
        return np.flatnonzero(jobs), excluded_rows(path, int(np.count_nonzero(jobs)), counts)


def excluded_rows(
    path: Path, num_jobs: int, counts: Iterable[tuple[str, int]]
) -> tuple[tuple[str, int], ...]:
    """Return the reasons for which rows of a log are no jobs; raise if it has no job at all."""
    excluded = tuple((reason, count) for reason, count in counts if count)
    if not num_jobs:
        why = ", ".join(f"{count} {reason}" for reason, count in excluded)
        if not why and not path.stat().st_size:
            raise TraceError("the file is empty", file=path)
        raise TraceError(f"no job in it: {why}" if why else "no job in it", file=path)
    return excluded


def repeated(values: AnyArray) -> BoolArray:
    """Return True where a value occurred in an earlier row."""
    again = np.zeros(len(values), dtype=np.bool_)
    # Logs have rising numbers, as a rule.
    if not (values[1:] > values[:-1]).all():
        again[:] = True
        again[np.unique(values, return_index=True)[1]] = False
    return again
