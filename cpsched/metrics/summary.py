"""A schedule in a few dozen numbers: what goes into ``metrics.json`` and into tables."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.base.types import MAX_TIME, MISSING
from cpsched.metrics import groups as job_groups
from cpsched.metrics import jobs, system
from cpsched.metrics.lost import goodput
from cpsched.metrics.nominal import nominal
from cpsched.metrics.placement import placement, places
from cpsched.metrics.rejections import reason_kind
from cpsched.metrics.steps import StepFunction, exact_sum, waiting
from cpsched.metrics.window import busy_window, finished, steady_window
from cpsched.model.schedule import JobOutcome

if TYPE_CHECKING:
    from cpsched.base.types import AnyArray, BoolArray
    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule

#: Quantiles of every per-job measure, by name.
_QUANTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}


def summarize(schedule: Schedule) -> dict[str, Any]:
    """
    Return a schedule's numbers as plain JSON types, in a fixed order.

    Times are seconds (``_s`` in the name), shares lie within [0, 1], and None stands where there
    is nothing to measure. ``docs/background/metrics.md`` explains every key.

    Jobs that completed or timed out enter the per-job measures; their runtime is the nominal one
    (:class:`~cpsched.metrics.nominal.Nominal`). Each measure comes for all of them, for short,
    medium and long ones, and for those submitted in the steady window; waits also by size and by
    user.
    """
    window, steady = busy_window(schedule), steady_window(schedule)
    length = window.length if window else None
    return {
        "counts": counts(schedule),
        "overrun": schedule.overrun,
        "window_s": list(window) if window else None,
        "steady_window_s": list(steady) if steady else None,
        "makespan_s": length,
        "throughput_jobs_per_hour": _ratio(int(finished(schedule).sum()) * 3600, length),
        "utilization": system.utilization(schedule, window),
        "steady_utilization": system.utilization(schedule, steady),
        "node_utilization": system.node_utilization(schedule),
        "loss_of_capacity": system.loss_of_capacity(schedule),
        **goodput(schedule),
        "placement": placement(schedule, places(schedule)),
        "queue_jobs": _queue(schedule, window),
        **_of_jobs(schedule, steady),
        "recorded_wait_s": _recorded_wait(schedule),
        "recorded_use": _recorded_use(schedule),
    }


def _of_jobs(schedule: Schedule, steady: Window | None) -> dict[str, Any]:
    """Return the measures of the jobs that ended; those of the steady window besides."""
    done = finished(schedule)
    submit = schedule.workload.submit[done]
    wait = jobs.wait(submit, schedule.start[done])
    response = jobs.turnaround(submit, schedule.end[done])
    runtime, width = (values[done] for values in nominal(schedule))
    slowdown, bounded = jobs.slowdown(response, runtime), jobs.bounded_slowdown(response, runtime)
    user = schedule.workload.user.codes[done]
    length, size = jobs.job_class(runtime), job_groups.job_size(schedule)[done]
    groups = {
        "all": np.ones(len(wait), dtype=np.bool_),
        **{item.name.lower(): length == item for item in jobs.JobClass},
    }
    if steady is not None:
        groups[jobs.STEADY] = (submit >= steady.start) & (submit < steady.end)
    sizes = {item.name.lower(): size == item for item in job_groups.JobSize}
    return {
        "wait_s": _by_group(wait, groups),
        "wait_by_size_s": _by_group(wait, sizes),
        "wait_by_user_s": job_groups.by_user(wait, user),
        "fairness_by_user": job_groups.fairness(bounded, user),
        "turnaround_s": _by_group(response, groups),
        "slowdown": _by_group(slowdown, groups),
        "bounded_slowdown": _by_group(bounded, groups),
        "response_by_area_s": system.response_by_area(response, runtime, width),
        "never_waited": _ratio(int((wait == 0).sum()), len(wait)),
    }


def counts(schedule: Schedule) -> dict[str, Any]:
    """
    Return the fate of every row of the log.

    ``in_log = set aside + rejected + simulated`` and ``simulated = completed + timeout + killed
    + cancelled + not_ended``.
    """
    workload = schedule.workload
    aside = {reason: int(number) for reason, number in workload.set_aside}
    of = {item: int((schedule.outcome == item).sum()) for item in JobOutcome}
    kinds = Counter(reason_kind(reason) for reason in schedule.rejected.values())
    return {
        "in_log": len(workload) + sum(aside.values()),
        "set_aside": dict(sorted(aside.items())),
        "rejected": of[JobOutcome.REJECTED],
        "rejected_because": dict(sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))),
        "simulated": len(workload) - of[JobOutcome.REJECTED],
        "completed": of[JobOutcome.COMPLETED],
        "timeout": of[JobOutcome.TIMEOUT],
        "killed": of[JobOutcome.KILLED],
        "cancelled": of[JobOutcome.CANCELLED],
        "not_ended": of[JobOutcome.NOT_ENDED],
        "requested_time_assumed": int(workload.requested_time_assumed.sum()),
    }


def statistics(values: AnyArray) -> dict[str, Any]:
    """
    Return number, mean, median, p95, p99, p99.9 and maximum of a value a job.

    The mean's sum is exact before it is rounded, so it does not depend on the machine. Quantiles
    interpolate linearly between jobs. With no job all but the number are None.
    """
    if not len(values):
        return {"jobs": 0, **dict.fromkeys(("mean", *_QUANTILES, "max"))}
    whole = np.issubdtype(values.dtype, np.integer)
    total = exact_sum(values) if whole else math.fsum(values.tolist())
    found = np.quantile(values, list(_QUANTILES.values())).tolist()
    return {
        "jobs": len(values),
        "mean": total / len(values),
        **dict(zip(_QUANTILES, found, strict=True)),
        "max": values.max().item(),
    }


def _by_group(values: AnyArray, groups: dict[str, BoolArray]) -> dict[str, Any]:
    return {name: statistics(values[group]) for name, group in groups.items()}


def _queue(schedule: Schedule, window: Window | None) -> dict[str, Any]:
    """Return mean, quantiles and maximum of the number of waiting jobs at every second."""
    if window is None:
        return dict.fromkeys(("mean", "median", "p95", "p99", "max"))
    seconds = waiting(schedule).distribution(*window)
    return {
        "mean": seconds.mean(),
        "median": seconds.quantile(0.5),
        "p95": seconds.quantile(0.95),
        "p99": seconds.quantile(0.99),
        "max": seconds.maximum(),
    }


def _ratio(part: float | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def _recorded_wait(schedule: Schedule) -> dict[str, Any]:
    """Return the log's own mean wait, over the simulated jobs whose start it knows."""
    workload = schedule.workload
    known = workload.recorded_start != MISSING
    rows = known & (schedule.outcome != JobOutcome.REJECTED)
    waits = (workload.recorded_start - workload.submit)[rows].tolist()
    return {
        "jobs": len(waits),
        "mean": sum(waits) / len(waits) if waits else None,
        "note": None if waits else "the log records no starts; assumed 0 where they are needed",
    }


def _recorded_use(schedule: Schedule) -> dict[str, float] | None:
    """
    Return what share of the machine's cores the simulated jobs used by the log's own starts.

    From the first to the last of these: the mean, the peak, and for what share of the time it was
    above 1, which no machine can be. None without two starts, or without cores.
    """
    workload = schedule.workload
    rows = (workload.recorded_start != MISSING) & (schedule.outcome != JobOutcome.REJECTED)
    start, width = workload.recorded_start[rows], nominal(schedule).width[rows]
    first, last = int(start.min(initial=MAX_TIME)), int(start.max(initial=0))
    if last <= first:
        return None
    used = StepFunction.over(start, start + workload.runtime[rows], width).distribution(first, last)
    cores = int(schedule.system.total[0])
    return {
        "mean": used.mean() / cores,
        "peak": used.maximum() / cores,
        "over": int(used.seconds[used.levels > cores].sum()) / (last - first),
    }
