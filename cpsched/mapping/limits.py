"""Queues of a log as queues of a system, and what their rules say about time and users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.model.types import MISSING
from cpsched.model.workload import Labels
from cpsched.words import quoted

if TYPE_CHECKING:
    from cpsched.model.system import Queue, System
    from cpsched.model.types import BoolArray, IntArray
    from cpsched.model.workload import Workload


def resolve_queues(workload: Workload, system: System) -> Workload:
    """
    Return the workload with the system's queues as its ``queue`` column.

    The log's queue or partition (``queue_field``) is renamed as the system says. A job without
    one keeps none, and a system without queues takes the log's names as they are.

    Raises
    ------
    ConfigError
        If a job's queue is none of the system's.
    """
    column: Labels = getattr(workload, system.log.queue_field)
    if not system.queues:
        return workload.with_columns(queue=column)
    new: dict[str, int] = {}
    codes = np.full(len(column.values) + 1, -1, dtype=np.int64)
    used = set(np.unique(column.codes).tolist())
    for code, name in enumerate(column.values):
        if code not in used:
            continue
        queue = system.log.queues.get(name, name)
        if queue not in system.queues:
            job = workload.job_id[np.flatnonzero(column.codes == code)[0]]
            raise ConfigError(
                f"job {job} is in {system.log.queue_field} {quoted(name)}, which the system does"
                f" not have; it has: {', '.join(system.queues)}. Other names are given in"
                " [log.queues] of the system file",
                where=f"system {system.name}",
            )
        codes[code] = new.setdefault(queue, len(new))
    return workload.with_columns(queue=Labels(codes[column.codes], tuple(new)))


def fill_requested_time(workload: Workload, system: System) -> Workload:
    """
    Return the workload with a requested time for every job.

    Where the log has none: the queue's default, else the queue's limit (as Slurm does), else the
    system's default.

    Raises
    ------
    ConfigError
        If there is none of them for a job.
    """
    missing = workload.requested_time == MISSING
    if not missing.any():
        return workload
    defaults = [_default_time(queue, system) for queue in _queues(workload, system)]
    filled = np.asarray(defaults, dtype=np.int64)[workload.queue.codes]
    unknown = np.flatnonzero(missing & (filled == MISSING))
    if len(unknown):
        raise ConfigError(
            f"job {workload.job_id[unknown[0]]} names no requested time ({len(unknown)} jobs do"
            " not); set default_time in the system file, at the top or for the queue",
            where=f"system {system.name}",
        )
    return workload.with_columns(
        requested_time=np.where(missing, filled, workload.requested_time),
        requested_time_assumed=workload.requested_time_assumed | missing,
    )


def check_limits(workload: Workload, system: System, *, enforce_limits: bool) -> dict[int, str]:
    """Return the rows that a queue's time limit or list of users keeps out, and why."""
    rejected: dict[int, str] = {}
    for code, queue in enumerate(_queues(workload, system)[:-1]):
        if queue is None or not (queue.users or queue.max_time):
            continue
        rows = np.flatnonzero(workload.queue.codes == code)
        if queue.max_time is not None and enforce_limits:
            for row in rows[workload.requested_time[rows] > queue.max_time].tolist():
                rejected[row] = (
                    f"requested {workload.requested_time[row]} s, queue {queue.name} allows"
                    f" {queue.max_time} s"
                )
        if queue.users:
            allowed = _member(workload.user, queue) | _member(workload.group, queue)
            for row in rows[~allowed[rows]].tolist():
                rejected[row] = (
                    f"{_user(workload, row)} is not allowed in queue {queue.name}, which takes:"
                    f" {', '.join(queue.users)}"
                )
    return rejected


def _queues(workload: Workload, system: System) -> list[Queue | None]:
    """Return the queue of each code, None for the last: -1 indexes "no queue"."""
    return [*(system.queues.get(name) for name in workload.queue.values), None]


def _default_time(queue: Queue | None, system: System) -> int:
    own = (queue.default_time or queue.max_time) if queue is not None else None
    return own or system.default_time or MISSING


def _member(column: Labels, queue: Queue) -> BoolArray:
    """Return the jobs whose user (or group) is on the queue's list, shape ``(J,)``."""
    listed: IntArray = np.asarray([name in queue.users for name in [*column.values, ""]])
    return listed[column.codes].astype(np.bool_)


def _user(workload: Workload, row: int) -> str:
    code = workload.user.codes[row]
    return f"user {quoted(workload.user.values[code])}" if code >= 0 else "an unknown user"
