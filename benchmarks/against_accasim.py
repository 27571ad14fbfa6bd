"""
The same log, the same rule, two simulators: cpsched and the real AccaSim 1.1.3 from PyPI.

Both simulate the first jobs of HPC2N under FIFO with first fit, as whole processes that take turns;
each once writing its schedule and once not. Then the starts are compared job by job. AccaSim must
be installed beside cpsched: ``pip install 'cpsched[accasim]'``.

The log is prepared for both alike: memory is taken out (AccaSim wants it in every line or in
none), and runtimes end at the requested time (AccaSim kills nobody).
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import measure

LOG, SYSTEM = "HPC2N-2002-2.2-cln.swf.gz", "hpc2n"
#: How many times less CPU than AccaSim we are to need.
TARGET = 20
#: Fields of SWF, from 0.
_RUN, _USED_MEMORY, _REQUESTED_TIME, _REQUESTED_MEMORY = 3, 6, 8, 9


def prepare(log: Path, jobs: int, target: Path, *, capped: bool = True) -> int:
    """
    Write the first jobs of a log without memory, which AccaSim wants in all lines or in none.

    Runtimes are capped at the requested time where ``capped``. Returns how many jobs there are.
    """
    written = 0
    with gzip.open(log, "rt") as lines, target.open("w") as out:
        for line in lines:
            field = line.split()
            if line.startswith(";") or not field:
                continue
            if capped:
                run, requested = int(field[_RUN]), int(field[_REQUESTED_TIME])
                if run < 0 or requested < 1:
                    raise measure.BenchmarkError(f"{log.name}: job {field[0]} has no usable times")
                field[_RUN] = str(min(run, requested))
            field[_USED_MEMORY] = field[_REQUESTED_MEMORY] = "-1"
            out.write(" ".join(field) + "\n")
            written += 1
            if written == jobs:
                break
    return written


def commands(log: Path, work: Path) -> dict[str, list[Any]]:
    """Return what is run, by name, in the order of turns."""
    ours = [*measure.CPSCHED, "simulate", log, "--system", SYSTEM, "--dispatcher", "fifo"]
    files = measure.HERE / "accasim"
    theirs = [sys.executable, files / "drive.py", log, files / "hpc2n.json"]
    return {
        "cpsched, files": [*ours, "--out", work / "cpsched", "--force"],
        "AccaSim, schedule": [*theirs, work / "accasim"],
        "cpsched, no files": ours,
        "AccaSim, nothing": [*theirs, work / "accasim-nothing", "--no-schedule"],
    }


def starts_of_accasim(folder: Path) -> dict[str, int]:
    """Return the starts in AccaSim's schedule file, by job."""
    (file,) = folder.glob("sched-*")
    starts = {}
    for line in file.read_text().splitlines():
        job, _, rest = line.partition(";")
        # ...__nodes__start;end;...; times are written out, in the process's time zone.
        text = rest.rpartition("__")[2].partition(";")[0]
        starts[job] = int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
    return starts


def starts_of_ours(folder: Path) -> dict[str, int]:
    """Return the starts in a run folder, by job."""
    # Not before everything is measured: see the module measure.
    import pyarrow.parquet as pq

    jobs = pq.read_table(folder / "jobs.parquet", columns=["job_id", "start"])
    return dict(zip(jobs["job_id"].to_pylist(), jobs["start"].to_pylist(), strict=True))


def differences(ours: dict[str, int], theirs: dict[str, int]) -> list[str]:
    """Return the jobs that start at another second, or in one of the two only."""
    return [job for job in sorted(ours | theirs, key=int) if ours.get(job) != theirs.get(job)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, required=True, help=f"folder with {LOG}")
    parser.add_argument("--jobs", type=int, default=50_000, help="how many jobs [50000]")
    parser.add_argument("--runs", type=int, default=3, help="turns of each process [3]")
    parser.add_argument("--json", type=Path, help="file for every single figure")
    args = parser.parse_args()
    if min(args.jobs, args.runs) < 1:
        parser.error("--jobs and --runs must be at least 1")
    return args


def main() -> None:
    args = arguments()
    source = measure.archive_log(args.traces, LOG)
    with tempfile.TemporaryDirectory(prefix="cpsched-bench-") as folder:
        work = Path(folder)
        jobs = prepare(source, args.jobs, work / "hpc2n.swf")
        todo = commands(work / "hpc2n.swf", work)
        # Python keeps what it compiles of a checkout too, as it does of installed packages.
        env = {"TZ": "UTC", "PYTHONDONTWRITEBYTECODE": ""}
        cold = measure.run(todo["cpsched, files"], env)
        warm: dict[str, list[measure.Usage]] = {what: [] for what in todo}
        for _ in range(args.runs):
            for what, command in todo.items():
                warm[what].append(measure.run(command, env))
        ours = starts_of_ours(next((work / "cpsched" / "runs").iterdir()))
        wrong = differences(ours, starts_of_accasim(work / "accasim"))
    report(jobs, warm, cold)
    print(f"\nstarts: {len(ours) - len(wrong):,} of {len(ours):,} jobs start at the same second")
    results = {"jobs": jobs, "cold": cold, "warm": warm, "different_starts": wrong}
    measure.save(args.json, results)
    if wrong:
        raise measure.BenchmarkError(f"the schedules differ; the first job is {wrong[0]}")


def report(jobs: int, warm: dict[str, list[measure.Usage]], cold: measure.Usage) -> None:
    """Print what each process cost, and the ratios of CPU of each turn."""
    rows: list[tuple[Any, ...]] = [
        ("cpsched, files, first", cold.cpu_s, cold.wall_s, cold.peak_mib)
    ]
    for what, usages in warm.items():
        usage = measure.middle(usages)
        rows.append((what, usage.cpu_s, usage.wall_s, usage.peak_mib))
    runs = len(warm["cpsched, files"])
    title = f"{jobs:,} jobs of HPC2N, FIFO with first fit: medians of {runs} turns"
    measure.table(title, ("process", "CPU s", "wall s", "peak MiB"), rows)
    ratios = []
    for ours, theirs in (
        ("cpsched, files", "AccaSim, schedule"),
        ("cpsched, no files", "AccaSim, nothing"),
        ("cpsched, files", "AccaSim, nothing"),
    ):
        turns = [b.cpu_s / a.cpu_s for a, b in zip(warm[ours], warm[theirs], strict=True)]
        ratios.append((f"{theirs} / {ours}", median(turns), min(turns), max(turns)))
    measure.table(
        f"How many times less CPU (target {TARGET}, both writing)",
        ("ratio", "median", "least", "most"),
        ratios,
    )


if __name__ == "__main__":
    main()
