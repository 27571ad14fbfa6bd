"""The jobs whose simulated start is farthest from the recorded one, explained from both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.util.types import MISSING
from cpsched.util.words import clock, counted, duration, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cpsched.model.schedule import Schedule
    from cpsched.model.workload import Workload
    from cpsched.study.validation.errors import Validation
    from cpsched.util.types import IntArray


_PLURAL = {"core": "cores", "gpu": "GPUs"}


class StartDifference(NamedTuple):
    """
    One job.

    Attributes
    ----------
    title
        Which, and how far apart its starts are.
    simulated
        The simulation's side: why it started then, or why it did not start when recorded.
    recorded
        What the record shows at the same time.
    """

    title: str
    simulated: str
    recorded: str


def differences(
    schedule: Schedule,
    validation: Validation,
    explain: Callable[[str, int], str],
    limit: int,
    reasons: Mapping[str, str] | None = None,
) -> Iterator[StartDifference]:
    """
    Yield the jobs that differ most, one of each user and queue.

    Parameters
    ----------
    explain
        Says in words where a job stands in the simulation at a second.
    reasons
        Why jobs waited in the record, by id, where that is known.
    """
    workload = schedule.workload
    seen: set[tuple[int, int]] = set()
    for at in np.argsort(-np.abs(validation.error), kind="stable").tolist():
        if len(seen) == limit or not validation.error[at]:
            return
        row = int(validation.rows[at])
        kind = int(workload.user.codes[row]), int(workload.queue.codes[row])
        if kind not in seen:
            seen.add(kind)
            reason = (reasons or {}).get(str(workload.job_id[row]), "")
            yield _difference(schedule, row, explain, reason)


def _difference(
    schedule: Schedule, row: int, explain: Callable[[str, int], str], reason: str
) -> StartDifference:
    workload = schedule.workload
    job, recorded = str(workload.job_id[row]), int(workload.recorded_start[row])
    simulated = int(schedule.start[row])
    earlier, moment = simulated < recorded, min(simulated, recorded)
    whose = [
        f"{what} {quoted(column.values[column.codes[row]])}"
        for what, column in (("user", workload.user), ("queue", workload.queue))
        if column.codes[row] >= 0
    ]
    tasks = counted(int(workload.units[row]), "task")
    did = f"waited until {clock(recorded, workload.epoch)}" if earlier else "started"
    return StartDifference(
        title=f"Job {job} ({', '.join([*whose, tasks])}): {duration(abs(simulated - recorded))}"
        f" {'earlier' if earlier else 'later'} in the simulation",
        simulated=explain(job, moment),
        recorded=(
            f"job {job} {did}{f' (Slurm: {reason})' if reason else ''}."
            f" {_in_record(schedule, row, moment)}"
        ),
    )


def _in_record(schedule: Schedule, row: int, moment: int) -> str:
    """Return the recorded state at a second at which a job started in one of the schedules."""
    workload = schedule.workload
    start = workload.recorded_start
    known = start != MISSING
    runs = known & (start <= moment) & (moment < start + workload.runtime)
    waits = known & (workload.submit <= moment) & (start > moment)
    waits[row] = False
    before = int((waits & (workload.submit <= workload.submit[row])).sum())
    kinds = zip(schedule.system.resources, schedule.system.total.tolist(), strict=True)
    allocated = [
        f"{_allocated(workload, at)[runs].sum():,} of {total:,} {_PLURAL.get(kind, kind)}"
        for at, (kind, total) in enumerate(kinds)
        if kind.partition(":")[0] in _PLURAL
    ]
    return (
        f"At {clock(moment, workload.epoch)} recorded jobs used {', '.join(allocated)}."
        f" {counted(int(waits.sum()), 'other job')} waited, {before:,} of them submitted earlier."
    )


def _allocated(workload: Workload, at: int) -> IntArray:
    """Return the amount of a resource that each job has, on as few nodes as it may have."""
    on_nodes = workload.nodes_min * workload.per_node[:, at]
    allocated: IntArray = workload.units * workload.request[:, at] + on_nodes
    return allocated
