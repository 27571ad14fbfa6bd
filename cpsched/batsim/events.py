"""Events that the scheduler is told: what Batsim says of a machine and of its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.batsim.messages import Event, intervals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.util.types import BoolArray, IntArray

#: The workload's name in the names of jobs.
WORKLOAD = "cpsched"


def simulation_begins(now: int, hosts: Sequence[str]) -> Event:
    """Return the first event, which describes the machine by the names of its hosts."""
    alike = {"state": "idle", "properties": {"role": ""}, "zone_properties": {}}
    data = {
        "nb_resources": len(hosts),
        "nb_compute_resources": len(hosts),
        "nb_storage_resources": 0,
        "allow_compute_sharing": False,
        "allow_storage_sharing": False,
        "config": {
            "redis-enabled": False,
            "redis-hostname": "",
            "redis-port": 0,
            "redis-prefix": "",
            "profiles-forwarded-on-submission": True,
            "dynamic-jobs-enabled": False,
            "dynamic-jobs-acknowledged": False,
            "profile-reuse-enabled": False,
            "forward-unknown-events": False,
        },
        "compute_resources": [{"id": at, "name": name, **alike} for at, name in enumerate(hosts)],
        "storage_resources": [],
        "workloads": {WORKLOAD: WORKLOAD},
        "profiles": {WORKLOAD: {}},
    }
    return Event(now, "SIMULATION_BEGINS", data)


def submitted(now: int, name: str, submit: int, walltime: int, hosts: int) -> Event:
    """Return that a job is in the queue, which asks for a number of hosts."""
    named = f"walltime_{walltime}"
    job = {"id": name, "subtime": submit, "res": hosts, "walltime": walltime, "profile": named}
    # In Batsim a delay is the runtime, which nobody knows yet.
    profile = {"type": "delay", "delay": walltime}
    return Event(now, "JOB_SUBMITTED", {"job_id": name, "job": job, "profile": profile})


def completed(now: int, name: str, state: str, hosts: IntArray) -> Event:
    """Return that a job has ended, how, and the hosts that it held."""
    data = {
        "job_id": name,
        "job_state": state,
        "return_code": 0 if state == "COMPLETED_SUCCESSFULLY" else 1,
        "kill_reason": "",
        "alloc": intervals(hosts.tolist()),
    }
    return Event(now, "JOB_COMPLETED", data)


def killed(now: int, names: Sequence[str], ran: Mapping[str, tuple[int, int]]) -> Event:
    """Return that the jobs of a KILL_JOB have ended, and how far those came that ran."""
    # Of its walltime: how long it would have run is not known, and never told.
    progress = {
        name: {"profile": f"walltime_{walltime}", "progress": min(seconds / walltime, 1.0)}
        for name, (seconds, walltime) in ((name, ran[name]) for name in names if name in ran)
    }
    return Event(now, "JOB_KILLED", {"job_ids": names, "job_progress": progress})


def hosts_changed(now: int, before: BoolArray, after: BoolArray) -> list[Event]:
    """Return which hosts are not available any more, or are again."""
    events = []
    for change, changed in (("unavailable", before & ~after), ("available", ~before & after)):
        hosts = np.flatnonzero(changed)
        if len(hosts):
            data = {"type": f"event_machine_{change}", "resources": intervals(hosts.tolist())}
            events.append(Event(now, "NOTIFY", data))
    return events
