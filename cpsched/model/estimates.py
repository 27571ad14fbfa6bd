"""
The estimates without which nothing can be compared: the requested time, and the truth.

What knows true runtimes is given them by the simulation, which no forecast is: an upper bound, to
see what information is worth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import check_range
from cpsched.model.prediction import Prediction, RuntimePredictor
from cpsched.util.types import MAX_TIME

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.util.types import IntArray


#: Beyond this a share of a runtime is none, and may leave 64 bits.
_LARGEST = 1000.0
_LARGEST_SIGMA = 10.0


class Requested(RuntimePredictor):
    """The requested time of each job as its prediction (W in Remediani 2017)."""

    name = "requested"
    is_request = True

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the requested times as predictions, seconds."""
        return Prediction.point(jobs.requested_time)


class Actual(RuntimePredictor):
    """
    The actual runtime of each job as its prediction (R in Remediani 2017): no forecast.

    It shows what dispatchers can reach with perfect predictions.

    Parameters
    ----------
    truth
        Function that returns the runtimes of jobs by handle, in seconds. Only the caller can give
        it.
    factor
        Factor of the prediction, more than 0, as a control for optimism. For example 0.5: half the
        runtime.
    sigma
        Standard deviation of the logarithm of an additional random factor with median 1, which is
        sampled for each job.
    """

    name = "actual"
    needs_truth = True
    # A runtime of 0 and one beyond the requested time stay as they are.
    clipped = False

    def __init__(
        self, truth: Callable[[IntArray], IntArray], factor: float = 1.0, sigma: float = 0.0
    ) -> None:
        if not 0 < factor <= _LARGEST:
            raise ValueError(f"factor is {factor:g}, must be above 0 and at most {_LARGEST:g}")
        check_range("sigma", sigma, 0, _LARGEST_SIGMA)
        self._truth = truth
        self._factor = factor
        self._sigma = sigma
        self._seed = 0

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Set the seed of the random factors."""
        self._seed = seed

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the actual runtimes times the factors, seconds, rounded down."""
        runtime = self._truth(jobs.handle)
        factor = np.full(len(runtime), self._factor)
        if self._sigma:
            # The same for a job whenever it is asked about.
            sources = (np.random.default_rng([self._seed, job]) for job in jobs.handle.tolist())
            drawn = [source.standard_normal() for source in sources]
            factor *= np.exp(self._sigma * np.array(drawn))
        if (factor != 1.0).any():
            runtime = np.minimum(np.floor(runtime * factor), MAX_TIME).astype(np.int64)
        return Prediction.point(runtime)
