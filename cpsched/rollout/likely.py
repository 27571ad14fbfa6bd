"""What the runtimes of some jobs are likely to be, and what follows for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.kernels import likely
from cpsched.kernels.scenarios import overdue_slope

if TYPE_CHECKING:
    from cpsched.model.types import FloatArray, IntArray


class Likely(NamedTuple):
    """
    Likely runtimes of n jobs, see :func:`cpsched.kernels.likely.likely_runtimes`.

    Attributes
    ----------
    estimate
        What is predicted, for where nothing is known; shape ``(n,)``.
    runtime, num
        Seconds, and how many there are, of two sources.
    """

    estimate: IntArray
    runtime: IntArray
    num: IntArray

    def take(self, positions: IntArray) -> Likely:
        """Return those of some of the jobs."""
        return Likely(self.estimate[positions], self.runtime[positions], self.num[positions])

    def join(self, others: Likely) -> Likely:
        """Return those of these jobs, then those of others."""
        return Likely(*(np.concatenate(pair) for pair in zip(self, others, strict=True)))

    def typical(self) -> IntArray:
        """Return medians, seconds."""
        typical: IntArray = likely.typical_runtimes(self.estimate, self.runtime, self.num)
        return typical

    def draw(self, scenarios: int, seed: int, elapsed: IntArray, expected: IntArray) -> IntArray:
        """Draw runtimes, see :func:`cpsched.kernels.likely.draw_runtimes`."""
        drawn: IntArray = likely.draw_runtimes(
            scenarios, seed, elapsed, expected, self.runtime, self.num
        )
        return drawn

    def urgency(self, waited: IntArray, share: FloatArray, patience: float) -> FloatArray:
        """
        Return how much a second of waiting is expected to cost for each second of the machine.

        The rule of weighted shortest processing times (Smith 1956), with the slope of a job's cost
        (:func:`cpsched.kernels.scenarios.job_cost`) for its weight, and its share of the machine
        times its runtime for the processing time.

        Parameters
        ----------
        waited
            Seconds.
        share
            The largest share of the machine each job takes, above 0.
        """
        slope, mean = likely.expectations(self.estimate, self.runtime, self.num)
        urgency: FloatArray = (slope + overdue_slope(waited, patience)) / (mean * share)
        return urgency
