"""What a dispatcher would start, on the fake and on a real Slurm; nothing is told to either."""

import json

import pytest
from fake_slurm import FakeSlurm
from live_slurm import EURORA, submit

from slurm_adapter.live.plan import plan, system_of
from slurm_adapter.live.scontrol import Scontrol


def test_a_plan_has_every_waiting_job_that_nobody_holds():
    """Those that start now first; of others when, or why not."""
    slurm = FakeSlurm(EURORA)
    wide = submit(slurm, nodes_min=63, nodes_max=63, cpus=63 * 16, tasks=63 * 16, held=False)
    slurm.advance(10)
    two = {"nodes_min": 2, "nodes_max": 2, "cpus": 32, "tasks": 32}
    pair = submit(slurm, held=False, reason="Resources", **two)
    begins = submit(slurm, eligible=slurm.now + 500)
    never = submit(slurm, cpus=17)
    submit(slurm, admin_comment="")
    short = submit(slurm, time_limit=60)
    found = plan(slurm, EURORA, "conservative")
    assert slurm.orders == []
    assert found["running"] == 1
    jobs = {one["job"]: one for one in json.loads(json.dumps(found))["jobs"]}
    assert list(jobs) == [short, pair, begins, never]
    assert jobs[short]["starts_now_on"] == ["node064"]
    assert jobs[pair]["planned_start"] == slurm.snapshot().jobs[wide].end
    assert jobs[pair]["starts_now_on"] == []
    assert jobs[begins]["why"] == "waits for its begin time"
    assert "node" in jobs[never]["why"]


@pytest.mark.slurm_live
def test_the_controller_describes_its_system(private_slurm):
    """Nodes with cores, GPUs and memory, and partitions, as in the system it was made of."""
    system = system_of(Scontrol(private_slurm.environment))
    assert list(system.node_names) == private_slurm.nodes
    assert set(system.resources) == {"core", "mem", "gpu", "mic"}
    assert list(system.queues) == list(EURORA.queues)
    assert system.queues["debug"].max_time == 1800
    gpu = [system.capacity[node, system.resource_index("gpu")] for node in range(16)]
    assert gpu == [0] * 9 + [2] * 7
    # What was learnt on it is taken up by the next engine.
    assert system_of(Scontrol(private_slurm.environment)).digest() == system.digest()


@pytest.mark.slurm_live
def test_plan_on_the_command_line(private_slurm, cpsched, monkeypatch):
    """A table for people and JSON; the job waits on, held."""
    monkeypatch.setenv("SLURM_CONF", str(private_slurm.conf))
    options = ("-N2", "-n20", "--gres=gpu:1", "-t5", "-J", "a|b\n;release 1", "-o", "/dev/null")
    private_slurm.run("sbatch", *options, "--wrap", "exec sleep 60")
    code, out, _ = cpsched("slurm", "plan", "-d", "easy", "--json")
    assert code == 0
    (job,) = json.loads(out)["jobs"]
    assert (job["cores"], job["nodes"], len(job["starts_now_on"])) == (20, [2, 2], 2)
    assert set(job["starts_now_on"]) <= set(private_slurm.nodes[9:])
    code, out, _ = cpsched("slurm", "plan", "-d", "prb", "--system", "eurora")
    assert "prb would start 1 of 1 waiting job now; 0 jobs run" in out
    assert private_slurm.run("squeue", "-h", "-o", "%t %r") == "PD JobHeldUser\n"
