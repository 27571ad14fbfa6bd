"""Measures of single jobs: pure functions of arrays, one value a job."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.util.types import FloatArray, IntArray

#: The longest runtimes of short and of medium jobs, seconds (Remediani 2017, section 3.1.1).
SHORT_LIMIT = 3600
MEDIUM_LIMIT = 12 * 3600
#: What jobs submitted in the steady window are called.
STEADY = "steady"
#: How long jobs of each :class:`JobClass` run, in its order, by the name in tables and files.
CLASSES = {"short": "at most 1 h", "medium": "1 h to 12 h", "long": "more than 12 h"}


class JobClass(IntEnum):
    """A job's length, by the time it ran."""

    SHORT = 0
    """At most an hour."""
    MEDIUM = 1
    """More than an hour, at most twelve."""
    LONG = 2
    """More than twelve hours."""


def wait(submit: IntArray, start: IntArray) -> IntArray:
    """
    Return how long each job waited, ``start - submit``, seconds, shape ``(num_jobs,)``.

    A job that was held (begin time, dependency) waits from its submit on all the same. The start is
    the first one, see :func:`~cpsched.metrics.waits.began`.

    Raises
    ------
    ValueError
        If the shapes differ, or a job starts before its submit.
    """
    return _since(submit, start, "start")


def turnaround(submit: IntArray, end: IntArray) -> IntArray:
    """
    Return each job's response time, ``end - submit``, seconds, shape ``(num_jobs,)``.

    Raises
    ------
    ValueError
        If the shapes differ, or a job ends before its submit.
    """
    return _since(submit, end, "end")


def slowdown(turnaround: IntArray, runtime: IntArray) -> FloatArray:
    """
    Slowdown of each job.

    Parameters
    ----------
    turnaround, runtime
        Seconds, non-negative, shape ``(num_jobs,)``. The runtime is the nominal one, see
        :class:`~cpsched.metrics.nominal.Nominal`.

    Returns
    -------
    ndarray
        Shape ``(num_jobs,)``; 1 exactly for the jobs that took as long as their runtime, less for
        jobs that were faster, on more units than they prefer.

    Raises
    ------
    ValueError
        If the shapes differ or any entry is negative.

    Notes
    -----
    ``turnaround / runtime``, Remediani (2017) eq. 3.1. A runtime of 0, where that is not defined,
    counts as 1 second: the shortest that a clock of whole seconds tells from none.
    """
    _check(turnaround=turnaround, runtime=runtime)
    ran = np.maximum(runtime, 1)
    return np.asarray((turnaround + ran - runtime) / ran, dtype=np.float64)


def bounded_slowdown(turnaround: IntArray, runtime: IntArray, *, tau: int = 10) -> FloatArray:
    """
    Bounded slowdown of each job.

    Parameters
    ----------
    turnaround, runtime
        As for :func:`slowdown`.
    tau
        Runtimes below this many seconds count as ``tau``; at least 1.

    Returns
    -------
    ndarray
        Values of at least 1, shape ``(num_jobs,)``.

    Raises
    ------
    ValueError
        If the shapes differ, any entry is negative or ``tau`` is below 1.

    Notes
    -----
    ``max(1, turnaround / max(runtime, tau))``, after [1]_.

    References
    ----------
    .. [1] Feitelson and Rudolph (1998). Metrics and benchmarking for parallel job scheduling.
       JSSPP.
    """
    _check(turnaround=turnaround, runtime=runtime)
    if tau < 1:
        raise ValueError(f"tau is {tau}, must be at least one second")
    return np.maximum(1.0, turnaround / np.maximum(runtime, tau))


def job_class(runtime: IntArray) -> IntArray:
    """
    Return the :class:`JobClass` of each job by its runtime in seconds, shape ``(num_jobs,)``.

    Raises
    ------
    ValueError
        If any runtime is negative.
    """
    _check(runtime=runtime)
    return np.searchsorted([SHORT_LIMIT, MEDIUM_LIMIT], runtime).astype(np.int64)


def _since(submit: IntArray, event: IntArray, name: str) -> IntArray:
    if submit.shape != event.shape:
        raise ValueError(f"submit has shape {submit.shape}, {name} has {event.shape}")
    early = np.flatnonzero(event < submit)
    if len(early):
        row = early[0]
        raise ValueError(f"row {row}: {name} is {event[row]}, before the submit at {submit[row]}")
    return event - submit


def _check(**columns: IntArray) -> None:
    """Raise unless all columns have one shape and no negative entry."""
    (first, expected), *_ = columns.items()
    for name, values in columns.items():
        if values.shape != expected.shape:
            raise ValueError(f"{name} has shape {values.shape}, {first} has {expected.shape}")
        negative = np.flatnonzero(values < 0)
        if len(negative):
            row = negative[0]
            raise ValueError(f"row {row}: {name} is {values[row]}, must be non-negative")
