"""How long and how wide jobs are by themselves, whatever a dispatcher made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.base.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.base.types import IntArray
    from cpsched.model.schedule import Schedule


class Nominal(NamedTuple):
    """
    Nominal runtimes and widths, used for slowdowns and weights; J jobs.

    Attributes
    ----------
    runtime
        Seconds, shape ``(J,)``. What a job ran, but for jobs that had other units than they prefer
        at their start, were resized or had a start cut short: of these the runtime of the log, at
        most the requested time where jobs are killed there. A job that is given few units would
        otherwise seem to have a low slowdown because it runs for longer.
    width
        Cores (the first resource kind) that each job held when it started, or would have held with
        the units it prefers; shape ``(J,)``. 0 for jobs that never started.
    """

    runtime: IntArray
    width: IntArray


def nominal(schedule: Schedule) -> Nominal:
    """Return how long and how wide the jobs of a schedule are by themselves."""
    workload, segments = schedule.workload, schedule.segments
    jobs = {
        "start": schedule.start,
        "end": schedule.end,
        "units": workload.units,
        "runtime": workload.runtime,
        "requested_time": workload.requested_time,
    }
    held = {
        "job": segments.job,
        "from": segments.start,
        "count": segments.count,
        "units": segments.units,
        "cores": segments.amount[:, 0],
    }
    return nominal_of(jobs, held, kills=schedule.overrun == "kill")


def nominal_of(
    jobs: Mapping[str, IntArray], held: Mapping[str, IntArray], *, kills: bool
) -> Nominal:
    """
    Return the same of columns as run folders have them.

    Parameters
    ----------
    jobs
        ``start``, ``end``, ``units``, ``runtime`` and ``requested_time`` of each job.
    held
        ``job``, ``from``, ``count``, ``units`` and ``cores`` of each run of nodes; the last two are
        of one node.
    kills
        Whether jobs are ended at their requested time.
    """
    job, count, num_jobs = held["job"], held["count"], len(jobs["start"])
    first = held["from"] == jobs["start"][job]

    def at_start(values: IntArray) -> IntArray:
        # Sums of cores and of units are far below 2**53, so exact.
        total = np.bincount(job[first], weights=(count * values)[first], minlength=num_jobs)
        return total.astype(np.int64)

    units, width = at_start(held["units"]), at_start(held["cores"])
    resized = (units > 0) & (units != jobs["units"])
    changed = resized.copy()
    changed[job[~first]] = True
    log, requested = jobs["runtime"], jobs["requested_time"]
    if kills:
        log = np.where(requested == MISSING, log, np.minimum(log, requested))
    return Nominal(
        runtime=np.where(changed, log, jobs["end"] - jobs["start"]),
        width=np.where(resized, width * jobs["units"] // np.maximum(units, 1), width),
    )
