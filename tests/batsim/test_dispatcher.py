"""Schedulers of Batsim as a dispatcher."""

import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from batsim_jobs import drawn, jobs, machine, starts

import cpsched
from cpsched.util.spec import build
from cpsched.util.types import MISSING

pytestmark = pytest.mark.slow


def gone(pid_file):
    """Say whether the process is no more whose number is in a file."""
    try:
        os.kill(int(Path(pid_file).read_text()), 0)
    except ProcessLookupError:
        return True
    return False


# --- starts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "ours"), [("fcfs", "fifo"), ("filler", "greedy:order=fifo")])
def test_jobs_start_as_under_the_same_rule_of_ours(policy, ours, asked):
    """On nodes of one core, and on nodes of four that jobs share."""
    log = jobs(drawn())
    for system in (machine(16), machine(4, "core = 4")):
        assert starts(log, system, asked(policy)) == starts(log, system, ours)


def test_a_job_takes_whole_nodes(asked):
    """GPUs and memory need not be said where every node has them."""
    system = machine(4, "core = 4, gpu = 2, mem = 100")
    rows = [(0, 50, 60, 4), (0, 20, 60, 3), (1, 20, 60, 8), (2, 10, 60, 1)]
    columns = {"resources": ("core", "gpu", "mem"), "exclusive": [1] * 4}
    log = jobs(rows, request=[[2, 1, 10]] * 4, **columns)
    # Nodes: 2, 2 (a unit takes a GPU, two units half of a node's cores), 4 and 1.
    assert starts(log, system, asked("fcfs", "hosts=nodes")) == [0, 0, 50, 70]
    assert starts(log, system, asked("filler", "hosts=nodes")) == [0, 0, 50, 20]


def test_the_scheduler_is_called_when_it_asks_for_it(asked):
    """At the end of the second, as seconds are whole here."""
    log = jobs([(3, 10, 20, 4), (50, 10, 20, 16), (50, 10, 20, 1)])
    start_times = starts(log, machine(), asked("hourly"))
    assert start_times[0] == 103
    assert start_times[1] > 149


def test_an_answer_that_takes_time_counts_from_then_on(asked):
    """Five seconds for each answer, in which the scheduler is told nothing."""
    log = jobs([(0, 10, 20, 16), (7, 10, 20, 16)])
    assert starts(log, machine(), asked("slow")) == [5, 20]


def test_a_rejected_job_never_runs(asked):
    log = jobs([(0, 10, 20, 2), (0, 10, 20, 3), (0, 10, 20, 1)])
    run = cpsched.simulate(log, machine(), dispatcher=asked("choosy"))
    assert run.schedule.start.tolist()[::2] == [0, 0]
    assert run.schedule.start[1] < 0


def test_killed_jobs_end_and_the_scheduler_is_told(asked, tmp_path):
    """With the share of the walltime as progress, not of the runtime."""
    log = jobs([(0, 1000, 2000, 16), (500, 10, 20, 16)])
    record = tmp_path / "record"
    run = cpsched.simulate(log, machine(), dispatcher=asked("killer", record=record))
    assert run.schedule.start.tolist() == [0, 500]
    assert run.schedule.end.tolist() == [500, 510]
    events = [
        event for line in record.read_text().splitlines() for event in json.loads(line)["events"]
    ]
    kills = [event for event in events if event["type"] == "JOB_KILLED"]
    progress = {"cpsched!0": {"profile": "walltime_2000", "progress": 0.25}}
    assert kills[0]["data"] == {"job_ids": ["cpsched!0"], "job_progress": progress}


def test_a_job_whose_node_fails_is_another_one_then(asked, tmp_path):
    """The scheduler is told that it has failed, that a host is away, and of a new job."""
    outages = tmp_path / "outages.csv"
    outages.write_text("node,from,to\nn0,5,40\n")
    system = cpsched.parse_system(
        "resources = ['core']\n[[nodes]]\ngroup = 'n'\nnames = 'n[0-1]'\ncore = 1\n"
    )
    record = tmp_path / "record"
    log = jobs([(0, 10, 20, 2)])
    dispatcher = asked("fcfs", record=record)
    assert starts(log, system, dispatcher, outages=f"table:file={outages}") == [40]
    at = [json.loads(line) for line in record.read_text().splitlines()]
    (failed,) = (message["events"] for message in at if int(message["now"]) == 5)
    assert [event["type"] for event in failed] == ["JOB_COMPLETED", "NOTIFY", "JOB_SUBMITTED"]
    assert failed[0]["data"]["job_state"] == "COMPLETED_FAILED"
    assert failed[1]["data"] == {"type": "event_machine_unavailable", "resources": "0"}
    assert failed[2]["data"]["job_id"] == "cpsched!0#1"


