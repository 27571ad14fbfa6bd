"""
Which groups of jobs gain or lose against the baseline: by queue, account, user, length, size, GPUs.

Jobs that ran in both runs are compared one by one. Intervals are those of
:func:`cpsched.study.paired.over_days`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics import jobs as job_metrics
from cpsched.metrics.groups import kinds_of
from cpsched.metrics.nominal import nominal
from cpsched.metrics.window import finished
from cpsched.model.arrays import put_away
from cpsched.study.comparisons import verdict, with_baselines
from cpsched.study.paired import Sums, day_of, over_days
from cpsched.study.reader import load_run
from cpsched.study.sources import second_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.base.types import BoolArray, FloatArray, IntArray, StrArray
    from cpsched.study.results import RunResult
    from cpsched.study.study import Baseline

#: A change of the wait by fewer seconds counts as neither shorter nor longer.
NOTICED = 60
#: The most accounts, users, queues and QOS shown: those with most jobs.
_MOST = 50


@dataclass(frozen=True, slots=True, eq=False)
class _Jobs:
    """The jobs of a run that ran to an end, n of them."""

    job_id: StrArray
    submit: IntArray
    wait: IntArray
    slowdown: FloatArray
    codes: dict[str, tuple[IntArray, tuple[str, ...]]]


def gains(
    repeated: Sequence[list[RunResult]],
    baseline: Baseline,
    start: int | str | None = None,
    about: tuple[str, tuple[str, str]] | None = None,
) -> list[dict[str, Any]]:
    """
    Return a row for each group of jobs of each run that is not the baseline.

    ``hours`` is the total extra wait of the group's jobs (negative: less), the mean over
    repetitions; ``shorter`` and ``longer`` are the shares of jobs that wait at least a minute less
    or more.

    Parameters
    ----------
    start
        Jobs submitted from this second or date on are compared; None: all.
    about
        The place and the names of the only run that is looked at; None: all.
    """
    # A baseline is read once.
    read = cache(partial(_read, start=start))
    return [
        {**of[0].labels, **row}
        for of, pairs in with_baselines(repeated, baseline)
        if about in (None, (of[0].place, of[0].who))
        for row in _rows([tuple(map(read, pair)) for pair in pairs])
    ]


def _read(run: RunResult, start: int | str | None) -> _Jobs:
    schedule = load_run(run.path).schedule
    workload = schedule.workload
    counted = finished(schedule)
    since = second_of(workload, "measure_from", start)
    rows = np.flatnonzero(counted if since is None else counted & (workload.submit >= since))
    own = nominal(schedule)
    submit = workload.submit[rows]
    wait = job_metrics.wait(submit, schedule.start[rows])
    response = job_metrics.turnaround(submit, schedule.end[rows])
    runtime = own.runtime[rows]
    found = _Jobs(
        put_away(workload.job_id[rows]),
        put_away(submit),
        put_away(wait),
        put_away(job_metrics.bounded_slowdown(response, runtime)),
        {
            kind: (put_away(codes), values)
            for kind, (codes, values) in kinds_of(schedule, rows, runtime).items()
        },
    )
    schedule.let_go()
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Jobs that ran in both runs: their waits in each, and their day."""

    ours: _Jobs
    theirs: _Jobs
    at: IntArray
    base_at: IntArray
    day: IntArray
    num_days: int

    @classmethod
    def of(cls, ours: _Jobs, theirs: _Jobs) -> _Pair:
        if np.array_equal(ours.job_id, theirs.job_id):
            same = np.arange(len(ours.job_id))
            return cls(ours, theirs, same, same, *day_of(ours.submit))
        place = {job_id: at for at, job_id in enumerate(theirs.job_id.tolist())}
        found = np.array([place.get(job_id, -1) for job_id in ours.job_id.tolist()], dtype=np.int64)
        at = np.flatnonzero(found >= 0)
        return cls(ours, theirs, at, found[at], *day_of(ours.submit[at]))


def _rows(both: Sequence[tuple[_Jobs, ...]]) -> Iterator[dict[str, Any]]:
    joined = [_Pair.of(*pair) for pair in both]
    if not joined:
        return
    everybody = [np.ones(len(pair.at), dtype=np.bool_) for pair in joined]
    yield from _row(joined, "all", "all", everybody)
    # Sizes are shares of a machine: of the baseline's.
    for kind in joined[0].theirs.codes:
        for name in _names(joined, kind):
            masks = [_is(pair, kind, name) for pair in joined]
            yield from _row(joined, kind, name, masks)


def _names(joined: Sequence[_Pair], kind: str) -> list[str]:
    """Return the groups of a kind, the one with most jobs first; none where there is one alone."""
    counts: dict[str, int] = {}
    for pair in joined:
        codes, values = pair.theirs.codes[kind]
        number = np.bincount(codes[pair.base_at] + 1, minlength=len(values) + 1)
        for name, num in zip(values, number[1:].tolist(), strict=True):
            if num:
                counts[name] = counts.get(name, 0) + num
    if len(counts) < 2:
        return []
    if kind in ("length", "size", "GPU"):
        return list(counts)
    return sorted(counts, key=lambda name: -counts[name])[:_MOST]


def _is(pair: _Pair, kind: str, name: str) -> BoolArray:
    codes, values = pair.theirs.codes[kind]
    wanted = values.index(name) if name in values else -2
    found: BoolArray = codes[pair.base_at] == wanted
    return found


def _row(
    joined: Sequence[_Pair], kind: str, name: str, masks: Sequence[BoolArray]
) -> Iterator[dict[str, Any]]:
    """Yield the changes of a group of jobs; nothing if it is empty."""
    number = sum(int(mask.sum()) for mask in masks)
    if not number:
        return
    ours, theirs = ([], [])  # type: tuple[list[Sums], list[Sums]]
    slowdowns = np.zeros(2)
    shorter = longer = 0
    most = np.zeros(2)
    for pair, mask in zip(joined, masks, strict=True):
        at, base_at, day = pair.at[mask], pair.base_at[mask], pair.day[mask]
        wait, base = pair.ours.wait[at], pair.theirs.wait[base_at]
        ours.append(Sums.of(day, wait, pair.num_days))
        theirs.append(Sums.of(day, base, pair.num_days))
        slowdowns += pair.ours.slowdown[at].sum(), pair.theirs.slowdown[base_at].sum()
        most += wait.max(initial=0), base.max(initial=0)
        shorter += int((wait <= base - NOTICED).sum())
        longer += int((wait >= base + NOTICED).sum())
    total, base_total = reduce(add, ours), reduce(add, theirs)
    estimate = over_days(total, base_total)[0]
    mean, base_mean = (float(sums.total.sum()) / number for sums in (total, base_total))
    yield {
        "kind": kind,
        "group": name,
        "jobs": number // len(joined),
        "wait_mean_s": mean,
        "base_wait_mean_s": base_mean,
        "difference": mean - base_mean,
        "difference_low": None if estimate is None else estimate.low,
        "difference_high": None if estimate is None else estimate.high,
        "wait_max_s": round(most[0] / len(joined)),
        "base_wait_max_s": round(most[1] / len(joined)),
        "bounded_slowdown_mean": float(slowdowns[0]) / number,
        "base_bounded_slowdown_mean": float(slowdowns[1]) / number,
        "shorter": shorter / number,
        "longer": longer / number,
        "hours": (mean - base_mean) * number / len(joined) / 3600,
        "verdict": verdict(mean, base_mean, {"daily_difference": estimate}),
    }
