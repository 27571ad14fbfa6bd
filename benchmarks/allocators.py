"""
Allocators under the same dispatcher, machine by machine: a folder of ``allocators.toml``.

    python benchmarks/allocators.py DIR

The last word of a dispatcher's label is its allocator. Prints a table for each log: what every
dispatcher has under every allocator over what it has under first-fit, as geometric means over the
seeds of the ratios of paired runs. Bold: the 95 % confidence interval (of the paired logarithms,
Student's t) is on one side of 1, and the ratio is not 1.00; one seed has no interval. Utilization
is steady, of the resource with the largest share in use under first-fit. The last table has the
geometric means over the logs.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import campaign
import measure
import numpy as np

from cpsched.study.paired import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.study.paired import Estimate

BASE = "first-fit"
FIGURES = (
    "mean bounded slowdown", "p99.9 wait", "longest wait", "area-weighted response", "utilization",
)  # fmt: skip
#: The figures of a run, as ``metrics.json`` has them.
Metrics = dict[str, Any]
#: The runs of a log: metrics by seed, by (dispatcher, allocator).
Runs = dict[tuple[str, str], dict[int, Metrics]]


def read(folder: Path) -> dict[str, Runs]:
    """Return the finished runs of a study's folder by workload."""
    logs: dict[str, Runs] = defaultdict(lambda: defaultdict(dict))
    for place, run in campaign.finished(folder):
        dispatcher, _, allocator = place["dispatcher"].rpartition(" ")
        metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
        logs[place["workload"]][dispatcher, allocator][int(place["seed"])] = metrics
    return logs


def ratios(runs: Runs) -> dict[tuple[str, str], list[Estimate | None]]:
    """Return the figures of a log's dispatchers and allocators over those under first-fit."""
    estimates = {}
    for (dispatcher, allocator), mine in runs.items():
        base = runs.get((dispatcher, BASE), {})
        seeds = sorted(set(mine) & set(base))
        if allocator == BASE or not seeds:
            continue
        kind = scarcest(base[seeds[0]]["steady_utilization"])
        pairs = (
            [figures(runs_of_allocator[seed], kind) for seed in seeds]
            for runs_of_allocator in (mine, base)
        )
        estimates[dispatcher, allocator] = [
            ratio(*values)
            for values in zip(
                *(zip(*figures_of_allocator, strict=True) for figures_of_allocator in pairs),
                strict=True,
            )
        ]
    return estimates


def scarcest(utilization: Mapping[str, float]) -> str:
    """Return the resource of which the largest share is in use."""
    return max(utilization, key=lambda kind: utilization[kind])


def figures(metrics: Metrics, kind: str) -> list[float]:
    """Return the figures of a run in the order of :data:`FIGURES`."""
    wait = metrics["wait_s"]["all"]
    slowdown = metrics["bounded_slowdown"]["all"]["mean"]
    response = metrics["response_by_area_s"]
    return [slowdown, wait["p99.9"], wait["max"], response, metrics["steady_utilization"][kind]]


def shown(estimate: Estimate | None) -> str:
    """Return a ratio, in bold if it and all of its interval are on one side of 1."""
    if estimate is None:
        return "-"
    text = f"{estimate.mean:.2f}"
    sure = (
        estimate.low is not None
        and estimate.high is not None
        and not estimate.low <= 1 <= estimate.high
    )
    return f"**{text}**" if sure and text != "1.00" else text


def together(logs: list[dict[tuple[str, str], list[Estimate | None]]]) -> list[list[str]]:
    """Return the geometric means over the logs, of what all of them have."""
    lines = []
    for who in logs[0]:
        cells = [estimate for log in logs for estimate in log.get(who, [None])]
        means = np.array([estimate.mean for estimate in cells if estimate])
        if len(means) == len(logs) * len(FIGURES):
            over = np.exp(np.log(means).reshape(len(logs), -1).mean(axis=0))
            lines.append([*who, *(f"{mean:.2f}" for mean in over)])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, help="folder of cpsched compare")
    columns = ["dispatcher", "allocator", *FIGURES]
    by_log = {log: ratios(runs) for log, runs in read(parser.parse_args().study).items()}
    for log, over in by_log.items():
        lines = [[*who, *map(shown, cells)] for who, cells in over.items()]
        number = max(
            (estimate.number for cells in over.values() for estimate in cells if estimate),
            default=0,
        )
        measure.table(f"{log}: over {BASE}, runs: {number}", columns, lines)
    if by_log:
        measure.table("All logs", columns, together(list(by_log.values())))


if __name__ == "__main__":
    main()
