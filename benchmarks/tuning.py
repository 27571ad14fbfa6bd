"""
What `cpsched tune` gains on several logs, and whether its search beats random settings.

    python benchmarks/tuning.py inputs DIR
    python benchmarks/tuning.py table FOLDER... > tune.csv
    python benchmarks/tuning.py samplers LOG SYSTEM POLICY DIR [--seeds 5] [--trials 150]
    python benchmarks/tuning.py orders LOG SYSTEM POLICY DIR

`inputs` writes the log of the month, its policy without its priorities and backfill parameters
(`month.toml`), and Slurm's defaults (`defaults.toml`). `table` reads the folders of searches that
have ended. `samplers` searches the same log with each sampler and seed, without validation, and
prints the lowest mean wait with all constraints kept by the simulated work: 1 is one simulation of
the whole search part. `orders` runs EASY on the later jobs, in order of submission and of WSEPT.
Runs in DIR are kept.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched import logs
from cpsched.slurm.site import SITE, SiteOptions
from cpsched.study.scenarios import Scenario
from cpsched.tuning.api import site_of
from cpsched.tuning.measure import Limits, Measuring
from cpsched.tuning.parts import parts_of, windows_of
from cpsched.tuning.search import SAMPLERS, Trial, search

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.tuning.settings import Choice

_DAY = 86400
#: Simulated work at which searches are compared, in simulations of the whole search part.
_WORK = (20, 40, 60, 80, 100, 120)
_HAND_TUNED = Path(__file__).resolve().parents[1] / "data" / "policies" / "site-152.toml"
_MULTIFACTOR = '[slurm]\nPriorityType = "priority/multifactor"\n'
#: Lines of a policy that a site tunes, apart from priorities of QOS and partitions.
_TUNED = re.compile(r"bf_|Priority(Weight|MaxAge|DecayHalfLife)|\[SchedulerParameters\]")
#: The cheapest alternative, and EASY without its order. Repetitions on later jobs.
_ORDERS, _REPEAT = ("easy", "easy-wsept"), 5


def change(ratio: float) -> str:
    """Return a ratio as a change in whole percent, without its unit."""
    percent = round(100 * (ratio - 1))
    return f"{percent:+}" if percent else "0"


def interval(row: dict[str, Any] | None) -> str:
    """Return the change of a comparison in percent with its interval."""
    if row is None or row["ratio"] is None:
        return ""
    if row["interval"] is None:
        return f"{change(row['ratio'])} %"
    mark = ", this log" if "this log" in row["verdict"] else ""
    low, high = map(change, row["interval"])
    return f"{change(row['ratio'])} % ({low} to {high} %{mark})"


def row_of(folder: Path) -> dict[str, object]:
    """Return the row of a search that has ended: changes of waits against the current settings."""
    content = json.loads((folder / "tune.json").read_text(encoding="utf-8"))
    search_part, validation, test = content["windows"][-3:]
    row: dict[str, object] = {
        "log": folder.name,
        "jobs: search / validation / later": " / ".join(
            f"{part['jobs']:,}" for part in (search_part, validation, test)
        ),
        "later days": f"{(test['end'] - test['start']) / _DAY:.0f}",
    }
    for part in ("search", "validation"):
        of_part = content[part]
        row[f"{part} part"] = interval(of_part and {**of_part["mean_wait"], "interval": None})
    proposed = content["test"].get("proposed")
    row["later jobs"] = interval(proposed and proposed["mean_wait"])
    row["longest wait, later"] = interval(proposed and proposed["longest_wait"])
    row["broken"] = len(proposed["broken"]) if proposed else ""
    random = content["test"].get("best of 20 random")
    row["best of 20 random, later"] = interval(random and random["mean_wait"])
    row["proposed against it"] = interval(content["against_random"])
    loops = [
        json.loads(path.read_text(encoding="utf-8"))["loop_cpu_s"]
        for path in folder.glob("*/runs/*/timing.json")
    ]
    return row | {"runs": len(loops), "CPU s of their loops": f"{sum(loops):,.0f}"}


def lowest_by_work(trials: list[Trial], shares: list[float]) -> Iterator[tuple[float, float]]:
    """Yield the simulated work after each trial, and the lowest mean wait so far as a ratio."""
    work, lowest = 0.0, 1.0
    for trial in trials:
        work += sum(shares[: len(trial.windows)])
        if trial.kept is not None:
            lowest = min(lowest, trial.kept.ratio)
        yield work, lowest


def compare_samplers(args: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield a row for each sampler and seed."""
    site = site_of(args.log, args.system, args.policy)
    space = site.searched((), (), None)
    workload = site.fitted.workload
    part = parts_of(workload.submit, workload.title).search
    measuring = Measuring(
        site.study, site.scenario_of, Path(args.folder), Limits(strict_tails=True)
    )
    windows = windows_of(part, *measuring.waits(part), workload.title)
    length = windows[-1].end - windows[-1].start
    shares = [(window.end - window.start) / length for window in windows]
    for seed in range(1, args.seeds + 1):
        for sampler in args.sampler or SAMPLERS:
            trials = search(
                space, measuring, windows, trials=args.trials, sampler=sampler, seed=seed
            )
            curve = list(lowest_by_work(trials, shares))
            lowest = {
                f"by {limit}": min((low for work, low in curve if work <= limit), default=1.0)
                for limit in _WORK
            }
            yield {
                "log": Path(args.log).name.partition(".")[0], "sampler": sampler, "seed": seed,
                **{name: f"{ratio:.3f}" for name, ratio in lowest.items()},
                "end": f"{curve[-1][1]:.3f}", "work": f"{curve[-1][0]:.0f}",
                "tried": len(trials), "whole part": sum(trial.complete for trial in trials),
            }  # fmt: skip


