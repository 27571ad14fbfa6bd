"""
The engine on a real Slurm of 16 nodes, as a process: killed, stopped, with a controller that goes.

The jobs and what is counted are those of ``benchmarks/slurm/live.py``, which has the large version.
"""

from __future__ import annotations

import collections
import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from cpsched import systems
from cpsched.base.node_lists import expand
from slurm_adapter.live import demo
from slurm_adapter.live.private import PrivateSlurm
from slurm_adapter.live.site import site_of

pytestmark = [pytest.mark.slurm_live, pytest.mark.slow]


@pytest.fixture
def slurm(short_path):
    """A Slurm of its own: its controller is stopped."""
    with PrivateSlurm(short_path / "slurm", site_of(systems.load("eurora"), nodes=16)) as slurm:
        yield slurm


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@contextmanager
def engine(slurm, state, *more, dispatcher="prb"):
    """Run the engine as a site would; end it as a site would."""
    command = [sys.executable, "-m", "cpsched", "slurm", "run", "-d", dispatcher]
    command += ["--state", str(state)]
    command += ["--act", "--slowest", "0.5", *more]
    with subprocess.Popen(
        command, env=slurm.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.said = process.stdout.read()
    assert process.returncode in (0, -signal.SIGKILL), process.said


def wait(ready, seconds=120):
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.1)


def journal(state):
    path = state / "journal.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def queue(slurm, *options):
    return slurm.run("squeue", "-h", "-a", "-o", "%A", *options).split()


def record(slurm):
    """Return where each job ran, and how it ended, as Slurm itself wrote it down."""
    ran, ended = collections.defaultdict(list), collections.defaultdict(list)
    for line in (slurm.folder / "log" / "jobcomp.txt").read_text().splitlines():
        entry = dict(word.split("=", 1) for word in line.split() if "=" in word)
        ended[entry["JobId"]].append(entry["JobState"])
        if entry["NodeList"] not in ("", "(null)"):
            ran[entry["JobId"]].append(set(expand(entry["NodeList"], 100)))
    return ran, ended


def check(slurm, state, jobs, cancelled=()):
    """Check that every job ran once, and where it was told, or was cancelled."""
    told = collections.defaultdict(list)
    for entry in journal(state):
        if entry["what"] == "begin":
            told[entry["job"]].append(set(entry["nodes"]))
    ran, ended = record(slurm)
    for job in map(str, jobs):
        assert all(nodes in told[job] for nodes in ran[job])
        assert ended[job].count("COMPLETED") == 1 or int(job) in cancelled


def test_jobs_run_where_the_engine_says_though_both_are_stopped(slurm, state):
    """It is killed right after it has told jobs to start; then the controller is away for a bit."""
    jobs = [demo.submit(slurm, job) for job in demo.jobs(16, 3, mean=2, most_nodes=3)]
    with engine(slurm, state) as first:
        wait(lambda: journal(state))
        first.kill()
        first.wait()
    with engine(slurm, state) as second:
        wait(lambda: any(entry["what"] == "ran" for entry in journal(state)))
        slurm.stop_controller()
        slurm.start_controller()
        jobs += [demo.submit(slurm, job) for job in demo.jobs(6, 4, mean=1, most_nodes=3)]
        slurm.run("scancel", str(jobs[-1]))
        wait(lambda: not queue(slurm))
    assert "0 on wrong nodes" in second.said
    check(slurm, state, jobs, cancelled=jobs[-1:])


def test_only_the_chosen_partition(slurm, state):
    """Others stay held; a job whose node was drained meanwhile runs elsewhere."""
    ours = [
        slurm.run("sbatch", "--parsable", "-o", "/dev/null", "-n2", "-t1", "-p", "parallel",
                  "--wrap", "exec sleep 1").strip()
        for _ in range(5)
    ]  # fmt: skip
    other = slurm.run("sbatch", "--parsable", "-n1", "-t1", "-p", "R", "--wrap", "true").strip()
    with engine(slurm, state, "--partition", "parallel"):
        wait(lambda: queue(slurm) == [other])
    assert slurm.run("squeue", "-h", "-o", "%t %r") == "PD JobHeldUser\n"
    check(slurm, state, ours)


def test_tries_are_cut_short_and_run_again(slurm, state):
    """Jobs ask for an hour; one of them ends within its try of 4 s, the other one does not."""
    jobs = [
        int(slurm.run("sbatch", "--parsable", "-o", "/dev/null", "-n2", "-t60", "-p", "R",
                      "--wrap", f"exec sleep {seconds}"))
        for seconds in (1, 8)
    ]  # fmt: skip
    with engine(slurm, state, "--requeue", dispatcher="try:dispatcher=easy,seconds=4") as process:
        wait(lambda: not queue(slurm))
    assert "1 requeued" in process.said
    assert "0 on wrong nodes" in process.said
    check(slurm, state, jobs)
    assert [len(record(slurm)[0][str(job)]) for job in jobs] == [1, 2]


@pytest.mark.parametrize("dispatcher", ["malleable:strategy=preferred", "dn-dbes"])
def test_a_running_job_gives_up_nodes_for_a_large_one(dispatcher, slurm, state):
    """It runs on, on fewer nodes; the other one starts on those that it gave up."""
    fixed = ("sbatch", "--parsable", "-o", "/dev/null", "--ntasks-per-node=16", "-p", "R")

    def nodes_of(job):
        names = slurm.run("squeue", "-h", "-t", "R", "-j", job, "-o", "%N").strip()
        return set(expand(names, 100)) if names else set()

    with engine(slurm, state, dispatcher=dispatcher) as process:
        wide = slurm.run(*fixed, "-N16", "-t60", "--comment=nodes=4-16", "--wrap", "sleep 600")
        wide = wide.strip()
        wait(lambda: any(entry["what"] == "ran" for entry in journal(state)))
        # A job cannot shrink in the second in which it started; dn-dbes asks again much later.
        seen = journal(state)[-1]["at"]
        wait(lambda: time.time() > seen + 2)
        large = slurm.run(*fixed, "-N8", "-t1", "--wrap", "sleep 5").strip()
        wait(lambda: nodes_of(large))
        left, taken = nodes_of(wide), nodes_of(large)
        wait(lambda: large not in queue(slurm))
        assert nodes_of(wide) == left
        slurm.run("scancel", wide)
        wait(lambda: not queue(slurm))
    assert 4 <= len(left) <= 8
    assert len(taken) == 8
    assert not left & taken
    assert "0 on wrong nodes" in process.said
    words = [entry["what"] for entry in journal(state)][:6]
    assert words == ["begin", "ran", "shrink", "shrunk", "begin", "ran"]
    assert record(slurm)[1][large] == ["COMPLETED"]


def test_without_act_nothing_is_told(slurm, tmp_path):
    """It says what it would do, and ends when it is told."""
    demo.submit(slurm, next(demo.jobs(1, 1, mean=5, most_nodes=1)))
    command = [sys.executable, "-u", "-m", "cpsched", "slurm", "run", "-d", "easy"]
    with subprocess.Popen(
        command, env=slurm.environment | {"PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE,
        text=True, cwd=tmp_path,
    ) as process:  # fmt: skip
        said = next(line for line in process.stdout if "would start" in line)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.returncode == 0
    assert "job 1 would start on node" in said
    assert slurm.run("squeue", "-h", "-o", "%t %r") == "PD JobHeldUser\n"
    assert not list(tmp_path.iterdir())
