"""
How long a cycle of the engine on a live Slurm takes, and what it costs while nothing happens.

``cycles.py`` first plays cycles on 1,024 nodes with 200 waiting and several hundred running jobs on
the Slurm in memory, and reads what squeue would print of as many jobs; then it runs the engine as a
process beside a private Slurm of 64 nodes on which nothing can start, and adds up its processor
time with that of the commands that it calls. It needs ``PYTHONPATH=tests/support``, where the Slurm
in memory is.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fake_slurm import FakeSlurm
from sites import site_of

from cpsched import systems
from slurm_adapter.live import demo
from slurm_adapter.live.engine import Engine
from slurm_adapter.live.fields import JOB_FIELDS, job_of, records
from slurm_adapter.live.mirror import Mirror
from slurm_adapter.live.private import PrivateSlurm

RECORDED = Path(__file__).parents[2] / "tests" / "data" / "slurm" / "live" / "squeue-22.05.txt"
MARK = "xMARKMARKMARK"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure cycles of the engine.")
    parser.add_argument(
        "dispatchers", nargs="*", default=["prb", "easy", "easy-urgency", "ipsched"]
    )
    parser.add_argument("--seconds", type=float, default=30, help="of watching the idle engine")
    arguments = parser.parse_args()
    print("| dispatcher | cycle: median [s] | longest [s] | waiting | running |")
    print("|:--|--:|--:|--:|--:|")
    for dispatcher in arguments.dispatchers:
        print(on_1024_nodes(dispatcher), flush=True)
    print(f"\nreading 700 jobs of squeue: {1000 * reading(700):.0f} ms")
    for slowest in (2.0, 5.0):
        share = idle(arguments.seconds, slowest)
        print(f"nothing happens, a look every {slowest:g} s: {100 * share:.1f} % of a core")


def on_1024_nodes(dispatcher: str) -> str:
    """Return a line of the table."""
    system = systems.load("tree-1024")
    slurm = FakeSlurm(system)
    cores = int(system.capacity[0, 0])

    def submit(number: int) -> None:
        nodes = (1, 1, 2, 4, 16)[number % 5]
        slurm.submit(
            nodes_min=nodes, nodes_max=nodes, cpus=nodes * cores, tasks=nodes * cores,
            seconds=200 + 7 * (number % 40), time_limit=600, user=f"user{number % 20}",
        )  # fmt: skip

    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(
            slurm,
            Mirror(system, dispatcher),
            folder=Path(folder),
            act=True,
        )
        number, times, waiting, running = 0, [], [], []
        with engine.opened():
            for cycle in range(80):
                while sum(job.waits for job in slurm.snapshot().jobs.values()) < 200:
                    submit(number)
                    number += 1
                before = time.perf_counter()
                engine.cycle()
                if cycle >= 20:
                    times.append(time.perf_counter() - before)
                    jobs = slurm.snapshot().jobs.values()
                    waiting.append(sum(job.waits for job in jobs))
                    running.append(sum(job.holds for job in jobs))
                slurm.advance(5)
    return (
        f"| `{dispatcher}` | {statistics.median(times):.3f} | {max(times):.3f}"
        f" | {statistics.mean(waiting):.0f} | {statistics.mean(running):.0f} |"
    )


def reading(count: int) -> float:
    """Return how long it takes to read so many jobs."""
    text = RECORDED.read_text()
    text *= -(-count // text.count(f"{MARK}{MARK}\n"))
    before = time.perf_counter()
    found = [job_of(row) for row in records(text, JOB_FIELDS, MARK)]
    return (time.perf_counter() - before) * count / len(found)


def idle(seconds: float, slowest: float) -> float:
    """Return the share of a core that the engine takes with 50 jobs that cannot start."""
    with (
        tempfile.TemporaryDirectory(prefix="cpsched-live-") as folder,
        PrivateSlurm(Path(folder) / "slurm", site_of(systems.load("eurora"))) as slurm,
    ):
        for job in demo.jobs(50, 1, mean=60):
            demo.submit(slurm, job)
        for node in slurm.nodes:
            slurm.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
        command = [sys.executable, "-m", "cpsched", "slurm", "run", "--act", "-d", "easy"]
        command += ["--state", f"{folder}/state", "--slowest", str(slowest)]
        engine = subprocess.Popen(command, env=slurm.environment, stdout=subprocess.DEVNULL)
        try:
            time.sleep(30)
            before = spent(engine.pid)
            time.sleep(seconds)
            return (spent(engine.pid) - before) / seconds
        finally:
            engine.terminate()
            engine.wait()


def spent(process: int) -> float:
    """Return the processor time of a process and of its children that have ended, seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
