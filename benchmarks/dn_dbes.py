"""
Figures 7.1 to 7.3 of Nagendra's thesis: ESP on 16 nodes with malleable and moldable jobs.

    cpsched compare benchmarks/dn-dbes.toml --out DIR
    python benchmarks/dn_dbes.py DIR
    python benchmarks/dn_dbes.py --speed

DIR is the folder of that study, or of another one of ``esp-nodes``. Of each dispatcher: minutes
from the first submit to the last end, mean and standard deviation over the seeds, and mean wait and
turnaround. Workloads are ordered as in the study.

``--speed`` measures negotiations themselves: CPU of 200 drawn ones for each number of running and
waiting jobs, half of them malleable and half of the transactions begun by either side.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from statistics import mean, median, stdev
from time import process_time

import campaign

from cpsched_papers.dn_dbes.messages import Machine, Queue, RunningJob, WaitingJob
from cpsched_papers.dn_dbes.negotiation import Negotiation
from cpsched_papers.dn_dbes.settings import NegotiationSettings

#: Makespan, mean wait and mean turnaround, minutes.
Figures = tuple[float, float, float]
_DRAWN = 200


def read(folder: Path) -> dict[str, dict[str, list[Figures]]]:
    """Return the figures of each run, by workload and dispatcher."""
    found: dict[str, dict[str, list[Figures]]] = {}
    for place, run in campaign.finished(folder):
        about = json.loads((run / "metrics.json").read_text())
        figures = (
            about["makespan_s"] / 60,
            about["wait_s"]["all"]["mean"] / 60,
            about["turnaround_s"]["all"]["mean"] / 60,
        )
        found.setdefault(place["workload"], {}).setdefault(place["dispatcher"], []).append(figures)
    return found


def table(found: dict[str, dict[str, list[Figures]]]) -> str:
    """Return a row for each workload, and columns for each dispatcher."""
    names = list(dict.fromkeys(name for runs in found.values() for name in runs))
    heads = [f"{name}: minutes" for name in names] + [f"{name}: wait, turnaround" for name in names]
    rows = [["workload", *heads], [":--", *["--:"] * len(heads)]]
    for workload, runs in found.items():
        spans = [[one[0] for one in runs.get(name, ())] for name in names]
        times = [[one[1:] for one in runs.get(name, ())] for name in names]
        rows.append(
            [
                workload.rpartition(", ")[2],
                *(_with_deviation(one) for one in spans),
                *(_pair(one) for one in times),
            ]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _with_deviation(values: list[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:.1f}" if values else "-"
    return f"{mean(values):.1f} ± {stdev(values):.1f}"


def _pair(values: list[tuple[float, float]]) -> str:
    return ", ".join(f"{mean(one):.1f}" for one in zip(*values, strict=True)) if values else "-"


def drawn(number: int, seed: int) -> tuple[Machine, Queue]:
    """Draw a transaction with so many running and so many waiting jobs."""
    rng = random.Random(seed)

    def bounds(units: int) -> tuple[int, int]:
        flexible = rng.random() < 0.5
        return (max(1, units // 2), 2 * units) if flexible else (units, units)

    running = []
    for job in range(number):
        units = rng.choice([1, 2, 4, 8, 16])
        end = rng.randrange(1, 20_000)
        running.append(RunningJob(job, units, *bounds(units), units, end, resize_cost=10))
    waiting = []
    for job in range(number):
        units = rng.choice([1, 2, 4, 8, 16, 32])
        seconds = rng.randrange(60, 20_000)
        waiting.append(WaitingJob(number + job, 10**6 - job, *bounds(units), units, seconds))
    idle = rng.choice([0, 0, 1, 2, 4, 8, 32])
    slots = idle + sum(job.units for job in running)
    offers = bool(seed % 2)
    return (
        Machine(0, slots, idle, tuple(running), offers=offers),
        Queue(0, tuple(waiting), asks=not offers),
    )


def speed() -> str:
    """Return a table of how long negotiations take."""
    rows = ["| running, waiting | median ms | worst ms | offers |", "|--:|--:|--:|--:|"]
    for number in (25, 50, 100, 200, 400):
        negotiation = Negotiation(NegotiationSettings())
        times, offers = [], []
        for seed in range(_DRAWN):
            machine, queue = drawn(number, seed)
            best = float("inf")
            # The best of three: other programs of the machine take no part in it.
            for _ in range(3):
                before = process_time()
                said = negotiation.transact(machine, queue)
                best = min(best, process_time() - before)
            times.append(1000 * best)
            offers.append(sum(type(one).__name__ == "Offer" for one in said))
        rows.append(f"| {number} | {median(times):.2f} | {max(times):.2f} | {mean(offers):.1f} |")
    return "\n".join(rows)


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="of cpsched compare")
    parser.add_argument("--speed", action="store_true", help="how long negotiations take")
    arguments = parser.parse_args()
    if arguments.speed:
        print(speed())
    elif arguments.folder is None:
        parser.error("name the folder of a study, or --speed")
    else:
        print(table(read(arguments.folder)))


if __name__ == "__main__":
    main()
