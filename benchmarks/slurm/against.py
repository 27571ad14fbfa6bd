"""
Recordings of a real Slurm against the dispatcher ``slurm``, and against each other.

``against.py DIR ...`` imports the site of each recording, simulates its accounting, and prints how
far apart recorded and simulated waits are. ``DIR=DIR`` compares two recordings of one queue: how
far apart two runs of Slurm itself are.

A recording that cpsched decided (``record.py --decide``) is simulated under its dispatcher
instead, at once and, as ``modelled``, with jobs that hold their nodes for longer by the seconds in
which the loop sees an end, and Slurm carries out an order. A second table has what the schedules
came to: recorded, and simulated.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from cpsched import logs
from cpsched.metrics.jobs import bounded_slowdown
from cpsched.simulation.simulate import simulate
from cpsched.slurm.config.importer import Files, ImportedSite, read_site
from cpsched.slurm.live.plan import EXPECTED_WAIT
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.model.workload import Workload

#: Seconds from the end of a job to the cycle in which the loop sees that its nodes are free: half
#: of its fastest cycle, and one in which Slurm completes the job.
ENDING = 2
HEAD = (
    "| recording | jobs | mean wait [s] | other | median error [s] | p90 error [s]"
    " | within 1 min [%] | rank correlation | makespan [s] | other |"
)
TOTALS = (
    "| recording | seconds from | makespan [s] | utilization [%] | mean wait [s]"
    " | mean bounded slowdown | longest wait [s] |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare recordings of a real Slurm.")
    parser.add_argument("recordings", nargs="+", metavar="DIR[=DIR]")
    arguments = parser.parse_args()
    rows, totals = [], []
    for text in arguments.recordings:
        first, equals, second = text.partition("=")
        log, name = read(Path(first)), Path(first).name
        if equals:
            rows.append(row(f"{name}, another run", log, again(log, read(Path(second)))))
            continue
        cores = int(imported(Path(first)).system.total[0])
        totals.append(total(name, "Slurm's accounting", log, log.recorded_start, cores))
        for how, start in simulations(log, Path(first)):
            rows.append(row(f"{name}, {how}", log, start))
            totals.append(total(name, how, log, start, cores))
    print("\n".join([HEAD, f"|:--|{'--:|' * 9}", *rows, "", TOTALS, f"|:--|:--|{'--:|' * 5}"]))
    print("\n".join(totals))


def simulations(log: Workload, folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield how a recording is simulated, and when its jobs start then."""
    decided = folder / "decided.json"
    if not decided.exists():
        policy = "slurm:policy={out}/site.policy.toml"
        yield "simulated", simulated(log, folder, policy)
        return
    description = json.loads(decided.read_text())
    # Jobs are held until the loop releases them: what it decided is not what it was given.
    log = log.with_columns(begin=np.full(len(log), MISSING))
    yield "simulated", simulated(log, folder, description["dispatcher"])
    late = round(np.median(description["latencies"])) + ENDING
    longer = log.with_columns(runtime=log.runtime + late)
    yield f"modelled, {late} s late", simulated(longer, folder, description["dispatcher"])


def read(folder: Path) -> Workload:
    """Return the accounting of a recording."""
    paths = [path for path in (folder / "sacct.txt", folder / "sacct.txt.gz") if path.exists()]
    return logs.read(paths[0], format="sacct")


def imported(folder: Path) -> ImportedSite:
    """Return the site of a recording."""
    given = {"assoc": "assoc-tree.txt", "qos": "qos.txt"}
    files = {
        key: folder / name
        for key, name in given.items()
        if (folder / name).exists() and (folder / name).stat().st_size
    }
    return read_site(Files(conf=folder / "slurm.conf", **files), "site")


def simulated(log: Workload, folder: Path, dispatcher: str) -> np.ndarray:
    """Return when jobs start on the recording's own site; ``{out}`` is where that is imported."""
    site = imported(folder)
    # As a live queue has it: queues of which Slurm knows no expected wait all have the same.
    system = replace(site.system, default_expected_wait=EXPECTED_WAIT)
    with tempfile.TemporaryDirectory() as out:
        site.write(Path(out), overwrite=False)
        return simulate(log, system, dispatcher=dispatcher.format(out=out)).schedule.start


def again(log: Workload, other: Workload) -> np.ndarray:
    """Return when jobs of the same ids started in another run, relative to their submits."""
    rows = {str(job): at for at, job in enumerate(other.job_id)}
    row_of = np.array([rows.get(str(job), -1) for job in log.job_id])
    start = log.submit + (other.recorded_start - other.submit)[row_of]
    never = (row_of < 0) | (other.recorded_start[row_of] < 0)
    return np.where(never, -1, start)


def row(name: str, log: Workload, start: np.ndarray) -> str:
    """Return a line of the table."""
    ran = (log.recorded_start >= 0) & (start >= 0)
    recorded, simulated = ((times - log.submit)[ran] for times in (log.recorded_start, start))
    error = abs(simulated - recorded)
    ends = [
        (times + log.runtime)[ran].max() - log.submit.min() for times in (log.recorded_start, start)
    ]
    soon = 100 * np.mean(error <= 60)
    rank = spearmanr(recorded, simulated).statistic
    return (
        f"| {name} | {ran.sum()} | {recorded.mean():,.0f} | {simulated.mean():,.0f}"
        f" | {np.median(error):,.0f} | {np.quantile(error, 0.9):,.0f} | {soon:.0f}"
        f" | {rank:.2f} | {ends[0]:,} | {ends[1]:,} |"
    )


def total(name: str, how: str, log: Workload, start: np.ndarray, cores: int) -> str:
    """Return a line of the second table."""
    ran = start >= 0
    wait, runtime = (start - log.submit)[ran], log.runtime[ran]
    makespan = int((start + log.runtime)[ran].max() - log.submit.min())
    used = 100 * int((log.units[ran] * runtime).sum()) / (makespan * cores)
    slowdown = bounded_slowdown(wait + runtime, runtime).mean()
    return (
        f"| {name} | {how} | {makespan:,} | {used:.1f} | {wait.mean():,.0f}"
        f" | {slowdown:.2f} | {wait.max():,} |"
    )


if __name__ == "__main__":
    main()
