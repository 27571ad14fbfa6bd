"""A schedule in a few dozen numbers: what goes into ``metrics.json`` and into tables."""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics import groups as job_groups
from cpsched.metrics import jobs, system
from cpsched.metrics.lost import goodput
from cpsched.metrics.nominal import nominal
from cpsched.metrics.offered import offered_load
from cpsched.metrics.outcomes import is_attempt, outcomes
from cpsched.metrics.placement import placement
from cpsched.metrics.rejections import reason_kind
from cpsched.metrics.steps import StepFunction, exact_sum, waiting
from cpsched.metrics.waits import began, recorded_wait
from cpsched.metrics.window import busy_window, finished, steady_window
from cpsched.model.arrays import constant, let_go, shared
from cpsched.model.schedule import JobOutcome
from cpsched.util.types import MAX_TIME, MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule
    from cpsched.util.types import AnyArray, BoolArray, IntArray

#: Quantiles of every per-job measure, by name.
_QUANTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
#: Numbers that are added up at once: as objects of Python they take four times their size.
_PIECE = 1 << 16
#: What measures of jobs are made of.
_OF_JOBS = ("submit", "wait", "response", "runtime", "width", "user", "size")


def summarize(schedule: Schedule) -> dict[str, Any]:
    """
    Return the metrics of a schedule as plain JSON types, in a fixed order.

    Times are in seconds (``_s`` in the name), shares are in [0, 1], and None means that there is
    nothing to measure. ``docs/background/metrics.md`` defines every key.

    Metrics of jobs include the jobs that completed or timed out. Their runtime is the nominal one
    (:class:`~cpsched.metrics.nominal.Nominal`). Each metric has values for all jobs, for short,
    medium and long jobs, and for those submitted in the steady window. Waits have values by size
    and by user as well.
    """
    window, steady = busy_window(schedule), steady_window(schedule)
    summary: dict[str, Any] = {}
    for measure in (_of_all_jobs, _machine, _queue, _of_jobs, _recorded):
        summary |= measure(schedule, window, steady)
        schedule.let_go()
    return summary


def of_jobs_from(schedule: Schedule, since: int) -> dict[str, Any]:
    """Return the metrics of jobs of :func:`summarize`, of those submitted at ``since`` or later."""
    return _of_jobs(schedule, None, steady_window(schedule), since)


def _of_all_jobs(
    schedule: Schedule, window: Window | None, steady: Window | None
) -> dict[str, Any]:
    length = window.length if window else None
    return {
        "counts": counts(schedule),
        "outcomes": outcomes(schedule),
        "overrun": schedule.overrun,
        "window_s": list(window) if window else None,
        "steady_window_s": list(steady) if steady else None,
        "makespan_s": length,
        "throughput_jobs_per_hour": _ratio(int(finished(schedule).sum()) * 3600, length),
    }


def _machine(schedule: Schedule, window: Window | None, steady: Window | None) -> dict[str, Any]:
    return {
        "offered_load": offered_load(schedule),
        "utilization": system.utilization(schedule, window),
        "steady_utilization": system.utilization(schedule, steady),
        "node_utilization": system.node_utilization(schedule),
        "loss_of_capacity": system.loss_of_capacity(schedule),
        **goodput(schedule),
        "placement": placement(schedule),
    }


def _of_jobs(
    schedule: Schedule, _: Window | None, steady: Window | None, since: int = 0
) -> dict[str, Any]:
    """Return the measures of the jobs that ended; those of the steady window besides."""
    own = _gathered(schedule, since)
    wait, response, runtime, user = (own[name] for name in ("wait", "response", "runtime", "user"))
    length = jobs.job_class(runtime)
    groups = {
        "all": constant(1, wait.shape, np.bool_),
        **{item.name.lower(): length == item for item in jobs.JobClass},
    }
    if steady is not None:
        groups[jobs.STEADY] = (own["submit"] >= steady.start) & (own["submit"] < steady.end)
    sizes = {item.name.lower(): own["size"] == item for item in job_groups.JobSize}
    bounded = jobs.bounded_slowdown(response, runtime)
    of_bounded = _by_group(bounded, groups)
    fairness = job_groups.fairness(bounded, user)
    del bounded
    return {
        "wait_s": _by_group(wait, groups),
        "wait_by_size_s": _by_group(wait, sizes),
        "wait_by_user_s": job_groups.by_user(wait, user),
        "fairness_by_user": fairness,
        "turnaround_s": _by_group(response, groups),
        "slowdown": _by_group(jobs.slowdown(response, runtime), groups),
        "bounded_slowdown": of_bounded,
        "response_by_area_s": system.response_by_area(response, runtime, own["width"]),
        "never_waited": _ratio(int((wait == 0).sum()), len(wait)),
    }


def _gathered(schedule: Schedule, since: int) -> dict[str, IntArray]:
    """Return the measures of each ended job submitted from then on, from the schedule's parts."""
    num = int((finished(schedule) & (schedule.workload.submit >= since)).sum())
    gathered = {name: shared(num)[0] for name in _OF_JOBS}
    first = 0
    for _, part in schedule.parts():
        done = finished(part) & (part.workload.submit >= since)
        here = slice(first, first := first + int(done.sum()))
        submit = part.workload.submit[done]
        own = nominal(part)
        gathered["submit"][here] = submit
        gathered["wait"][here] = jobs.wait(submit, began(part)[done])
        gathered["response"][here] = jobs.turnaround(submit, part.end[done])
        gathered["runtime"][here], gathered["width"][here] = (values[done] for values in own)
        gathered["user"][here] = part.workload.user.codes[done]
        gathered["size"][here] = job_groups.job_size(part)[done]
        for column in gathered.values():
            let_go(column, 0, first)
    return gathered


