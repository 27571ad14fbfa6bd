"""
Dispatchers on windows of logs that are drawn at random, over the first of them.

    python benchmarks/drawn_windows.py CSV LOG:SYSTEM... -d SPEC -d SPEC...
        [--windows FROM TO] [--jobs 3000]

A jitter of some seconds changes little on some logs, so that runs of it say less than they seem to;
windows of other weeks are other decisions. Window k of a log is its jobs from a row on that
``numpy.random.default_rng(1000 + k)`` draws. Appends a row of figures for each run to CSV, runs
what is not in it, and prints geometric means over the windows of all logs with 95 % intervals of
the paired ratios to the first dispatcher, and in how many windows it is more than 0.5 % below and
above.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from cpsched import logs, systems
from cpsched.simulation.simulate import simulate
from cpsched.study.paired import ratio
from cpsched.systems.mapping import fit

FIGURES = ("mean wait [s]", "mean bounded slowdown", "p99.9 wait [s]")
COLUMNS = ("log", "window", "dispatcher", *FIGURES, "CPU [s]", "decisions that solved", "improved")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("csv", type=Path)
    parser.add_argument("logs", nargs="+", metavar="LOG:SYSTEM")
    parser.add_argument("-d", dest="dispatchers", action="append", required=True)
    parser.add_argument("--windows", nargs=2, type=int, default=(0, 8))
    parser.add_argument("--jobs", type=int, default=3000)
    args = parser.parse_args()
    known = read(args.csv)
    for log, system in (pair.rsplit(":", 1) for pair in args.logs):
        name, workload = Path(log).name.split(".")[0], None
        for window in range(*args.windows):
            missing = [
                dispatcher
                for dispatcher in args.dispatchers
                if (name, str(window), dispatcher) not in known
            ]
            if not missing:
                continue
            workload = workload if workload is not None else logs.read(log)
            first = int(np.random.default_rng(1000 + window).integers(len(workload) - args.jobs))
            rows = np.arange(first, first + args.jobs)
            fitted = fit(workload.take(rows), systems.load(system))
            for dispatcher in missing:
                row = dict(zip(COLUMNS, (name, str(window), dispatcher), strict=False))
                row |= figures(fitted, dispatcher)
                known[name, str(window), dispatcher] = row
                write(args.csv, row)
    names = {Path(log.rsplit(":", 1)[0]).name.split(".")[0] for log in args.logs}
    show(known, names, args.dispatchers)


def read(path: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return the rows that are there, by log, window and dispatcher."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {(row["log"], row["window"], row["dispatcher"]): row for row in csv.DictReader(file)}


def write(path: Path, row: dict[str, str]) -> None:
    """Append a row, after the header if the file is new."""
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def figures(fitted: object, dispatcher: str) -> dict[str, str]:
    """Run a dispatcher and return what came of it."""
    began = time.process_time()
    run = simulate(fitted, dispatcher=dispatcher)
    spent = time.process_time() - began
    start, submit, end = run.schedule.start, run.schedule.workload.submit, run.schedule.end
    started = start >= 0
    wait, runtime = (start - submit)[started], (end - start)[started]
    slowdown = np.maximum((wait + runtime) / np.maximum(runtime, 10), 1)
    values = (wait.mean(), slowdown.mean(), np.quantile(wait, 0.999))
    return {
        **{name: f"{value:.6g}" for name, value in zip(FIGURES, values, strict=True)},
        "CPU [s]": f"{spent:.2f}",
        "decisions that solved": str(int(run.decisions.get("solver_calls", 0))),
        "improved": str(int(run.decisions.get("improved", 0))),
    }


def show(
    known: dict[tuple[str, str, str], dict[str, str]], names: set[str], specs: list[str]
) -> None:
    """Print each dispatcher over the first, on the windows that both have."""
    print("| dispatcher | windows | mean wait | bounded slowdown | p99.9 wait | CPU [s] |")
    print("|:--|--:|--:|--:|--:|--:|")
    for spec in specs:
        pairs = [
            (row, known[log, window, specs[0]])
            for (log, window, dispatcher), row in known.items()
            if dispatcher == spec and log in names and (log, window, specs[0]) in known
        ]
        cells = [_cell(pairs, figure) for figure in FIGURES]
        cpu = sum(float(row["CPU [s]"]) for row, _ in pairs)
        print(f"| `{spec}` | {len(pairs)} | {' | '.join(cells)} | {cpu:.0f} |")


def _cell(pairs: list[tuple[dict[str, str], dict[str, str]]], figure: str) -> str:
    # A window without waits counts as one of a second.
    values = [[max(float(row[figure]), 1.0) for row in pair] for pair in pairs]
    mine, base = np.array(values).T
    estimate = ratio(mine, base)
    less, more = (mine < 0.995 * base).sum(), (mine > 1.005 * base).sum()
    interval = "" if estimate.low is None else f" ({estimate.low:.2f} to {estimate.high:.2f})"
    return f"x{estimate.mean:.3f}{interval}; {less} below, {more} above"


if __name__ == "__main__":
    main()
