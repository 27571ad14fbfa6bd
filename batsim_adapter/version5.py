"""
The same messages as Batsim 5 writes them: batprotocol as JSON.

An event has other names for its parts, begins and calls are richer, and the scheduler introduces
itself first: it is sent the length of a text and the text, as bytes, and answers with the number of
a format and a message with its hello.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from batsim_adapter.messages import read
from cpsched.api.errors import DispatchError
from cpsched.api.tools import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from batsim_adapter.messages import Event, Message

#: The version of batprotocol that is spoken.
_VERSION = "1.0.0"
#: The number of JSON among the formats, which is sent before the scheduler's hello.
_JSON = 2
#: What the scheduler says, by what version 4 calls it.
_CALLED = {
    "ExecuteJobEvent": "EXECUTE_JOB",
    "RejectJobEvent": "REJECT_JOB",
    "KillJobsEvent": "KILL_JOB",
    "CallMeLaterEvent": "CALL_ME_LATER",
    "FinishRegistrationEvent": "NOTIFY",
}
#: Seconds of its units of time.
_UNITS = {"Second": 1.0, "Millisecond": 0.001}


def opening() -> bytes:
    """Return the first bytes that a scheduler receives: an empty text for it."""
    return (0).to_bytes(4, sys.byteorder)


def check_hello(answer: bytes) -> None:
    """
    Check the first answer of a scheduler.

    Raises
    ------
    DispatchError
        If it does not speak JSON, or wants features that there are not.
    """
    number = int.from_bytes(answer[:4], "little")
    if len(answer) < 4 or number != _JSON:
        raise DispatchError(
            f"batsim: the scheduler speaks format {number}, must be {_JSON} (JSON; protocol=5)"
        )
    found = read(answer[4:].rstrip(b"\0"), "the scheduler", 0.0, _translated)
    if [event.type for event in found.events] != ["EDCHelloEvent"]:
        raise DispatchError("batsim: the scheduler does not begin with EDCHelloEvent")
    features = found.events[0].data.get("requested_simulation_features")
    if isinstance(features, dict) and features.get("dynamic_registration"):
        raise DispatchError(
            "batsim: EDCHelloEvent asks for dynamic_registration: jobs come from the log alone"
        )


def written(now: float, events: Iterable[Event]) -> str:
    """
    Return a message as JSON text, which a null character ends.

    Raises
    ------
    DispatchError
        If it cannot say an event.
    """
    said = []
    for event in events:
        kind, data = _SAID[event.type](event.data)
        said.append({"timestamp": event.timestamp, "event_type": kind, "event": data})
    return json.dumps({"now": now, "events": said}) + "\0"


def read5(text: bytes, sender: str, since: float = 0.0) -> Message:
    """
    Read a message, into the events of version 4.

    Raises
    ------
    DispatchError
        As :func:`~batsim_adapter.messages.read`.
    """
    return read(text.rstrip(b"\0"), sender, since, _translated)


def _translated(found: Any) -> Any:
    """Return an event of version 5 as one of version 4, unchecked."""
    if not (isinstance(found, dict) and isinstance(found.get("event_type"), str)):
        return found
    kind, data = found["event_type"], found.get("event")
    if isinstance(data, dict):
        if kind == "ExecuteJobEvent":
            data = _execution(data)
        elif kind == "CallMeLaterEvent":
            data = _call(data)
        elif kind == "FinishRegistrationEvent":
            data = {"type": "registration_finished"}
    return {"timestamp": found.get("timestamp"), "type": _CALLED.get(kind, kind), "data": data}


def _execution(data: Mapping[str, Any]) -> dict[str, Any]:
    allocation = data.get("allocation")
    allocation = allocation if isinstance(allocation, dict) else {}
    custom = allocation.get("executor_placement_type") == "CustomExecutorToHostMapping"
    return {
        "job_id": data.get("job_id"),
        "alloc": allocation.get("host_allocation"),
        "mapping": custom,
        "storage_mapping": data.get("storage_placement"),
        "profile_allocation_override": data.get("profile_allocation_override"),
    }


def _call(data: Mapping[str, Any]) -> dict[str, Any]:
    when = data.get("when")
    if data.get("when_type") != "OneShot" or not isinstance(when, dict):
        raise DispatchError(
            f"batsim: CallMeLaterEvent of {quoted(str(data.get('when_type')))}, must be OneShot"
        )
    time, unit = when.get("time"), when.get("time_unit", "Second")
    if isinstance(time, int | float) and unit in _UNITS:
        time = time * _UNITS[unit]
    return {"timestamp": time, "call": str(data.get("call_me_later_id", ""))}


# --- what is said --------------------------------------------------------------------------------


def _begins(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    hosts = [
        {
            "id": host["id"],
            "name": host["name"],
            "pstate": 0,
            "pstate_count": 1,
            "state": "IDLE",
            "core_count": 1,
            "properties": [],
            "zone_properties": [],
        }
        for host in data["compute_resources"]
    ]
    names = [{"name": name, "filename": name} for name in data["workloads"]]
    return "SimulationBeginsEvent", {
        "batprotocol_version": _VERSION,
        "batsim_version": "cpsched",
        "host_number": len(hosts),
        "computation_host_number": len(hosts),
        "computation_hosts": hosts,
        "storage_host_number": 0,
        "storage_hosts": [],
        "batsim_arguments": [],
        "batsim_execution_context_json": "{}",
        "workloads": names,
        "external_event_lists": [],
    }


def _submitted(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    job = data["job"]
    workload, _, _ = job["id"].partition("!")
    profile = f"{workload}!{job['profile']}"
    return "JobSubmittedEvent", {
        "job_id": job["id"],
        "submission_time": job["subtime"],
        "job": {
            "resource_request": job["res"],
            "walltime": job["walltime"],
            "rigid": True,
            "profile_id": profile,
        },
        "profile": {
            "id": profile,
            "profile_type": "DelayProfile",
            "profile": {"delay": data["profile"]["delay"]},
        },
    }


def _completed(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return "JobCompletedEvent", {
        "job_id": data["job_id"],
        "state": data["job_state"],
        "return_code": data["return_code"],
    }


def _killed(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    progresses = [
        {
            "job_id": job,
            "wrapper": {
                "kill_progress_type": "KillProgressAtomic",
                "kill_progress": {"progress": one["progress"]},
            },
        }
        for job, one in data["job_progress"].items()
    ]
    return "JobsKilledEvent", {"job_ids": data["job_ids"], "progresses": progresses}


def _called(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return "RequestedCallEvent", {
        "call_me_later_id": data["call"],
        "last_periodic_call": True,
    }


def _ends(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:  # noqa: ARG001
    return "SimulationEndsEvent", {}


def _notified(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    raise DispatchError(
        f"batsim: {data['type']} of hosts {data['resources']} cannot be said in protocol=5"
    )


_SAID: dict[str, Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]]]] = {
    "SIMULATION_BEGINS": _begins,
    "JOB_SUBMITTED": _submitted,
    "JOB_COMPLETED": _completed,
    "JOB_KILLED": _killed,
    "REQUESTED_CALL": _called,
    "SIMULATION_ENDS": _ends,
    "NOTIFY": _notified,
}
