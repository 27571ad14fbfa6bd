"""
The same messages as Batsim 5 writes them: batprotocol as JSON.

Events and their parts have other names, and the scheduler introduces itself first: it is sent the
length of a text and the text, as bytes, and answers with the number of a format and a message with
its hello. Everything is translated from and into the events of version 4.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from cpsched.batsim.messages import Event, read
from cpsched.errors import DispatchError
from cpsched.util.words import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cpsched.batsim.messages import Message

#: The version of batprotocol that is spoken.
_VERSION = "1.0.0"
#: The number of JSON among the formats, which is sent before the scheduler's hello.
_JSON = 2
#: What either side says, by what version 4 calls it.
_TYPE_OF_VERSION4 = {
    "SimulationBeginsEvent": "SIMULATION_BEGINS",
    "SimulationEndsEvent": "SIMULATION_ENDS",
    "JobSubmittedEvent": "JOB_SUBMITTED",
    "JobCompletedEvent": "JOB_COMPLETED",
    "JobsKilledEvent": "JOB_KILLED",
    "RequestedCallEvent": "REQUESTED_CALL",
    "AllStaticJobsHaveBeenSubmittedEvent": "NOTIFY",
    "AllStaticExternalEventsHaveBeenInjectedEvent": "NOTIFY",
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
            f"batsim: the scheduler uses message format {number}, must use {_JSON} (JSON)"
        )
    hello = read(answer[4:].rstrip(b"\0"), "the scheduler", 0.0, _translated)
    if [event.type for event in hello.events] != ["EDCHelloEvent"]:
        raise DispatchError("batsim: the first event of the scheduler must be EDCHelloEvent")
    features = hello.events[0].data.get("requested_simulation_features")
    if isinstance(features, dict) and features.get("dynamic_registration"):
        raise DispatchError(
            "batsim: EDCHelloEvent asks for dynamic_registration, but all jobs come from the log"
        )


def hello(name: str, version: str) -> bytes:
    """Return the first answer of a scheduler, by which it introduces itself."""
    text = written(0.0, [Event(0.0, "HELLO", {"name": name, "version": version})])
    return _JSON.to_bytes(4, "little") + text.encode()


def written(now: float, events: Iterable[Event]) -> str:
    """
    Return a message as JSON text, which a null character ends.

    Raises
    ------
    DispatchError
        If it cannot say an event.
    """
    entries = []
    for event in events:
        kind, data = _TRANSLATORS[event.type](event.data)
        entries.append({"timestamp": event.timestamp, "event_type": kind, "event": data})
    return json.dumps({"now": now, "events": entries}) + "\0"


def read5(text: bytes, sender: str, since: float = 0.0) -> Message:
    """
    Read a message, into the events of version 4.

    Raises
    ------
    DispatchError
        As :func:`~cpsched.batsim.messages.read`.
    """
    return read(text.rstrip(b"\0"), sender, since, _translated)


def _translated(entry: Any) -> Any:
    """Return an event of version 5 as one of version 4, unchecked."""
    if not (isinstance(entry, dict) and isinstance(entry.get("event_type"), str)):
        return entry
    kind, data = entry["event_type"], entry.get("event")
    if isinstance(data, dict) and kind in _HEARD:
        data = _HEARD[kind](data)
    return {
        "timestamp": entry.get("timestamp"),
        "type": _TYPE_OF_VERSION4.get(kind, kind),
        "data": data,
    }


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


def _machine(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"compute_resources": data.get("computation_hosts")}


def _job(data: Mapping[str, Any]) -> dict[str, Any]:
    job = data.get("job")
    job = job if isinstance(job, dict) else {}
    asked = {"res": job.get("resource_request"), "walltime": job.get("walltime", -1)}
    return {"job_id": data.get("job_id"), "job": asked}


#: How the data of version 4 follow, where they are others.
_HEARD: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "SimulationBeginsEvent": _machine,
    "JobSubmittedEvent": _job,
    "JobCompletedEvent": lambda data: {**data, "job_state": data.get("state")},
    "AllStaticJobsHaveBeenSubmittedEvent": lambda _: {"type": "no_more_static_job_to_submit"},
    "AllStaticExternalEventsHaveBeenInjectedEvent": lambda _: {
        "type": "no_more_external_event_to_occur"
    },
    "ExecuteJobEvent": _execution,
    "CallMeLaterEvent": _call,
    "FinishRegistrationEvent": lambda _: {"type": "registration_finished"},
}


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
                "kill_progress": {"progress": progress["progress"]},
            },
        }
        for job, progress in data["job_progress"].items()
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
        f"batsim: {data['type']} of hosts {data['resources']} has no message in protocol=5"
    )


def _executed(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return "ExecuteJobEvent", {
        "job_id": data["job_id"],
        "allocation": {
            "host_allocation": data["alloc"],
            "executor_placement_type": "PredefinedExecutorPlacementStrategyWrapper",
            "executor_placement": {"strategy": "SpreadOverHostsFirst"},
        },
    }


def _rejected(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return "RejectJobEvent", {"job_id": data["job_id"]}


def _call_later(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    second = int(data["timestamp"])
    when = {"time": second, "time_unit": "Second"}
    return "CallMeLaterEvent", {
        "call_me_later_id": str(second),
        "when_type": "OneShot",
        "when": when,
    }


def _hello(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return "EDCHelloEvent", {
        "batprotocol_version": _VERSION,
        "decision_component_name": data["name"],
        "decision_component_version": data["version"],
        "requested_simulation_features": {
            "dynamic_registration": False,
            "profile_reuse": False,
            "acknowledge_dynamic_jobs": False,
            "forward_profiles_on_job_submission": False,
            "forward_profiles_on_jobs_killed": False,
            "forward_profiles_on_simulation_begins": False,
        },
    }


_TRANSLATORS: dict[str, Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]]]] = {
    "SIMULATION_BEGINS": _begins,
    "JOB_SUBMITTED": _submitted,
    "JOB_COMPLETED": _completed,
    "JOB_KILLED": _killed,
    "REQUESTED_CALL": _called,
    "SIMULATION_ENDS": _ends,
    "NOTIFY": _notified,
    "EXECUTE_JOB": _executed,
    "REJECT_JOB": _rejected,
    "CALL_ME_LATER": _call_later,
    "HELLO": _hello,
}
