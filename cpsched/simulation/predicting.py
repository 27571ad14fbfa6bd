"""A predictor's answers into the job store, for who asks without a simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model import columns as c
from cpsched.prediction import listens

if TYPE_CHECKING:
    from cpsched.model.jobtable import JobTable
    from cpsched.prediction import RuntimePredictor


def predict_into_store(predictor: RuntimePredictor, jobs: JobTable, now: int) -> None:
    """Ask about jobs that have just arrived, and write down the answers, clipped."""
    if predictor.is_request:
        return
    if listens(predictor, "on_submit"):
        predictor.on_submit(jobs, now)
    answers = np.stack(predictor.predict(jobs, now), axis=1)
    if predictor.clipped:
        answers = np.clip(answers, 1, jobs.requested_time[:, None])
    jobs.store.writable[jobs.rows, c.PRIORITY : c.BOUND + 1] = answers
