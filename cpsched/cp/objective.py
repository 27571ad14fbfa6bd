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
    Base class of objectives of a plan: the sum of each job's start divided by its divisor,
    minimized.

    For example, with the predicted runtime as divisor the sum is that of slowdowns. A subclass
    needs ``name`` and :meth:`divisors`.
    """

    name: ClassVar[str]
    #: Whether :attr:`history` is asked how long jobs ran that have ended.
    learns: ClassVar[bool] = False
    history: RuntimeHistory

    def reset(self, system: System) -> None:  # noqa: B027
        """
        Prepare for a system, before a run starts.

        Raises
        ------
        ConfigError
            If the system lacks a property that the objective needs.
        """

    @abstractmethod
    def divisors(self, jobs: JobTable, now: int) -> IntArray:
        """
        Return the divisor of each job's start: the seconds of wait that cost 1. Integers of at
        least 1.

        Parameters
        ----------
        jobs
            The n waiting jobs.
        now
            The present second.

        Returns
        -------
        ndarray
            int64, shape ``(n,)``. For example, a wait of 50 s with divisor 100 costs 0.5.
        """

    def durations(self, jobs: JobTable) -> IntArray:
        """
        Return the durations that jobs are planned with, whole seconds, at least 1, shape ``(n,)``.

        By default the predicted runtimes.
        """
        return np.maximum(jobs.runtime_estimate, 1)


class WeightedWait(Objective):
    """
    Objective: sum of waits, each weighted by the largest expected wait over that of its queue.
    """

    name = "expected-wait"

    def reset(self, system: System) -> None:
        """
        Prepare for a system, before a run starts.

        Raises
        ------
        ConfigError
            If a queue of the system has no expected wait.
        """
        self._system = system
        ExpectedWait().reset(system)

    def divisors(self, jobs: JobTable, now: int) -> IntArray:  # noqa: ARG002
        """Return the expected wait of each job's queue, seconds."""
        expected = jobs.expected_wait
        if len(expected) and expected.min() < 1:
            raise ConfigError(
                "a job has no queue, but objective 'expected-wait' needs an expected wait for"
                " it. Set default_expected_wait.",
                where=f"system {self._system.name}",
            )
        return expected


class MeanSlowdown(Objective):
    """Objective: sum of slowdowns by predicted runtimes. A runtime of 0 s counts as 1 s."""

    name = "slowdown"

    def divisors(self, jobs: JobTable, now: int) -> IntArray:  # noqa: ARG002
        """Return the predicted runtime of each job, seconds, at least 1."""
        return self.durations(jobs)


class ExpectedCost(Objective):
    """
    Objective: expected cost of waiting, by the runtimes of similar ended jobs.

    The cost is that of the queue order ``wsept``, which is the rule of Smith (1956) for this sum.
    """

    name = Wsept.name
    learns = True

    def divisors(self, jobs: JobTable, now: int) -> IntArray:
        """Return the seconds of wait that add 1000 to the expected cost of each job."""
        facts, any_share = self.history.facts(jobs), np.ones(len(jobs))
        cost = self.history.delay_costs(facts, any_share, now - jobs.submit, AGING, 0).cost
        return np.maximum(np.rint(1000 / cost), 1).astype(np.int64)

    def durations(self, jobs: JobTable) -> IntArray:
        """Return the mean runtime of similar ended jobs, seconds, at most the predicted runtime."""
        _, mean = self.history.of(jobs).expectations()
        estimate = super().durations(jobs)
        return np.clip(np.rint(mean).astype(np.int64), 1, estimate)


_OBJECTIVES = {kind.name: kind for kind in (WeightedWait, MeanSlowdown, ExpectedCost)}
OBJECTIVES = tuple(_OBJECTIVES)


