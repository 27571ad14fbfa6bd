"""Queues of a log as queues of a system, and what their rules say about time, users and nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.model.arrays import put_away
from cpsched.model.workload import Labels, names_of
from cpsched.util.types import MISSING, UNBOUNDED
from cpsched.util.words import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.system import Queue
    from cpsched.model.workload import Workload
    from cpsched.systems.mapping.draft import Draft
    from cpsched.util.types import BoolArray, IntArray


def resolve_queues(draft: Draft) -> None:
    """
    Give each job the system's queues as its ``queue`` column.

    The log's queue or partition (``queue_field``) is renamed as the system says, by its name or by
    the number that the log's header gives it; of several, with commas between, each is. A job
    without one is in the default queue, if there is one. A system without queues takes the log's
    names as they are.

    Raises
    ------
    ConfigError
        If a job's queue is none of the system's.
    """
    system, log = draft.system, draft.system.log
    column: Labels = getattr(draft.workload, log.queue_field)
    if not system.queues:
        draft.change(queue=column)
        return
    default = next((name for name, queue in system.queues.items() if queue.default), None)
    named = names_of(draft.workload.header, log.queue_field.capitalize())
    by_number = {named[key]: queue for key, queue in log.queues.items() if key in named}
    renamed: list[str | None] = []
    used = set(np.unique(column.codes).tolist())
    for code, text in enumerate([*column.values, None]):
        if text is None or code not in used:
            renamed.append(default if text is None else None)
            continue
        parts = [text] if text in by_number else text.split(",")
        names = [by_number.get(part) or log.queues.get(part, part) for part in parts]
        unknown = next((name for name in names if name not in system.queues), None)
        if unknown is not None:
            job = draft.workload.job_id[np.flatnonzero(column.codes == code)[0]]
            raise ConfigError(
                f"job {job} is in the unknown {log.queue_field} {quoted(unknown)}. Queues:"
                f" {', '.join(system.queues)}. Map other names in [log.queues] of the system file.",
                where=f"system {system.name}",
            )
        renamed.append(",".join(dict.fromkeys(names)))
    draft.change(queue=_relabelled(column.codes, renamed))


def _relabelled(codes: IntArray, names: Sequence[str | None]) -> Labels:
    """Return labels whose code means the name at its position; -1 is the last one's."""
    values = Labels.encode(names)
    return Labels(put_away(values.codes[codes]), values.values).in_order()


def fill_requested_time(draft: Draft) -> None:
    """
    Give each job a requested time.

    Where the log has none: the queue's default, else the queue's limit (as Slurm does), else the
    system's default.

    Raises
    ------
    ConfigError
        If there is none of them for a job.
    """
    workload = draft.workload
    missing = workload.requested_time == MISSING
    if not missing.any():
        return
    # That of the first queue of a job.
    own = [
        (queues[0].default_time or queues[0].max_time) if queues else None
        for queues in draft.queues()
    ]
    defaults = [time or draft.system.default_time or MISSING for time in own]
    filled = np.asarray(defaults, dtype=np.int64)[workload.queue.codes]
    unknown = np.flatnonzero(missing & (filled == MISSING))
    if len(unknown):
        raise ConfigError(
            f"job {workload.job_id[unknown[0]]} has no requested time ({len(unknown)} jobs have"
            " none). Set default_time in the system file, at the top or for the queue.",
            where=f"system {draft.system.name}",
        )
    draft.change(
        requested_time=np.where(missing, filled, workload.requested_time),
        requested_time_assumed=workload.requested_time_assumed | missing,
    )


def choose_queues(draft: Draft, *, enforce_time_limits: bool) -> None:
    """
    Keep each job in those of its queues alone that take it, by their time limits and users.

    Jobs that none takes keep their queues and are rejected, for why the last one does not.
    """
    workload = draft.workload
    rejected: dict[int, str] = {}
    names = [*workload.queue.values]
    codes = workload.queue.codes.copy()
    for code, queues in enumerate(draft.queues()[:-1]):
        if not any(queue.users or queue.max_time for queue in queues):
            continue
        rows = np.flatnonzero(workload.queue.codes == code)
        reasons = [
            _refusals(workload, queue, rows, enforce_time_limits=enforce_time_limits)
            for queue in queues
        ]
        for row in {row for excluded in reasons for row in excluded}:
            taking = [
                queue.name
                for queue, excluded in zip(queues, reasons, strict=True)
                if row not in excluded
            ]
            if taking:
                names.append(",".join(taking))
                codes[row] = len(names) - 1
            else:
                rejected[row] = reasons[-1][row]
    draft.reject(rejected)
    if len(names) > len(workload.queue.values):
        draft.change(queue=_relabelled(codes, [*names, None]))


def _refusals(
    workload: Workload, queue: Queue, rows: IntArray, *, enforce_time_limits: bool
) -> dict[int, str]:
    """Return the rows that a queue's time limit or list of users keeps out, and why."""
    reasons: dict[int, str] = {}
    if queue.max_time is not None and enforce_time_limits:
        for row in rows[workload.requested_time[rows] > queue.max_time].tolist():
            reasons[row] = (
                f"requested {workload.requested_time[row]} s, queue {queue.name} allows"
                f" {queue.max_time} s"
            )
    if queue.users:
        allowed = _member(workload.user, queue) | _member(workload.group, queue)
        for row in rows[~allowed[rows]].tolist():
            code = workload.user.codes[row]
            user = f"user {quoted(workload.user.values[code])}" if code >= 0 else "an unknown user"
            takes = ", ".join(queue.users)
            reasons[row] = f"{user} is not allowed in queue {queue.name}, which takes: {takes}"
    return reasons


def bound_nodes(draft: Draft) -> None:
    """Bound the nodes of each job, in layout ``units``, as its queues do; reject what cannot be."""
    workload, of_code = draft.workload, draft.queues()
    if all(queue.min_nodes == 1 and not queue.max_nodes for queue in draft.system.queues.values()):
        return
    codes = workload.queue.codes
    least = np.array([min((q.min_nodes for q in queues), default=1) for queues in of_code])[codes]
    queue_max = np.array(
        [max((q.max_nodes or UNBOUNDED for q in queues), default=UNBOUNDED) for queues in of_code]
    )[codes]
    fewest, largest = workload.nodes_min, workload.nodes_max
    names = [*workload.queue.values, ""]
    rejected: dict[int, str] = {}
    for row in np.flatnonzero((fewest > queue_max) | (largest < least)).tolist():
        queue = names[codes[row]]
        rejected[row] = f"asks for at most {largest[row]} nodes, queue {queue} needs {least[row]}"
        if largest[row] >= least[row]:
            rejected[row] = f"asks for {fewest[row]} nodes, queue {queue} allows {queue_max[row]}"
    draft.reject(rejected)
    fits = (fewest <= queue_max) & (largest >= least)
    draft.change(
        nodes_min=np.where(fits, np.maximum(fewest, least), fewest),
        nodes_max=np.where(fits, np.minimum(largest, queue_max), largest),
    )


def _member(column: Labels, queue: Queue) -> BoolArray:
    """Return the jobs whose user (or group) is on the queue's list, shape ``(J,)``."""
    listed: IntArray = np.asarray([name in queue.users for name in [*column.values, ""]])
    return listed[column.codes].astype(np.bool_)
