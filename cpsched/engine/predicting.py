"""What is predicted of jobs: written down at submit, and corrected once it has passed."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from cpsched.model import columns as c
from cpsched.prediction import answers_of, listens

if TYPE_CHECKING:
    from cpsched.engine.state import State
    from cpsched.model.jobtable import JobTable
    from cpsched.prediction import RuntimePredictor


class Correction(StrEnum):
    """Where a running job's end is expected once its prediction has passed."""

    REQUESTED = "requested"
    """At its requested time."""
    DOUBLE = "double"
    """After twice the time expected so far, but no later than its requested time."""


def predict_into_store(predictor: RuntimePredictor, jobs: JobTable, now: int) -> None:
    """Ask about jobs that have just arrived, and write down the answers, clipped."""
    if predictor.is_request:
        return
    if listens(predictor, "on_submit"):
        predictor.on_submit(jobs, now)
    answers = answers_of(predictor, predictor.predict(jobs, now), jobs)
    jobs.store.writable[jobs.rows, c.PRIORITY : c.BOUND + 1] = answers


def correct_overdue(state: State, correction: Correction, now: int) -> None:
    """Expect running jobs later whose expected end has passed; never before ``now + 1``."""
    columns = state.store.columns
    while state.is_overdue(now):
        row = state.first_to_end()
        start = columns.item(row, c.START)
        end = start + columns.item(row, c.REQUESTED_TIME)
        if correction is Correction.DOUBLE:
            length = max(columns.item(row, c.EXPECTED_END) - start, 1)
            # What it is now does not depend on when it was looked at before.
            while start + length <= now:
                length *= 2
            end = min(end, start + length)
        state.expect_end(row, max(end, now + 1))
