"""The true runtime as the prediction (R in the papers): the named upper bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.prediction import Prediction, RuntimePredictor

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.model.jobtable import JobTable
    from cpsched.model.types import IntArray


#: Beyond this a share of a runtime is none, and may leave 64 bits.
_LARGEST = 1000.0


class Actual(RuntimePredictor):
    """
    Knows every runtime in advance; the only predictor that is given the truth.

    Parameters
    ----------
    truth
        Returns the runtimes of jobs by handle, in seconds. The caller hands it over on purpose;
        there is no other way to it.
    factor
        Predict this share of the truth instead, as a control for optimism; more than 0.
    """

    name = "actual"
    # A runtime of 0 and one beyond the requested time stay as they are.
    clipped = False
    needs_truth = True

    def __init__(self, truth: Callable[[IntArray], IntArray], factor: float = 1.0) -> None:
        if not 0 < factor <= _LARGEST:
            raise ValueError(f"factor is {factor:g}, must be above 0 and at most {_LARGEST:g}")
        self._truth = truth
        self._factor = factor

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the true runtimes, times the factor and rounded down."""
        runtime = self._truth(jobs.handle)
        if self._factor != 1.0:
            runtime = np.floor(runtime * self._factor).astype(np.int64)
        return Prediction.point(runtime)
