"""The machine as a whole: utilization, loss of capacity, weighted means over jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics.steps import StepFunction, distinct, exact_dot, used, waiting
from cpsched.metrics.window import busy_window

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule


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
    total = schedule.system.total.tolist()
    return {
        name: used(schedule, kind).integral(*window) / (total[kind] * window.length)
        if window and total[kind]
        else None
        for kind, name in enumerate(schedule.system.resources)
    }


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
    window, segments = busy_window(schedule), schedule.segments
    if window is None or schedule.system.is_counted_pool:
        return None
    held = np.minimum(segments.end, window.end) - segments.start
    return exact_dot(held, segments.count) / (schedule.system.num_nodes * window.length)


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
    total = schedule.system.total.tolist()
    queue = waiting(schedule, held=False)
    lost: dict[str, float | None] = {}
    for kind, name in enumerate(schedule.system.resources):
        lost[name] = None
        if window and total[kind]:
            idle = _idle_while(queue, used(schedule, kind), total[kind], window)
            lost[name] = idle / (total[kind] * window.length)
    return lost


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


def _idle_while(queue: StepFunction, busy: StepFunction, total: int, window: Window) -> int:
    """Return amount times seconds of the window idle while jobs wait."""
    inner = distinct(queue.times, busy.times)
    inner = inner[(inner > window.start) & (inner < window.end)]
    edges = np.concatenate([[window.start], inner, [window.end]])
    idle = np.where(queue.at(edges[:-1]) > 0, total - busy.at(edges[:-1]), 0)
    return exact_dot(idle, np.diff(edges))