def counts(schedule: Schedule) -> dict[str, Any]:
    """
    Return the fate of every job; :func:`~cpsched.metrics.outcomes.outcomes` has shares.

    ``in_log = set aside + rejected + simulated`` and ``simulated = completed + timeout + killed
    + cancelled + never_started + not_ended``. Of the simulated rows ``attempts`` are further
    attempts of a job. The rows set aside are those of the whole log, even if the jobs are a part.
    """
    workload = schedule.workload
    aside = {reason: int(number) for reason, number in workload.set_aside}
    of = {item: int((schedule.outcome == item).sum()) for item in JobOutcome}
    return {
        "in_log": len(workload) + sum(aside.values()),
        "set_aside": dict(sorted(aside.items())),
        "rejected": of[JobOutcome.REJECTED],
        "rejected_because": _by_kind(schedule.rejected),
        "simulated": len(workload) - of[JobOutcome.REJECTED],
        "completed": of[JobOutcome.COMPLETED],
        "timeout": of[JobOutcome.TIMEOUT],
        "killed": of[JobOutcome.KILLED],
        "cancelled": of[JobOutcome.CANCELLED],
        "never_started": of[JobOutcome.NEVER_STARTED],
        "never_started_because": _by_kind(schedule.never_started),
        "not_ended": of[JobOutcome.NOT_ENDED],
        "attempts": int(is_attempt(workload)[schedule.outcome != JobOutcome.REJECTED].sum()),
        "requested_time_assumed": int(workload.requested_time_assumed.sum()),
    }


def _by_kind(reasons: Mapping[int, str]) -> dict[str, int]:
    """Return the number of jobs by reason, the most frequent first."""
    kinds = Counter(reason_kind(reason) for reason in reasons.values())
    return dict(sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0])))


def statistics(values: AnyArray) -> dict[str, Any]:
    """
    Return number, mean, median, p95, p99, p99.9 and maximum of a value a job.

    The mean's sum is exact before it is rounded, so it does not depend on the machine. Quantiles
    interpolate linearly between jobs. With no job all but the number are None.
    """
    if not len(values):
        return {"jobs": 0, **dict.fromkeys(("mean", *_QUANTILES, "max"))}
    integral = np.issubdtype(values.dtype, np.integer)
    pieces = (values[first : first + _PIECE].tolist() for first in range(0, len(values), _PIECE))
    total = exact_sum(values) if integral else math.fsum(chain.from_iterable(pieces))
    quantiles = np.quantile(values, list(_QUANTILES.values())).tolist()
    return {
        "jobs": len(values),
        "mean": total / len(values),
        **dict(zip(_QUANTILES, quantiles, strict=True)),
        "max": values.max().item(),
    }


def _by_group(values: AnyArray, groups: dict[str, BoolArray]) -> dict[str, Any]:
    return {name: statistics(values[group]) for name, group in groups.items()}


def _queue(schedule: Schedule, window: Window | None, _: Window | None) -> dict[str, Any]:
    """Return mean, quantiles and maximum of the number of waiting jobs at every second."""
    if window is None:
        return {"queue_jobs": dict.fromkeys(("mean", "median", "p95", "p99", "max"))}
    seconds = waiting(schedule).distribution(*window)
    return {
        "queue_jobs": {
            "mean": seconds.mean(),
            "median": seconds.quantile(0.5),
            "p95": seconds.quantile(0.95),
            "p99": seconds.quantile(0.99),
            "max": seconds.maximum(),
        }
    }


def _ratio(part: float | None, total: int | None) -> float | None:
    return part / total if part is not None and total else None


def _recorded(schedule: Schedule, *_: Window | None) -> dict[str, Any]:
    return {"recorded_wait_s": _recorded_wait(schedule), "recorded_use": _recorded_use(schedule)}


def _recorded_wait(schedule: Schedule) -> dict[str, Any]:
    """Return the log's own mean wait, over the simulated jobs whose start it knows."""
    workload = schedule.workload
    recorded = recorded_wait(workload)
    waits = recorded[(recorded != MISSING) & (schedule.outcome != JobOutcome.REJECTED)]
    return {
        "jobs": len(waits),
        "mean": exact_sum(waits) / len(waits) if len(waits) else None,
        "note": None
        if len(waits)
        else "the log records no starts. Assumed 0 where they are needed",
    }


def _recorded_use(schedule: Schedule) -> dict[str, float] | None:
    """
    Return what share of the machine's cores the simulated jobs used by the log's own starts.

    From the first to the last of these: the mean, the peak, and for what share of the time it was
    above 1, which no machine can be. None without two starts, or without cores.
    """
    workload = schedule.workload
    rows = (workload.recorded_start != MISSING) & (schedule.outcome != JobOutcome.REJECTED)
    start = workload.recorded_start[rows]
    first, last = int(start.min(initial=MAX_TIME)), int(start.max(initial=0))
    if last <= first:
        return None
    width = nominal(schedule).width[rows]
    used = StepFunction.over(start, start + workload.runtime[rows], width).distribution(first, last)
    cores = int(schedule.system.total[0])
    return {
        "mean": used.mean() / cores,
        "peak": used.maximum() / cores,
        "over": int(used.seconds[used.levels > cores].sum()) / (last - first),
    }
