"""Offered load: the work of the jobs that a log submits over what the machine can do meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics.nominal import nominal
from cpsched.metrics.steps import exact_dot
from cpsched.metrics.window import FEWEST_JOBS, Window, finished, submits_between
from cpsched.model.schedule import JobOutcome
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule
    from cpsched.util.types import BoolArray, IntArray


def offered_load(schedule: Schedule) -> dict[str, Any]:
    """
    Return the offered load of a schedule's jobs, by resource.

    Returns
    -------
    dict
        ``window_s``: the submits between which jobs count, ``[first, last)``, or None where all
        jobs are submitted in one second; ``load``: by resource name, None where the machine has
        none of it, or without a window; ``most_loaded``: the resource with the highest load, or
        None.

    Notes
    -----
    ``sum of amount * seconds / (capacity * length of the window)`` over the jobs submitted within
    the window. That is from the submit by which 5 % of the jobs have been submitted to the one by
    which 95 % have (:func:`~cpsched.metrics.window.submits_between`), so that a straggler does not
    change it; with fewer than 100 jobs from the first submit to the last. Its end is not part of
    it: ``n`` jobs have ``n - 1`` gaps between their submits, and a job of 100 s every 100 s is a
    load of 1. How long the last jobs run does not matter.

    Jobs that end without a start (rejected, cancelled while waiting) offer no work. The amount is
    what a job held when it started, scaled to the units it prefers, or what it asks for if it has
    not started. The seconds are its nominal runtime (:class:`~cpsched.metrics.nominal.Nominal`), of
    a job that did not end that of the log. Nodes that are down for a time count as capacity, as
    they do in the utilization. Above 1 the queue grows as long as jobs are submitted.
    """
    system = schedule.system
    window = _window(schedule.workload.submit[_offers(schedule)])
    if window is None:
        none = dict.fromkeys(system.resources)
        return {"window_s": None, "load": none, "most_loaded": None}
    work = [0] * len(system.resources)
    for _, part in schedule.parts():
        submit = part.workload.submit
        rows = _offers(part) & (submit >= window.start) & (submit < window.end)
        seconds = _seconds(part)[rows]
        for kind in range(len(work)):
            work[kind] += exact_dot(_amount(part, kind)[rows], seconds)
    load = {
        name: amount / (total * window.length) if total else None
        for name, total, amount in zip(system.resources, system.total.tolist(), work, strict=True)
    }
    known = {name: value for name, value in load.items() if value}
    return {
        "window_s": list(window),
        "load": load,
        "most_loaded": max(known, key=lambda name: known[name], default=None),
    }


def _offers(schedule: Schedule) -> BoolArray:
    """Tell which jobs started, or still wait, shape ``(J,)``."""
    rows: BoolArray = (schedule.outcome == JobOutcome.NOT_ENDED) | (schedule.start != MISSING)
    return rows


def _window(submit: IntArray) -> Window | None:
    """Return the submits between which jobs count."""
    if not len(submit):
        return None
    all_submits = Window(int(submit.min()), int(submit.max()))
    window = submits_between(submit) if len(submit) >= FEWEST_JOBS else all_submits
    window = window if window.length > 0 else all_submits
    return window if window.length > 0 else None


def _seconds(schedule: Schedule) -> IntArray:
    """Return the nominal runtime of each job."""
    requested, log = schedule.workload.requested_time, schedule.workload.runtime
    if schedule.overrun == "kill":
        log = np.where(requested == MISSING, log, np.minimum(log, requested))
    return np.where(finished(schedule), nominal(schedule).runtime, log)


def _amount(schedule: Schedule, kind: int) -> IntArray:
    """Return the amount of a resource of each job with its preferred number of tasks."""
    workload, segments = schedule.workload, schedule.segments
    job, count = segments.job, segments.count
    first = segments.start == schedule.start[job]

    def at_start(values: IntArray) -> IntArray:
        total = np.zeros(len(workload), dtype=np.int64)
        np.add.at(total, job[first], (count * values)[first])
        return total

    units, amount = at_start(segments.units), at_start(segments.amount[:, kind])
    requested = workload.units * workload.request[:, kind]
    requested += workload.nodes_min * workload.per_node[:, kind]
    preferred = amount * workload.units // np.maximum(units, 1)
    requested_amount: IntArray = np.where(
        units > 0, np.where(units == workload.units, amount, preferred), requested
    )
    return requested_amount
