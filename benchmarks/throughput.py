"""
How fast the simulator is: the event loop alone, and whole ``cpsched simulate`` processes.

With ``--traces`` it runs on two archive logs: HPC2N (240 processors) for the speed and for what a
job costs as logs grow, and CTC-SP2 (338 processors), whose FIFO queue grows to thousands of jobs,
for deep queues. Without, it generates a Eurora log. ``--log`` and ``--system`` take any other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import measure

#: What the jobs per second of the loop are held against.
TARGET = 50_000


@dataclass(frozen=True)
class Case:
    """A log on a machine, some dispatchers, and how many of the first jobs to take."""

    log: Path
    system: str
    dispatchers: tuple[str, ...]
    jobs: tuple[int, ...]
    first_jobs: int


def archive_cases(folder: Path) -> list[Case]:
    """Return the two cases on archive logs."""
    return [
        Case(
            measure.archive_log(folder, "HPC2N-2002-2.2-cln.swf.gz"),
            "hpc2n",
            ("fifo", "easy"),
            (5_000, 20_000, 50_000, 100_000, 200_000),
            50_000,
        ),
        Case(
            measure.archive_log(folder, "CTC-SP2-1996-3.1-cln.swf.gz"),
            "ctc-sp2",
            ("fifo", "sjf", "easy"),
            (10_000, 20_000, 40_000, 77_000),
            77_000,
        ),
    ]


def generated_case(work: Path) -> Case:
    """Generate a Eurora log and return its case."""
    log = work / "eurora.parquet"
    options = ["--jobs", "200000", "--seed", "1", "--out", log]
    measure.run([*measure.CPSCHED, "log", "generate", "eurora", *options])
    sizes = (5_000, 20_000, 50_000, 100_000, 200_000)
    return Case(log, "eurora", ("fifo", "greedy", "easy"), sizes, 50_000)


def loop(case: Case, runs: int) -> dict[str, Any]:
    """Time the loop of each dispatcher at each size."""
    script = [sys.executable, measure.HERE / "loop.py"]
    by_dispatcher = {}
    rows = []
    for name in case.dispatchers:
        sizes = measure.answer([*script, case.log, case.system, name, runs, *case.jobs])
        by_dispatcher[name] = sizes
        for size in sizes:
            cpu = [run["loop_cpu_s"] for run in size["runs"]]
            per_job = median(cpu) / size["jobs"]
            decide = median(run["decision_total_s"] / run["loop_s"] for run in size["runs"])
            rows.append(
                (
                    name,
                    size["jobs"],
                    size["queue"],
                    median(cpu),
                    min(cpu),
                    max(cpu),
                    1e6 * per_job,
                    round(1 / per_job),
                    f"{decide:.0%}",
                )
            )
    columns = "dispatcher,jobs,longest queue,CPU s,least,most,us/job,jobs/s,in decisions"
    title = f"{case.log.name} on {case.system}: the loop, {runs} runs each (target {TARGET:,}/s)"
    measure.table(title, columns.split(","), rows)
    return by_dispatcher


def processes(case: Case, runs: int, work: Path) -> dict[str, Any]:
    """Measure whole processes that write their runs."""
    by_dispatcher: dict[str, Any] = {}
    rows = []
    for name in case.dispatchers:
        command = [*measure.CPSCHED, "simulate", case.log, "--system", case.system]
        command += ["--dispatcher", name, "--first", str(case.first_jobs)]
        command += ["--out", work / "run", "--force"]
        measure.run(command)
        by_dispatcher[name] = [measure.run(command) for _ in range(runs)]
        usage = measure.middle(by_dispatcher[name])
        rows.append((name, usage.cpu_s, usage.wall_s, usage.peak_mib))
    title = (
        f"{case.log.name}, {case.first_jobs:,} jobs: whole processes with files, {runs} runs each"
    )
    measure.table(title, ("dispatcher", "CPU s", "wall s", "peak MiB"), rows)
    return by_dispatcher


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--traces", type=Path, help="folder of archive logs (.swf.gz)")
    where.add_argument("--log", type=Path, help="one log; needs --system")
    parser.add_argument("--system", help="machine of --log")
    parser.add_argument("--dispatcher", action="append", help="with --log; [fifo, easy]")
    parser.add_argument("--jobs", type=int, nargs="+", help="numbers of jobs, instead of the usual")
    parser.add_argument("--runs", type=int, default=5, help="runs of each loop [5]")
    parser.add_argument("--whole-runs", type=int, default=3, help="runs of each process [3]")
    parser.add_argument("--json", type=Path, help="file for every single figure")
    args = parser.parse_args()
    if (args.log is None) != (args.system is None):
        parser.error("--log and --system go together")
    if args.dispatcher and args.log is None:
        parser.error("--dispatcher is for --log")
    if min([args.runs, args.whole_runs, *(args.jobs or [1])]) < 1:
        parser.error("--runs, --whole-runs and --jobs must be at least 1")
    return args


def cases(args: argparse.Namespace, work: Path) -> list[Case]:
    """Return what is to be measured."""
    if args.log is not None:
        if not args.log.is_file():
            raise measure.BenchmarkError(f"there is no log {args.log}")
        names = tuple(args.dispatcher or ("fifo", "easy"))
        chosen = [Case(args.log, args.system, names, (5_000, 20_000, 50_000), 50_000)]
    elif args.traces is not None:
        chosen = archive_cases(args.traces)
    else:
        print("no --traces: on a generated Eurora log")
        chosen = [generated_case(work)]
    if args.jobs:
        sizes = tuple(sorted(set(args.jobs)))
        chosen = [
            Case(case.log, case.system, case.dispatchers, sizes, sizes[-1]) for case in chosen
        ]
    return chosen


def main() -> None:
    args = arguments()
    results: dict[str, Any] = {}
    print(", ".join(f"{name} {version}" for name, version in measure.versions().items()))
    with tempfile.TemporaryDirectory(prefix="cpsched-bench-") as folder:
        work = Path(folder)
        for case in cases(args, work):
            results[case.log.name] = {
                "loop": loop(case, args.runs),
                "whole": processes(case, args.whole_runs, work),
            }
    measure.save(args.json, results)


if __name__ == "__main__":
    main()
