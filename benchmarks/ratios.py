"""
Campaigns in tables: every dispatcher and predictor over the baseline, log by log.

    python benchmarks/ratios.py DIR... [--by-log] [--settings [OF_BASELINE]] [--turnaround]
        [--log LOG]...

Each DIR is a folder of ``cpsched compare``; the studies have the same baseline. Their logs stand
side by side, and rows of one log in several folders together. Cells are geometric means over the
seeds of the ratios to the baseline's run of the same seed: of mean bounded slowdowns, of the 99.9th
percentiles of the wait, of the longest waits, and of area-weighted responses; then the geometric
mean over the logs and, where jobs were queued again, the share of all core seconds that was lost to
that, mean over the logs. A second table has mean bounded slowdowns, mean and deviation over the
seeds.

``--by-log`` prints a table for each log and predictor instead: means over the seeds that all
dispatchers have, and ratios to the baseline with 95 % confidence intervals (of the paired
logarithms, Student's t). Place: ``first`` has the lowest ratio of slowdowns, ``tied`` is not
significantly behind it (paired with the first, same method). ``above``: the 99.9th percentile of
the wait is significantly above the baseline's. bsld: bounded slowdown (tau 10 s).

``--settings`` is for studies that run each log under several settings: what follows the log's name
in a label is a column of its own, and the baseline is the run under the same setting, or under the
one that is named. ``--log`` leaves out others.
``--turnaround`` has mean turnaround, mean wait and use of the cores instead of the four figures, as
work on malleable jobs reports them.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import campaign
import measure
import numpy as np

from cpsched.study.paired import over_logs, ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cpsched.study.paired import Estimate

#: Figures of a run: their column, the key and the statistic in ``metrics.json``, and decimals.
FIGURES = {
    "mean bsld": ("bounded_slowdown", "mean", 2),
    "p99 bsld": ("bounded_slowdown", "p99", 1),
    "mean wait s": ("wait_s", "mean", 0),
    "p99.9 wait s": ("wait_s", "p99.9", 0),
    "max wait s": ("wait_s", "max", 0),
}
SLOWDOWN, TAIL, LONGEST, JOBS, COST = "mean bsld", "p99.9 wait s", "max wait s", "jobs", "CPU s"
#: Area-weighted response, and the share of core seconds lost, which are no statistics over jobs.
RESPONSE, LOST = "response s", "lost"
#: Between a log's name and a setting.
APART = ", "
#: The same, for jobs that change size.
TURNAROUND, WAIT, USE = "mean turnaround s", "mean wait s", "core use"
#: What is shown of each log beside the others, and of all together; with ``--turnaround``.
COMPARED = (SLOWDOWN, TAIL, LONGEST, RESPONSE)
OF_SIZES = (TURNAROUND, WAIT, USE)
#: In headlines.
_CALLED = {
    SLOWDOWN: "bounded slowdown",
    TAIL: "tail of the wait",
    LONGEST: "longest wait",
    RESPONSE: "area-weighted response",
    TURNAROUND: "mean turnaround",
    WAIT: "mean wait",
    USE: "use of the cores",
}
Figures = dict[str, float]
#: Dispatcher, predictor and, where runs of several settings are together, setting.
Who = tuple[str, ...]
#: The runs of a log: figures by seed.
Runs = dict[Who, dict[int, Figures]]


class Campaign(NamedTuple):
    """The finished runs by log, and what the baseline is; None: what a run is itself."""

    logs: dict[str, Runs]
    baseline: tuple[str | None, str | None]
    setting: str | None = None

    def base_of(self, who: Who) -> Who:
        """Return what a dispatcher and predictor are compared with."""
        dispatcher, predictor = self.baseline
        return (
            dispatcher or who[0],
            predictor or who[1],
            *(self.setting or part for part in who[2:]),
        )

    @property
    def base(self) -> str:
        """What the baseline is called."""
        return "/".join(name for name in self.baseline if name)


def read(folder: Path, setting: str | None = None) -> Campaign:
    """
    Return what a campaign's folder holds.

    Parameters
    ----------
    setting
        Of the baseline, ``''`` for that of each run; None: logs are not run under several settings.
    """
    logs: dict[str, Runs] = defaultdict(lambda: defaultdict(dict))
    for place, run in campaign.finished(folder):
        metrics, timing = (
            json.loads((run / name).read_text()) for name in ("metrics.json", "timing.json")
        )
        figures = {
            name: metrics[key]["all"][measure] for name, (key, measure, _) in FIGURES.items()
        }
        figures |= {JOBS: metrics["wait_s"]["all"]["jobs"], COST: timing["loop_cpu_s"]}
        figures[RESPONSE] = metrics["response_by_area_s"]
        figures[TURNAROUND] = metrics["turnaround_s"]["all"]["mean"]
        # The first resource kind counts cores.
        figures[USE] = next(iter(metrics["utilization"].values()))
        figures[LOST] = metrics.get("restarts", {}).get("lost_share") or 0.0
        log, who = place["workload"], (place["dispatcher"], place["predictor"])
        if setting is not None:
            log, _, own = log.partition(APART)
            who = (*who, own)
        logs[log][who][int(place["seed"])] = figures
    base = json.loads((folder / "study.json").read_text())["baseline"]
    return Campaign(logs, (base["dispatcher"], base["predictor"]), setting)


def joined(campaigns: list[Campaign]) -> Campaign:
    """Return several campaigns as one; of what two have, the first counts."""
    first = campaigns[0]
    if any(other.baseline != first.baseline for other in campaigns):
        raise measure.BenchmarkError("the folders have different baselines")
    for other in campaigns[1:]:
        for log, runs in other.logs.items():
            for who, by_seed in runs.items():
                first.logs[log][who] = by_seed | first.logs[log][who]
    return first


def over(mine: Iterable[Figures], theirs: Iterable[Figures], figure: str) -> Estimate | None:
    """Return the ratio of a figure in paired runs."""
    return ratio(*([run[figure] for run in runs] for runs in (mine, theirs)))


def ratios(
    runs: Runs, who: Who, base: Who, compared: Sequence[str] = COMPARED
) -> list[float] | None:
    """Return the ratios of a row on a log; None if a run of the baseline's seeds is not there."""
    mine, theirs = runs.get(who, {}), runs.get(base, {})
    seeds = sorted(theirs)
    if not seeds or any(seed not in mine for seed in seeds):
        return None
    pairs = [mine[seed] for seed in seeds], [theirs[seed] for seed in seeds]
    estimates = [over(*pairs, figure) for figure in compared]
    return [estimate.mean if estimate else float("nan") for estimate in estimates]


