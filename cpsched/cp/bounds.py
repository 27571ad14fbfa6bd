"""Bounds on the starts of a decision's jobs, whatever the objective's weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.cp.objective import whole_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.base.types import IntArray
    from cpsched.cp import cpsat


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounds:
    """
    Bounds on the starts of n jobs, and how good the list plan is.

    Attributes
    ----------
    weight
        Of each job's start in the objective.
    earliest
        When each job could start alone with the running ones.
    latest
        No plan as good as the list plan, with no job that could start earlier beside the others,
        starts a job later.
    slack
        How much the list plan exceeds the lower bound: 0 if it is proven best.
    """

    weight: tuple[int, ...]
    earliest: tuple[int, ...]
    latest: tuple[int, ...]
    slack: int

    @property
    def last(self) -> int:
        """The second by which every job has started in any plan worth considering."""
        return max(self.latest, default=0)

    def end(self, duration: Sequence[int]) -> int:
        """Return the second at which every job has ended in any plan worth considering."""
        return max(late + length for late, length in zip(self.latest, duration, strict=True))

    def delay(self, starts: IntArray) -> int:
        """Return the weighted delay beyond the earliest starts: the objective less its bound."""
        return sum(
            weight * (start - earliest)
            for weight, start, earliest in zip(
                self.weight, starts.tolist(), self.earliest, strict=True
            )
        )


def bounds(
    divisors: IntArray, duration: IntArray, earliest: IntArray, listed: IntArray, last_change: int
) -> Bounds:
    """
    Return weights and start bounds.

    A plan in which no job could start earlier starts each one now, when a running job ends, or
    when another planned one does; so none starts later than the last running job's end plus all
    other durations. And a job that starts ``slack / weight`` after its earliest start makes even
    the best of all other starts no better than the list plan.

    Parameters
    ----------
    divisors
        See :meth:`cpsched.cp.objective.Objective.divisors`.
    earliest, listed
        When each job could start alone, and its start in the list plan; seconds from now.
    last_change
        When the last running job is expected to end.
    """
    lengths = duration.tolist()
    horizon = last_change + sum(lengths)
    weight = whole_weights(divisors, horizon)
    first, plan = earliest.tolist(), listed.tolist()
    slack = sum(w * (s - e) for w, s, e in zip(weight, plan, first, strict=True))
    latest = tuple(
        min(e + slack // w, horizon - d) for w, e, d in zip(weight, first, lengths, strict=True)
    )
    return Bounds(weight=tuple(weight), earliest=tuple(first), latest=latest, slack=slack)


def add_starts(model: cpsat.CpModel, limits: Bounds, handles: IntArray) -> list[cpsat.IntVar]:
    """Return a start variable of each job, ``s_i in [earliest_i, latest_i]``."""
    return [
        model.new_int_var(low, high, f"start_{handle}")
        for low, high, handle in zip(limits.earliest, limits.latest, handles.tolist(), strict=True)
    ]
