"""
Longest waits and what bounding them costs, over EASY, on the first jobs of many logs.

    python benchmarks/longest_waits.py LOGS CSV -d SPEC... [--seeds 5] [--table TABLE]
        [--against SPEC]... [--skip N]...

LOGS is the folder of the logs in :data:`LOGS`; generated logs are made here. The windows are the
first 5,000 jobs of each. Those are left out whose offered load is above 100 % (waits then grow with
the length of the window) or where EASY's longest wait is below an hour. Seeds beyond the first
delay submits by up to five seconds. Appends a row for each run to CSV, runs what is not in it, and
prints for each window and dispatcher the geometric means over the seeds of the ratios to EASY; then
the means over the windows, and the largest ratio of the longest waits. TABLE is the same as CSV.

``--skip`` takes, instead of the first jobs, those after the first N of each log that has them; give
it several times for several windows of a log.

``--against`` prints, for each other dispatcher and window, the ratio of mean bounded slowdowns to
this one's, with the 95 % interval of the paired ratios over the seeds.
"""

from __future__ import annotations

import argparse
import csv
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import measure
import numpy as np
from farm_log import FARM, SYSTEM

from cpsched import logs, systems
from cpsched.simulation.simulate import Settings, simulate
from cpsched.study.inputs import jittered
from cpsched.study.paired import ratio
from cpsched.systems.mapping import fit
from cpsched.util import registry

if TYPE_CHECKING:
    from cpsched.model.workload import Workload
    from cpsched.systems.mapping import Fitted

JOBS = 5000
JITTER = 5
#: By name: the file of the log, and the system.
LOGS = {
    "KTH-SP2": ("KTH-SP2-1996-2.1-cln.swf.gz", "kth-sp2"),
    "CTC-SP2": ("CTC-SP2-1996-3.1-cln.swf.gz", "ctc-sp2"),
    "SDSC-BLUE": ("SDSC-BLUE-2000-4.2-cln.swf.gz", "sdsc-blue"),
    "HPC2N": ("HPC2N-2002-2.2-cln.swf.gz", "hpc2n"),
    "Intrepid": ("ANL-Intrepid-2009-1.swf.gz", "anl-intrepid"),
    "RICC": ("RICC-2010-2.swf.gz", "ricc"),
    "CEA-Curie": ("CEA-Curie-2011-2.1-cln.swf.gz", "cea-curie"),
    "CERIT": ("cerit-wagap-2013.ext.csv.gz", "cerit-wagap"),
    "Eurora": ("eurora-2014.ext.csv.gz", "eurora"),
    "Graham": ("graham-2021-sample.ext.csv.gz", "graham-sample"),
    "UB-HPC": ("ub-hpc-week.ext.csv.gz", "ub-hpc"),
    "LLNL-Atlas": ("LLNL-Atlas-2006-2.1-cln.swf.gz", "llnl-atlas"),
}
#: By generator: the system, and whether it takes a number of jobs.
GENERATED = {
    "esp": ("esp-1024", False),
    "esp-nodes": ("esp-16", False),
    "eurora": ("eurora", True),
    "farm": (str(SYSTEM), True),
    "heterogeneous": ("tsubame2", True),
    "site": ("site-152", True),
}
SLOWDOWN, WAIT, TAIL, LONGEST = FIGURES = (
    *("mean bounded slowdown", "mean wait [s]", "p99.9 wait [s]", "longest wait [s]"),
)
CPU = "CPU [s]"
COLUMNS = ("window", "seed", "dispatcher", *FIGURES, CPU)
EASY = "easy"
Key = tuple[str, str, str]


@cache
def whole_log(name: str, folder: Path) -> Workload:
    """Return all jobs of a log."""
    return logs.read(folder / LOGS[name][0], skip_bad_lines=True)


@cache
def jobs_of(name: str, folder: Path) -> tuple[Workload, str]:
    """Return the jobs of a window, such as ``KTH-SP2`` or ``KTH-SP2 +20000``, and the system."""
    log, _, skipped = name.partition(" +")
    if log in LOGS:
        workload, system = whole_log(log, folder), LOGS[log][1]
        if skipped:
            workload = workload.take(np.arange(int(skipped), len(workload)))
    else:
        made_by = log.removesuffix(" (generated)")
        generator = FARM if made_by == "farm" else registry.load("generators", made_by)
        system, sized = GENERATED[made_by]
        workload = generator.generate(generator.options(**({"jobs": JOBS} if sized else {})))
    return workload.select(first=min(JOBS, len(workload))), system


def windows(folder: Path, skips: list[int]) -> list[str]:
    """Return the names of the windows: the first jobs of all, or those after so many of logs."""
    if not skips:
        return [*LOGS, *(f"{name} (generated)" for name in GENERATED)]
    return [
        f"{name} +{skip}"
        for name in LOGS
        for skip in skips
        if len(whole_log(name, folder)) >= skip + JOBS
    ]


def window(name: str, folder: Path, seed: int) -> Fitted:
    """Return the jobs of a window on their system."""
    workload, system = jobs_of(name, folder)
    return fit(jittered(workload, seed, JITTER) if seed else workload, systems.load(system))


