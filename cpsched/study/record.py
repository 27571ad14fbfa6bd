"""Recorded waits of a log, next to the baseline's on each system: means over its repetitions."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cpsched.metrics.groups import groups_of, kinds_of
from cpsched.metrics.validation import WaitErrors, agrees_much_worse, wait_pairs
from cpsched.study.inputs import second_of
from cpsched.study.reader import load_run
from cpsched.util.arrow import release_unused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpsched.metrics.definitions import Group
    from cpsched.model.schedule import Schedule
    from cpsched.model.workload import Workload
    from cpsched.study.results import Results, RunResult

#: Groups of a kind with fewer jobs say nothing.
FEWEST = 10


def record(
    results: Results,
    workload: Workload | None = None,
    schedules: Mapping[str, Schedule] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """
    Return a row for all jobs and for each group of them; none where a log records no starts.

    Values are means over all repetitions of the baseline, as in the table of results. For example,
    mean waits of 5,805 s in one repetition and 5,569 s in four give 5,616 s. ``jobs`` and
    ``never_started`` are per repetition. Only one repetition is in memory at a time.

    ``grade`` is by the rule of ``cpsched validate``: ``good``, ``moderate`` or ``poor``
    (:mod:`cpsched.metrics.validation`). Waits are from submit to first start, and ``held_mean_s``
    of them pass before a job may start. Simulated waits include ``lag_s``, which is measured in the
    first repetition. ``much_worse`` marks groups for which results for all jobs do not hold. A
    ``workload`` that is at hand need not be read again, nor ``schedules`` by the names of their
    runs' folders.
    """
    rows: list[dict[str, Any]] = []
    for runs in _baselines(results):
        by_group: dict[Group, list[WaitErrors]] = {}
        lag: int | None = None
        for run in runs:
            name = run.path.name
            lag, errors = _agreement(
                schedules[name] if name in schedules else load_run(run.path, workload).schedule,
                results.measure_from,
                lag,
            )
            release_unused()
            for group, own in errors.items():
                by_group.setdefault(group, []).append(own)
        means = {
            group: WaitErrors.mean(each)
            for group, each in by_group.items()
            if len(each) == len(runs)
        }
        rows.extend(_rows(runs[0], means, lag))
    return rows


def _baselines(results: Results) -> Iterator[Sequence[RunResult]]:
    """Yield the repetitions of each case's baseline, where the log has recorded waits."""
    base = results.baseline
    by_case: dict[str, list[RunResult]] = {}
    for run in sorted(
        results.runs,
        key=lambda run: (
            base.dispatcher not in (None, run.dispatcher),
            base.predictor not in (None, run.predictor),
        ),
    ):
        repetitions = by_case.setdefault(run.case, [])
        if not repetitions or run.key == repetitions[0].key:
            repetitions.append(run)
    for runs in by_case.values():
        if all(run.record and run.record["recorded_wait_s"]["mean"] is not None for run in runs):
            yield runs


def _agreement(
    schedule: Schedule, start: int | str | None, lag: int | None
) -> tuple[int, dict[Group, WaitErrors]]:
    """Return the lag, and the agreement of all jobs and of each group of at least ten jobs."""
    workload = schedule.workload
    submit = workload.submit
    since = second_of(workload, "measure_from", start)
    waits = wait_pairs(schedule, submit >= (submit[0] if since is None else since), lag)
    errors: dict[Group, WaitErrors] = {}
    if len(waits.rows):
        errors["all", "all"] = waits.errors()
        kinds = kinds_of(schedule, waits.rows, workload.runtime[waits.rows])
        for kind, name, own in groups_of(kinds, FEWEST):
            errors[kind, name] = waits.errors(own)
    return waits.lag, errors


def _rows(
    run: RunResult, by_group: Mapping[Group, WaitErrors], lag: int | None
) -> Iterator[dict[str, Any]]:
    every = by_group.get(("all", "all"))
    if every is None:
        return
    for (kind, name), errors in by_group.items():
        yield {
            **run.labels,
            "kind": kind,
            "group": name,
            "jobs": errors.jobs,
            "never_started": errors.missing,
            "recorded_wait_mean_s": errors.recorded,
            "simulated_wait_mean_s": errors.simulated,
            "held_mean_s": errors.held,
            "lag_s": lag,
            "within_10_min": errors.within[1],
            "rank_correlation": errors.rank,
            "grade": errors.grade,
            "much_worse": agrees_much_worse(kind, errors, every),
        }
