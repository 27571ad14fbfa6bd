"""Checks on a log that was read column by column: which rows are wrong, and why the first is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import TraceError
from cpsched.logs.limits import MAX_COLUMNS
from cpsched.util.types import MAX_AMOUNT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.logs.text import FilePosition
    from cpsched.util.types import AnyArray, BoolArray, IntArray


class RowChecks:
    """
    Collects what is wrong with the rows of a table.

    Attributes
    ----------
    good
        Shape ``(rows,)``; True where nothing was found wrong so far.
    """

    def __init__(self, num_rows: int) -> None:
        self.good: BoolArray = np.ones(num_rows, dtype=np.bool_)
        self._first: tuple[int, str | None, object, str] | None = None

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
        if not len(rows):
            return
        self.good[rows] = False
        row = int(rows[0])
        if self._first is None or row < self._first[0]:
            value = None if values is None else values[row]
            # NumPy's numbers and Arrow's cells as Python's.
            plain = next((name for name in ("item", "as_py") if hasattr(value, name)), None)
            self._first = row, field, getattr(value, plain)() if plain else value, message

    def fail_totals(self, units: IntArray, request: IntArray, field: str) -> None:
        """Mark rows whose units ``(rows,)`` times request ``(rows, R)`` exceed any machine."""
        limit = MAX_AMOUNT // np.maximum(units, 1)
        wrong = np.asarray((request > limit[:, None]).any(axis=1))
        self.fail(wrong, f"times the request must be at most {MAX_AMOUNT}", field, units)

    def settle(
        self,
        path: Path,
        lines: IntArray | None,
        *,
        skip_bad_lines: bool,
        bad_lines: int = 0,
        **aside: BoolArray,
    ) -> tuple[IntArray, tuple[tuple[str, int], ...]]:
        """
        Return the rows that are jobs, and how many others there are, by reason.

        Parameters
        ----------
        lines
            Shape ``(rows,)``: line of each row, None where the file has no lines.
        bad_lines
            How many more could not be read at all.
        aside
            Rows that are right and no jobs, by reason.

        Raises
        ------
        TraceError
            For the first wrong row, unless ``skip_bad_lines``; and if there is no job.
        """
        if self._first is not None and not skip_bad_lines:
            row, field, value, message = self._first
            if lines is None:
                message = f"{message} (row {row + 1})"
            line = None if lines is None else int(lines[row])
            raise TraceError(message, file=path, line=line, field=field, value=value)
        jobs = self.good.copy()
        counts: dict[str, int] = {}
        for reason, others in aside.items():
            counts[reason.replace("_", " ")] = int((others & self.good).sum())
            jobs &= ~others
        counts["bad line"] = bad_lines + int(np.count_nonzero(~self.good))
        set_aside = tuple((reason, count) for reason, count in counts.items() if count)
        if not jobs.any():
            raise no_jobs(path, set_aside)
        return np.flatnonzero(jobs), set_aside


class LogTooLargeError(TraceError):
    """A log that is beyond a limit as a whole; skipping bad lines does not help."""


def too_many_rows(path: Path, limit: int) -> TraceError:
    """Return the error for a log with more jobs than are read."""
    return LogTooLargeError(f"holds more than {limit} jobs; cut it into parts", file=path)


def check_header(names: Sequence[str], position: FilePosition) -> None:
    """Raise for too many columns, a name that is there twice, or one that is not printable."""
    if len(names) > MAX_COLUMNS:
        raise position.error(f"the header has {len(names)} columns; at most {MAX_COLUMNS} are read")
    seen: set[str] = set()
    for name in names:
        if not name.isprintable():
            raise position.error(f"a column has the name {name!a:.60}, which is not text")
        if name in seen:
            raise position.error("the header has this column twice", name or "''")
        seen.add(name)


def repeated(values: AnyArray) -> BoolArray:
    """Return True where a value occurred in an earlier row."""
    again = np.ones(len(values), dtype=np.bool_)
    again[np.unique(values, return_index=True)[1]] = False
    return again


def no_jobs(path: Path, set_aside: Sequence[tuple[str, int]]) -> TraceError:
    """Return the error for a log in which no row is a job."""
    why = ", ".join(f"{count} {reason}" for reason, count in set_aside)
    if not why and not path.stat().st_size:
        return TraceError("the file is empty, there is no job in it", file=path)
    return TraceError(f"no job in it: {why}" if why else "no job in it", file=path)
