"""Which row of a workload a job id means."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.words import brief

if TYPE_CHECKING:
    from cpsched.model.types import IntArray
    from cpsched.model.workload import Workload

#: So many ids are compared with one that is not there: comparing is slow.
_MOST_COMPARED = 2000


def find_job(workload: Workload, job_id: str, time: int) -> tuple[int, int]:
    """
    Return the row of the job meant, and how many jobs have its id.

    Of several, the one submitted last by ``time`` is meant.

    Raises
    ------
    ConfigError
        If there is none, or none is submitted by then.
    """
    rows: IntArray = np.flatnonzero(workload.job_id == job_id).astype(np.int64)
    if not len(rows):
        near = ", ".join(brief(name) for name in _near(workload, job_id))
        hint = f" Near it: {near}." if near else ""
        raise ConfigError(
            f"no job of the {len(workload):,} read has the id {brief(job_id)}.{hint}", key="--job"
        )
    known = rows[workload.submit[rows] <= time]
    if not len(known):
        raise ConfigError(
            f"job {brief(job_id)} is submitted at second {workload.submit[rows[0]]} only; ask about"
            " that second or a later one",
            key="--at",
        )
    return int(known[-1]), len(rows)


def _near(workload: Workload, job_id: str) -> list[str]:
    """Return up to three ids of the workload that look like one that is not in it."""
    names = workload.job_id
    stem = job_id[: max(1, len(job_id) - 2)]
    alike = names[np.char.startswith(names, stem)]
    candidates = (alike if len(alike) else names)[:_MOST_COMPARED].tolist()
    return get_close_matches(job_id, dict.fromkeys(candidates), n=3)
