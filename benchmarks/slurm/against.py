"""
Recordings of a real Slurm against the dispatcher ``slurm``, and against each other.

``against.py DIR ...`` imports the site of each recording, simulates its accounting, and prints how
far apart recorded and simulated waits are. ``DIR=DIR`` compares two recordings of one queue: how
far apart two runs of Slurm itself are.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from cpsched import traces
from cpsched.simulation.simulate import simulate
from slurm_adapter.importer import Files, read_site

if TYPE_CHECKING:
    from cpsched.model.workload import Workload

HEAD = (
    "| recording | jobs | mean wait [s] | other | median error [s] | p90 error [s]"
    " | within 1 min [%] | rank correlation | makespan [s] | other |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare recordings of a real Slurm.")
    parser.add_argument("recordings", nargs="+", metavar="DIR[=DIR]")
    arguments = parser.parse_args()
    print(f"{HEAD}\n|:--|{'--:|' * 9}")
    for text in arguments.recordings:
        one, equals, other = text.partition("=")
        log = read(Path(one))
        start = again(log, read(Path(other))) if equals else simulated(log, Path(one))
        name = Path(one).name + (", another run" if equals else "")
        print(row(name, log, start))


def read(folder: Path) -> Workload:
    """Return the accounting of a recording."""
    found = [path for path in (folder / "sacct.txt", folder / "sacct.txt.gz") if path.exists()]
    return traces.read(found[0], format="sacct")


def simulated(log: Workload, folder: Path) -> np.ndarray:
    """Return when jobs start under the recording's own site."""
    given = {"assoc": "assoc-tree.txt", "qos": "qos.txt", "gres": "gres.conf"}
    files = {
        key: folder / name
        for key, name in given.items()
        if (folder / name).exists() and (folder / name).stat().st_size
    }
    site = read_site(Files(conf=folder / "slurm.conf", **files), "site")
    with tempfile.TemporaryDirectory() as out:
        site.write(Path(out), overwrite=False)
        policy = Path(out) / "site.policy.toml"
        run = simulate(log, site.system, dispatcher=f"slurm:policy={policy}")
    return run.schedule.start


def again(log: Workload, other: Workload) -> np.ndarray:
    """Return when jobs of the same ids started in another run, relative to their submits."""
    rows = {str(job): at for at, job in enumerate(other.job_id)}
    of = np.array([rows.get(str(job), -1) for job in log.job_id])
    start = log.submit + (other.recorded_start - other.submit)[of]
    never = (of < 0) | (other.recorded_start[of] < 0)
    return np.where(never, -1, start)


def row(name: str, log: Workload, start: np.ndarray) -> str:
    """Return a line of the table."""
    ran = (log.recorded_start >= 0) & (start >= 0)
    recorded, found = ((times - log.submit)[ran] for times in (log.recorded_start, start))
    error = abs(found - recorded)
    ends = [
        (times + log.runtime)[ran].max() - log.submit.min() for times in (log.recorded_start, start)
    ]
    soon = 100 * np.mean(error <= 60)
    rank = spearmanr(recorded, found).statistic
    return (
        f"| {name} | {ran.sum()} | {recorded.mean():,.0f} | {found.mean():,.0f}"
        f" | {np.median(error):,.0f} | {np.quantile(error, 0.9):,.0f} | {soon:.0f}"
        f" | {rank:.2f} | {ends[0]:,} | {ends[1]:,} |"
    )


if __name__ == "__main__":
    main()