def test_a_job_cancelled_by_its_user_ends_where_it_would_start(asked, tmp_path):
    """Batsim has no message for it; the host is free at once."""
    rows = [(0, 100, 200, 16), (1, 50, 60, 16), (2, 50, 60, 16)]
    log = jobs(rows, cancel=[MISSING, 50, MISSING])
    start_times = starts(log, machine(), asked("fcfs"))
    assert start_times[0] == 0
    assert start_times[2] == 100


# --- what it is told -----------------------------------------------------------------------------


def test_no_message_knows_what_is_not_known_yet(asked, tmp_path):
    """Other runtimes of unfinished jobs and other later submits: the same messages until then."""
    rows = drawn(80)
    system, record = machine(), tmp_path / "record"

    def messages_until(rows, until):
        record.unlink(missing_ok=True)
        starts(jobs(rows), system, asked("filler", record=record))
        lines = record.read_text().splitlines()
        return [line for line in lines if json.loads(line)["now"] < until]

    moment = rows[50][0]
    run = cpsched.simulate(jobs(rows), system, dispatcher=asked("filler"))
    unfinished = run.schedule.end >= moment
    assert unfinished[:50].any()
    # They run into their requested time, and what comes later is another job.
    others = [
        (submit, runtime if not other else 5 * requested, requested, units)
        for (submit, runtime, requested, units), other in zip(rows, unfinished, strict=True)
        if submit < moment
    ]
    messages = messages_until(rows, moment)
    assert len(messages) > 50
    assert messages_until([*others, (moment + 1, 1, 1, 1)], moment) == messages


# --- what goes wrong -----------------------------------------------------------------------------

WRONG = {
    "twice": "EXECUTE_JOB of job 'cpsched!1' on host 0, which is allocated to job 'cpsched!0'",
    "past": "the scheduler sends EXECUTE_JOB of second 0.000976562, which is before second 1.00098",
    "dies": "the scheduler has ended with status 3: 'out of ideas'",
    "mumbles": "the scheduler sends '{now: 1', which is not JSON",
    "lists": "the scheduler sends JSON without the keys now and events",
    "nan": "now is 'nan'",
    "never": "deadlocked: 2 jobs waiting",
    "unknown-job": "EXECUTE_JOB of job 'cpsched!77', which has not been submitted",
    "no-host": "'9000': the hosts are 0 to 15",
    "few-hosts": "EXECUTE_JOB of job 'cpsched!0' on 2 hosts, but the job asks for 1",
    "no-alloc": "alloc of EXECUTE_JOB is missing, must be text",
    "mapping": "EXECUTE_JOB with mapping is not supported",
    "state": "'SET_RESOURCE_STATE', which is not supported: nodes stay switched on in cpsched",
    "register": "'REGISTER_JOB', which is not supported: all jobs come from the log",
    "query": "'QUERY', which is not supported: energy is outside the simulation",
    "nonsense": "'DANCE', which is not supported: this event is unknown",
    "call-past": "CALL_ME_LATER of second",
    "no-type": "an event without a type",
}


@pytest.mark.parametrize("policy", WRONG)
def test_a_scheduler_that_breaks_the_rules_is_stopped(policy, asked, tmp_path):
    """One line says what it did; the process is no more, nor its socket."""
    log = jobs([(1, 10, 20, 1), (1, 10, 20, 1)])
    with pytest.raises(cpsched.DispatchError) as refused:
        starts(log, machine(), asked(policy, pid=tmp_path / "pid"))
    if policy != "call-past":
        assert WRONG[policy] in str(refused.value)
    assert "\n" not in str(refused.value)
    del refused
    gc.collect()
    assert gone(tmp_path / "pid")


