"""
The estimates without which nothing can be compared: the requested time, and the truth.

What knows true runtimes, all or some, is given them by the simulation, which no forecast is: upper
bounds, to see what information is worth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.base.types import MAX_TIME
from cpsched.errors import check_range
from cpsched.model.prediction import Prediction, RuntimePredictor

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.base.types import IntArray
    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System


#: Beyond this a share of a runtime is none, and may leave 64 bits.
_LARGEST = 1000.0
_LARGEST_SIGMA = 10.0


class Requested(RuntimePredictor):
    """Predicts that every job runs for the time it asked for (W in the papers)."""

    name = "requested"
    is_request = True

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the requested times."""
        return Prediction.point(jobs.requested_time)


class _Knowing(RuntimePredictor):
    """Is given the truth, and may draw random numbers, of each job its own."""

    needs_truth = True

    def __init__(self, truth: Callable[[IntArray], IntArray]) -> None:
        self._truth = truth
        self._seed = 0

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Draw from a seed."""
        self._seed = seed

    def _random(self, handles: IntArray) -> list[np.random.Generator]:
        """Return a source of random numbers for each job, the same whenever it is asked about."""
        return [np.random.default_rng([self._seed, handle]) for handle in handles.tolist()]


class Actual(_Knowing):
    """
    Knows every runtime in advance (R in the papers): the named upper bound.

    Parameters
    ----------
    truth
        Returns the runtimes of jobs by handle, in seconds. The caller hands it over on purpose;
        there is no other way to it.
    factor
        Predict this share of the truth instead, as a control for optimism; more than 0.
    sigma
        Deviation of the logarithm of a random factor besides, with median 1; of each job its own.
    """

    name = "actual"
    # A runtime of 0 and one beyond the requested time stay as they are.
    clipped = False

    def __init__(
        self, truth: Callable[[IntArray], IntArray], factor: float = 1.0, sigma: float = 0.0
    ) -> None:
        if not 0 < factor <= _LARGEST:
            raise ValueError(f"factor is {factor:g}, must be above 0 and at most {_LARGEST:g}")
        check_range("sigma", sigma, 0, _LARGEST_SIGMA)
        super().__init__(truth)
        self._factor = factor
        self._sigma = sigma

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the true runtimes, times the factors and rounded down."""
        runtime = self._truth(jobs.handle)
        factor = np.full(len(runtime), self._factor)
        if self._sigma:
            drawn = [job.standard_normal() for job in self._random(jobs.handle)]
            factor *= np.exp(self._sigma * np.array(drawn))
        if (factor != 1.0).any():
            runtime = np.minimum(np.floor(runtime * factor), MAX_TIME).astype(np.int64)
        return Prediction.point(runtime)


class OracleClass(_Knowing):
    """
    Knows of each job whether it ends soon, or says so with errors, and nothing else.

    A job that is said to end within some seconds is predicted to run so long, any other its
    requested time. To see what one bit is worth, and how good a classifier must be.

    Parameters
    ----------
    truth
        As for :class:`Actual`.
    within
        Seconds.
    recall, false_alarms
        How many of the jobs that end within these seconds are said to, and how many of the others.
    """

    name = "oracle-class"

    def __init__(
        self,
        truth: Callable[[IntArray], IntArray],
        within: int = 60,
        recall: float = 1.0,
        false_alarms: float = 0.0,
    ) -> None:
        check_range("within", within, 1, MAX_TIME)
        check_range("recall", recall, 0, 1)
        check_range("false_alarms", false_alarms, 0, 1)
        super().__init__(truth)
        self._within = within
        self._chances = false_alarms, recall

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the horizon or the requested time."""
        short = self._truth(jobs.handle) <= self._within
        drawn = np.array([job.random() for job in self._random(jobs.handle)])
        said = drawn < np.where(short, self._chances[1], self._chances[0])
        return Prediction.point(np.where(said, self._within, jobs.requested_time))
