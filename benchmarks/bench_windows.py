"""
The windows of the logs of ``cpsched bench``, by a rule that looks at no schedule.

    python benchmarks/bench_windows.py LOG[:SYSTEM] ... [--jobs 2000]

Of the windows of so many consecutive jobs that begin at a multiple of half as many, after the first
fifth of the log (of one with fewer than 20,000 jobs, from its first), and span six hours or more,
the one whose load is nearest to 0.95 by its logarithm: cores times runtime, over cores of the
machine times the seconds between its first and its last submit. What is before it may be learnt
from. Prints the entry of the set: rows among the log's jobs, SHA-256 of the unpacked log.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from arena.logs import content_sha256
from cpsched.mapping import fit
from cpsched.systems import load
from cpsched.traces import read

LARGE = 20000
SHORTEST = 6 * 3600
#: Nearly all of the machine is asked for, so that the order of jobs matters.
LOAD = 0.95


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
    parser.add_argument("logs", nargs="+", help="LOG:SYSTEM")
    parser.add_argument("--jobs", type=int, default=2000)
    args = parser.parse_args()
    for one in args.logs:
        log, _, system = one.rpartition(":")
        show(Path(log), system, args.jobs)


def show(log: Path, system: str, jobs: int) -> None:
    """Print the entry of a log."""
    workload, machine = read(log, skip_bad_lines=True), load(system)
    jobs_of = fit(workload, machine).workload
    submit = jobs_of.submit
    core = list(jobs_of.resources).index("core")
    cores = jobs_of.units * jobs_of.request[:, core]
    area = cores * np.minimum(jobs_of.runtime, jobs_of.requested_time)
    total = np.concatenate([[0], np.cumsum(area)])
    first = -(-len(submit) // 5) if len(submit) >= LARGE else 0
    starts = np.arange(-(-first // (jobs // 2)) * (jobs // 2), len(submit) - jobs, jobs // 2)
    span = np.maximum(submit[starts + jobs - 1] - submit[starts], 1)
    long_enough = span >= SHORTEST
    load_of = (total[starts + jobs] - total[starts]) / span / machine.capacity[:, core].sum()
    best = int(np.where(long_enough, np.abs(np.log(load_of / LOAD)), np.inf).argmin())
    at = int(starts[best])
    print(f'\n[[logs]]\nname = "{log.name.split("-")[0]}"\nfile = "{log.name.removesuffix(".gz")}"')
    print(f'sha256 = "{content_sha256(log)}"\nsystem = "{system}"')
    print(f"rows = [{at}, {at + jobs}]  # load {load_of[best]:.2f} over {span[best]:,} s")


if __name__ == "__main__":
    main()
