"""What a dispatcher would start, on the fake and on a real Slurm; nothing is told to either."""

import json
import time

import pytest
from fake_slurm import FakeSlurm
from live_slurm import EURORA, submit

from cpsched.slurm.live.plan import plan, system_of
from cpsched.slurm.live.scontrol import Scontrol


def test_a_plan_has_every_waiting_job_that_nobody_holds():
    """Those that start now first; of others when, or why not."""
    slurm = FakeSlurm(EURORA)
    wide = submit(slurm, nodes_min=63, nodes_max=63, cpus=63 * 16, tasks=63 * 16, held=False)
    slurm.advance(10)
    two = {"nodes_min": 2, "nodes_max": 2, "cpus": 32, "tasks": 32}
    pair = submit(slurm, held=False, reason="Resources", **two)
    begins = submit(slurm, held=False, eligible=slurm.now + 500)
    never = submit(slurm, held=False, cpus=17)
    submit(slurm)
    short = submit(slurm, held=False, time_limit=60)
    result = plan(slurm, EURORA, "conservative")
    assert slurm.commands == []
    assert result["running"] == 1
    jobs = {job["job"]: job for job in json.loads(json.dumps(result))["jobs"]}
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
    assert system_of(Scontrol(private_slurm.environment)).digest() == system.digest()


@pytest.mark.slurm_live
def test_plan_on_the_command_line(private_slurm, cpsched, monkeypatch):
    """A table for people and JSON; a held job is left out, and waits on."""
    monkeypatch.setenv("SLURM_CONF", str(private_slurm.conf))
    fixed = ("sbatch", "-o", "/dev/null", "-N1", "-n16", "-w", "node033", "--wrap", "sleep 60")
    for more in (("-t5",), ("-t5", "--gres=gpu:1", "-J", "a|b\n;release 1"), ("-t5", "--hold")):
        private_slurm.run(*fixed[:-2], *more, *fixed[-2:])
    end = time.monotonic() + 60

    def shown():
        return private_slurm.run("squeue", "-h", "-o", "%t %S").splitlines()

    # One runs, and Slurm says when it expects to start the next.
    while {line[:2] for line in shown() if "T" in line[2:]} != {"PD", "R "}:
        assert time.monotonic() < end
        time.sleep(0.1)
    code, out, _ = cpsched("slurm", "plan", "-d", "easy", "--json")
    assert code == 0
    plan = json.loads(out)
    (job,) = plan["jobs"]
    assert (job["cores"], job["nodes"], job["starts_now_on"]) == (16, [1, 1], [])
    assert 200 < job["slurm_expects"] - plan["now"] <= 300
    code, out, _ = cpsched("slurm", "plan", "-d", "greedy", "--system", "eurora")
    assert "greedy would start 0 of 1 waiting job now, with 1 running job." in out
    assert "PD JobHeldUser" in private_slurm.run("squeue", "-h", "-o", "%t %r")
