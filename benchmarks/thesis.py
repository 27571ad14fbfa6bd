"""
What Remediani (2017) claims, beside what comes out here.

    cpsched compare remediani --out DIR
    python benchmarks/thesis.py DIR [--within 0.1] [--results FILE]

For the same on real logs: ``remediani-logs.toml``. With ``--results`` the figures of DIR's runs are
kept in a file, and runs that are only there are judged too; without DIR it judges what is kept.

Prints, for every workload, the figures the claims are about, and of every claim of
``thesis_claims.py`` how many of its comparisons hold; then the claims on all workloads beside each
other. Two figures are *similar* if they differ by no more than ``--within``; lower is what is lower
by more. The thesis has no such threshold: its claims are of boxplots. A claim of runs that are not
there, or of a class with fewer than ten jobs that waited, is not judged. As in the thesis, jobs
with a slowdown of 1 are left out of slowdowns, and none of mean waits.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import campaign
import measure
import numpy as np
import pyarrow.parquet as pq
from thesis_claims import CLAIMS

from cpsched.metrics.jobs import slowdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from thesis_claims import Claim, Comparison

#: Longest runtime of short and of medium jobs, seconds (3.1.1).
HOUR, HALF_DAY = 3600, 12 * 3600
ESTIMATES = "WDR"
DISPATCHERS = (
    *("FIFO", "SJF", "LJF", "EBF", "PRB", "SDPRB"),
    *(f"{kind}-{number}" for kind in ("CPH", "CP") for number in range(4)),
)
GROUPS = ("all", "short", "medium", "long")
#: A class with fewer jobs that waited says nothing.
ENOUGH = 10
#: Figures in the tables; the claims use some of them.
COLUMNS = (
    "jobs",
    "waited",
    "slowdown mean",
    "slowdown median",
    "all jobs' slowdown mean",
    "wait mean",
)
QUEUES = ("queue mean", "queue median")
#: Columns of the overview: figure, group of jobs, and what a unit is.
OVERVIEW = {
    "slowdown of who waited": ("slowdown mean", "all", 1),
    "of all": ("all jobs' slowdown mean", "all", 1),
    "of medium jobs": ("all jobs' slowdown mean", "medium", 1),
    "wait h": ("wait mean", "all", 3600),
    "queue": ("queue mean", "all", 1),
}
HOLDS, FAILS, UNJUDGED = "holds", "does not hold", "not judged"

#: Figures of a run by (figure, group).
Figures = dict[tuple[str, str], float]


@dataclass(frozen=True, order=True)
class Case:
    """A run: ``DISPATCHER-ESTIMATE`` on a workload."""

    workload: str
    run: str


def figures_of(run: Path) -> Figures:
    """Return the figures of a run folder; none of a class with too few jobs."""
    table = pq.read_table(run / "jobs.parquet", columns=["wait", "start", "end", "runtime"])
    wait, start, end, recorded = (
        table.column(name).to_numpy(zero_copy_only=False).astype(float)
        for name in ("wait", "start", "end", "runtime")
    )
    ended = ~np.isnan(end) & ~np.isnan(wait)
    wait, ran, recorded = wait[ended], (end - start)[ended], recorded[ended]
    slowdowns = slowdown(wait + ran, ran)
    queue = json.loads((run / "metrics.json").read_text())["queue_jobs"]
    found: Figures = {
        ("queue mean", "all"): queue["mean"],
        ("queue median", "all"): queue["median"],
    }
    for group, members in zip(GROUPS, _members(recorded), strict=True):
        waited = members & (slowdowns > 1)
        if waited.sum() < ENOUGH:
            continue
        found["slowdown mean", group] = float(slowdowns[waited].mean())
        found["slowdown median", group] = float(np.median(slowdowns[waited]))
        found["all jobs' slowdown mean", group] = float(slowdowns[members].mean())
        found["wait mean", group] = float(wait[members].mean())
        found["jobs", group] = int(members.sum())
        found["waited", group] = int(waited.sum())
    return found


def _members(runtime: Any) -> Iterator[Any]:
    yield np.ones(len(runtime), dtype=bool)
    yield runtime <= HOUR
    yield (runtime > HOUR) & (runtime <= HALF_DAY)
    yield runtime > HALF_DAY


def runs_of(study: Path) -> dict[str, dict[str, Figures]]:
    """Return the figures of all finished runs by workload and ``DISPATCHER-ESTIMATE``."""
    found: dict[str, dict[str, Figures]] = defaultdict(dict)
    for place, folder in campaign.finished(study):
        run = f"{place['dispatcher']}-{place['predictor']}"
        found[place["workload"]][run] = figures_of(folder)
    return found


def keep(results: campaign.Results, found: dict[str, dict[str, Figures]]) -> None:
    """Add runs to a file of results."""
    for workload, runs in found.items():
        for run, figures in runs.items():
            # JSON has no pairs as keys, and six digits are more than anybody reads.
            row = {
                f"{group}: {name}": value if isinstance(value, int) else float(f"{value:.6g}")
                for (name, group), value in figures.items()
            }
            results.add(Case(workload, run), {"figures": row})


def kept(results: campaign.Results) -> dict[str, dict[str, Figures]]:
    """Return the figures of all runs in a file, by workload and run, in the thesis's order."""
    found: dict[str, dict[str, Figures]] = defaultdict(dict)
    for case, row in sorted(results.rows.items(), key=lambda item: _rank(item[0])):
        found[case.workload][case.run] = {
            (name, group): value
            for (group, name), value in (
                (key.split(": ", 1), value) for key, value in row["figures"].items()
            )
        }
    return found


