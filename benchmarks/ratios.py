"""
A campaign in one table: every dispatcher and predictor over the baseline, log by log.

    python benchmarks/ratios.py DIR...

Each DIR is a folder of ``cpsched compare`` whose study names a baseline dispatcher and predictor,
the same in all; their logs stand side by side, and rows of one log in several folders together.
Cells are geometric means over the seeds of the ratios to the baseline's run of the same seed: of
mean bounded slowdowns, then of the 99.9th percentiles of the wait; the last column is the geometric
mean over the logs. A second table has mean bounded slowdowns, mean and deviation over the seeds.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import measure
import numpy as np

from cpsched.study.paired import ratio

#: The runs of a log: (slowdown, tail) by seed, by (dispatcher, predictor).
Runs = dict[tuple[str, str], dict[int, tuple[float, float]]]


class Campaign(NamedTuple):
    """The finished runs by log, and the baseline."""

    logs: dict[str, Runs]
    baseline: tuple[str, str]


def read(folder: Path) -> Campaign:
    """Return what a campaign's folder holds."""
    about = json.loads((folder / "study.json").read_text())
    logs: dict[str, Runs] = defaultdict(lambda: defaultdict(dict))
    for place in about["runs"]:
        path = folder / "runs" / place["folder"] / "metrics.json"
        if path.is_file():
            found = json.loads(path.read_text())
            figures = found["bounded_slowdown"]["all"]["mean"], found["wait_s"]["all"]["p99.9"]
            who = place["dispatcher"], place["predictor"]
            logs[place["workload"]][who][int(place["seed"])] = figures
    base = about["baseline"]
    return Campaign(logs, (base["dispatcher"], base["predictor"]))


def joined(campaigns: list[Campaign]) -> Campaign:
    """Return several campaigns as one; of what two have, the first counts."""
    first = campaigns[0]
    if any(other.baseline != first.baseline for other in campaigns):
        raise SystemExit("the folders have different baselines")
    for other in campaigns[1:]:
        for log, runs in other.logs.items():
            for who, by_seed in runs.items():
                first.logs[log][who] = by_seed | first.logs[log][who]
    return first


def ratios(runs: Runs, who: tuple[str, str], base: tuple[str, str]) -> tuple[float, float] | None:
    """Return both ratios of a row on a log; None if a run of the baseline's seeds is not there."""
    mine, theirs = runs.get(who, {}), runs.get(base, {})
    seeds = sorted(theirs)
    if not seeds or any(seed not in mine for seed in seeds):
        return None
    found = []
    for at in range(2):
        over = ratio([mine[s][at] for s in seeds], [theirs[s][at] for s in seeds])
        found.append(over.mean if over else float("nan"))
    return found[0], found[1]


def report(campaign: Campaign) -> None:
    """Print both tables."""
    rows = list(dict.fromkeys(who for runs in campaign.logs.values() for who in runs))
    compared, means = [], []
    for who in rows:
        cells = [ratios(runs, who, campaign.baseline) for runs in campaign.logs.values()]
        shown = [f"{cell[0]:.3f}, {cell[1]:.2f}" if cell else "-" for cell in cells]
        known = [cell for cell in cells if cell]
        whole = np.exp(np.log(known).mean(axis=0)) if len(known) == len(cells) else None
        together = "-" if whole is None else f"{whole[0]:.3f}, {whole[1]:.2f}"
        compared.append([*who, *shown, together])
        means.append([*who, *(_mean(runs.get(who, {})) for runs in campaign.logs.values())])
    label = "/".join(campaign.baseline)
    columns = ["dispatcher", "predictor", *campaign.logs]
    measure.table(f"Over {label}: slowdown, tail of the wait", [*columns, "all"], compared)
    measure.table("Mean bounded slowdown", columns, means)


def _mean(runs: dict[int, tuple[float, float]]) -> str:
    values = [slowdown for slowdown, _ in runs.values()]
    if not values:
        return "-"
    spread = f" ±{np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{spread}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, nargs="+", help="folders of cpsched compare")
    report(joined([read(folder) for folder in parser.parse_args().study]))


if __name__ == "__main__":
    main()
