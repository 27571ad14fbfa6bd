"""Room for a job that has to start at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched_papers.dn_dbes.attempt import end_on
from cpsched_papers.dn_dbes.messages import (
    KILLED,
    RESIZED,
    STARTED,
    SUSPENDED,
    JobStatus,
    RunningJob,
    UrgentJobResponse,
)
from cpsched_papers.dn_dbes.settings import UrgentPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched_papers.dn_dbes.messages import Machine, WaitingJob


def start_urgent(
    machine: Machine, job: WaitingJob, policy: str
) -> tuple[UrgentJobResponse, Machine]:
    """
    Start an urgent job at once, if room can be made for it.

    Malleable jobs shrink, those first that have the most to give, until it has the units that it
    prefers; if they have less to give, it starts with what there is, but for its minimum. Only
    where that is more do others leave their nodes, as far as the policy goes: those first that run
    the longest yet.

    Returns
    -------
    response, machine
        What has been done, and the machine after it. Jobs that changed cannot change once more.
    """
    now = machine.now
    wanted = min(max(job.preferred, job.units_min), job.units_max) * job.slots
    needed = job.units_min * job.slots
    others = [one for one in machine.running if not one.fixed]
    idle, changed = machine.idle, dict[int, JobStatus]()
    for one in sorted(others, key=lambda one: (one.units_min - one.units, one.job)):
        if idle >= wanted or one.units == one.units_min:
            break
        units = max(one.units_min, one.units - -(-(wanted - idle) // one.slots))
        changed[one.job] = JobStatus(one.job, RESIZED, units, end_on(one, units, now))
        idle += (one.units - units) * one.slots
    for state, leaving in _leaving(others, policy):
        for one in sorted(leaving, key=lambda one: (-one.end, one.job)):
            if idle >= needed:
                break
            if one.job not in changed or changed[one.job].state == RESIZED:
                shrunk = changed.pop(one.job, None)
                idle += (one.units if shrunk is None else shrunk.units) * one.slots
                changed[one.job] = JobStatus(one.job, state, 0, now)
    if idle < needed:
        return UrgentJobResponse(job.job, 0, ()), machine
    units = min(wanted, idle) // job.slots
    end = now + job.seconds_on(units)
    started = JobStatus(job.job, STARTED, units, end)
    running = [_after(one, changed) for one in machine.running]
    left = [one for one in running if one is not None]
    left.append(
        RunningJob(job.job, units, units, units, job.preferred, end, slots=job.slots, fixed=True)
    )
    answer = UrgentJobResponse(job.job, units, (*changed.values(), started))
    return answer, machine._replace(idle=idle - units * job.slots, running=tuple(left))


def _leaving(others: list[RunningJob], policy: str) -> Iterable[tuple[str, list[RunningJob]]]:
    """Yield what may be done to which jobs, the mildest first."""
    if policy != UrgentPolicy.SHRINK:
        yield SUSPENDED, [one for one in others if one.restartable]
    if policy == UrgentPolicy.KILL:
        yield KILLED, others


def _after(job: RunningJob, changed: dict[int, JobStatus]) -> RunningJob | None:
    """Return a running job as it is after the change; None if it is off its nodes."""
    status = changed.get(job.job)
    if status is None:
        return job
    if not status.units:
        return None
    units = status.units
    return job._replace(units=units, units_min=units, units_max=units, end=status.end, fixed=True)