def make_objective(given: str | Objective) -> Objective:
    """
    Return an objective by its name. An object is returned as it is.

    Raises
    ------
    ConfigError
        If there is no objective of that name.
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
    Bounds of the starts of n jobs in a plan, seconds from now.

    Attributes
    ----------
    earliest
        Earliest start of each job if no other waiting job starts before it.
    latest
        Latest start of each job in any useful plan.
    """

    earliest: tuple[int, ...]
    latest: tuple[int, ...]

    @property
    def last(self) -> int:
        """The second by which every job has started in any useful plan."""
        return max(self.latest, default=0)

    def end(self, duration: Sequence[int]) -> int:
        """Return the second by which every job has ended in any useful plan."""
        return max(late + length for late, length in zip(self.latest, duration, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Delay:
    """
    Built-in objective of a decision: the weighted sum of delays beyond the earliest starts.

    Attributes
    ----------
    weight
        Weight of each job's delay, a positive integer.
    bounds
        Bounds of the starts in plans that are at least as good as the list plan by this sum.
    slack
        Value of the list plan, at least 0.
    """

    weight: tuple[int, ...]
    bounds: Bounds
    slack: int

    def value(self, starts: IntArray) -> int:
        """Return the weighted sum of delays of a plan, given the starts in seconds from now."""
        return _weighted(self.weight, starts.tolist(), self.bounds.earliest)

    def against(self, limits: Bounds, listed: IntArray) -> Delay:
        """
        Return the objective with the bounds of starts that another list plan allows.

        A job that starts ``slack / weight`` seconds or more after its earliest start makes even the
        best other starts no better than the list plan.

        Parameters
        ----------
        limits
            Bounds that hold for every objective.
        listed
            Starts of the list plan, seconds from now.
        """
        slack = _weighted(self.weight, listed.tolist(), limits.earliest)
        latest = tuple(
            min(early + slack // weight, late)
            for weight, early, late in zip(self.weight, limits.earliest, limits.latest, strict=True)
        )
        return Delay(weight=self.weight, bounds=replace(limits, latest=latest), slack=slack)

    def add(self, model: cpsat.CpModel, start: Sequence[cpsat.IntVar]) -> Callable[[IntArray], int]:
        """
        Minimize the objective in a model. Return the function that gives the value of a plan's
        starts.
        """
        constant = sum(w * e for w, e in zip(self.weight, self.bounds.earliest, strict=True))
        cpsat.minimize(model, start, self.weight, constant)
        return self.value


def bounds(duration: IntArray, earliest: IntArray, last_change: int) -> Bounds:
    """
    Return bounds of starts for every objective in which a later start is never better.

    A plan in which no job could start earlier starts each one now, when a running job ends, or when
    another planned one does. So no job starts later than the end of the last running job plus the
    durations of all others.

    Parameters
    ----------
    earliest
        Earliest start of each job without other waiting jobs, seconds from now.
    last_change
        Expected end of the last running job, seconds from now.
    """
    horizon = last_change + int(duration.sum())
    return Bounds(earliest=tuple(earliest.tolist()), latest=tuple((horizon - duration).tolist()))


def delay(divisors: IntArray, duration: IntArray, limits: Bounds, listed: IntArray) -> Delay:
    """
    Return the built-in objective of a decision, with the bounds of starts that it allows.

    Parameters
    ----------
    divisors, duration
        As returned by :class:`Objective`.
    limits, listed
        As for :meth:`Delay.against`.
    """
    lengths = duration.tolist()
    weight = tuple(integer_weights(divisors, limits.end(lengths) if lengths else 0))
    return Delay(weight=weight, bounds=limits, slack=0).against(limits, listed)


def _weighted(weight: Sequence[int], starts: Sequence[int], earliest: Sequence[int]) -> int:
    return sum(w * (s - e) for w, s, e in zip(weight, starts, earliest, strict=True))


def add_starts(model: cpsat.CpModel, limits: Bounds, handles: IntArray) -> list[cpsat.IntVar]:
    """
    Return new start variables of a model, ``s_i in [earliest_i, latest_i]`` for each job i.

    Parameters
    ----------
    limits
        Bounds of the starts, seconds from now.
    handles
        Handles of the jobs, for the names of the variables.
    """
    return [
        model.new_int_var(low, high, f"start_{handle}")
        for low, high, handle in zip(limits.earliest, limits.latest, handles.tolist(), strict=True)
    ]
