"""Messages as Batsim 5 writes them."""

import json

import pytest

from cpsched.batsim import version5
from cpsched.batsim.messages import Event
from cpsched.errors import DispatchError


def heard(kind, **event):
    """Return what a scheduler says, in version 4."""
    message = {"now": 5, "events": [{"timestamp": 5, "event_type": kind, "event": event}]}
    (parsed,) = version5.read5(json.dumps(message).encode() + b"\0", "it", 5).events
    return parsed.type, dict(parsed.data)


def sent(kind, **data):
    """Return what a scheduler is told: type and event."""
    text = version5.written(5, [Event(5, kind, data)])
    assert text.endswith("}\0")
    (event,) = json.loads(text[:-1])["events"]
    return event["event_type"], event["event"]


def hello(kind="EDCHelloEvent", number=2, **features):
    event = {"requested_simulation_features": features}
    message = {"now": 0, "events": [{"timestamp": 0, "event_type": kind, "event": event}]}
    return number.to_bytes(4, "little") + json.dumps(message).encode()


def test_the_scheduler_introduces_itself():
    assert len(version5.opening()) == 4
    version5.check_hello(hello(profile_reuse=False))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"", "format 0, must use 2"),
        (hello(number=1), "format 1, must use 2"),
        (hello("RejectJobEvent"), "first event of the scheduler must be EDCHelloEvent"),
        (hello(dynamic_registration=True), "asks for dynamic_registration"),
        (b"\2\0\0\0{", "not JSON"),
    ],
)
def test_one_that_does_not_is_refused(answer, problem):
    with pytest.raises(DispatchError, match=problem):
        version5.check_hello(answer)


def test_a_job_is_told_without_its_runtime():
    job = {"id": "w!3", "subtime": 4, "res": 2, "walltime": 60, "profile": "walltime_60"}
    profile = {"type": "delay", "delay": 60}
    kind, event = sent("JOB_SUBMITTED", job_id="w!3", job=job, profile=profile)
    assert kind == "JobSubmittedEvent"
    assert event["job"] == {
        "resource_request": 2,
        "walltime": 60,
        "rigid": True,
        "profile_id": "w!walltime_60",
    }
    assert event["profile"]["profile"] == {"delay": 60}


def test_ends_and_calls_are_told():
    ended = sent("JOB_COMPLETED", job_id="w!3", job_state="COMPLETED_KILLED", return_code=1)
    assert ended[1] == {"job_id": "w!3", "state": "COMPLETED_KILLED", "return_code": 1}
    killed = sent("JOB_KILLED", job_ids=["w!3"], job_progress={"w!3": {"progress": 0.5}})
    assert killed[0] == "JobsKilledEvent"
    assert [progress["job_id"] for progress in killed[1]["progresses"]] == ["w!3"]
    assert sent("REQUESTED_CALL", call="7")[1]["call_me_later_id"] == "7"
    with pytest.raises(DispatchError, match="has no message in protocol=5"):
        sent("NOTIFY", type="event_machine_unavailable", resources="3")


def test_what_batsim_says_is_understood():
    hosts = [{"id": 3, "name": "h"}]
    begins = heard("SimulationBeginsEvent", computation_hosts=hosts)
    assert begins == ("SIMULATION_BEGINS", {"compute_resources": hosts})
    submitted = heard("JobSubmittedEvent", job_id="w!3", job={"resource_request": 2})
    assert submitted == ("JOB_SUBMITTED", {"job_id": "w!3", "job": {"res": 2, "walltime": -1}})
    ended = heard("JobCompletedEvent", job_id="w!3", state="COMPLETED_KILLED")
    assert ended[0] == "JOB_COMPLETED"
    assert ended[1]["job_state"] == "COMPLETED_KILLED"
    assert heard("AllStaticJobsHaveBeenSubmittedEvent")[0] == "NOTIFY"
    assert heard("ExternalEventOccurredEvent")[0] == "ExternalEventOccurredEvent"


def test_our_hello_is_one():
    version5.check_hello(version5.hello("cpsched", "1"))


def test_answers_are_understood():
    placed = {"host_allocation": "0-1", "executor_placement_type": "PredefinedExecutor..."}
    kind, data = heard("ExecuteJobEvent", job_id="w!3", allocation=placed)
    assert kind == "EXECUTE_JOB"
    assert {key: value for key, value in data.items() if value} == {"job_id": "w!3", "alloc": "0-1"}
    placed["executor_placement_type"] = "CustomExecutorToHostMapping"
    assert heard("ExecuteJobEvent", job_id="w!3", allocation=placed)[1]["mapping"]
    when = {"time": 7500, "time_unit": "Millisecond"}
    call = heard("CallMeLaterEvent", call_me_later_id="x", when_type="OneShot", when=when)
    assert call == ("CALL_ME_LATER", {"timestamp": 7.5, "call": "x"})
    assert heard("RejectJobEvent", job_id="w!3") == ("REJECT_JOB", {"job_id": "w!3"})
    assert heard("FinishRegistrationEvent") == ("NOTIFY", {"type": "registration_finished"})
    assert heard("TurnOnOffHostsEvent")[0] == "TurnOnOffHostsEvent"
    with pytest.raises(DispatchError, match="'Periodic', must be OneShot"):
        heard("CallMeLaterEvent", when_type="Periodic", when={})
