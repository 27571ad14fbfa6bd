"""
The agreement of simulated waits with those that a log recorded, in numbers and as a grade.

``cpsched validate`` and the answers of ``cpsched what-if`` have their verdict from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics.waits import began, held, recorded_wait
from cpsched.model.distinct import by_size
from cpsched.model.schedule import JobOutcome
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.schedule import Schedule
    from cpsched.util.types import BoolArray, FloatArray, IntArray

#: Errors up to these many seconds are counted: a minute, ten minutes, an hour.
WITHIN = (60, 600, 3600)
#: Longest recorded wait of an immediate start, seconds: such waits are the controller's lag.
AT_ONCE = 120
#: Of good and of moderate agreement: the share of the mean wait that the bias may be,
#: and the least rank correlation, or the least share of starts within ten minutes.
_CLOSE, _ROUGH = (0.05, 0.9, 0.95), (0.2, 0.7, 0.8)
#: A mean wait below this many seconds is compared with this value: a minute does not matter.
SHORTEST = 60.0
#: Kinds of groups that are named if they agree much worse than all jobs, and how much worse.
_NAMED, _WORSE = ("reason", "queue", "QOS", "GPU", "account", "size"), 1.5
#: Values of :class:`WaitErrors` in seconds.
_MEANS = ("recorded", "simulated", "held", "bias", "median_error", "mean_error", "p90_error")
#: Numbers of waits are counted where they are at most so many times as many as the jobs.
_SPARSE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitErrors:
    """
    The agreement of simulated and recorded waits of some jobs; seconds.

    Attributes
    ----------
    recorded, simulated
        Mean waits, from submit to first start (:mod:`cpsched.metrics.waits`).
    held
        The mean part of both that passes before a job may start. It cannot be wrong, so that
        ``rank``, ``share`` and ``grade`` leave it out.
    bias
        Mean of simulated minus recorded.
    median_error, mean_error, p90_error
        Of its absolute values.
    within
        Shares of jobs whose start is off by at most :data:`WITHIN`.
    rank
        Spearman's rank correlation of recorded and simulated waits without the held part; None
        where one is constant.
    missing
        Jobs with a recorded start that can never start in the simulation; not among ``jobs``.
        ``within`` counts them as far off.
    """

    jobs: int
    recorded: float
    simulated: float
    held: float
    bias: float
    median_error: float
    mean_error: float
    p90_error: float
    within: tuple[float, ...]
    rank: float | None
    missing: int = 0

    @classmethod
    def of(
        cls,
        recorded: IntArray,
        simulated: IntArray,
        held: IntArray | None = None,
        missing: int = 0,
        order: tuple[IntArray, IntArray] | None = None,
    ) -> WaitErrors:
        """
        Return it of the waits of some jobs, shape ``(n,)`` each, n at least 1.

        ``held`` is the part of each wait before the job may start, none by default. ``order`` has
        numbers of recorded and of simulated waits without that part, in the same order as these.
        """
        before = np.zeros_like(recorded) if held is None else held
        if order is None:
            order = by_size(recorded - before)[0], by_size(simulated - before)[0]
        error = simulated - recorded
        jobs = len(error) + missing
        off = np.abs(error)
        return cls(
            jobs=len(off),
            recorded=float(recorded.mean()),
            simulated=float(simulated.mean()),
            held=float(before.mean()),
            bias=float(error.mean()),
            median_error=float(np.median(off)),
            mean_error=float(off.mean()),
            p90_error=float(np.quantile(off, 0.9)),
            within=tuple(float((off <= limit).sum() / jobs) for limit in WITHIN),
            rank=_rank_correlation(*order),
            missing=missing,
        )

    @classmethod
    def mean(cls, repetitions: Sequence[WaitErrors]) -> WaitErrors:
        """
        Return the mean of each value over repetitions of the same jobs, at least one.

        ``jobs`` and ``missing`` are rounded to whole jobs. ``rank`` is the mean of those that are
        known.
        """

        def mean_of(name: str) -> float:
            return fmean(getattr(errors, name) for errors in repetitions)

        ranks = [errors.rank for errors in repetitions if errors.rank is not None]
        return cls(
            jobs=round(mean_of("jobs")),
            missing=round(mean_of("missing")),
            within=tuple(map(fmean, zip(*(errors.within for errors in repetitions), strict=True))),
            rank=fmean(ranks) if ranks else None,
            **{name: mean_of(name) for name in _MEANS},
        )

    @property
    def share(self) -> float | None:
        """The bias as a share of the recorded wait without the held part; None where that is 0."""
        free = self.recorded - self.held
        return self.bias / free if free > 0 else None

    @property
    def grade(self) -> str:
        """
        ``good``, ``moderate`` or ``poor``: by the bias, and by the order of jobs or starts.

        With ``good`` at most a twentieth of the jobs never start, with ``moderate`` a fifth.
        """
        off = abs(self.bias) / max(self.recorded - self.held, SHORTEST)
        # If almost no job waits, there is no order to be reproduced.
        rank = 1.0 if self.rank is None else self.rank
        lost = self.missing / (self.jobs + self.missing)
        for word, (bias, least, near) in (("good", _CLOSE), ("moderate", _ROUGH)):
            if lost > 1 - near:
                continue
            if off <= bias and (rank >= least or self.within[1] >= near):
                return word
        return "poor"


def agrees_much_worse(kind: str, group: WaitErrors, every: WaitErrors) -> bool:
    """
    Return whether results for all jobs do not hold for a group: poor agreement, and a large bias.

    The bias of the group is then more than 1.5 times the largest of: the bias of all jobs, a
    twentieth of their mean wait, a minute. Users and job lengths are not named.
    """
    usual = max(abs(every.bias), 0.05 * (every.recorded - every.held), SHORTEST)
    return kind in _NAMED and group.grade == "poor" and abs(group.bias) > _WORSE * usual


def _rank_correlation(first: IntArray, second: IntArray) -> float | None:
    if not (np.ptp(first) and np.ptp(second)):
        return None
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(numbers: IntArray) -> FloatArray:
    """Return ranks from 1 on, of equal numbers their mean, as SciPy's, which is slow to import."""
    if int(numbers.max()) > _SPARSE * len(numbers):
        numbers = by_size(numbers)[0]
    times = np.bincount(numbers)
    ranks: FloatArray = (np.cumsum(times) - (times - 1) / 2)[numbers]
    return ranks


