"""
What a plan is judged by: a sum of weighted starts, the weights whole numbers.

Both objectives of Remediani 2017 are, up to a constant, ``sum_i w_i s_i`` over the starts: with
``w_i = E / ewt_i`` for the expected wait (eqs. 4.6, 4.14) and ``w_i = 1 / d_i`` for the slowdown
(eq. 4.12). A common factor changes no comparison, so what matters are the numbers ``1 / ewt_i``
and ``1 / d_i``, and :func:`whole_weights` makes them whole.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cpsched import cpsat
from cpsched.errors import ConfigError
from cpsched.priority import ExpectedWait

if TYPE_CHECKING:
    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.model.types import IntArray

OBJECTIVES = ("expected-wait", "slowdown")

#: Weights up to this keep ratios to one in a billion; larger ones only slow the solver down.
MOST_WEIGHT = 2**30


class Objective:
    """
    The weights of an objective.

    Parameters
    ----------
    name
        ``expected-wait`` or ``slowdown``.
    """

    def __init__(self, name: str) -> None:
        if name not in OBJECTIVES:
            raise ConfigError(f"objective is '{name}', must be {' or '.join(OBJECTIVES)}")
        self.name = name

    def reset(self, system: System) -> None:
        """
        Prepare for a system.

        Raises
        ------
        ConfigError
            If the objective needs an expected wait for every queue and one has none.
        """
        self._system = system
        if self.name == "expected-wait":
            ExpectedWait().reset(system)

    def divisors(self, jobs: JobTable) -> IntArray:
        """
        Return what each job's start is divided by: ``ewt_i``, or ``d_i`` (0 counts as 1).

        Raises
        ------
        ConfigError
            If a job's expected wait is needed and not known.
        """
        if self.name == "slowdown":
            return np.maximum(jobs.plan, 1)
        expected = jobs.expected_wait
        if len(expected) and expected.min() < 1:
            raise ConfigError(
                "a job is in no queue, and objective 'expected-wait' needs an expected wait for"
                " it: set default_expected_wait",
                where=f"system {self._system.name}",
            )
        return expected


def whole_weights(divisors: IntArray, horizon: int) -> list[int]:
    """
    Return whole numbers in proportion to ``1 / divisors``.

    Exact (the least common multiple over each divisor) where that stays in range; otherwise
    rounded to the nearest multiple of the smallest step that does, and at least 1, so that a
    weight ``w`` is off by at most ``1 / (2 w)`` of itself, except where it would be below 1.

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
