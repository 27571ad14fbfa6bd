"""What is read of a real Slurm."""

import time

import pytest

from cpsched.slurm.live.mirror import JobStart
from cpsched.slurm.live.scontrol import Scontrol
from cpsched.slurm.live.snapshot import is_closed
from cpsched.slurm.sandbox import commands
from cpsched.slurm.sandbox.stream import SandboxJob

pytestmark = pytest.mark.slow
live = pytest.mark.slurm_live
#: What users may call their jobs.
HOSTILE = "a|b,c\n;release 1\nJobId=1 Nodes=node001 CPU_IDs=0-15 Mem=1 GRES= --hold"


def submit(slurm, *options):
    fixed = ("-p", "R", "--time=5", "--wrap=exec sleep 100")
    return commands.submit(slurm, SandboxJob(0, [*fixed, *options]))


def wait(reader, ready):
    """Return the first snapshot of which something is true."""
    end = time.monotonic() + 120
    while not ready(snapshot := reader.snapshot()):
        assert time.monotonic() < end, snapshot
        time.sleep(0.1)
    return snapshot


@live
def test_a_job_is_read_as_it_waits_and_as_it_runs(private_slurm):
    """Slurm fills the first node, and leaves at least a core for each other one."""
    reader = Scontrol(private_slurm.environment)
    asked = ("-N3", "-n20", "--gres=gpu:1", "--exclude=node039", f"--job-name={HOSTILE}")
    key = submit(private_slurm, *asked)
    job = reader.snapshot().jobs[key]
    assert (job.waits, job.held, job.nodes, job.nodes_min, job.cpus) == (True, True, (), 3, 20)
    assert (job.name, job.excluded, job.time_limit) == (HOSTILE, ("node039",), 300)
    plain = submit(private_slurm, "-N3", "-n20", "--gres=gpu:1")
    nodes = ("node033", "node034", "node035")
    assert commands.begin(private_slurm, [JobStart(plain, nodes)]) == {}
    job = wait(reader, lambda snapshot: snapshot.jobs[plain].holds).jobs[plain]
    assert [(part.node, part.cores, part.gres) for part in job.placed] == [
        ("node033", 16, {"gpu": 1}),
        ("node034", 3, {"gpu": 1}),
        ("node035", 1, {"gpu": 1}),
    ]
    assert all(part.mem == job.placed[-1].mem * part.cores for part in job.placed)
    private_slurm.run("scancel", plain)
    wait(reader, lambda snapshot: plain not in snapshot.jobs)
    (ended,) = reader.jobs("-t", "all", "-j", f"{plain},999999")
    assert (ended.state, ended.nodes) == ("CANCELLED", nodes)
    assert reader.jobs("-t", "all", "-j", "999999") == []


@live
def test_closed_nodes_and_reservations_are_read(private_slurm):
    """Reservations are known before they begin; while they last their nodes are closed."""
    reader = Scontrol(private_slurm.environment)
    update = ("scontrol", "update", "NodeName=node009")
    reservation = ("scontrol", "create", "reservation", "ReservationName=lesson", "Users=root")
    private_slurm.run(*update, "State=DRAIN", "Reason=a b\nc|")
    private_slurm.run(*reservation, "StartTime=now+3000", "Duration=10", "Nodes=node008")
    try:
        snapshot = reader.snapshot()
        assert snapshot.closed == {"node009"}
        (reserved,) = snapshot.reserved
        assert (reserved.nodes, reserved.end - reserved.start) == (("node008",), 600)
        assert reserved.start == pytest.approx(snapshot.now + 3000, abs=30)
    finally:
        private_slurm.run(*update, "State=RESUME")
        private_slurm.run("scontrol", "delete", "ReservationName=lesson")
    # A node that is resumed does not answer at first.
    wait(reader, lambda snapshot: not snapshot.closed and not snapshot.reserved)


@live
def test_without_accounting_nothing_is_read_of_it(private_slurm):
    reader = Scontrol(private_slurm.environment)
    assert reader.history(7) == ""
    assert reader.accounts() == {}


@pytest.mark.parametrize(
    ("states", "closed"),
    [
        ("idle mixed allocated completing allocated+ planned MIXED+PLANNED mixed-"
         " ALLOCATED+COMPLETING", False),
        ("idle+drain mixed+drain down down* idle* idle~ idle# IDLE+DRAIN IDLE+NOT_RESPONDING"
         " reserved maint idle$ idle@ fail unknown", True),
    ],
)  # fmt: skip
def test_states_of_nodes(states, closed):
    """As sinfo writes them, and scontrol; what they mean is in sinfo's manual."""
    assert {state: is_closed(state) for state in states.split()} == dict.fromkeys(
        states.split(), closed
    )