def report(study: Campaign, compared: Sequence[str] = COMPARED) -> None:
    """Print the logs side by side."""
    rows = list(dict.fromkeys(who for runs in study.logs.values() for who in runs))
    lines, means = [], []
    losses = {who: _lost(study, who) for who in rows}
    for who in rows:
        cells = [ratios(runs, who, study.base_of(who), compared) for runs in study.logs.values()]
        shown = [_ratios(cell) if cell else "-" for cell in cells]
        known = [cell for cell in cells if cell]
        over = [over_logs(of_all) for of_all in zip(*known, strict=True)]
        ratios_of_all = [estimate.mean if estimate else float("nan") for estimate in over]
        together = _ratios(ratios_of_all) if ratios_of_all and len(known) == len(cells) else "-"
        lost = [f"{100 * losses[who]:.1f} %"] if any(losses.values()) else []
        lines.append([*who, *shown, together, *lost])
        of_log = (_mean(runs.get(who, {}), compared[0]) for runs in study.logs.values())
        means.append([*who, *of_log])
    columns = [*("dispatcher", "predictor", "setting")[: max(map(len, rows), default=2)]]
    columns += study.logs
    title = f"Over {study.base}: {', '.join(_CALLED[figure] for figure in compared)}"
    measure.table(title, [*columns, "all", *([LOST] if any(losses.values()) else [])], lines)
    measure.table(f"Mean {_CALLED[compared[0]].removeprefix('mean ')}", columns, means)


def _lost(study: Campaign, who: Who) -> float:
    """Return the share of core seconds lost to restarts, mean over seeds and logs."""
    shares = [
        _over_seeds(list(runs[who].values()), LOST) for runs in study.logs.values() if who in runs
    ]
    return float(np.mean(shares))


