"""The schedule of a run as a log of Slurm's: output format ``slurm`` of ``cpsched simulate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.model import MISSING, Status
from cpsched.api.simulation import JobOutcome
from slurm_adapter.sacct import write as sacct_write

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.api.logs import Workload
    from cpsched.api.simulation import Run, Schedule


def write(run: Run, folder: Path, log: str) -> None:
    """
    Write the schedule of a run as ``LOG.sacct``.

    Raises
    ------
    TraceError
        If it cannot be written.
    """
    sacct_write.write(as_recorded(run.schedule), folder / f"{log.partition('.')[0]}.sacct")


def as_recorded(schedule: Schedule) -> Workload:
    """
    Return the workload as if the simulated schedule had been recorded.

    Jobs that were rejected or have not ended are left out; killed jobs count as cancelled.
    """
    outcome, jobs = schedule.outcome, schedule.workload
    rows = np.flatnonzero(~np.isin(outcome, [JobOutcome.REJECTED, JobOutcome.NOT_ENDED]))
    outcome, start, end = outcome[rows], schedule.start[rows], schedule.end[rows]
    cancelled = outcome == JobOutcome.CANCELLED
    gone = cancelled | (outcome == JobOutcome.KILLED)
    jobs = jobs.take(rows)
    status = np.where(outcome == JobOutcome.TIMEOUT, Status.TIMEOUT, jobs.status)
    return jobs.with_columns(
        recorded_start=start,
        runtime=np.where(cancelled, jobs.requested_time, end - start),
        status=np.where(gone, Status.CANCELLED, status),
        cancel=np.where(cancelled, end, MISSING),
    )
