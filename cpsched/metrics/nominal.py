"""How long and how wide jobs are by themselves, whatever a dispatcher made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule
    from cpsched.util.types import IntArray


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
    """Return nominal runtime and width of the jobs of a schedule."""
    workload, segments = schedule.workload, schedule.segments
    job, count = segments.job, segments.count
    first = segments.start == schedule.start[job]

    def at_start(values: IntArray) -> IntArray:
        # Sums of cores and of units are far below 2**53, so exact.
        total = np.bincount(job[first], weights=(count * values)[first], minlength=len(workload))
        return total.astype(np.int64)

    units, width = at_start(segments.units), at_start(segments.amount[:, 0])
    resized = (units > 0) & (units != workload.units)
    changed = resized.copy()
    changed[job[~first]] = True
    log, requested = workload.runtime, workload.requested_time
    if schedule.overrun == "kill":
        log = np.where(requested == MISSING, log, np.minimum(log, requested))
    return Nominal(
        runtime=np.where(changed, log, schedule.end - schedule.start),
        width=np.where(resized, width * workload.units // np.maximum(units, 1), width),
    )
