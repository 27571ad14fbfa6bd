"""The rows of a file of sacct, whether it is text or JSON; and why jobs waited by them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cpsched.errors import TraceError
from cpsched.logs.rejects import RejectedRows
from cpsched.logs.sacct.as_json import is_json, json_rows
from cpsched.logs.sacct.lines import SacctLines
from cpsched.logs.text import head

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from cpsched.logs.sacct.lines import SacctRow

_NONE = ("", "None")


class SacctRecords:
    """
    The jobs and steps of a file.

    Parameters
    ----------
    path
        Output of ``sacct --parsable2`` or ``sacct --json``, plain or gzip.
    rejected
        Takes the rows that cannot be read.

    Attributes
    ----------
    notes
        How many lines are mended, and how.
    """

    def __init__(self, path: Path, rejected: RejectedRows | None = None) -> None:
        self.notes: Counter[str] = Counter()
        self._path = path
        self._rejected = RejectedRows() if rejected is None else rejected

    def rows(self) -> Iterator[SacctRow]:
        """
        Return the rows, as they come.

        Raises
        ------
        TraceError
            If the file cannot be read, or is no output of sacct.
        """
        if is_json(head(self._path)):
            return json_rows(self._path, self._rejected)
        return SacctLines(self._path, self._rejected, self.notes).rows()


def reasons_of(log: Path) -> Mapping[str, str]:
    """
    Return the last reason, by job, for which Slurm did not start it; none where it says nothing.

    That is the column ``Reason`` of sacct; Priority and Resources are not recorded there. A log of
    another kind has no reasons.
    """
    try:
        return {
            row.job_id: reason
            for row in SacctRecords(log).rows()
            if not row.is_step and (reason := row.values.get("reason", "")) not in _NONE
        }
    except TraceError:
        return {}
