"""The cost of a job's wait: its bounded slowdown, and a penalty for a very long wait."""

from __future__ import annotations

import math

import numpy as np

from cpsched.kernels.compiling import kernel

#: Runtimes below this many seconds count as this in the bounded slowdown.
_TAU = 10
#: What a wait of ``aging`` costs, in units of bounded slowdown; grows with its fourth power.
_OVERDUE = 10.0


@kernel
def job_cost(wait, runtime, aging):
    """Return what a job's wait costs: its bounded slowdown and a penalty for very long waits."""
    overdue = wait / aging
    penalty = _OVERDUE * overdue * overdue * overdue * overdue
    return max(1.0, (wait + runtime) / max(runtime, _TAU)) + penalty


@kernel
def overdue_slope(wait, area, aging):
    """Return by how much the penalty for long waits grows with a second, shape ``(n,)``."""
    slope = np.empty(len(wait))
    for j in range(len(wait)):
        overdue = wait[j] / aging
        slope[j] = 4 * _OVERDUE * math.sqrt(area[j]) * overdue**3 / aging
    return slope


@kernel
def plan_cost(start, duration, submit, aging):
    """Return the sum of :func:`job_cost` over a plan; a job that never starts costs most."""
    total = 0.0
    for j in range(len(start)):
        if start[j] < 0:
            total += 1e12
        else:
            total += job_cost(start[j] - submit[j], duration[j], aging)
    return total
