"""Why jobs waited, as sacct recorded it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.errors import TraceError
from cpsched.logs.sacct.as_json import json_rows
from cpsched.logs.sacct.lines import SacctLines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NONE = ("", "None")


def reasons_of(log: Path) -> Mapping[str, str]:
    """
    Return the last reason, by job, for which Slurm did not start it; none where it says nothing.

    That is the column ``Reason`` of sacct; Priority and Resources are not recorded there. A log of
    another kind has no reasons.
    """
    try:
        return {
            row.job_id: reason
            for row in json_rows(log) or SacctLines(log, lambda _: None).rows()
            if not row.is_step and (reason := row.values.get("reason", "")) not in _NONE
        }
    except TraceError:
        return {}
