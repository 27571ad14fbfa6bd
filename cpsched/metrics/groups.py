"""Jobs by their share of the machine and by user: whose waits a mean hides."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics.jobs import JobClass, job_class

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.model.schedule import Schedule
    from cpsched.model.workload import Labels, Workload
    from cpsched.systems.mapping import Fitted
    from cpsched.util.types import AnyArray, BoolArray, FloatArray, IntArray

#: The largest shares of the machine of small, midsize and large jobs.
SMALL_LIMIT, MIDSIZE_LIMIT, LARGE_LIMIT = 0.02, 0.1, 0.5
#: What jobs of each :class:`JobSize` ask for, in its order, by the name in tables and files. None
#: is called like a :class:`~cpsched.metrics.jobs.JobClass`: tables have both in one column.
SIZES = {
    "serial": "one core",
    "small": "at most 2 % of the system",
    "midsize": "2 % to 10 %",
    "large": "10 % to 50 %",
    "huge": "more than 50 %",
}


#: Codes of jobs, and what they mean, by kind of group.
Kinds = dict[str, tuple["IntArray", tuple[str, ...]]]
#: The kinds of :func:`by_form`.
FORMS = ("length", "size", "GPU")
#: Columns of a log by which jobs are grouped, and what that is called.
_LABELS = {
    "queue": "queue",
    "partition": "partition",
    "group": "account",
    "user": "user",
    "qos": "QOS",
}


def labels(workload: Workload) -> dict[str, Labels]:
    """
    Return by what a log groups its jobs, by the name of the kind.

    Partitions are left out where they are the queues: a job may ask for several and has one.
    """
    by_kind = {kind: getattr(workload, column) for column, kind in _LABELS.items()}
    queue, partition = by_kind["queue"], by_kind["partition"]
    if partition.values == queue.values and np.array_equal(partition.codes, queue.codes):
        del by_kind["partition"]
    return by_kind


def asks_for_gpus(workload: Workload) -> BoolArray:
    """Return which jobs ask for GPUs of any kind, shape ``(J,)``."""
    kinds = [at for at, kind in enumerate(workload.resources) if kind.partition(":")[0] == "gpu"]
    amounts = np.concatenate([workload.request[:, kinds], workload.per_node[:, kinds]], axis=1)
    has_gpus: BoolArray = np.asarray(amounts.any(axis=1), dtype=np.bool_)
    return has_gpus


def kinds_of(schedule: Schedule, rows: IntArray, runtime: IntArray) -> Kinds:
    """Return the groups of some rows, whose runtimes in seconds say which are short or long."""
    by_label = labels(schedule.workload).items()
    return {
        **{kind: (_short(own.codes, own.values)[rows], own.values) for kind, own in by_label},
        **by_form(schedule, rows, runtime),
    }


def by_form(schedule: Schedule, rows: IntArray, runtime: IntArray) -> Kinds:
    """Return the groups of the same rows by what jobs are, whatever the log calls them."""
    gpus = asks_for_gpus(schedule.workload)
    lengths = tuple(job_class_member.name.lower() for job_class_member in JobClass)
    return {
        "length": (_short(job_class(runtime), lengths), lengths),
        "size": (_short(job_size(schedule), tuple(SIZES))[rows], tuple(SIZES)),
        "GPU": (_short(gpus, ("no", "yes"))[rows], ("no", "yes")),
    }


def _short(codes: AnyArray, values: Sequence[str]) -> IntArray:
    """Return codes in as few bytes as their values need, at least two: NumPy sorts them faster."""
    return codes.astype(np.result_type(np.int16, np.min_scalar_type(len(values))))


def groups_of(kinds: Kinds, least: int) -> Iterator[tuple[str, str, IntArray]]:
    """Yield kind, name and rows of each group of ``least`` jobs or more, of kinds with several."""
    for kind, (codes, values) in kinds.items():
        number = np.bincount(codes + 1, minlength=len(values) + 1)
        if (number[1:] > 0).sum() <= 1:
            continue
        rows, end = np.argsort(codes, kind="stable"), np.cumsum(number)
        for code in np.argsort(-number[1:], kind="stable").tolist():
            if number[code + 1] >= least:
                yield kind, values[code], rows[end[code] : end[code + 1]]


class JobSize(IntEnum):
    """A job's size, by the share of the machine it asks for."""

    SERIAL = 0
    """One core, whatever else."""
    SMALL = 1
    """At most 2 %."""
    MIDSIZE = 2
    """At most 10 %."""
    LARGE = 3
    """At most half."""
    HUGE = 4
    """More than half: no two of them run at the same time."""


