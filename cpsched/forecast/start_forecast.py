"""The possible starts of some jobs: the scenarios of one forecast, and statistics of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.util.types import FloatArray, IntArray

#: A start beyond the end of the scenario: later than any second.
NEVER = 2**62
#: A time limit of a year or more is none: schedulers plan so where a job has no limit.
NO_LIMIT = 365 * 86400


@dataclass(frozen=True, slots=True, eq=False)
class StartForecast:
    """
    Starts of n jobs in S simulated futures (scenarios) of equal probability.

    Attributes
    ----------
    now
        The second of the forecast.
    handle
        Handles of the jobs, shape ``(n,)``.
    scenario
        Start of each job in each scenario, seconds, shape ``(S, n)``. :data:`NEVER` if a scenario
        ends before.
    planned
        Starts if every job uses its whole requested time and no new jobs arrive, seconds, shape
        ``(n,)``. :data:`NEVER` as above.
    """

    now: int
    handle: IntArray
    scenario: IntArray
    planned: IntArray

    @property
    def second(self) -> IntArray:
        """Starts of each job, sorted over the scenarios, seconds, shape ``(S, n)``."""
        seconds: IntArray = np.sort(self.scenario, axis=0)
        return seconds

    def quantile(self, level: float) -> IntArray:
        """
        Return the second by which each job has started with a given probability, shape ``(n,)``.
        """
        second = self.second
        last = len(second) - 1
        # Scenario i stands for the probabilities from i / S to (i + 1) / S.
        at = min(max(level * (last + 1) - 0.5, 0.0), float(last))
        low, share = int(at), at - int(at)
        below, above = second[low], second[min(low + 1, last)]
        between = below + np.round(share * (above - below)).astype(np.int64)
        never = (above == NEVER) & (share > 0) & (below != NEVER)
        seconds: IntArray = np.where(never, below if share < 0.5 else above, between)
        return seconds

    def chance_by(self, deadline: int) -> FloatArray:
        """Return the probability that each job has started by a second, shape ``(n,)``."""
        chance: FloatArray = (self.scenario <= deadline).mean(axis=0)
        return chance
