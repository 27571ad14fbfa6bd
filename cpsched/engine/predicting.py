"""What is predicted of jobs: written down at submit, and corrected once it has passed."""

from __future__ import annotations

from enum import StrEnum
from operator import index
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.model import columns as c
from cpsched.model.types import MAX_TIME
from cpsched.prediction import answers_of, listens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.engine.machine import Machine
    from cpsched.model.jobstore import JobStore
    from cpsched.model.jobtable import JobTable
    from cpsched.prediction import RuntimePredictor


class Correction(StrEnum):
    """Where a running job's end is expected once its prediction has passed."""

    REQUESTED = "requested"
    """At its requested time."""
    DOUBLE = "double"
    """After twice the time expected so far, but no later than its requested time."""


def predict(predictor: RuntimePredictor, store: JobStore, jobs: JobTable, now: int) -> None:
    """Ask about jobs that have just arrived, and write the answers, clipped, into the store."""
    if predictor.is_request:
        return
    if listens(predictor, "on_submit"):
        predictor.on_submit(jobs, now)
    answers = answers_of(predictor, predictor.predict(jobs, now), jobs)
    store.writable[jobs.rows, c.RANKING_ESTIMATE : c.RUNTIME_BOUND + 1] = answers


def checked_prediction(predicted: Sequence[int]) -> list[int]:
    """
    Return the three runtimes that calling code predicts for one job.

    Raises
    ------
    ConfigError
        If they are not three runtimes.
    """
    try:
        answers = [index(seconds) for seconds in predicted]
    except TypeError:
        answers = []
    if len(answers) != 3 or min(answers) < 0 or max(answers) > MAX_TIME:
        raise ConfigError(
            f"is {predicted!r:.80}, must be three whole numbers of seconds from 0 to {MAX_TIME}:"
            " ranking_estimate, runtime_estimate, runtime_bound",
            where="Cluster.submit",
            key="predicted",
        )
    return answers


def correct_overdue(machine: Machine, correction: Correction, now: int) -> None:
    """Expect running jobs later whose expected end has passed; never before ``now + 1``."""
    columns = machine.store.columns
    while machine.is_overdue(now):
        row = machine.first_to_end()
        start = columns.item(row, c.START)
        end = start + columns.item(row, c.REQUESTED_TIME)
        if correction is Correction.DOUBLE:
            length = max(columns.item(row, c.EXPECTED_END) - start, 1)
            # What it is now does not depend on when it was looked at before.
            while start + length <= now:
                length *= 2
            end = min(end, start + length)
        machine.expect_end(row, max(end, now + 1))
