"""
The engine on a real Slurm of 16 nodes, as a process: killed, stopped, with a controller that goes.

The jobs and what is counted are those of ``benchmarks/slurm/live.py``, which has the large version.
"""

import collections
import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from cpsched.base.node_lists import expand
from slurm_adapter.live import demo

pytestmark = [pytest.mark.slurm_live, pytest.mark.slow]
RUN = (sys.executable, "-um", "cpsched", "slurm", "run")


@pytest.fixture
def slurm(private_slurm):
    return private_slurm


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@contextmanager
def engine(slurm, state, *more, dispatcher="prb"):
    """Run the engine as a site would; end it as a site would."""
    command = [*RUN, "-d", dispatcher, "--state", str(state), "--act", "--slowest", "0.5", *more]
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
    assert process.returncode or "0 on wrong nodes" in process.said


def wait(ready, seconds=120):
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.05)


def submit(slurm, script, *options):
    fixed = ("sbatch", "--parsable", "-o", "/dev/null", "-p", "R", *options)
    return int(slurm.run(*fixed, "--wrap", script))


def journal(state):
    path = state / "journal.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def has(state, word):
    return any(entry["what"] == word for entry in journal(state))


def queue(slurm):
    return list(map(int, slurm.run("squeue", "-h", "-a", "-o", "%A").split()))


def record(slurm):
    """Return where each job ran, and how it ended, as Slurm itself wrote it down."""
    ran, ended = collections.defaultdict(list), collections.defaultdict(list)
    for line in (slurm.folder / "log" / "jobcomp.txt").read_text().splitlines():
        entry = dict(word.split("=", 1) for word in line.split() if "=" in word)
        # Other tests give jobs names with line ends.
        if entry.keys() >= {"JobId", "JobState", "NodeList"}:
            ended[int(entry["JobId"])].append(entry["JobState"])
            if entry["NodeList"] not in ("", "(null)"):
                ran[int(entry["JobId"])].append(set(expand(entry["NodeList"], 100)))
    return ran, ended


def check(slurm, state, jobs, cancelled=()):
    """Check that every job ran once, and where it was told, or was cancelled."""
    told = collections.defaultdict(list)
    for entry in journal(state):
        if entry["what"] == "begin":
            told[int(entry["job"])].append(set(entry["nodes"]))
    ran, ended = record(slurm)
    for job in jobs:
        assert all(nodes in told[job] for nodes in ran[job])
        assert ended[job].count("COMPLETED") == 1 or job in cancelled


def test_jobs_run_where_the_engine_says_though_both_are_stopped(slurm, state):
    """It is killed right after it has told jobs to start; then the controller is away for a bit."""
    jobs = [demo.submit(slurm, job) for job in demo.jobs(16, 3, mean=1, most_nodes=3)]
    with engine(slurm, state) as first:
        wait(lambda: journal(state))
        first.kill()
        first.wait()
    with engine(slurm, state):
        wait(lambda: has(state, "ran"))
        slurm.stop_controller()
        slurm.start_controller()
        jobs += [demo.submit(slurm, job) for job in demo.jobs(6, 4, mean=0.5, most_nodes=3)]
        slurm.run("scancel", str(jobs[-1]))
        wait(lambda: not queue(slurm))
    check(slurm, state, jobs, cancelled=jobs[-1:])


def test_only_the_chosen_partition(slurm, state):
    """Others stay held; without --act nothing is told, and it ends when it is told."""
    ours = [submit(slurm, "sleep 0.2", "-n2", "-t1", "-p", "parallel") for _ in range(3)]
    other = submit(slurm, "true", "-n1", "-t1")
    chosen = ("--partition", "parallel")
    with subprocess.Popen(
        [*RUN, "-d", "easy", *chosen], env=slurm.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        said = next(line for line in process.stdout if "would start" in line)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.returncode == 0
    assert f"job {ours[0]} would start on node" in said
    assert len(queue(slurm)) == 4
    with engine(slurm, state, *chosen):
        wait(lambda: queue(slurm) == [other])
    assert slurm.run("squeue", "-h", "-o", "%t %r") == "PD JobHeldUser\n"
    check(slurm, state, ours)
