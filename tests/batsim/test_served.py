"""Our dispatchers as schedulers of Batsim."""

import shlex
import sys

import pytest
from batsim_jobs import drawn, jobs, machine, starts

import cpsched
from cpsched.batsim.messages import Event, Message
from cpsched.batsim.served import Served


def replies(served, now, *events):
    """Return what is said to events of a second: type and data."""
    message = Message(now, [Event(now, kind, data) for kind, data in events])
    return [(event.type, dict(event.data)) for event in served.answer(message)]


def begun(dispatcher="fifo", hosts=4, **options):
    served = Served(dispatcher, **options)
    numbers = [{"id": 2 * number, "name": "h"} for number in range(hosts)]
    assert replies(served, 0.0, ("SIMULATION_BEGINS", {"compute_resources": numbers})) == []
    return served


def job(number, hosts, walltime=60):
    name = f"w0!{number}"
    return "JOB_SUBMITTED", {
        "job_id": name,
        "job": {"id": name, "res": hosts, "walltime": walltime},
    }


def ended(number, state="COMPLETED_SUCCESSFULLY"):
    return "JOB_COMPLETED", {"job_id": f"w0!{number}", "job_state": state}


def start(number, alloc):
    return "EXECUTE_JOB", {"job_id": f"w0!{number}", "alloc": alloc}


def test_a_whole_simulation_in_messages():
    """Hosts have the numbers of Batsim, here 0, 2, 4 and 6; a second may have several messages."""
    served = begun()
    assert replies(served, 10.25, job(1, 3), job(2, 2), job(3, 9)) == [
        ("REJECT_JOB", {"job_id": "w0!3"}),
        start(1, "0 2 4"),
    ]
    assert replies(served, 10.75, job(4, 1)) == []
    assert replies(served, 20.5, ended(1)) == [start(2, "0 2"), start(4, "4")]
    assert replies(served, 80.5, ended(2, "COMPLETED_WALLTIME_REACHED"), ended(4)) == []
    assert replies(served, 81, ("SIMULATION_ENDS", {})) == []
    assert served.ended


def test_hosts_that_are_away_are_not_used():
    served = begun()
    away = {"type": "event_machine_unavailable", "resources": "2"}
    assert replies(served, 1, ("NOTIFY", away), job(1, 2)) == [start(1, "0 4")]
    assert replies(served, 2, job(2, 2)) == []
    back = {"type": "event_machine_available", "resources": "2"}
    assert replies(served, 3, ("NOTIFY", back)) == [start(2, "2 6")]
    assert replies(served, 4, ("NOTIFY", {"type": "no_more_static_job_to_submit"})) == []


def test_a_dispatcher_is_called_when_it_wants_to_be():
    """Batsim calls it at the next point of its grid of 30 seconds."""
    served = begun("wla")
    assert replies(served, 7, job(1, 1)) == [("CALL_ME_LATER", {"timestamp": 30})]
    assert replies(served, 30, ("REQUESTED_CALL", {})) == [start(1, "0")]


def test_jobs_without_a_walltime_take_the_default():
    assert replies(begun(default_time=60), 1, job(1, 1, -1)) == [start(1, "0")]
    with pytest.raises(cpsched.ConfigError, match="'w0!1' has no walltime. Give --default-time."):
        replies(begun(), 1, job(1, 1, -1))


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (("SIMULATION_BEGINS", {}), "compute_resources|resources_data"),
        (("SIMULATION_BEGINS", {"compute_resources": [{}]}), "must list hosts, each with an id"),
        (
            (
                "SIMULATION_BEGINS",
                {"compute_resources": [{"id": 0}], "allow_compute_sharing": True},
            ),
            "jobs cannot share hosts",
        ),
        (ended(7), "job 'w0!7' ends, but was never submitted"),
        (("JOB_SUBMITTED", {"job_id": "w0!1"}), "job of JOB_SUBMITTED is missing"),
        (("JOB_SUBMITTED", {"job_id": "w0!1", "job": {"res": 1.5}}), "res must be a whole number"),
        (("RESOURCE_STATE_CHANGED", {}), "'RESOURCE_STATE_CHANGED' is not supported"),
    ],
)
def test_what_cannot_be_respected_is_refused(event, problem):
    with pytest.raises(cpsched.DispatchError, match=problem):
        replies(begun(), 1, event)


def test_nothing_comes_before_the_beginning():
    with pytest.raises(cpsched.DispatchError, match="comes before SIMULATION_BEGINS"):
        replies(Served("fifo"), 1, job(1, 1))


def test_a_socket_that_is_none_is_named(cpsched):
    code, _, error = cpsched("batsim", "serve", "-s", "carrier:pigeon")
    assert code
    assert "carrier:pigeon" in error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dispatcher", "protocol"), [("easy", 4), ("easy:order=sjf,backfill=sjf", 5)]
)
def test_through_both_sides_jobs_start_as_without_them(dispatcher, protocol):
    """The dispatcher in a process of its own, by sockets: every job at the same second."""
    words = [sys.executable, "-m", "cpsched", "batsim", "serve", "-d", dispatcher]
    words += ["--protocol", str(protocol)]
    command = shlex.join(words).replace('"', '\\"')
    log, system = jobs(drawn()), machine()
    assert starts(log, system, f'batsim:command="{command}",protocol={protocol}') == starts(
        log, system, dispatcher
    )
