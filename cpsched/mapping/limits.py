"""Queues of a log as queues of a system, and what their rules say about time and users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.base.types import MISSING, UNBOUNDED
from cpsched.base.words import quoted
from cpsched.errors import ConfigError
from cpsched.model.workload import Labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.base.types import BoolArray, IntArray
    from cpsched.model.system import Queue, System
    from cpsched.model.workload import Workload


def resolve_queues(workload: Workload, system: System) -> Workload:
    """
    Return the workload with the system's queues as its ``queue`` column.

    The log's queue or partition (``queue_field``) is renamed as the system says; of several, with
    commas between, each is. A job without one is in the default queue, if there is one. A system
    without queues takes the log's names as they are.

    Raises
    ------
    ConfigError
        If a job's queue is none of the system's.
    """
    column: Labels = getattr(workload, system.log.queue_field)
    if not system.queues:
        return workload.with_columns(queue=column)
    default = next((name for name, queue in system.queues.items() if queue.default), None)
    renamed: list[str | None] = []
    used = set(np.unique(column.codes).tolist())
    for code, text in enumerate([*column.values, None]):
        if text is None or code not in used:
            renamed.append(default if text is None else None)
            continue
        names = [system.log.queues.get(name, name) for name in text.split(",")]
        unknown = next((name for name in names if name not in system.queues), None)
        if unknown is not None:
            job = workload.job_id[np.flatnonzero(column.codes == code)[0]]
            raise ConfigError(
                f"job {job} is in {system.log.queue_field} {quoted(unknown)}, which the system does"
                f" not have; it has: {', '.join(system.queues)}. Map other names in [log.queues]"
                " of the system file",
                where=f"system {system.name}",
            )
        renamed.append(",".join(dict.fromkeys(names)))
    return workload.with_columns(queue=_relabelled(column.codes, renamed))


def _relabelled(codes: IntArray, names: Sequence[str | None]) -> Labels:
    """Return labels whose code means the name at its position; -1 is the last one's."""
    values = Labels.encode(names)
    return Labels(values.codes[codes], values.values).take(np.arange(len(codes)))


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
    defaults = [_default_time(queues, system) for queues in _queues(workload, system)]
    filled = np.asarray(defaults, dtype=np.int64)[workload.queue.codes]
    unknown = np.flatnonzero(missing & (filled == MISSING))
    if len(unknown):
        raise ConfigError(
            f"job {workload.job_id[unknown[0]]} has no requested time ({len(unknown)} jobs have"
            " none); set default_time in the system file, at the top or for the queue",
            where=f"system {system.name}",
        )
    return workload.with_columns(
        requested_time=np.where(missing, filled, workload.requested_time),
        requested_time_assumed=workload.requested_time_assumed | missing,
    )


def check_limits(
    workload: Workload, system: System, *, enforce_limits: bool
) -> tuple[Workload, dict[int, str]]:
    """
    Return the workload with jobs in those of their queues alone that take them.

    Returns
    -------
    workload, rejected
        Jobs keep their queues if none takes them: these rows, and why the last one does not.
    """
    rejected: dict[int, str] = {}
    names = [*workload.queue.values]
    codes = workload.queue.codes.copy()
    for code, queues in enumerate(_queues(workload, system)[:-1]):
        if not any(queue.users or queue.max_time for queue in queues):
            continue
        rows = np.flatnonzero(workload.queue.codes == code)
        reasons = [
            _kept_out(workload, queue, rows, enforce_limits=enforce_limits) for queue in queues
        ]
        for row in {row for found in reasons for row in found}:
            taking = [
                queue.name for queue, found in zip(queues, reasons, strict=True) if row not in found
            ]
            if taking:
                names.append(",".join(taking))
                codes[row] = len(names) - 1
            else:
                rejected[row] = reasons[-1][row]
    if len(names) == len(workload.queue.values):
        return workload, rejected
    return workload.with_columns(queue=_relabelled(codes, [*names, None])), rejected


def _kept_out(
    workload: Workload, queue: Queue, rows: IntArray, *, enforce_limits: bool
) -> dict[int, str]:
    """Return the rows that a queue's time limit or list of users keeps out, and why."""
    found: dict[int, str] = {}
    if queue.max_time is not None and enforce_limits:
        for row in rows[workload.requested_time[rows] > queue.max_time].tolist():
            found[row] = (
                f"requested {workload.requested_time[row]} s, queue {queue.name} allows"
                f" {queue.max_time} s"
            )
    if queue.users:
        allowed = _member(workload.user, queue) | _member(workload.group, queue)
        for row in rows[~allowed[rows]].tolist():
            found[row] = (
                f"{_user(workload, row)} is not allowed in queue {queue.name}, which takes:"
                f" {', '.join(queue.users)}"
            )
    return found


def bound_nodes(workload: Workload, system: System) -> tuple[Workload, dict[int, str]]:
    """
    Return the workload, in layout ``units``, with the bounds on nodes of its jobs' queues.

    Returns
    -------
    workload, rejected
        Rows of jobs that ask for more nodes than their queues allow, and why.
    """
    of_code = _queues(workload, system)
    if all(queue.min_nodes == 1 and not queue.max_nodes for queue in system.queues.values()):
        return workload, {}
    codes = workload.queue.codes
    least = np.array([min((q.min_nodes for q in queues), default=1) for queues in of_code])[codes]
    most = np.array(
        [max((q.max_nodes or UNBOUNDED for q in queues), default=UNBOUNDED) for queues in of_code]
    )[codes]
    rejected = {
        row: f"asks for {workload.nodes_min[row]} nodes, queue {_name(workload, row)} allows"
        f" {most[row]}"
        for row in np.flatnonzero(workload.nodes_min > most).tolist()
    } | {
        row: f"asks for at most {workload.nodes_max[row]} nodes, queue {_name(workload, row)}"
        f" needs {least[row]}"
        for row in np.flatnonzero(workload.nodes_max < least).tolist()
    }
    fits = np.ones(len(workload), dtype=np.bool_)
    fits[list(rejected)] = False
    bounded = workload.with_columns(
        nodes_min=np.where(fits, np.maximum(workload.nodes_min, least), workload.nodes_min),
        nodes_max=np.where(fits, np.minimum(workload.nodes_max, most), workload.nodes_max),
    )
    return bounded, rejected


def _name(workload: Workload, row: int) -> str:
    name: str = workload.queue.values[workload.queue.codes[row]]
    return name


def _queues(workload: Workload, system: System) -> list[tuple[Queue, ...]]:
    """Return the queues of each code, none for the last: -1 indexes "no queue"."""
    return [system.queues_of(names) for names in (*workload.queue.values, None)]


def _default_time(queues: Sequence[Queue], system: System) -> int:
    """Return the default of the first queue of a job."""
    own = (queues[0].default_time or queues[0].max_time) if queues else None
    return own or system.default_time or MISSING


def _member(column: Labels, queue: Queue) -> BoolArray:
    """Return the jobs whose user (or group) is on the queue's list, shape ``(J,)``."""
    listed: IntArray = np.asarray([name in queue.users for name in [*column.values, ""]])
    return listed[column.codes].astype(np.bool_)


def _user(workload: Workload, row: int) -> str:
    code = workload.user.codes[row]
    return f"user {quoted(workload.user.values[code])}" if code >= 0 else "an unknown user"
