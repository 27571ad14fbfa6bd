"""A share of the requested time as the prediction: a control for optimism."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.prediction import Prediction, RuntimePredictor

if TYPE_CHECKING:
    from cpsched.model.jobtable import JobTable


class Scaled(RuntimePredictor):
    """
    Predicts a share of the requested time, rounded down.

    Much of what a better predictor gains comes of smaller numbers alone; this one has no other
    merit, so it shows how much.

    Parameters
    ----------
    factor
        The share, above 0 and at most 1.
    """

    name = "scaled"

    def __init__(self, factor: float = 0.1) -> None:
        if not 0 < factor <= 1:
            raise ValueError(f"factor is {factor}, must be above 0 and at most 1")
        self._factor = factor

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the share of the requested times."""
        return Prediction.point(np.floor(jobs.requested_time * self._factor).astype(np.int64))
