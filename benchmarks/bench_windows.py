"""
The windows of the logs of ``cpsched bench``, by a rule that looks at no schedule.

    python benchmarks/bench_windows.py LOG[:SYSTEM] ... [--jobs 2000]

Of the windows of so many consecutive jobs that begin at a multiple of half as many, after the first
fifth of the log (of one with fewer than 20,000 jobs, after half a window), and span six hours or
more, the one that is crowded for nearest to half of the time: up to its last submit, its jobs
would hold more cores than the machine has if each started when it is submitted. Where nothing is
crowded, nobody waits, and all dispatchers are alike. What is before the window may be learnt from.
Prints the entry of the set: rows among the log's jobs, SHA-256 of the unpacked log.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cpsched.logs import read
from cpsched.study.bench.log_windows import content_sha256
from cpsched.systems import load
from cpsched.systems.mapping import fit

if TYPE_CHECKING:
    from cpsched.util.types import IntArray

LARGE = 20000
SHORTEST = 6 * 3600
#: Share of the time.
CROWDED = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
    parser.add_argument("logs", nargs="+", help="LOG:SYSTEM")
    parser.add_argument("--jobs", type=int, default=2000)
    args = parser.parse_args()
    for pair in args.logs:
        log, _, system = pair.rpartition(":")
        show(Path(log), system, args.jobs)


def show(log: Path, system: str, jobs: int) -> None:
    """Print the entry of a log."""
    workload, machine = read(log, skip_bad_lines=True), load(system)
    jobs_of = fit(workload, machine).workload
    submit = jobs_of.submit
    core = list(jobs_of.resources).index("core")
    cores = jobs_of.units * jobs_of.request[:, core]
    runtime = np.minimum(jobs_of.runtime, jobs_of.requested_time)
    first = -(-len(submit) // 5) if len(submit) >= LARGE else jobs // 2
    starts = np.arange(-(-first // (jobs // 2)) * (jobs // 2), len(submit) - jobs, jobs // 2)
    windows = [slice(at, at + jobs) for at in starts]
    long = [
        window for window in windows if submit[window.stop - 1] - submit[window.start] >= SHORTEST
    ]
    total = machine.capacity[:, core].sum()
    crowded = np.array(
        [over(submit[window], runtime[window], cores[window], total) for window in long]
    )
    best = int(np.abs(crowded - CROWDED).argmin())
    name, window = log.name.removesuffix(".gz"), long[best]
    print(f'\n[[logs]]\nname = "{name.split("-")[0]}"\nfile = "{name}"')
    print(f'sha256 = "{content_sha256(log)}"\nsystem = "{system}"')
    print(f"rows = [{window.start}, {window.stop}]  # crowded for {crowded[best]:.0%} of the time")


def over(submit: IntArray, runtime: IntArray, cores: IntArray, total: int) -> float:
    """Return the share of the time at which jobs, started at once, hold more than all cores."""
    ends = np.minimum(submit + runtime, submit[-1])
    moment = np.concatenate([submit, ends])
    order = np.argsort(moment, kind="stable")
    held = np.concatenate([cores, -cores])[order].cumsum()[:-1]
    return float(np.diff(moment[order])[held > total].sum() / (submit[-1] - submit[0]))


if __name__ == "__main__":
    main()
