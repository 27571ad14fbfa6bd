"""
Jobs a second through schedulers of Batsim in processes of their own.

``python benchmarks/batsim_speed.py [SCHEDULER ...]`` with ``pybatsim`` on the path: each of its
schedulers, and ``cpsched batsim serve``, on a generated log: seconds of the event loop, the best
of five.
"""

from __future__ import annotations

import argparse
import csv
import gc
import resource
import shutil
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

import numpy as np

import cpsched

TARGET = Path(__file__).resolve().parent / "results" / "data" / "batsim-speed.csv"
NODES = 128
SCHEDULERS = (
    *("fillerSched", "fillerSchedWithEvents", "easyBackfill"),
    *("schedFiller", "schedFcfs", "schedEasySjfBackfill"),
)
HEAD = ("scheduler", "jobs", "seconds", "our CPU s", "its CPU s", "jobs a second")
#: Jobs of the logs; the high-level schedulers are slow.
SHORT, LONG = 500, 5_000


def log_of(jobs: int, load: float = 0.7) -> cpsched.Workload:
    """Return a log that uses a share of the machine."""
    rng = np.random.default_rng(5)
    units = np.minimum(2 ** rng.integers(0, 6, jobs), NODES)
    requested = rng.integers(60, 7200, jobs)
    runtime = np.maximum((requested * rng.uniform(0, 1, jobs)).astype(int), 1)
    gap = (units * runtime).mean() / (load * NODES)
    return cpsched.Workload.build(
        title="speed",
        job_id=[str(number) for number in range(jobs)],
        submit=np.cumsum(rng.exponential(gap, jobs)).astype(int),
        runtime=runtime,
        requested_time=requested,
        units=units,
        request=[[1]] * jobs,
        resources=("core",),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("schedulers", nargs="*", default=SCHEDULERS, help="of pybatsim")
    schedulers = parser.parse_args().schedulers
    program = shutil.which("pybatsim")
    if program is None:
        sys.exit("there is no pybatsim on the path")
    system = cpsched.parse_system(
        f"resources = ['core']\n[[nodes]]\ngroup = 'n'\ncount = {NODES}\ncore = 1\n"
    )
    serve = f"{sys.executable} -m cpsched batsim serve -d easy"
    commands = {name: f"{program} {name}" for name in schedulers}
    cases = [(f"pybatsim {name}", command) for name, command in commands.items()]
    cases += [("pybatsim -v error fillerSched", f"{program} -v error fillerSched")]
    cases += [("cpsched batsim serve -d easy", serve), ("easy, without a process", "")]
    # Some write a file where they are started.
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        rows = [row_of(name, command, system) for name, command in cases]
    with TARGET.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])


def row_of(name: str, command: str, system: cpsched.System) -> tuple[str | int, ...]:
    """Return the best of five runs as a row of the table."""
    jobs = SHORT if "pybatsim sched" in name else LONG
    log = log_of(jobs)
    spec = f"batsim:command={command}" if command else "easy"
    times = min(measured(log, system, spec) for _ in range(5))
    row = (name, jobs, *(f"{seconds:.2f}" for seconds in times), round(jobs / times[0]))
    print(*row, sep=", ", flush=True)
    return row


def measured(
    log: cpsched.Workload, system: cpsched.System, spec: str
) -> tuple[float, float, float]:
    """Return seconds of the event loop, its CPU seconds, and those of the scheduler's process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    timing = cpsched.simulate(log, system, dispatcher=spec).timing
    gc.collect()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    theirs = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return timing["loop_s"], timing["loop_cpu_s"], theirs


if __name__ == "__main__":
    main()
