"""The requested time as the prediction (W in the papers)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.model.prediction import Prediction, RuntimePredictor

if TYPE_CHECKING:
    from cpsched.model.jobtable import JobTable


class Requested(RuntimePredictor):
    """Predicts that every job runs for the time it asked for."""

    name = "requested"
    is_request = True

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the requested times."""
        return Prediction.point(jobs.requested_time)
