"""The jobs whose simulated start is farthest from the recorded one, explained from both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.model import MISSING
from cpsched.api.tools import clock, counted, duration, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cpsched.api.logs import Workload
    from cpsched.api.simulation import Schedule
    from slurm_adapter.fidelity.measures import Fidelity


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
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
    fidelity: Fidelity,
    explain: Callable[[str, int], str],
    most: int,
) -> Iterator[Difference]:
    """
    Yield the jobs that differ most, one of each user and queue.

    Parameters
    ----------
    explain
        Says in words where a job stands in the simulation at a second.
    """
    workload = schedule.workload
    seen: set[tuple[int, int]] = set()
    for at in np.argsort(-np.abs(fidelity.error), kind="stable").tolist():
        if len(seen) == most or not fidelity.error[at]:
            return
        row = int(fidelity.rows[at])
        kind = int(workload.user.codes[row]), int(workload.queue.codes[row])
        if kind in seen:
            continue
        seen.add(kind)
        yield _difference(schedule, row, explain)


def _difference(schedule: Schedule, row: int, explain: Callable[[str, int], str]) -> Difference:
    workload = schedule.workload
    job, recorded = str(workload.job_id[row]), int(workload.recorded_start[row])
    simulated = int(schedule.start[row])
    earlier = simulated < recorded
    apart = duration(abs(simulated - recorded))
    whose = [
        f"{what} {quoted(column.values[column.codes[row]])}"
        for what, column in (("user", workload.user), ("queue", workload.queue))
        if column.codes[row] >= 0
    ]
    title = (
        f"job {job} ({', '.join([*whose, counted(int(workload.units[row]), 'unit')])}):"
        f" {apart} {'earlier' if earlier else 'later'} in the simulation"
    )
    moment = min(simulated, recorded)
    return Difference(
        title=title,
        simulated=explain(job, moment),
        recorded=_in_record(schedule, row, moment, earlier=earlier),
    )


def _in_record(schedule: Schedule, row: int, moment: int, *, earlier: bool) -> str:
    """Say what the record shows of a second at which a job started in one of the two."""
    workload = schedule.workload
    start, cores = workload.recorded_start, workload.units * workload.request[:, 0]
    known = start != MISSING
    runs = known & (start <= moment) & (moment < start + workload.runtime)
    used, total = int(cores[runs].sum()), int(schedule.system.total[0])
    when = clock(moment, workload.epoch)
    state = f"at {when} {used:,} of {total:,} cores were in use by recorded jobs"
    waiting = known & (workload.submit <= moment) & (start > moment)
    waiting[row] = False
    before = int((waiting & (workload.submit <= workload.submit[row])).sum())
    if not earlier:
        passed = f"; it overtook {counted(before, 'job')} submitted before it" if before else ""
        return f"it started: {state}{passed}"
    return (
        f"it waited until {clock(int(start[row]), workload.epoch)}: {state},"
        f" {counted(int(waiting.sum()), 'other job')} waited, {before:,} of them submitted before"
        f" it{_overtaken(workload, row, moment)}"
    )


def _overtaken(workload: Workload, row: int, moment: int) -> str:
    """Say how many jobs that came later started while a job waited on."""
    start = workload.recorded_start
    passed = (start > moment) & (start < start[row]) & (workload.submit > workload.submit[row])
    number = int(passed.sum())
    return f"; {counted(number, 'job')} submitted later started before it" if number else ""
