"""
Free capacity over time for a cumulative constraint: one kind, few steps, small numbers.

The set of feasible plans is unchanged unless amounts have to be rounded (:func:`_in_range`): then
it is smaller, and may not contain the list plan.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.cp import cpsat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.util.types import FloatArray, IntArray

#: Up to here a ratio times a level is off by less than 0.1 in floating point.
_PRECISE = 2**46


class Steps(NamedTuple):
    """
    One resource kind for one cumulative constraint.

    Attributes
    ----------
    demand
        Of each task, or of each unit of it.
    capacity
        What is free in the end.
    busy
        ``(begin, end, amount)`` of what is not free before that, without overlaps.
    exact
        Whether nothing was rounded.
    """

    demand: tuple[int, ...]
    capacity: int
    busy: tuple[tuple[int, int, int], ...]
    exact: bool = True


class TotalDemand(NamedTuple):
    """
    What jobs ask for together; R resource kinds.

    Attributes
    ----------
    total
        Shape ``(R,)``.
    ratio
        At ``[q, r]`` the most any job asks of r for each it asks of q, shape ``(R, R)``.
    """

    total: IntArray
    ratio: FloatArray

    @classmethod
    def of(cls, demand: IntArray) -> TotalDemand:
        """Sum up demands, shape ``(n, R)``."""
        weak, strong = demand[:, None, :], demand[:, :, None]
        each = np.where(strong > 0, weak / np.maximum(strong, 1), np.where(weak > 0, np.inf, 0.0))
        return cls(demand.sum(axis=0), each.max(axis=0))


def binding_kinds(total_demand: TotalDemand, level: IntArray) -> list[int]:
    """
    Return the resource kinds that can run short.

    A kind does not if all jobs together fit at its lowest level, nor if another kind runs short
    first whatever is planned: with ``x = max_i demand_ir / demand_iq``, whatever respects
    ``level_q`` uses no more than ``x * level_q`` of r.

    Parameters
    ----------
    level
        Free capacity over time, shape ``(S, R)``.
    """
    kinds: list[int] = np.flatnonzero(total_demand.total > level.min(axis=0)).tolist()
    for kind in list(kinds):
        # Use is a whole number, so at most x * level_q is at most level_r if it is below
        # level_r + 1.
        bound = np.where(level[:, kind] < _PRECISE, level[:, kind] + 0.5, -1.0)
        if any(
            bool((total_demand.ratio[other, kind] * level[:, other] < bound).all())
            for other in kinds
            if other != kind and total_demand.ratio[other, kind] < np.inf
        ):
            kinds.remove(kind)
    return kinds


def steps(
    demand: Sequence[int],
    max_units: Sequence[int],
    times: Sequence[int],
    level: IntArray,
    horizon: int,
) -> Steps | None:
    """
    Return one kind's constraint, or None if it cannot run short.

    Parameters
    ----------
    demand, max_units
        Of a unit of each task, and how many units it can have there.
    times, level
        Of the profile, shape ``(S,)``.
    horizon
        Nothing of interest happens later.
    """
    total = sum(amount * units for amount, units in zip(demand, max_units, strict=True))
    # More than all tasks together ask for is never used.
    levels = [min(value, total) for value in level.tolist()]
    if min(levels) == total:
        return None
    divisor = math.gcd(*demand)
    scaled, levels, exact = _in_range(
        [amount // divisor for amount in demand], [value // divisor for value in levels], horizon
    )
    capacity = max(levels)
    busy: list[tuple[int, int, int]] = []
    for position, value in enumerate(levels):
        begin = times[position]
        end = times[position + 1] if position + 1 < len(times) else horizon
        missing = capacity - value
        if begin >= horizon:
            break
        if busy and busy[-1][1:] == (begin, missing):
            busy[-1] = (busy[-1][0], end, missing)
        elif missing:
            busy.append((begin, end, missing))
    return Steps(tuple(scaled), capacity, tuple(busy), exact)


class CumulativeTask(NamedTuple):
    """
    What takes something for a time.

    Attributes
    ----------
    demand
        Of a unit.
    max_units, units
        The most units, and how many there are; None: one.
    """

    interval: cpsat.IntervalVar
    demand: int
    max_units: int = 1
    units: cpsat.IntVar | None = None


def add_kind(
    model: cpsat.CpModel,
    tasks: Sequence[CumulativeTask],
    times: Sequence[int],
    level: IntArray,
    horizon: int,
) -> bool:
    """
    Never let tasks take more of a kind than is free; return whether that is exact.

    The parameters are those of :func:`steps`.
    """
    demands, max_units = [task.demand for task in tasks], [task.max_units for task in tasks]
    constraint = steps(demands, max_units, times, level, horizon) if tasks else None
    if constraint is None:
        return True
    busy = [
        model.new_fixed_size_interval_var(begin, end - begin, "")
        for begin, end, _ in constraint.busy
    ]
    takes = [
        demand if task.units is None else demand * task.units
        for task, demand in zip(tasks, constraint.demand, strict=True)
    ]
    model.add_cumulative(
        [*(task.interval for task in tasks), *busy],
        [*takes, *(amount for _, _, amount in constraint.busy)],
        constraint.capacity,
    )
    return constraint.exact


def _in_range(
    demand: list[int], levels: list[int], horizon: int
) -> tuple[list[int], list[int], bool]:
    """
    Count in larger portions where amounts times seconds would leave 64 bits.

    Demands are rounded up and levels down. Returns also whether nothing was rounded.
    """
    highest = max(levels)
    portion = -(-highest * max(horizon, 1) // cpsat.MAX_VALUE)
    if portion <= 1:
        return demand, levels, True
    largest = highest // portion
    return (
        [min(-(-value // portion), largest) for value in demand],
        [value // portion for value in levels],
        False,
    )
