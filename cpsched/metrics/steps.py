"""
Quantities over time as step functions: how many jobs wait, how much of a resource is used.

Times are whole seconds and intervals half-open, so that statistics weighted by time are exactly
those of the values at every second, without writing every second down.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched import _core
from cpsched.metrics.waits import began
from cpsched.metrics.window import horizon
from cpsched.model.arrays import constant, put_away
from cpsched.model.schedule import PART, JobOutcome
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cpsched.model.schedule import Schedule
    from cpsched.util.types import AnyArray, FloatArray, IntArray

#: Products of integers below this fit in 64 bits with room to spare.
_SAFE = float(1 << 62)
#: Events of a kind that are looked at together.
_PIECE = PART // 8


class Distribution(NamedTuple):
    """
    For how many seconds a quantity had each of its values.

    The same as its values at every second: those are ``np.repeat(levels, seconds)``.

    Attributes
    ----------
    levels
        The distinct values, increasing, shape ``(L,)``.
    seconds
        How long each held, positive, shape ``(L,)``.
    """

    levels: IntArray
    seconds: IntArray

    def mean(self) -> float:
        """Return the mean over time; the sum is exact."""
        return exact_dot(self.levels, self.seconds) / int(self.seconds.sum())

    def maximum(self) -> int:
        """Return the largest value."""
        return int(self.levels[-1])

    def quantile(self, q: float) -> int:
        """
        Return the smallest value that is not exceeded for a share ``q`` of the time.

        Always one of the values, never interpolated (``inverted_cdf`` in NumPy's terms).

        Raises
        ------
        ValueError
            If ``q`` is outside ``[0, 1]``.
        """
        if not 0 <= q <= 1:
            raise ValueError(f"a quantile must be within [0, 1], not {q}")
        reached = np.cumsum(self.seconds)
        return int(self.levels[np.searchsorted(reached, q * reached[-1])])


class Counted(NamedTuple):
    """
    What has happened by a second, added up; n events.

    Attributes
    ----------
    times
        Seconds, in order, shape ``(n,)``.
    sums
        Of the weights up to each event, this one included; None: each counts 1.
    """

    times: IntArray
    sums: IntArray | None

    @classmethod
    def of(cls, times: IntArray, weight: AnyArray | None = None) -> Counted:
        """Put events into order; large columns into files."""
        if weight is None:
            return cls(put_away(np.sort(times, kind="stable")), None)
        return next(cls.each(times, [weight]))

    @classmethod
    def each(cls, times: IntArray, weights: Iterable[AnyArray]) -> Iterator[Counted]:
        """Do so with several weights of the same events."""
        order = np.argsort(times, kind="stable")
        in_order = put_away(times[order])
        for weight in weights:
            yield cls(in_order, put_away(np.cumsum(weight[order], dtype=np.int64)))

    def by(self, times: IntArray) -> IntArray:
        """Return the sums up to some increasing seconds, what happens at each included."""
        at: IntArray = _core.num_up_to(self.times, times)
        if self.sums is None or not len(self.sums):
            return at
        counts: IntArray = np.where(at > 0, self.sums[at - 1], 0)
        return counts


class IntervalLoad(NamedTuple):
    """Intervals added up: what has begun by a second without what has ended."""

    begun: Counted
    ended: Counted

    def at(self, times: IntArray) -> IntArray:
        """Return the values at some increasing seconds."""
        return self.begun.by(times) - self.ended.by(times)


def changes(loads: Sequence[IntervalLoad]) -> Iterator[tuple[IntArray, IntArray]]:
    """
    Yield wherever one of some loads changes, some seconds at a time.

    Yields
    ------
    times, values
        Seconds, strictly increasing, shape ``(K,)``; the loads from each on, shape ``(K, L)``.
    """
    # Loads may share their events.
    events = list({id(side.times): side.times for load in loads for side in load}.values())
    marks = distinct(*(times[_PIECE::_PIECE] for times in events)).tolist()
    before = np.zeros((1, len(loads)), dtype=np.int64)
    bounds = [[0] * len(events)]
    bounds += [[int(np.searchsorted(times, mark)) for times in events] for mark in marks]
    bounds.append([len(times) for times in events])
    for low, high in pairwise(bounds):
        own = [times[i:j] for times, i, j in zip(events, low, high, strict=True)]
        times = distinct(*own)
        values = np.stack([load.at(times) for load in loads], axis=1)
        there = np.flatnonzero(np.diff(values, axis=0, prepend=before).any(axis=1))
        yield times[there], values[there]
        before = values[-1:] if len(values) else before


@dataclass(frozen=True, slots=True, eq=False)
class StepFunction:
    """
    A quantity over time; K steps.

    Attributes
    ----------
    times
        Seconds, strictly increasing, shape ``(K,)``.
    values
        The value on ``[times[k], times[k + 1])``, shape ``(K,)``; the last one holds for ever, and
        before the first it is 0.
    """

    times: IntArray
    values: IntArray

    @classmethod
    def over(cls, start: IntArray, end: IntArray, weight: AnyArray | None = None) -> StepFunction:
        """
        Add up intervals ``[start, end)``, each with its weight; empty ones add nothing.

        Parameters
        ----------
        start, end
            Seconds, shape ``(n,)``, in any order.
        weight
            Integers, shape ``(n,)``; 1 each where None.

        Raises
        ------
        ValueError
            If an interval ends before it starts.
        """
        wrong = np.flatnonzero(end < start)
        if len(wrong):
            row = wrong[0]
            raise ValueError(f"interval {row} ends at {end[row]}, before its start at {start[row]}")
        load = IntervalLoad(Counted.of(start, weight), Counted.of(end, weight))
        times = distinct(*(side.times for side in load))
        values = load.at(times)
        there = np.flatnonzero(np.diff(values, prepend=0))
        return cls(times[there], values[there])

    def at(self, times: AnyArray) -> IntArray:
        """Return the values at some seconds, the shape of ``times``."""
        padded = np.concatenate([np.zeros(1, dtype=np.int64), self.values])
        return padded[np.searchsorted(self.times, times, side="right")]

    def within(self, start: int, end: int) -> tuple[IntArray, IntArray]:
        """
        Return the steps of ``[start, end)``: values and how many seconds each holds.

        Raises
        ------
        ValueError
            If the window is empty.
        """
        if end <= start:
            raise ValueError(f"[{start}, {end}) has no second in it")
        first = np.searchsorted(self.times, start, side="right")
        beyond = np.searchsorted(self.times, end, side="left")
        edges = np.concatenate([[start], self.times[first:beyond], [end]])
        return self.at(edges[:-1]), np.diff(edges)

    def means(self, edges: AnyArray) -> FloatArray:
        """
        Return the mean over each ``[edges[b], edges[b + 1])``, shape ``(B,)``.

        Parameters
        ----------
        edges
            Seconds, also parts of them, increasing, shape ``(B + 1,)``; the first and the last are
            whole.
        """
        values, seconds = self.within(int(edges[0]), int(edges[-1]))
        at = np.concatenate([edges[:1], edges[0] + np.cumsum(seconds)])
        # The integral is linear between two steps, so interpolating it is exact.
        integral = np.concatenate([[0.0], np.cumsum(values * seconds, dtype=np.float64)])
        means: FloatArray = np.diff(np.interp(edges, at, integral)) / np.diff(edges)
        return means

    def distribution(self, start: int, end: int) -> Distribution:
        """Return for how many seconds of ``[start, end)`` each value holds."""
        values, seconds = self.within(start, end)
        levels, level_of = np.unique(values, return_inverse=True)
        # Seconds are far below 2**53: their sums in floating point are exact.
        duration = np.bincount(level_of, weights=seconds, minlength=len(levels))
        return Distribution(levels, duration.astype(np.int64))


def waiting(schedule: Schedule, *, held: bool = True) -> StepFunction:
    """Return the number of waiting jobs at every second, after all events of that second."""
    return StepFunction.over(*waits(schedule, held=held))


def waits(schedule: Schedule, *, held: bool = True) -> tuple[IntArray, IntArray]:
    """
    Return from when to when jobs wait, of those that do.

    Parameters
    ----------
    schedule
        Finished, or cut; then jobs that have not started wait until the cut.
    held
        Whether a job waits while its begin time or dependency keeps it from starting. Its wait
        time counts from its submit in any case, so the integral is the sum of waits with True.

    Notes
    -----
    The queue size of Remediani (2017) eq. 3.2, taken at every second. A job cancelled in the
    queue waits until then; one that starts as it is submitted never waits. A suspended job does not
    wait (:func:`~cpsched.metrics.waits.began`).
    """
    workload = schedule.workload
    start = began(schedule)
    until = np.where(start != MISSING, start, schedule.end)
    until = np.where(until != MISSING, until, horizon(schedule))
    since = workload.submit if held else released(schedule)
    rows = (schedule.outcome != JobOutcome.REJECTED) & (since < until)
    return since[rows], until[rows]


def released(schedule: Schedule) -> IntArray:
    """Return when each job could start at the earliest, shape ``(J,)``; if never, the horizon."""
    workload = schedule.workload
    since = np.maximum(workload.submit, workload.begin)
    depends = (workload.dependency >= 0).nonzero()[0]
    needed = workload.dependency[depends]
    done = schedule.dependency_met()[depends]
    never = (done == MISSING) & (schedule.outcome[needed] != JobOutcome.REJECTED)
    since[depends] = np.maximum(since[depends], np.where(never, horizon(schedule), done))
    return since


def used(schedule: Schedule, kind: int) -> StepFunction:
    """Return the allocated amount of a resource type (by position) at every second."""
    segments = schedule.segments
    return StepFunction.over(
        segments.start, segments.end, segments.count * segments.amount[:, kind]
    )


def distinct(*times: AnyArray) -> IntArray:
    """Return the seconds of some increasing arrays, increasing, each once."""
    # Merging is what a stable sort does with pieces that are sorted.
    merged: IntArray = np.sort(np.concatenate(times), kind="stable")
    once: IntArray = merged[np.diff(merged, prepend=merged[:1] - 1) != 0]
    return once


def exact_dot(a: IntArray, b: IntArray) -> int:
    """Return the sum of products of two integer arrays, whatever its size."""
    return sum(
        _exact_dot(a[first : first + PART], b[first : first + PART])
        for first in range(0, len(a), PART)
    )


def _exact_dot(a: IntArray, b: IntArray) -> int:
    if float(np.abs(a).max()) * float(np.abs(b).sum()) < _SAFE:
        return int(np.dot(a, b))
    return int(sum(map(int.__mul__, a.tolist(), b.tolist())))


def exact_sum(values: IntArray) -> int:
    """Return the sum of an integer array, whatever its size."""
    return exact_dot(values, constant(1, values.shape))