def compare_orders(args: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield what EASY gives on later jobs, in two orders, as a ratio to the policy."""
    site = site_of(args.log, args.system, args.policy)
    workload = site.fitted.workload
    part = parts_of(workload.submit, workload.title).test

    def scenario_of(label: str, choice: Choice) -> Scenario:
        return Scenario(label=label, dispatcher=choice["dispatcher"])

    measuring = Measuring(site.study, scenario_of, Path(args.folder), Limits())
    for item in measuring.measure([{"dispatcher": name} for name in _ORDERS], part, _REPEAT):
        content = item.as_data()
        yield {
            "log": Path(args.log).name.partition(".")[0], "dispatcher": item.choice["dispatcher"],
            "mean wait %": interval(content["mean_wait"]),
            "longest %": interval(content["longest_wait"]), "broken": len(item.broken),
        }  # fmt: skip


def write_inputs(folder: Path) -> None:
    """Write the generated month, and the policies that searches start from."""
    folder.mkdir(parents=True, exist_ok=True)
    logs.write(SITE.generate(SiteOptions(jobs=100_000)), folder / "month.csv.gz")
    (folder / "defaults.toml").write_text(_MULTIFACTOR, encoding="utf-8")
    tuned = _HAND_TUNED.read_text(encoding="utf-8")
    left = [line for line in tuned.splitlines() if not _TUNED.match(line)]
    (folder / "month.toml").write_text("\n".join([*left, ""]), encoding="utf-8")


def main() -> None:
    """Print the table of a command."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("inputs").add_argument("folder", type=Path)
    table = commands.add_parser("table")
    table.add_argument("folders", nargs="+", type=Path)
    samplers, orders = map(commands.add_parser, ("samplers", "orders"))
    for name in ("log", "system", "policy", "folder"):
        samplers.add_argument(name)
        orders.add_argument(name)
    samplers.add_argument("--sampler", action="append", choices=SAMPLERS)
    samplers.add_argument("--seeds", type=int, default=5)
    samplers.add_argument("--trials", type=int, default=150)
    args = parser.parse_args()
    if args.command == "inputs":
        write_inputs(args.folder)
        return
    if args.command == "table":
        rows = map(row_of, args.folders)
    else:
        rows = {"samplers": compare_samplers, "orders": compare_orders}[args.command](args)
    writer = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(sys.stdout, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