def requested_share(schedule: Schedule | Fitted) -> FloatArray:
    """
    Return the share of the machine that each job asks for, shape ``(J,)``.

    The largest of its shares of the resource kinds (the dominant share of [1]_), and of the nodes
    if it is to be alone on them. What it takes on every node counts for the fewest nodes it
    may have. So it is the same under all dispatchers and allocators.

    References
    ----------
    .. [1] Ghodsi et al. (2011). Dominant resource fairness. NSDI.
    """
    workload, system = schedule.workload, schedule.system
    shares = _requested(schedule) / np.maximum(system.total, 1)
    nodes = np.where(workload.exclusive, workload.nodes_min, 0) / system.num_nodes
    largest: FloatArray = np.maximum(shares.max(axis=1, initial=0), nodes)
    return largest


def job_size(schedule: Schedule | Fitted) -> IntArray:
    """Return the :class:`JobSize` of each job, shape ``(J,)``."""
    limits = [SMALL_LIMIT, MIDSIZE_LIMIT, LARGE_LIMIT]
    size = JobSize.SMALL + np.searchsorted(limits, requested_share(schedule))
    serial = (_requested(schedule)[:, 0] <= 1) & ~schedule.workload.exclusive
    return np.where(serial, JobSize.SERIAL, size).astype(np.int64)


def by_user(wait: IntArray, user: IntArray) -> dict[str, Any]:
    """
    Return the spread of the mean waits of users.

    Parameters
    ----------
    wait
        Seconds, shape ``(num_jobs,)``.
    user
        A number for the user of each of these jobs; those with -1, unknown, are left out.

    Returns
    -------
    dict
        ``users``, and over their mean waits ``mean``, ``median``, ``p95`` and ``max`` (of the
        user who waited longest on average). A user counts once, however many jobs are theirs.
        None where no user is known.
    """
    means = _means(wait, user)
    if not len(means):
        return {"users": 0, **dict.fromkeys(("mean", "median", "p95", "max"))}
    median, p95 = np.quantile(means, [0.5, 0.95]).tolist()
    return {
        "users": len(means),
        "mean": math.fsum(means.tolist()) / len(means),
        "median": median,
        "p95": p95,
        "max": float(means.max()),
    }


def fairness(slowdown: FloatArray, user: IntArray) -> float | None:
    """
    Return Jain's index of the mean bounded slowdowns of n users: 1 if all are equal, 1/n if one has
    all.

    Parameters
    ----------
    slowdown
        Of each job, shape ``(num_jobs,)``.
    user
        A number for the user of each; -1: unknown, and left out.

    Returns
    -------
    float or None
        None where no user is known.

    References
    ----------
    .. [1] Jain, Chiu and Hawe (1984). A quantitative measure of fairness and discrimination for
       resource allocation in shared computer systems. DEC-TR-301.
    """
    means = _means(slowdown, user).tolist()
    if not means:
        return None
    return math.fsum(means) ** 2 / (len(means) * math.fsum(value**2 for value in means))


def _means(values: AnyArray, user: IntArray) -> FloatArray:
    """Return the mean of each user who is known."""
    known = user >= 0
    jobs = np.bincount(user[known])
    # Sums of seconds are far below 2**53, so exact.
    total = np.bincount(user[known], weights=values[known])
    means: FloatArray = total[jobs > 0] / jobs[jobs > 0]
    return means


def _requested(schedule: Schedule | Fitted) -> IntArray:
    """Return the smallest request of each job by resource type, shape ``(J, R)``."""
    workload = schedule.workload
    asked: IntArray = workload.units[:, None] * workload.request
    asked += workload.nodes_min[:, None] * workload.per_node
    return asked