def _ratios(values: Sequence[float]) -> str:
    slow, *others = values
    return ", ".join([f"{slow:.3f}", *(f"{ratio:.2f}" for ratio in others)])


def _mean(runs: dict[int, Figures], figure: str) -> str:
    values = [run[figure] for run in runs.values()]
    if not values:
        return "-"
    spread = f" ±{np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{spread}"


def by_log(study: Campaign) -> None:
    """Print a table for each log and predictor whose baseline is there."""
    for log, runs in study.logs.items():
        for under in dict.fromkeys(who[1:] for who in runs):
            rows = {who[0]: of for who, of in runs.items() if who[1:] == under}
            base = runs.get(study.base_of(("", *under)))
            if base:
                _table(", ".join([log, *under]), rows, base, study.base)


def _table(title: str, rows: Mapping[str, dict[int, Figures]], base: dict[int, Figures],
           called: str) -> None:  # fmt: skip
    seeds = sorted(set(base).intersection(*rows.values()))
    if not seeds:
        return
    chosen = {name: [of[seed] for seed in seeds] for name, of in rows.items()}
    theirs = [base[seed] for seed in seeds]
    first = places({name: [run[SLOWDOWN] for run in runs] for name, runs in chosen.items()})
    lines = []
    for name, runs in chosen.items():
        means = [f"{_over_seeds(runs, key):,.{at}f}" for key, (*_, at) in FIGURES.items()]
        slow, tail, response = (over(runs, theirs, figure) for figure in (SLOWDOWN, TAIL, RESPONSE))
        verdict = "above" if tail and tail.low is not None and tail.low > 1 else ""
        against = [shown(slow), first.get(name, ""), shown(tail), verdict, shown(response)]
        lines.append([f"`{name}`", *means, *against, f"{_over_seeds(runs, COST):.1f}"])
    columns = ["dispatcher", *FIGURES, f"bsld / {called}", "place", f"p99.9 wait / {called}",
               f"than {called}'s", f"response / {called}", COST]  # fmt: skip
    jobs = f"{theirs[0][JOBS]:,} jobs, seeds {', '.join(map(str, seeds))}"
    measure.table(f"{title}, {jobs}", columns, lines)


def _over_seeds(runs: Sequence[Figures], key: str) -> float:
    return float(np.mean([run[key] for run in runs]))


def shown(estimate: Estimate | None) -> str:
    """Return a ratio with its interval."""
    if estimate is None:
        return "-"
    if estimate.low is None:
        return f"{estimate.mean:.3f}"
    return f"{estimate.mean:.3f} ({estimate.low:.3f}-{estimate.high:.3f})"


def places(values: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """
    Return ``first`` for the name with the lowest geometric mean, ``tied`` for those not behind.

    Not behind: the interval of the paired ratio to the first reaches down to 1. A single pair has
    no interval; then only who equals the first is not behind.
    """
    first = min(values, key=lambda name: float(np.log(values[name]).mean()))
    places_of = {first: "first"}
    for name, own in values.items():
        against = ratio(own, values[first])
        if name == first or against is None:
            continue
        if against.mean == 1 or (against.low is not None and against.low <= 1):
            places_of[name] = "tied"
    return places_of


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, nargs="+", help="folders of cpsched compare")
    parser.add_argument("--by-log", action="store_true", help="a table for each log and predictor")
    parser.add_argument(
        "--settings", nargs="?", const="", metavar="OF_BASELINE",
        help="runs of a log under several settings together",
    )  # fmt: skip
    parser.add_argument(
        "--turnaround", action="store_true", help="mean turnaround, mean wait and use of the cores"
    )
    parser.add_argument("--log", action="append", help="only this one; repeat for several")
    args = parser.parse_args()
    study = joined([read(folder, args.settings) for folder in args.study])
    if args.log:
        unknown = sorted(set(args.log) - set(study.logs))
        if unknown:
            raise measure.BenchmarkError(
                f"there is no log {unknown[0]}; there are: {', '.join(study.logs)}"
            )
        study = study._replace(logs={name: study.logs[name] for name in args.log})
    if args.by_log:
        by_log(study)
    else:
        report(study, OF_SIZES if args.turnaround else COMPARED)


if __name__ == "__main__":
    main()