def offered_load(fitted: Fitted) -> float:
    """Return the core-seconds that jobs use over those of the system from first to last submit."""
    workload = fitted.workload
    runs = np.ones(len(workload), dtype=np.bool_)
    runs[[row for row, _ in fitted.rejected]] = False
    runtime = np.minimum(workload.runtime, workload.requested_time)
    used = (workload.units * workload.request[:, 0] * runtime)[runs].sum()
    span = max(int(workload.submit[-1] - workload.submit[0]), 1)
    return float(used / (fitted.system.capacity[:, 0].sum() * span))


def figures(fitted: Fitted, dispatcher: str, seed: int) -> dict[str, str]:
    """Run a dispatcher and return what came of it."""
    run = simulate(fitted, dispatcher=dispatcher, settings=Settings(seed=seed))
    schedule = run.schedule
    started = schedule.start >= 0
    wait = (schedule.start - schedule.workload.submit)[started]
    runtime = (schedule.end - schedule.start)[started]
    slowdown = np.maximum((wait + runtime) / np.maximum(runtime, 10), 1)
    values = (slowdown.mean(), wait.mean(), np.quantile(wait, 0.999), wait.max())
    metrics = {name: f"{value:.6g}" for name, value in zip(FIGURES, values, strict=True)}
    return {**metrics, CPU: f"{run.timing['loop_cpu_s']:.2f}"}


def read(path: Path) -> dict[Key, dict[str, str]]:
    """Return the rows that are there, by window, seed and dispatcher."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {
            (row["window"], row["seed"], row["dispatcher"]): row for row in csv.DictReader(file)
        }


def add(path: Path, row: dict[str, str]) -> None:
    """Append a row, after the header if the file is new."""
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def counted(
    rows: dict[Key, dict[str, str]], folder: Path, path: Path, skips: list[int]
) -> list[str]:
    """Return the windows that count, and print why the others do not."""
    names = []
    for name in windows(folder, skips):
        load = offered_load(window(name, folder, 0))
        easy = run_once(rows, folder, path, (name, "0", EASY))
        longest = float(easy[LONGEST]) / 3600
        if load > 1 or longest < 1:
            print(f"{name}: left out, offered load {load:.0%}, longest wait {longest:.1f} h")
        else:
            names.append(name)
    return names


def run_once(rows: dict[Key, dict[str, str]], folder: Path, path: Path, key: Key) -> dict[str, str]:
    """Return the row of a run, which is made if it is not there."""
    if key not in rows:
        name, seed, dispatcher = key
        row = dict(zip(COLUMNS, key, strict=False))
        rows[key] = row | figures(window(name, folder, int(seed)), dispatcher, int(seed))
        add(path, rows[key])
    return rows[key]


def ratios(runs: list[dict[str, str]], base: list[dict[str, str]], figure: str) -> float:
    """Return the geometric mean of the ratios of a figure; waits count as a second at least."""
    pairs = zip(runs, base, strict=True)
    return float(np.exp(np.mean([np.log(_value(a, figure) / _value(b, figure)) for a, b in pairs])))


def _value(row: dict[str, str], figure: str) -> float:
    return max(float(row[figure]), 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path)
    parser.add_argument("csv", type=Path)
    parser.add_argument("-d", dest="dispatchers", action="append", required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--against", action="append", default=[])
    parser.add_argument("--skip", type=int, action="append", default=[])
    args = parser.parse_args()
    rows = read(args.csv)
    names = counted(rows, args.logs, args.csv, args.skip)
    seeds = [str(seed) for seed in range(args.seeds)]
    runs = {
        (name, dispatcher): [
            run_once(rows, args.logs, args.csv, (name, seed, dispatcher)) for seed in seeds
        ]
        for name in names
        for dispatcher in (EASY, *args.dispatchers)
    }
    table: list[list[object]] = []
    for dispatcher in args.dispatchers:
        cells = []
        for name in names:
            base = runs[name, EASY]
            mine = runs[name, dispatcher]
            cells.append([ratios(mine, base, figure) for figure in FIGURES])
            cost = np.mean([float(row[CPU]) for row in mine])
            table.append([dispatcher, name, *(f"{cell:.2f}" for cell in cells[-1]), f"{cost:.1f}"])
        mean, largest = np.mean(cells, axis=0), np.max(cells, axis=0)
        table.append([dispatcher, "mean", *(f"{cell:.3f}" for cell in mean), ""])
        table.append([dispatcher, "largest", *(f"{cell:.2f}" for cell in largest), ""])
    columns = ("dispatcher", "window", *FIGURES, CPU)
    measure.table(f"Over EASY, {args.seeds} repetitions", columns, table)
    if args.table:
        with args.table.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([columns, *table])
    for base in args.against:
        for dispatcher in args.dispatchers:
            for name in names if dispatcher != base else ():
                mine, other = (
                    np.array([_value(row, SLOWDOWN) for row in runs[name, side]])
                    for side in (dispatcher, base)
                )
                over = ratio(mine, other)
                if over is not None and over.low is not None:
                    interval = f"{over.mean:.3f} ({over.low:.3f} to {over.high:.3f})"
                    print(f"{dispatcher} over {base}, {name}: {interval}")


if __name__ == "__main__":
    main()
