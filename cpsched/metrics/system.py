"""The machine as a whole: utilization, loss of capacity, weighted means over jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics.steps import exact_dot, waiting
from cpsched.metrics.window import busy_window

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.metrics.steps import StepFunction
    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule
    from cpsched.util.types import IntArray


def utilization(schedule: Schedule, window: Window | None) -> dict[str, float | None]:
    """
    Return the share of each resource kind that was allocated within a window.

    What a job holds counts, whether it uses it or not: a job alone on its nodes holds them. Over
    the whole schedule (:func:`~cpsched.metrics.window.busy_window`) one long job at the end of a
    log changes much of it, without warm-up and drain
    (:func:`~cpsched.metrics.window.steady_window`) nothing.

    Returns
    -------
    dict
        By resource name, within [0, 1]; None where the machine has none of the kind, or there is no
        window.

    Notes
    -----
    ``sum of amount * seconds held within the window / (capacity * length of the window)``.
    """
    if window is None:
        return dict.fromkeys(schedule.system.resources)
    allocated = _allocated(schedule, lambda times: np.clip(times, *window))
    return _shares(schedule, window, allocated)


def node_utilization(schedule: Schedule) -> float | None:
    """
    Return the node-hours that jobs held over those of the machine, first submit to last end.

    Returns
    -------
    float or None
        None on a machine of counted pools, or if no job ran. More than 1 is possible where jobs
        share nodes: each counts the whole node.

    Notes
    -----
    ``sum_i (c_i - s_i) n_i / (N T)`` (eq. 11 of [1]_), with jobs that run from ``s_i`` to ``c_i``
    on ``n_i`` of the ``N`` nodes, and ``T`` the length of the window.

    References
    ----------
    .. [1] Yang, Zhou, Tang, Zheng, Wang and Lan (2014). Balancing job performance with system
       performance via locality-aware scheduling on torus-connected systems. CLUSTER.
    """
    window = busy_window(schedule)
    if window is None or schedule.system.is_counted_pool:
        return None
    node_seconds = sum(
        exact_dot(np.minimum(batch.end, window.end) - batch.start, batch.count)
        for batch in schedule.segments.batches()
    )
    return node_seconds / (schedule.system.num_nodes * window.length)


def loss_of_capacity(schedule: Schedule) -> dict[str, float | None]:
    """
    Return the share of each resource kind left idle while at least one job waits.

    Returns
    -------
    dict
        By resource name, within [0, 1]; None as for :func:`utilization`.

    Notes
    -----
    ``sum_i n_i (t_{i+1} - t_i) delta_i / (N (t_m - t_1))`` over the events ``t_1 .. t_m`` of the
    window, with ``N`` the capacity, ``n_i`` what is idle from event ``i`` to the next, and
    ``delta_i`` 1 if any job waits then, else 0 [1]_. Whether a waiting job would fit into what is
    idle is not asked, so capacity that no waiting job could have used counts as lost too. Jobs that
    may not start yet (begin time, dependency) do not make ``delta_i`` 1.

    References
    ----------
    .. [1] Zhang, Franke, Moreira and Sivasubramaniam (2003). An integrated approach to parallel
       scheduling using gang-scheduling, backfilling, and migration. IEEE TPDS 14(3).
    """
    window = busy_window(schedule)
    if window is None:
        return dict.fromkeys(schedule.system.resources)
    waits = _time_with(waiting(schedule, held=False), window)
    seconds = int(waits(np.array([window.end]))[0])
    allocated = _allocated(schedule, waits)
    total = schedule.system.total.tolist()
    idle = [all_ * seconds - busy for all_, busy in zip(total, allocated, strict=True)]
    return _shares(schedule, window, idle)


def response_by_area(response: IntArray, runtime: IntArray, width: IntArray) -> float | None:
    """
    Return the area-weighted response, ``sum(area * response) / sum(area)``, of [1]_.

    [2]_ recommend it over mean response time and mean bounded slowdown: these follow the many small
    jobs, which together use little of the machine. It does not change if a job is handed in as
    several narrower ones that run at the same time.

    Parameters
    ----------
    response, runtime, width
        Seconds, seconds, and cores held, shape ``(num_jobs,)``. An area is a width times a runtime.

    Returns
    -------
    float or None
        None where no job has any area.

    References
    ----------
    .. [1] Schwiegelshohn and Yahyapour (2000). Fairness in parallel job scheduling. Journal of
       Scheduling 3(5).
    .. [2] Boëzennec, Dufossé and Pallez (2023). Optimization metrics for the evaluation of batch
       schedulers in HPC. JSSPP.
    """
    area = exact_dot(width, runtime)
    return exact_dot(width * runtime, response) / area if area else None


def _allocated(schedule: Schedule, clock: Callable[[IntArray], IntArray]) -> list[int]:
    """Return amount times time of each resource kind that jobs held, by a clock."""
    allocated = [0] * len(schedule.system.resources)
    for batch in schedule.segments.batches():
        lasted = clock(batch.end) - clock(batch.start)
        for kind in range(len(allocated)):
            allocated[kind] += exact_dot(batch.count * batch.amount[:, kind], lasted)
    return allocated


def _shares(schedule: Schedule, window: Window, amounts: list[int]) -> dict[str, float | None]:
    """Return amounts times seconds as shares of what the machine has in a window."""
    system = schedule.system
    return {
        name: amount / (total * window.length) if total else None
        for name, total, amount in zip(
            system.resources, system.total.tolist(), amounts, strict=True
        )
    }


def _time_with(queue: StepFunction, window: Window) -> Callable[[IntArray], IntArray]:
    """Return a clock that runs within a window while jobs wait."""
    values, seconds = queue.within(*window)
    runs = (values > 0).astype(np.int64)
    edges = window.start + np.cumsum(seconds) - seconds
    before = np.cumsum(seconds * runs) - seconds * runs

    def clock(times: IntArray) -> IntArray:
        times = np.clip(times, *window)
        at = np.searchsorted(edges, times, side="right") - 1
        elapsed: IntArray = before[at] + (times - edges[at]) * runs[at]
        return elapsed

    return clock