def test_a_scheduler_that_hangs_is_stopped(asked, tmp_path):
    """After the timeout, with what it said last."""
    spec = asked("hangs", pid=tmp_path / "pid").replace("timeout=30", "timeout=0.5")
    with pytest.raises(cpsched.DispatchError, match="has not answered for .*'thinking'"):
        starts(jobs([(1, 10, 20, 1)]), machine(), spec)
    assert gone(tmp_path / "pid")


def test_nothing_is_left_after_a_run(asked, tmp_path):
    starts(jobs([(1, 10, 20, 1)]), machine(), asked("fcfs", pid=tmp_path / "pid"))
    gc.collect()
    assert gone(tmp_path / "pid")


def test_an_interrupted_command_leaves_nothing_behind(asked, tmp_path, folder):
    """Ctrl-C while the scheduler thinks."""
    log, system = tmp_path / "log.parquet", tmp_path / "system.json"
    cpsched.write_log(jobs([(1, 10, 20, 1)]), log)
    cpsched.save_system(machine(), system)
    pid = tmp_path / "pid"
    os.mkfifo(pid)
    words = ["simulate", str(log), "--system", str(system), "-d", asked("hangs", pid=pid)]
    with subprocess.Popen(
        [sys.executable, "-m", "cpsched", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
    ) as command:
        # Waits until the scheduler has begun.
        number = int(pid.read_text())
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=60)
    assert command.returncode not in (0, None)
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("command='", "No closing quotation"),
        ("hosts=racks", "hosts is 'racks', must be cores or nodes"),
        ("timeout=0", "must be more than 0"),
    ],
)
def test_options_are_checked(options, problem):
    with pytest.raises(cpsched.ConfigError, match=problem):
        build("dispatchers", f"batsim:{options}")


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("batsim", "the command is missing"),
        ("batsim:command=/no/such/scheduler", "No such file"),
        ("batsim:socket=carrier:pigeon", "carrier:pigeon"),
    ],
)
def test_a_scheduler_that_cannot_be_started_is_named(spec, problem):
    with pytest.raises(cpsched.ConfigError, match=problem):
        starts(jobs([(1, 10, 20, 1)]), machine(), spec)


@pytest.mark.parametrize(
    ("system", "columns", "hosts", "what"),
    [
        ("core = 4, mem = 9", {"request": [[1, 2]], "resources": ("core", "mem")}, "cores", "mem"),
        ("core = 4", {"exclusive": [1]}, "cores", "whole nodes"),
        ("core = 4, gpu = 1", {"per_node": [[0, 1]], "request": [[1, 0]]}, "cores", "gpu"),
        ("core = 4", {"constraint": ["node1"]}, "nodes", "certain nodes"),
    ],
)
def test_what_the_protocol_cannot_say_is_refused(system, columns, hosts, what, asked):
    kinds = tuple(part.split("=")[0].strip() for part in system.split(","))
    log = jobs([(1, 10, 20, 1)], **{"resources": kinds, **columns})
    problem = f"job 0 asks for {what}, which JOB_SUBMITTED cannot express"
    with pytest.raises(cpsched.DispatchError, match=problem):
        starts(log, machine(4, system), asked("fcfs", f"hosts={hosts}"))


# --- saving --------------------------------------------------------------------------------------


def halfway(dispatcher, log, system):
    """Return two simulators of the same run, the first of which has done a half of it."""
    made = [
        cpsched.Simulator(
            cpsched.fit(log, system),
            build("dispatchers", dispatcher),
            build("predictors", "requested"),
        )
        for _ in range(2)
    ]
    for _ in range(40):
        made[0].step()
    return made


def test_a_run_goes_on_from_a_checkpoint(asked):
    """A new scheduler is told everything again."""
    log, system = jobs(drawn()), machine()
    first, second = halfway(asked("filler"), log, system)
    second.restore(first.state())
    second.run()
    assert second.start_time.tolist() == starts(log, system, asked("filler"))


def test_a_scheduler_that_answers_otherwise_cannot_go_on(asked):
    first, second = halfway(asked("random"), jobs(drawn()), machine())
    with pytest.raises(cpsched.RunError, match="the answers of the scheduler have changed"):
        second.restore(first.state())
