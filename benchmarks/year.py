"""
A year and a half of Eurora (372,320 generated jobs) under PRB: time, CPU and memory.

Three processes are measured: generating the log, simulating it with all files written, and
simulating it without. What they are held against: 60 s on one core, and 1 GiB.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import measure

SECONDS, MIB = 60, 1024


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=372_320, help="length of the log [372320]")
    parser.add_argument("--seed", type=int, default=1, help="of the generator [1]")
    parser.add_argument(
        "--dispatcher", action="append", help="[prb and prb:priority=slowdown]; repeat for more"
    )
    parser.add_argument(
        "--log-format", default="parquet", help="as what the log is kept [parquet]; csv.gz, swf.gz"
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of each process [3]")
    parser.add_argument("--json", type=Path, help="file for every single figure")
    args = parser.parse_args()
    if min(args.jobs, args.runs) < 1:
        parser.error("--jobs and --runs must be at least 1")
    return args


def year(args: argparse.Namespace, work: Path) -> dict[str, list[measure.Usage]]:
    """Measure every process, taking turns; return what each cost."""
    log = work / f"eurora.{args.log_format}"
    generate = [*measure.CPSCHED, "workload", "generate", "eurora", "--out", log, "--overwrite"]
    commands: dict[str, list[Any]] = {
        "generate": [*generate, "--jobs", args.jobs, "--seed", args.seed]
    }
    for name in args.dispatcher or ("prb", "prb:priority=slowdown"):
        simulate = [*measure.CPSCHED, "simulate", log, "--system", "eurora", "--dispatcher", name]
        commands[f"{name}, files"] = [*simulate, "--out", work / "run", "--overwrite"]
        commands[f"{name}, no files"] = simulate
    warm = measure.cache(work / "warm")
    for command in commands.values():
        measure.run(command, warm)
    found: dict[str, list[measure.Usage]] = {what: [] for what in commands}
    for _ in range(args.runs):
        for what, command in commands.items():
            found[what].append(measure.run(command, warm))
    return found


def main() -> None:
    args = arguments()
    print(", ".join(f"{name} {found}" for name, found in measure.versions().items()))
    with tempfile.TemporaryDirectory(prefix="cpsched-bench-") as folder:
        found = year(args, Path(folder))
    rows = []
    for what, usages in found.items():
        usage = measure.middle(usages)
        rows.append((what, usage.cpu_s, usage.wall_s, usage.peak_mib))
    title = f"{args.jobs:,} generated Eurora jobs, seed {args.seed}, {args.runs} runs each"
    measure.table(
        f"{title} (target {SECONDS} s, {MIB} MiB)", ("process", "CPU s", "wall s", "peak MiB"), rows
    )
    measure.save(args.json, {"jobs": args.jobs, "seed": args.seed, "processes": found})


if __name__ == "__main__":
    main()
