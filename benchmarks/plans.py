"""
How good the plans are: every dispatcher on the same logs, with true and with requested runtimes.

Three panels, each with its tables:

- ``once``: the first 5,000 jobs of HPC2N and all of eurora-2014, one run each.
- ``paired``: the first 20,000 jobs of CTC-SP2, SDSC-BLUE and KTH-SP2; submits jittered by 0 to 5
  seconds, the same for all dispatchers, once a seed; ratios to EASY with confidence intervals.
- ``slow``: as ``paired``, for the faithful CPH and CP, with fewer jobs and seeds.

Every run is kept in a file at once, and is not done again: a campaign can be cut into pieces.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import campaign
import measure
import paired
from campaign import Case

from cpsched.study.paired import ratio

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RULES = (
    "fifo",
    "sjf",
    "ljf",
    "prb",
    "prb:priority=slowdown",
    "prb:priority=sjf",
    "easy",
    "easy:backfill=sjf",
    "easy:priority=slowdown",
    "conservative",
)
OWN = ("rollout", "plan")
#: ``cph`` and ``cp`` are ``cph-0`` and ``cp-0`` unless told otherwise.
FAITHFUL = tuple(f"{kind}-{number}" for kind in ("cph", "cp") for number in range(4))
BASE = "easy"
ESTIMATES = ("actual", "requested")
PANELS = ("once", "paired", "slow")
LOGS = {
    "once": ("HPC2N", "eurora-2014"),
    "paired": ("CTC-SP2", "SDSC-BLUE", "KTH-SP2"),
    "slow": ("CTC-SP2", "SDSC-BLUE", "KTH-SP2"),
}


@dataclass(frozen=True)
class Panel:
    """Runs that go into the same tables; ``seeds`` 0 means one run of the log as it is."""

    name: str
    logs: tuple[str, ...]
    predictors: tuple[str, ...]
    dispatchers: tuple[str, ...]
    jobs: int
    seeds: int

    def cases(self) -> Iterator[Case]:
        """Return the runs, all of a seed before the next: cut off, all have the same seeds."""
        for seed in range(1, self.seeds + 1) if self.seeds else (0,):
            for log in self.logs:
                for predictor in self.predictors:
                    for dispatcher in self.dispatchers:
                        jobs = 0 if log == "eurora-2014" and self.jobs >= 5000 else self.jobs
                        yield Case(log, jobs, predictor, dispatcher, seed)


def panels(args: argparse.Namespace) -> list[Panel]:
    """Return what is to be run or reported."""
    predictors = tuple(args.predictor or ESTIMATES)
    sizes = {
        "once": (RULES + OWN + FAITHFUL, args.once_first, 0),
        "paired": (RULES + OWN, args.first, args.seeds),
        "slow": ((BASE, *OWN, *FAITHFUL), args.slow_first, args.slow_seeds),
    }
    found = []
    for name in args.panel or PANELS:
        dispatchers, jobs, seeds = sizes[name]
        logs = tuple(log for log in LOGS[name] if not args.log or log in args.log)
        panel = Panel(name, logs, predictors, dispatchers, jobs, seeds)
        if args.dispatcher:
            panel = replace(panel, dispatchers=tuple(dict.fromkeys((BASE, *args.dispatcher))))
        found.append(panel)
    return found


def report(panel: Panel, results: campaign.Results) -> None:
    """Print a panel's tables, as far as there are results."""
    for log in panel.logs:
        for predictor in panel.predictors:
            rows: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
            for case in panel.cases():
                if case.log == log and case.predictor == predictor and case in results.rows:
                    rows[case.dispatcher][case.seed] = results.rows[case]
            if BASE in rows:
                _table(panel, log, predictor, rows)


