"""
Table V of RLScheduler (Zhang et al. 2020) again: its rules in its own way, and ours beside them.

    python benchmarks/table_v.py LUBLIN-1.swf.gz HPC2N.swf.gz LUBLIN-2.swf.gz [-d SPEC ...]

The traces are those of the paper's repository (DIR-LAB/deep-batch-scheduler, ``data``) and of the
Parallel Workloads Archive; SDSC-SP2, the fourth, is left out. Ten sequences of 1,024 jobs, of which
each is simulated from an empty machine of one-processor nodes; a cell is the mean of their mean
bounded slowdowns. First ``their`` cells: how that environment schedules, written again from its
description in ``docs/papers/rlscheduler-table-v.md``. Then ``ours``: dispatchers of cpsched on the
same jobs, which run as long as they did, with the longest wait over that of ``easy``. Writes
``docs/results/data/table-v-rules.csv`` and ``table-v-ours.csv``.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from heapq import heappop, heappush
from math import log2, log10
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cpsched.metrics.summary import summarize
from cpsched.model.workload import Workload
from cpsched.simulation.simulate import Settings, simulate
from cpsched.systems import parse as parse_system
from cpsched.systems.mapping import fit

DATA = Path(__file__).resolve().parents[1] / "docs" / "results" / "data"
ROWS = (1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085)
LENGTH = 1024
#: Only so many jobs of a trace are looked at.
MOST = 10_000
MACHINES = {"Lublin-1": 256, "HPC2N": 240, "Lublin-2": 256}
PUBLISHED = {
    ("Lublin-1", False): (7273.77, 19753.53, 22274.74, 277.35, 258.37, 254.67),
    ("HPC2N", False): (297.18, 426.99, 609.77, 157.71, 118.01, 117.01),
    ("Lublin-2", False): (7842.47, 9523.18, 11265.31, 787.89, 698.34, 724.51),
    ("Lublin-1", True): (235.82, 133.87, 307.23, 73.31, 75.07, 58.64),
    ("HPC2N", True): (127.38, 97.39, 175.12, 122.04, 71.95, 86.14),
    ("Lublin-2", True): (247.61, 318.35, 379.59, 91.99, 148.25, 118.79),
}
POOL = """\
name = "pool"
title = "one-processor nodes"
source = "the paper's machines"
resources = ["core"]
default_expected_wait = 3600
[[nodes]]
group = "node"
count = {}
core = 1
[log]
processors = "pool"
"""
OURS = (
    *("fifo", "easy", "easy:backfill=sjf", "conservative", "easy-slowdown", "easy-wsept"),
    "easy:estimate=requested,order=wsept,order.aging=86400",
    "easy:estimate=requested,order=wsept,order.aging=172800",
    *("greedy:order=wsept", "lookahead", "cp-pool"),
)


class Job(NamedTuple):
    """A job of a trace; seconds, processors."""

    number: int
    submit: int
    runtime: int
    procs: int
    requested: int
    user: int


def read(path: Path) -> list[Job]:
    """Return the jobs of a trace as that environment reads them."""
    opener = gzip.open if path.suffix == ".gz" else open
    jobs = []
    with opener(path, "rt", encoding="latin-1") as file:
        for line in file:
            if line.startswith(";") or not line.strip():
                continue
            f = [int(float(field)) for field in line.split()[:12]]
            procs, requested = max(f[4], f[7]), f[8] if f[8] != -1 else f[3]
            runtime = 10 if f[3] < 0 else f[3]
            if runtime > 0:
                jobs.append(Job(f[0], f[1], runtime, procs, requested, f[11]))
    return sorted(jobs)


# What waits has the wait -1 - submit there: a job's start is -1 until it starts.
RULES = {
    "FCFS": lambda j: j.submit,
    "WFP3": lambda j: -(((-1 - j.submit) / j.requested) ** 3) * j.procs,
    "UNI": lambda j: -((-1 - j.submit) + 1e-15) / (log2(j.procs + 1e-15) * j.requested),
    "SJF": lambda j: (j.requested, j.submit),
    "F1": lambda j: log10(j.requested if j.requested > 0 else 0.1) * j.procs
    + 870 * log10(j.submit if j.submit > 0 else 0.1),
}  # fmt: skip


class Sequence:
    """Jobs scheduled as in that environment: the chosen job is kept until it starts."""

    def __init__(self, jobs: list[Job], machine: int, rule: object, *, backfills: bool) -> None:
        self.jobs, self.free, self.rule, self.backfills = jobs, machine, rule, backfills
        self.now, self.next = jobs[0].submit, 1
        self.queue = [jobs[0]]
        self.running: list[tuple[int, int, Job, int]] = []
        self.slowdowns: list[float] = []

    def mean(self) -> float:
        """Return the mean bounded slowdown."""
        while True:
            self.queue.sort(key=self.rule)  # type: ignore[call-overload]
            head = self.queue[0]
            if head.procs > self.free:
                self._wait_until_fitting(head)
            self._start(head)
            while not self.queue:
                if self.next >= len(self.jobs):
                    return sum(self.slowdowns) / len(self.jobs)
                self._step()

    def _wait_until_fitting(self, head: Job) -> None:
        """Let time pass until a job fits; others may start that end before it is thought to."""
        free, fits_at = self.free, self.now
        for _, start, job, _ in sorted(
            self.running, key=lambda running: running[1] + running[2].requested
        ):
            free += job.procs
            fits_at = start + job.requested
            if free >= head.procs:
                break
        while head.procs > self.free:
            if self.backfills:
                self.queue.sort(key=lambda job: job.submit)
                for job in list(self.queue):
                    if self.now + job.requested < fits_at and job.procs <= self.free:
                        self._start(job)
            self._step()

    def _start(self, job: Job) -> None:
        self.free -= job.procs
        heappush(self.running, (self.now + job.runtime, self.now, job, len(self.slowdowns)))
        self.slowdowns.append(
            max(1.0, (self.now - job.submit + job.runtime) / max(job.runtime, 10))
        )
        self.queue.remove(job)

    def _step(self) -> None:
        """Go to the next submit or the next end, one of them at a time."""
        end = self.running[0][0] if self.running else float("inf")
        if self.next < len(self.jobs) and self.jobs[self.next].submit <= end:
            self.now = max(self.now, self.jobs[self.next].submit)
            self.queue.append(self.jobs[self.next])
            self.next += 1
        else:
            self.now = max(self.now, int(end))
            self.free += heappop(self.running)[2].procs


def sequences(jobs: list[Job]) -> list[list[Job]]:
    """Return the ten sequences of a trace."""
    return [jobs[:MOST][row : row + LENGTH] for row in ROWS]


def theirs(jobs: list[Job], machine: int, rule: object, *, backfills: bool) -> float:
    """Return a cell of the table: the mean over the sequences."""
    means = [
        Sequence(sequence, machine, rule, backfills=backfills).mean()
        for sequence in sequences(jobs)
    ]
    return float(np.mean(means))


def ours(jobs: list[Job], machine: int, dispatcher: str) -> tuple[float, float, float, float]:
    """Return means over the sequences: slowdown, p99.9 and longest wait, area-weighted response."""
    system = parse_system(POOL.format(machine))
    figures = []
    for sequence in sequences(jobs):
        schedule = simulate(
            fit(workload(sequence), system),
            dispatcher=dispatcher,
            settings=Settings(overrun="extend"),
        ).schedule
        summary = summarize(schedule)
        figures.append((
            summary["bounded_slowdown"]["all"]["mean"], summary["wait_s"]["all"]["p99.9"],
            summary["wait_s"]["all"]["max"], summary["response_by_area_s"],
        ))  # fmt: skip
    return tuple(np.mean(figures, axis=0).tolist())


def workload(jobs: list[Job]) -> Workload:
    """Return jobs as a workload."""
    submit, runtime, procs, requested = (
        np.array([getattr(job, name) for job in jobs], dtype=np.int64)
        for name in ("submit", "runtime", "procs", "requested")
    )
    return Workload.build(
        title="sequence", resources=("core",), job_id=[str(job.number) for job in jobs],
        submit=submit - submit[0], requested_time=np.maximum(requested, 1), units=procs,
        request=np.ones((len(jobs), 1), dtype=np.int64), runtime=runtime,
        user=[None if job.user < 0 else str(job.user) for job in jobs],
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
    parser.add_argument("traces", nargs=3, type=Path, help="Lublin-1, HPC2N, Lublin-2")
    parser.add_argument("-d", dest="dispatchers", action="append", help=f"[{', '.join(OURS)}]")
    args = parser.parse_args()
    traces = dict(zip(MACHINES, map(read, args.traces), strict=True))
    rows = []
    for (name, backfills), published in PUBLISHED.items():
        how = "with its backfilling" if backfills else "without backfilling"
        for (rule, score), cell in zip(RULES.items(), published, strict=False):
            mean = theirs(traces[name], MACHINES[name], score, backfills=backfills)
            rows.append((name, how, rule, f"{cell:.2f}", f"{mean:.2f}"))
            print(*rows[-1], "" if f"{cell:.2f}" == f"{mean:.2f}" else "DIFFERS", flush=True)
    write("table-v-rules", ("trace", "", "rule", "published", "again"), rows)
    lines = []
    for dispatcher in args.dispatchers or OURS:
        cells: list[str] = []
        for name, jobs in traces.items():
            slowdown, tail, longest, area = ours(jobs, MACHINES[name], dispatcher)
            base = ours(jobs, MACHINES[name], "easy")
            cells += [f"{slowdown:.2f}", f"{tail / base[1]:.2f}", f"{longest / base[2]:.2f}",
                      f"{area / base[3]:.2f}"]  # fmt: skip
        lines.append((dispatcher, *cells))
        print(*lines[-1], flush=True)
    figures = ("slowdown", "p99.9 wait / easy", "longest wait / easy", "response / easy")
    heads = [f"{name} {what}" for name in MACHINES for what in figures]
    write("table-v-ours", ("dispatcher", *heads), lines)


def write(name: str, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Write a table beside the others."""
    with (DATA / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(heads)
        out.writerows(rows)


if __name__ == "__main__":
    main()
