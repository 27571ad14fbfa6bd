"""
Groups of jobs in a run and in its baseline: by queue, account, user, length, size, GPUs.

Jobs that ran in both runs are compared one by one. Intervals and verdicts are those of
:class:`cpsched.study.verdicts.Compared`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.metrics import jobs as job_metrics
from cpsched.metrics.groups import FORMS, by_form, labels
from cpsched.metrics.nominal import nominal
from cpsched.metrics.waits import began
from cpsched.metrics.window import finished
from cpsched.model.arrays import let_go, shared
from cpsched.model.schedule import PART
from cpsched.study.comparisons import Result, with_baselines
from cpsched.study.inputs import second_of
from cpsched.study.paired import DAY, Sums
from cpsched.study.reader import load_run
from cpsched.study.verdicts import RESOLUTION, Compared

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from cpsched.metrics.definitions import Group
    from cpsched.study.results import RunKey, RunResult
    from cpsched.study.study import Baseline
    from cpsched.util.types import FloatArray, IntArray, StrArray

#: A change of the wait by fewer seconds counts as neither shorter nor longer.
NOTICED = 60
#: The most accounts, users, queues and QOS shown: those with most jobs.
_MAX_SHOWN = 50


@dataclass(frozen=True, slots=True, eq=False)
class _Jobs:
    """
    The jobs of a run that ran to an end, n of them; large columns lie in files.

    ``rows`` are theirs in the log, whose ids ``job_id`` has.
    """

    job_id: StrArray
    rows: IntArray
    submit: IntArray
    wait: IntArray
    slowdown: FloatArray
    codes: dict[str, tuple[IntArray, tuple[str, ...]]]

    def __len__(self) -> int:
        return len(self.rows)

    def let_go(self, first: int, end: int) -> None:
        """Take jobs ``[first, end)`` out of memory."""
        codes = (own for own, _ in self.codes.values())
        for column in (self.rows, self.submit, self.wait, self.slowdown, *codes):
            let_go(column, first, end)


def group_results(
    repeated: Sequence[list[RunResult]],
    baseline: Baseline,
    start: int | str | None = None,
    runs: Collection[RunKey] | None = None,
) -> Iterator[Result]:
    """
    Yield the rows of each group of jobs of each run that is not the baseline.

    The metrics are those whose names begin with ``common_``, and the shares of jobs that wait at
    least a minute less or longer.

    Parameters
    ----------
    start
        Jobs submitted from this second or date on are compared; None: all.
    runs
        The only runs that are compared; None: all.
    """
    # A baseline is read once.
    read = cache(partial(_read, start=start))
    for of, pairs in with_baselines(repeated, baseline):
        if pairs and (runs is None or of[0].key in runs):
            for group, name, compared in _rows([tuple(map(read, pair)) for pair in pairs]):
                plain = isinstance(compared, int | float)
                yield Result(
                    run=of[0].key,
                    allocator=of[0].allocator,
                    group=group,
                    metric=name,
                    value=compared if plain else compared.value,
                    repetitions=len(of),
                    baseline=pairs[0][1].key,
                    compared=None if plain else compared,
                    pairs=len(pairs),
                )


def _read(run: RunResult, start: int | str | None) -> _Jobs:
    schedule = load_run(run.path).schedule
    workload = schedule.workload
    counted = finished(schedule)
    since = second_of(workload, "measure_from", start)
    if since is not None:
        counted &= workload.submit >= since
    number = int(counted.sum())
    by_label = labels(workload)
    forms: dict[str, tuple[str, ...]] = {}
    columns = {name: shared(number)[0] for name in ("rows", "submit", "wait", *by_label, *FORMS)}
    slowdown = shared(number)[0].view(np.float64)
    done = 0
    for first, part in schedule.parts():
        own = np.flatnonzero(counted[first : first + len(part.workload)])
        here = slice(done, done + len(own))
        submit = part.workload.submit[own]
        runtime = nominal(part).runtime[own]
        columns["rows"][here], columns["submit"][here] = own + first, submit
        columns["wait"][here] = job_metrics.wait(submit, began(part)[own])
        response = job_metrics.turnaround(submit, part.end[own])
        slowdown[here] = job_metrics.bounded_slowdown(response, runtime)
        for kind, label in by_label.items():
            columns[kind][here] = label.codes[first + own]
        for kind, (codes, forms[kind]) in by_form(part, own, runtime).items():
            columns[kind][here] = codes
        for column in (slowdown, *columns.values()):
            let_go(column, here.start, here.stop)
        done = here.stop
    values = {**{kind: label.values for kind, label in by_label.items()}, **forms}
    return _Jobs(
        job_id=workload.job_id,
        rows=columns["rows"],
        submit=columns["submit"],
        wait=columns["wait"],
        slowdown=slowdown,
        codes={kind: (columns[kind], named) for kind, named in values.items()},
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Jobs that ran in both runs, ``number`` of them; None: they are all jobs of both, in order."""

    ours: _Jobs
    theirs: _Jobs
    number: int
    first_submit: int
    num_days: int
    at: IntArray | None = None
    base_at: IntArray | None = None

    @classmethod
    def of(cls, ours: _Jobs, theirs: _Jobs) -> _Pair:
        at = base_at = None
        if not _are_same(ours, theirs):
            ids = theirs.job_id[theirs.rows].tolist()
            row_of = {job_id: at for at, job_id in enumerate(ids)}
            ids = ours.job_id[ours.rows].tolist()
            base_rows = np.array([row_of.get(job_id, -1) for job_id in ids], dtype=np.int64)
            at = np.flatnonzero(base_rows >= 0)
            base_at = base_rows[at]
        submit = ours.submit if at is None else ours.submit[at]
        first, last = (int(submit[0]), int(submit[-1])) if len(submit) else (0, -1)
        return cls(ours, theirs, len(submit), first, 1 + (last - first) // DAY, at, base_at)

    def pieces(self) -> Iterator[tuple[IntArray | slice, IntArray | slice, IntArray]]:
        """Yield some jobs at a time: theirs in both runs, and the days of their submits."""
        for first in range(0, self.number, PART):
            at: IntArray | slice
            base_at: IntArray | slice
            at = base_at = slice(first, min(first + PART, self.number))
            if self.at is not None and self.base_at is not None:
                at, base_at = self.at[at], self.base_at[base_at]
            yield at, base_at, (self.ours.submit[at] - self.first_submit) // DAY
            self.ours.let_go(first, first + PART)
            self.theirs.let_go(first, first + PART)


def _are_same(ours: _Jobs, theirs: _Jobs) -> bool:
    """Whether two runs ended the same jobs, in the same order."""
    if len(ours) != len(theirs):
        return False
    for first in range(0, len(ours), PART):
        own, base = (jobs.job_id[jobs.rows[first : first + PART]] for jobs in (ours, theirs))
        if not np.array_equal(own, base):
            return False
    return True


def _rows(both: Sequence[tuple[_Jobs, ...]]) -> Iterator[tuple[Group, str, Any]]:
    """Yield each group with each metric, and its comparison or its value."""
    joined = [_Pair.of(*pair) for pair in both]
    # Sizes are shares of a system: of the baseline's.
    names = {"all": ["all"], **_names(joined)}
    tallies = [_tallies(pair, names) for pair in joined]
    for kind, groups in names.items():
        for group, name in enumerate(groups):
            for metric, compared in _metrics([of[kind].of(group) for of in tallies]):
                yield (kind, name), metric, compared


def _names(joined: Sequence[_Pair]) -> dict[str, list[str]]:
    """Return the groups of each kind, that with most jobs first; none where there is one alone."""
    names_of: dict[str, list[str]] = {}
    counts: dict[str, dict[str, int]] = {kind: {} for kind in joined[0].theirs.codes}
    for pair in joined:
        number = {
            kind: np.zeros(len(pair.theirs.codes[kind][1]) + 1, dtype=np.int64) for kind in counts
        }
        for _, base_at, _ in pair.pieces():
            for kind, counted in number.items():
                codes = pair.theirs.codes[kind][0][base_at]
                counted += np.bincount(codes + 1, minlength=len(counted))
        for kind, own in counts.items():
            for name, num in zip(
                pair.theirs.codes[kind][1], number[kind][1:].tolist(), strict=True
            ):
                if num:
                    own[name] = own.get(name, 0) + num
    for kind, own in counts.items():
        names = (
            list(own) if kind in FORMS else sorted(own, key=lambda name: -own[name])[:_MAX_SHOWN]
        )
        names_of[kind] = names if len(own) > 1 else []
    return names_of


class _Tally:
    """Sums over the jobs of some groups, G of them, by the day of the submit."""

    def __init__(self, num_groups: int, num_days: int) -> None:
        by_day = num_groups, num_days
        self._number, self._ours, self._theirs = (np.zeros(by_day) for _ in range(3))
        self._slowdown, self._longest = np.zeros((num_groups, 2)), np.zeros((num_groups, 2))
        self._changed = np.zeros((num_groups, 2), dtype=np.int64)

    def add(self, group: IntArray, day: IntArray, pair: _Pair, at: Any, base_at: Any) -> None:
        """Add some jobs, -1: of no group."""
        num_groups, num_days = self._number.shape
        inside = np.flatnonzero(group >= 0)
        own, cell = group[inside], group[inside] * num_days + day[inside]
        wait, base = pair.ours.wait[at][inside], pair.theirs.wait[base_at][inside]

        def summed(cells: IntArray, size: int, weights: Any = None) -> Any:
            return np.bincount(cells, weights=weights, minlength=size)

        for into, weights in ((self._number, None), (self._ours, wait), (self._theirs, base)):
            into += summed(cell, into.size, weights).reshape(into.shape)
        slowdowns = pair.ours.slowdown[at], pair.theirs.slowdown[base_at]
        for side, (slowdown, waits) in enumerate(zip(slowdowns, (wait, base), strict=True)):
            self._slowdown[:, side] += summed(own, num_groups, slowdown[inside])
            np.maximum.at(self._longest[:, side], own, waits)
        for side, noticed in enumerate((wait <= base - NOTICED, wait >= base + NOTICED)):
            self._changed[:, side] += summed(own[noticed], num_groups)

    def of(self, group: int) -> _Sums:
        """Return the sums of a group."""
        number = self._number[group]
        return _Sums(
            Sums(self._ours[group], number),
            Sums(self._theirs[group], number),
            self._slowdown[group],
            self._longest[group],
            self._changed[group],
        )


class _Sums(NamedTuple):
    """Of a group of jobs, with ours and the baseline's by turns: waits, slowdowns, changes."""

    ours: Sums
    theirs: Sums
    slowdown: FloatArray
    longest: FloatArray
    changed: IntArray


def _tallies(pair: _Pair, names: Mapping[str, Sequence[str]]) -> dict[str, _Tally]:
    """Return the sums over the groups of each kind."""
    tallies = {kind: _Tally(len(groups), pair.num_days) for kind, groups in names.items()}
    group_of: dict[str, IntArray] = {}
    for kind, groups in names.items():
        if kind != "all":
            # The last is that of jobs that have no label, whose code is -1.
            numbers = {name: number for number, name in enumerate(groups)}
            values = pair.theirs.codes[kind][1]
            group_of[kind] = np.array([*(numbers.get(name, -1) for name in values), -1])
    for at, base_at, day in pair.pieces():
        tallies["all"].add(np.zeros(len(day), dtype=np.int64), day, pair, at, base_at)
        for kind, group in group_of.items():
            if names[kind]:
                codes = pair.theirs.codes[kind][0][base_at]
                tallies[kind].add(group[codes], day, pair, at, base_at)
    return tallies


def _metrics(sums: Sequence[_Sums]) -> Iterator[tuple[str, Compared | int | float]]:
    """Yield the metrics of a group of jobs over repetitions; nothing if it is empty."""
    total, base_total = (reduce(add, values) for values in list(zip(*sums, strict=True))[:2])
    number = round(float(total.weight.sum()))
    if not number:
        return
    # A repetition may have no job of a small group.
    with_jobs = [side for side in sums if side.ours.weight.any()]
    waits = [(side.ours.mean, side.theirs.mean) for side in with_jobs]
    slowdowns = [(side.slowdown / side.ours.weight.sum()).tolist() for side in with_jobs]
    longest = [side.longest.tolist() for side in sums]
    shorter, longer = np.sum([side.changed for side in sums], axis=0).tolist()
    yield "common_jobs", number // len(sums)
    daily = total, base_total
    yield "common_wait_mean_s", Compared.of(*_apart(waits), daily, resolution=RESOLUTION)
    yield "common_wait_max_s", Compared.of(*_apart(longest), resolution=RESOLUTION)
    yield "common_bounded_slowdown_mean", Compared.of(*_apart(slowdowns))
    yield "share_that_waits_less", shorter / number
    yield "share_that_waits_longer", longer / number


def _apart(pairs: Sequence[Sequence[Any]]) -> tuple[list[float], list[float]]:
    """Return the first and the second of each pair."""
    ours, theirs = zip(*pairs, strict=True)
    return list(ours), list(theirs)
