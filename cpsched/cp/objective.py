"""
What a plan is judged by: a sum of weighted starts, the weights whole numbers.

Both objectives of Remediani 2017 are, up to a constant, ``sum_i w_i s_i`` over the starts: with
``w_i = E / ewt_i`` for the expected wait (eqs. 4.6, 4.14) and ``w_i = 1 / d_i`` for the slowdown
(eq. 4.12). A common factor changes no comparison.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.cp import cpsat
from cpsched.dispatch.priority import ExpectedWait
from cpsched.errors import ConfigError, check_choice

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System

#: Weights up to this keep ratios to one in a billion; larger ones only slow the solver down.
MOST_WEIGHT = 2**30


class Objective(ABC):
    """
    What a plan is judged by: a sum over jobs of the start over a divisor; the less, the better.

    Your own needs only :attr:`name` and :meth:`divisors`.
    """

    name: ClassVar[str]

    def reset(self, system: System) -> None:  # noqa: B027
        """Prepare for a system; refuse one that lacks what is needed."""

    @abstractmethod
    def divisors(self, jobs: JobTable) -> IntArray:
        """Return how many seconds of wait cost one unit, for each job: whole, at least 1."""


class WeightedWait(Objective):
    """The wait of each job, weighted by the largest expected wait over that of its queue."""

    name = "expected-wait"

    def reset(self, system: System) -> None:
        """Refuse a system with a queue that has no expected wait."""
        self._system = system
        ExpectedWait().reset(system)

    def divisors(self, jobs: JobTable) -> IntArray:
        """Return ``ewt_i``."""
        expected = jobs.expected_wait
        if len(expected) and expected.min() < 1:
            raise ConfigError(
                "a job has no queue, but objective 'expected-wait' needs an expected wait for"
                " it: set default_expected_wait",
                where=f"system {self._system.name}",
            )
        return expected


class MeanSlowdown(Objective):
    """The slowdown of each job by its predicted runtime; 0 counts as 1."""

    name = "slowdown"

    def divisors(self, jobs: JobTable) -> IntArray:
        """Return ``d_i``."""
        return np.maximum(jobs.runtime_estimate, 1)


_OBJECTIVES = {kind.name: kind for kind in (WeightedWait, MeanSlowdown)}
#: The names of the paper's objectives.
OBJECTIVES = tuple(_OBJECTIVES)


def make_objective(given: str | Objective) -> Objective:
    """
    Return an objective by its name; one of your own as it is.

    Raises
    ------
    ConfigError
        If there is none of that name.
    """
    if isinstance(given, Objective):
        return given
    check_choice("objective", given, OBJECTIVES)
    return _OBJECTIVES[given]()


def whole_weights(divisors: IntArray, horizon: int) -> list[int]:
    """
    Return whole numbers in proportion to ``1 / divisors``.

    Exact (the least common multiple over each divisor) where that stays in range; otherwise
    rounded, and at least 1, so that a weight ``w`` is off by at most ``1 / (2 w)`` of itself, or is
    1.

    Parameters
    ----------
    divisors
        At least 1, shape ``(n,)``.
    horizon
        No start is later: ``n * weight * horizon`` stays below 2^62.
    """
    given = divisors.tolist()
    if not given:
        return []
    most = min(MOST_WEIGHT, cpsat.most_weight(len(given), horizon))
    least = min(given)
    common = 1
    for divisor in set(given):
        common = math.lcm(common, divisor)
        if common > most * least:
            return [max(1, (2 * most * least + divisor) // (2 * divisor)) for divisor in given]
    return [common // divisor for divisor in given]
