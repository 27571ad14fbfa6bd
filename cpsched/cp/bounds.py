"""Bounds on the starts of a decision's jobs, and the objective that allows narrower ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cpsched.cp import cpsat
from cpsched.cp.objective import whole_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.base.types import IntArray


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

    A job that starts ``slack / weight`` after its earliest start makes even the best of all other
    starts no better than the list plan.

    Parameters
    ----------
    divisors
        See :meth:`cpsched.cp.objective.Objective.divisors`.
    limits
        What holds for every objective.
    listed
        The starts of the list plan; seconds from now.
    """
    lengths = duration.tolist()
    weight = tuple(whole_weights(divisors, limits.end(lengths) if lengths else 0))
    slack = _weighted(weight, listed.tolist(), limits.earliest)
    latest = tuple(
        min(e + slack // w, late)
        for w, e, late in zip(weight, limits.earliest, limits.latest, strict=True)
    )
    return Delay(weight=weight, bounds=replace(limits, latest=latest), slack=slack)


def _weighted(weight: Sequence[int], starts: Sequence[int], earliest: Sequence[int]) -> int:
    return sum(w * (s - e) for w, s, e in zip(weight, starts, earliest, strict=True))


def add_starts(model: cpsat.CpModel, limits: Bounds, handles: IntArray) -> list[cpsat.IntVar]:
    """Return a start variable of each job, ``s_i in [earliest_i, latest_i]``."""
    return [
        model.new_int_var(low, high, f"start_{handle}")
        for low, high, handle in zip(limits.earliest, limits.latest, handles.tolist(), strict=True)
    ]