def _rank(case: Case) -> tuple[str, int, int]:
    """Order runs as the thesis does: rules, hybrid, pure; W, D, R."""
    dispatcher, _, estimate = case.run.rpartition("-")
    return case.workload, DISPATCHERS.index(dispatcher), ESTIMATES.index(estimate)


def judge(comparison: Comparison, runs: dict[str, Figures], within: float) -> tuple[str, float]:
    """Return whether a comparison holds, and the ratio of its two figures."""
    key = (comparison.figure, comparison.group)
    low, high = (runs.get(name, {}).get(key) for name in (comparison.low, comparison.high))
    if low is None or high is None or not high:
        return UNJUDGED, math.nan
    ratio = low / high
    holds = {
        "<": ratio < 1 - within,
        "<=": ratio <= 1 + within,
        "~": 1 - within <= ratio <= 1 + within,
    }[comparison.relation]
    return (HOLDS if holds else FAILS), ratio


def verdict(claim: Claim, runs: dict[str, Figures], within: float) -> list[str]:
    """Return a claim's row of the table."""
    judged = [judge(comparison, runs, within) for comparison in claim.comparisons]
    count = Counter(said for said, _ in judged)
    ratios = [ratio for _, ratio in judged if not math.isnan(ratio)]
    if not ratios:
        return [claim.where, claim.text, UNJUDGED, "-", "-"]
    said = f"{count[HOLDS]} of {len(ratios)}"
    word = HOLDS if count[HOLDS] == len(ratios) else FAILS if not count[HOLDS] else "in part"
    if count[UNJUDGED]:
        said += f" ({count[UNJUDGED]} {UNJUDGED})"
    return [claim.where, claim.text, word, said, f"{min(ratios):.2f} to {max(ratios):.2f}"]


def overview(runs: dict[str, Figures]) -> None:
    """Print a row a dispatcher: each figure with W / D / R."""
    rows = []
    for dispatcher in DISPATCHERS:
        of = [runs.get(f"{dispatcher}-{estimate}", {}) for estimate in ESTIMATES]
        if any(of):
            cells = [
                " / ".join(_brief(figures.get((name, group)), unit) for figures in of)
                for name, group, unit in OVERVIEW.values()
            ]
            rows.append([dispatcher, *cells])
    measure.table("W / D / R", ["dispatcher", *OVERVIEW], rows)


def _brief(value: float | None, unit: float) -> str:
    if value is None:
        return "-"
    value /= unit
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def report(workload: str, runs: dict[str, Figures], within: float) -> None:
    """Print a workload's figures, then the claims."""
    print(f"\n## {workload}")
    overview(runs)
    for group in GROUPS:
        kept = [name for name in runs if ("slowdown mean", group) in runs[name]]
        if not kept:
            print(f"\n{group}: fewer than {ENOUGH} jobs waited in every run")
            continue
        keys = [*COLUMNS, *(QUEUES if group == "all" else ())]
        rows = [[name, *(_shown(runs[name].get((key, group))) for key in keys)] for name in kept]
        measure.table(f"{group} jobs", ["run", *keys], rows)
    columns = ["where", "claim", "here", "comparisons that hold", "ratios"]
    measure.table("Claims", columns, [verdict(claim, runs, within) for claim in CLAIMS])


def side_by_side(found: dict[str, dict[str, Figures]], within: float) -> None:
    """Print the claims once, with a column a workload: how many comparisons hold there."""
    rows = []
    for claim in CLAIMS:
        of = [verdict(claim, runs, within) for runs in found.values()]
        rows.append([claim.where, claim.text, *(_short(row) for row in of)])
    measure.table("Claims on each workload", ["where", "claim", *found], rows)


def _short(row: list[str]) -> str:
    """Return a verdict without its ratios."""
    _, _, word, count, _ = row
    return word if word == UNJUDGED else f"{word}: {count}"


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, nargs="?", help="folder of cpsched compare")
    parser.add_argument("--results", type=Path, help="file where figures of runs are kept")
    parser.add_argument("--within", type=float, default=0.1, help="similar: by no more [0.1]")
    args = parser.parse_args()
    if not args.study and not args.results:
        parser.error("a folder of cpsched compare, or --results")
    found = runs_of(args.study) if args.study else {}
    if args.results:
        results = campaign.Results(args.results, Case)
        keep(results, found)
        found = kept(results)
    for workload, runs in found.items():
        report(workload, runs, args.within)
    if len(found) > 1:
        print("\n## All")
        side_by_side(found, args.within)


if __name__ == "__main__":
    main()
