"""
What a plan is judged by: a sum of weighted starts, the weights whole numbers; bounds on the starts.

Both objectives of Remediani 2017 are, up to a constant, ``sum_i w_i s_i`` over the starts: with
``w_i = E / ewt_i`` for the expected wait (eqs. 4.6, 4.14) and ``w_i = 1 / d_i`` for the slowdown
(eq. 4.12). A common factor changes no comparison. The third one is ours.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.cp import cpsat
from cpsched.dispatch.orders import AGING, ExpectedWait, Wsept
from cpsched.errors import ConfigError, check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.dispatch.runtime_distribution import RuntimeHistory
    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.util.types import IntArray

#: Weights up to this keep ratios to one in a billion; larger ones only slow the solver down.
MAX_WEIGHT = 2**30


class Objective(ABC):
    """
    What a plan is judged by: a sum over jobs of the start over a divisor; the less, the better.

    Your own needs only :attr:`name` and :meth:`divisors`.
    """

    name: ClassVar[str]
    #: Whether :attr:`history` is asked how long jobs ran that have ended.
    learns: ClassVar[bool] = False
    history: RuntimeHistory

    def reset(self, system: System) -> None:  # noqa: B027
        """Prepare for a system; refuse one that lacks what is needed."""

    @abstractmethod
    def divisors(self, jobs: JobTable, now: int) -> IntArray:
        """Return how many seconds of wait cost one unit, for each job: whole, at least 1."""

    def durations(self, jobs: JobTable) -> IntArray:
        """Return how long jobs are planned to run: whole seconds, at least 1."""
        return np.maximum(jobs.runtime_estimate, 1)


class WeightedWait(Objective):
    """The wait of each job, weighted by the largest expected wait over that of its queue."""

    name = "expected-wait"

    def reset(self, system: System) -> None:
        """Refuse a system with a queue that has no expected wait."""
        self._system = system
        ExpectedWait().reset(system)

    def divisors(self, jobs: JobTable, now: int) -> IntArray:  # noqa: ARG002
        """Return ``ewt_i``."""
        expected = jobs.expected_wait
        if len(expected) and expected.min() < 1:
            raise ConfigError(
                "a job has no queue, but objective 'expected-wait' needs an expected wait for"
                " it. Set default_expected_wait.",
                where=f"system {self._system.name}",
            )
        return expected


class MeanSlowdown(Objective):
    """The slowdown of each job by its predicted runtime; 0 counts as 1."""

    name = "slowdown"

    def divisors(self, jobs: JobTable, now: int) -> IntArray:  # noqa: ARG002
        """Return ``d_i``."""
        return self.durations(jobs)


class ExpectedCost(Objective):
    """
    What waiting is expected to cost, as in WSEPT order, of jobs that run for as long as is likely.

    WSEPT order is the rule of Smith (1956) for this sum.
    """

    name = Wsept.name
    learns = True

    def divisors(self, jobs: JobTable, now: int) -> IntArray:
        """Return how many seconds of wait add a thousand to the expected cost."""
        facts, any_share = self.history.facts(jobs), np.ones(len(jobs))
        cost = self.history.delay_costs(facts, any_share, now - jobs.submit, AGING, 0).cost
        return np.maximum(np.rint(1000 / cost), 1).astype(np.int64)

    def durations(self, jobs: JobTable) -> IntArray:
        """Return the mean of the likely runtimes, at most the prediction."""
        _, mean = self.history.of(jobs).expectations()
        estimate = super().durations(jobs)
        return np.clip(np.rint(mean).astype(np.int64), 1, estimate)


_OBJECTIVES = {kind.name: kind for kind in (WeightedWait, MeanSlowdown, ExpectedCost)}
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


def integer_weights(divisors: IntArray, horizon: int) -> list[int]:
    """
    Return whole numbers in proportion to ``1 / divisors``.

    Exact (the least common multiple over each divisor) where that stays in range; otherwise
    rounded, and at least 1, so that a weight ``w`` is off by at most ``1 / (2 w)`` of itself, or is
    1.
    """
    given = divisors.tolist()
    if not given:
        return []
    highest = min(MAX_WEIGHT, cpsat.max_weight(len(given), horizon))
    least = min(given)
    common = 1
    for divisor in set(given):
        common = math.lcm(common, divisor)
        if common > highest * least:
            return [max(1, (2 * highest * least + divisor) // (2 * divisor)) for divisor in given]
    return [common // divisor for divisor in given]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounds:
    """
    Bounds on the starts of n jobs.

    Attributes
    ----------
    earliest
        When each job could start alone with the running ones.
    latest
        No plan worth considering starts a job later.
    """

    earliest: tuple[int, ...]
    latest: tuple[int, ...]

    @property
    def last(self) -> int:
        """The second by which every job has started in any plan worth considering."""
        return max(self.latest, default=0)

    def end(self, duration: Sequence[int]) -> int:
        """Return the second at which every job has ended in any plan worth considering."""
        return max(late + length for late, length in zip(self.latest, duration, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Delay:
    """
    The built-in objective of a decision: the weighted delay beyond the earliest starts.

    Attributes
    ----------
    weight
        Of each job's delay.
    bounds
        Of the starts in a plan at least as good as the list plan *by this sum*.
    slack
        The delay of the list plan; it is 0 at best.
    """

    weight: tuple[int, ...]
    bounds: Bounds
    slack: int

    def value(self, starts: IntArray) -> int:
        """Return the weighted delay of a plan: its sum of weighted starts less the lower bound."""
        return _weighted(self.weight, starts.tolist(), self.bounds.earliest)

    def against(self, limits: Bounds, listed: IntArray) -> Delay:
        """
        Return it with the bounds of starts that another list plan allows.

        A job that starts ``slack / weight`` after its earliest start makes even the best of all
        other starts no better than the list plan.

        Parameters
        ----------
        limits
            What holds for every objective.
        listed
            The starts of the list plan; seconds from now.
        """
        slack = _weighted(self.weight, listed.tolist(), limits.earliest)
        latest = tuple(
            min(early + slack // weight, late)
            for weight, early, late in zip(self.weight, limits.earliest, limits.latest, strict=True)
        )
        return Delay(weight=self.weight, bounds=replace(limits, latest=latest), slack=slack)

    def add(self, model: cpsat.CpModel, start: Sequence[cpsat.IntVar]) -> Callable[[IntArray], int]:
        """Minimise it in a model; return what a plan is worth, see ``BuiltModel.value``."""
        constant = sum(w * e for w, e in zip(self.weight, self.bounds.earliest, strict=True))
        cpsat.minimize(model, start, self.weight, constant)
        return self.value


def bounds(duration: IntArray, earliest: IntArray, last_change: int) -> Bounds:
    """
    Return bounds that hold for every objective that no job improves by starting later.

    A plan in which no job could start earlier starts each one now, when a running job ends, or
    when another planned one does; so none starts later than the last running job's end plus all
    other durations.

    Parameters
    ----------
    earliest
        When each job could start alone; seconds from now.
    last_change
        When the last running job is expected to end.
    """
    horizon = last_change + int(duration.sum())
    return Bounds(earliest=tuple(earliest.tolist()), latest=tuple((horizon - duration).tolist()))


def delay(divisors: IntArray, duration: IntArray, limits: Bounds, listed: IntArray) -> Delay:
    """
    Return the built-in objective, and the bounds of starts that it allows.

    ``divisors`` are those of :class:`Objective`, the others those of :meth:`Delay.against`.
    """
    lengths = duration.tolist()
    weight = tuple(integer_weights(divisors, limits.end(lengths) if lengths else 0))
    return Delay(weight=weight, bounds=limits, slack=0).against(limits, listed)


def _weighted(weight: Sequence[int], starts: Sequence[int], earliest: Sequence[int]) -> int:
    return sum(w * (s - e) for w, s, e in zip(weight, starts, earliest, strict=True))


def add_starts(model: cpsat.CpModel, limits: Bounds, handles: IntArray) -> list[cpsat.IntVar]:
    """Return a start variable of each job, ``s_i in [earliest_i, latest_i]``."""
    return [
        model.new_int_var(low, high, f"start_{handle}")
        for low, high, handle in zip(limits.earliest, limits.latest, handles.tolist(), strict=True)
    ]
