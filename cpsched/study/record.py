"""Recorded waits of a log, next to the baseline's on each system."""

from __future__ import annotations

from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cpsched.metrics.groups import groups_of, kinds_of
from cpsched.metrics.validation import agrees_much_worse, wait_pairs
from cpsched.study.inputs import second_of
from cpsched.study.reader import load_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cpsched.model.schedule import Schedule
    from cpsched.model.workload import Workload
    from cpsched.study.results import Results, RunResult
    from cpsched.util.types import IntArray

#: Groups of a kind with fewer jobs say nothing.
FEWEST = 10


def record(
    results: Results,
    workload: Workload | None = None,
    schedules: Mapping[str, Schedule] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """
    Return a row for all jobs and for each group of them; none where a log records no starts.

    ``grade`` is that of ``cpsched validate`` for their waits: ``good``, ``moderate`` or
    ``poor`` (:mod:`cpsched.metrics.validation`). Waits are from submit to first start, and
    ``held_mean_s`` of them pass before a job may start. ``much_worse`` marks groups for which
    results for all jobs do not hold. A ``workload`` that is at hand need not be
    read again, nor ``schedules`` by the names of their runs' folders.
    """
    base = results.baseline
    first: dict[str, RunResult] = {}
    for run in sorted(
        results.runs,
        key=lambda run: (
            base.dispatcher not in (None, run.dispatcher),
            base.predictor not in (None, run.predictor),
        ),
    ):
        first.setdefault(run.case, run)
    rows: list[dict[str, Any]] = []
    for run in first.values():
        if run.record and run.record["recorded_wait_s"]["mean"] is not None:
            name = run.path.name
            here = schedules[name] if name in schedules else load_run(run.path, workload).schedule
            rows.extend(_rows(run, here, results.measure_from))
    return rows


def _rows(run: RunResult, schedule: Schedule, start: int | str | None) -> Iterator[dict[str, Any]]:
    submit = schedule.workload.submit
    since = second_of(schedule.workload, "measure_from", start)
    waits = wait_pairs(schedule, submit >= (submit[0] if since is None else since))
    if not len(waits.rows):
        return
    every = waits.errors()
    groups = ((kind, name, waits.errors(own)) for kind, name, own in _groups(schedule, waits.rows))
    for kind, name, errors in chain([("all", "all", every)], groups):
        yield {
            **run.labels,
            "kind": kind,
            "group": name,
            "jobs": errors.jobs,
            "never_started": errors.missing,
            "recorded_wait_mean_s": errors.recorded,
            "simulated_wait_mean_s": errors.simulated,
            "held_mean_s": errors.held,
            "lag_s": waits.lag,
            "within_10_min": errors.within[1],
            "rank_correlation": errors.rank,
            "grade": errors.grade,
            "much_worse": agrees_much_worse(kind, errors, every),
        }


def _groups(schedule: Schedule, rows: IntArray) -> Iterator[tuple[str, str, IntArray]]:
    """Yield the groups of some jobs, which are made only when the first is asked for."""
    yield from groups_of(kinds_of(schedule, rows, schedule.workload.runtime[rows]), FEWEST)