def _table(
    panel: Panel, log: str, predictor: str, rows: dict[str, dict[int, dict[str, Any]]]
) -> None:
    seeds = sorted(set.intersection(*(set(of) for of in rows.values())))
    if not seeds:
        return
    chosen = {name: [of[seed] for seed in seeds] for name, of in rows.items()}
    ended = chosen[BASE][0]["ended"]
    title = f"{log}, {ended:,} jobs, {predictor}"
    if panel.seeds:
        title += f", paired runs with seeds {', '.join(map(str, seeds))}"
    columns = ["dispatcher", "mean bsld", "p99 bsld", "mean wait s", "p99.9 wait s", "max wait s"]
    if panel.seeds:
        columns += ["bsld / EASY", "place", "p99.9 wait / EASY", "than EASY's"]
    columns.append("CPU s")
    places = paired.places({name: _column(runs, "bsld_mean") for name, runs in chosen.items()})
    lines = []
    for name, runs in chosen.items():
        line: list[object] = [
            f"`{name}`",
            f"{_mean(runs, 'bsld_mean'):.2f}",
            f"{_mean(runs, 'bsld_p99'):.1f}",
            *(round(_mean(runs, key)) for key in ("wait_mean", "wait_p999", "wait_max")),
        ]
        if panel.seeds:
            line += _against(runs, chosen[BASE], places.get(name, ""))
        lines.append((*line, f"{_mean(runs, 'cpu_s'):.1f}"))
    measure.table(title, columns, lines)
    sources = sorted({run["source"] for runs in chosen.values() for run in runs})
    print(f"\nSource of cpsched: {', '.join(sources)}.")


def _against(
    runs: Sequence[dict[str, Any]], base: Sequence[dict[str, Any]], place: str
) -> list[str]:
    slow = ratio(_column(runs, "bsld_mean"), _column(base, "bsld_mean"))
    wait = ratio(_column(runs, "wait_p999"), _column(base, "wait_p999"))
    verdict = "above" if wait and wait.low is not None and wait.low > 1 else ""
    return [paired.shown(slow), place, paired.shown(wait), verdict]


def _column(runs: Sequence[dict[str, Any]], key: str) -> list[float]:
    return [float(run[key]) for run in runs]


def _mean(runs: Sequence[dict[str, Any]], key: str) -> float:
    return math.fsum(_column(runs, key)) / len(runs)


LEGEND = """
Means over the runs. bsld: bounded slowdown (tau 10 s). Ratios: geometric means of the ratios to
`easy` of the same seed, with 95 % confidence intervals (of the paired logarithms, Student's t).
Place: `first` has the lowest ratio, `tied` is not significantly behind it (paired with the first,
same method). `above`: the 99.9th percentile of the wait is significantly above EASY's.
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    files = ", ".join(file for file, _ in campaign.LOGS.values())
    add("--traces", type=Path, help=f"folder with {files}")
    add("--out", type=Path, default=Path("build/plans"), help="folder of results [build/plans]")
    add("--report", action="store_true", help="run nothing, print tables of what is there")
    add("--panel", action="append", choices=PANELS, help="[all three]; repeat for more")
    add("--log", action="append", choices=tuple(campaign.LOGS), help="only this; may be repeated")
    add("--predictor", action="append", help="[actual and requested]; repeat for more")
    add("--dispatcher", action="append", help="only this, beside easy; repeat for more")
    add("--first", type=int, default=20_000, help="jobs of the panel 'paired' [20000]")
    add("--seeds", type=int, default=10, help="seeds 1 to this one [10]")
    add("--once-first", type=int, default=5_000, help="jobs of HPC2N [5000]; below: of both logs")
    add("--slow-first", type=int, default=5_000, help="jobs of the panel 'slow' [5000]")
    add("--slow-seeds", type=int, default=1, help="and its seeds [1]")
    add("--redo", action="append", default=[], help="run this dispatcher again if cpsched changed")
    add("--minutes", type=float, default=math.inf, help="begin no run after so many [no limit]")
    args = parser.parse_args()
    if min(args.first, args.seeds, args.once_first, args.slow_first, args.slow_seeds) < 1:
        parser.error("numbers of jobs and seeds must be at least 1")
    if not args.report and args.traces is None:
        parser.error("--traces is needed, but for --report")
    return args


def main() -> None:
    args = arguments()
    results = campaign.Results(args.out / "plans.jsonl")
    chosen = panels(args)
    if not args.report:
        for panel in chosen:
            left = campaign.carry_out(
                panel.cases(),
                results,
                args.traces,
                redo=frozenset(args.redo),
                minutes=args.minutes,
            )
            if left:
                print(f"{left} runs of the panel '{panel.name}' are left; run this again")
    if not results.rows:
        raise measure.BenchmarkError(f"no results in {results.path}")
    print(LEGEND)
    for panel in chosen:
        report(panel, results)


if __name__ == "__main__":
    main()