@dataclass(frozen=True, kw_only=True, eq=False)
class WaitPairs:
    """
    Rows of the jobs with both starts, and waits in seconds, shape ``(n,)`` each.

    ``held`` is the part of both waits before the job may start; ``missing`` is how many more jobs
    have a recorded start, and can never start in the simulation.
    """

    rows: IntArray
    recorded: IntArray
    simulated: IntArray
    held: IntArray
    lag: int
    missing: int = 0

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """The numbers of all waits: the groups of jobs need not be sorted again."""
        return by_size(self.recorded - self.held)[0], by_size(self.simulated - self.held)[0]

    def errors(self, own: BoolArray | IntArray | None = None) -> WaitErrors:
        """Return the agreement of the waits of some of the jobs, or of all."""
        rows, missing = (slice(None), self.missing) if own is None else (own, 0)
        first, second = self._order
        return WaitErrors.of(
            self.recorded[rows],
            self.simulated[rows],
            self.held[rows],
            missing,
            (first[rows], second[rows]),
        )


def wait_pairs(schedule: Schedule, inside: BoolArray, lag: int | None = None) -> WaitPairs:
    """
    Return recorded and simulated waits, both from submit to first start.

    Parameters
    ----------
    inside
        The jobs that count, shape ``(J,)``.
    lag
        Seconds that a controller needs from its decision to the start. None: the median time that
        jobs waited in the record after they could start, of those that start at that second in the
        simulation and within :data:`AT_ONCE` of it in the record; 0 where there are none.
    """
    workload = schedule.workload
    known, started = workload.recorded_start != MISSING, schedule.start != MISSING
    rows = np.flatnonzero(inside & known & started)
    before = held(workload)[rows]
    recorded = recorded_wait(workload)[rows]
    simulated = (began(schedule) - workload.submit)[rows]
    if lag is None:
        late = recorded - before
        at_once = late[(simulated == before) & (late <= AT_ONCE)]
        lag = int(np.median(at_once)) if len(at_once) else 0
    missing = int((inside & known & (schedule.outcome == JobOutcome.NEVER_STARTED)).sum())
    return WaitPairs(
        rows=rows,
        recorded=recorded,
        simulated=simulated + lag,
        held=before,
        lag=lag,
        missing=missing,
    )
