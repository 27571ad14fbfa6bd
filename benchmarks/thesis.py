"""
The runs of Remediani (2017), its claims, and its box plots.

    python benchmarks/thesis.py CSV                                    # what the rows in CSV say
    python benchmarks/thesis.py CSV --study remediani --make [--only CP-0]

With ``--make`` every run of the study that has no rows in CSV is made, one after the other, and its
rows are added when it ends: the 42 runs of the year (``--study benchmarks/remediani-year.toml``)
take twelve CPU hours, and may be made in parts, on several machines, or by several processes with
``--only``; a killed run goes on where it was saved last. Each run has a row for all jobs and for
the short (at most 1 h), medium (at most 12 h) and long ones, with means, and what a box plot shows:
5, 25, 50, 75 and 95 %. As in the thesis (3.2), slowdowns are unbounded and leave out jobs with a
slowdown of 1; mean waits leave out none.

Then: of every claim in ``thesis_claims.py``, how many comparisons hold on each log. Two figures are
*similar* if they differ by at most ``--within`` (a tenth), and lower is what is lower by more; the
thesis, whose figures are box plots without numbers, has no such threshold. A claim of runs that are
not there, or of a class with fewer than ten jobs that waited, is not judged. ``--claims FILE``
keeps the table, ``--plots FILE`` draws the box plots.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure
import numpy as np
from thesis_claims import CLAIMS

from cpsched.metrics.jobs import slowdown
from cpsched.report.figures.style import canvas, colour, plain, save, styled
from cpsched.simulation.simulate import Checkpoint, simulate
from cpsched.study import load_study
from cpsched.study.inputs import prepare
from cpsched.study.run_spec import run_specs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from matplotlib.axes import Axes
    from thesis_claims import Claim, Comparison

    from cpsched.simulation.run import Run
    from cpsched.util.types import AnyArray

#: Longest runtime of short and of medium jobs, seconds (3.1.1).
HOUR, HALF_DAY = 3600, 12 * 3600
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Fewer jobs that waited say nothing.
ENOUGH = 10
KEYS = ("log", "run", "group")
BOXES = ("slowdown", "wait")
#: Figures of a row; slowdowns of the jobs that waited, waits of all, in seconds.
FIGURES = (
    *("jobs", "waited", "slowdown mean", "all jobs' slowdown mean", "wait mean"),
    *(f"{name} {q:.0%}" for name in BOXES for q in QUANTILES),
    *("queue mean", "queue median", "CPU [s]"),
)
#: Names that the claims have for a figure.
CALLED = {"slowdown median": "slowdown 50%"}
HOLDS, FAILS, UNJUDGED = "holds", "does not hold", "not judged"

#: Figures by log, then by run, then by group of jobs.
Rows = dict[str, dict[str, dict[str, dict[str, float]]]]


def read(path: Path) -> Rows:
    """Return the rows of a file, none if there is none."""
    rows: Rows = defaultdict(lambda: defaultdict(dict))
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                figures = {name: float(row[name]) for name in FIGURES if row[name]}
                rows[row["log"]][row["run"]][row["group"]] = figures
    return rows


def make(study: str, path: Path, only: str) -> None:
    """Make the runs that have no rows, those named ``only...`` first to last."""
    for task in run_specs(load_study(study)):
        record = task.record()
        log, run = record["workload"], f"{record['dispatcher']}-{record['predictor']}"
        if not run.startswith(only) or run in read(path)[log]:
            continue
        checkpoint = Checkpoint(path.with_name(f"{path.stem}-{run}.state"), interval=600)
        # What it took before it was killed is not known.
        in_one_go = not checkpoint.path.exists()
        result = simulate(
            prepare(task.made_of),
            dispatcher=task.dispatcher,
            predictor=task.predictor,
            settings=task.settings,
            checkpoint=checkpoint,
        )
        is_new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, (*KEYS, *FIGURES), lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows(
                {"log": log, "run": run, "group": group}
                | {name: f"{value:.6g}" for name, value in figures.items()}
                for group, figures in figures_of(result, in_one_go=in_one_go)
            )
        checkpoint.remove()
        print(f"{log} {run}: {result.timing['loop_cpu_s']:.0f} CPU s", flush=True)


def figures_of(run: Run, *, in_one_go: bool) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the figures of each group of a run's jobs; CPU seconds of one made in one go."""
    schedule = run.schedule
    ended = (schedule.start >= 0) & (schedule.end >= 0)
    submit, recorded = (
        values[ended] for values in (schedule.workload.submit, schedule.workload.runtime)
    )
    wait, ran = (schedule.start[ended] - submit), (schedule.end - schedule.start)[ended]
    slowdowns = slowdown(wait + ran, ran)
    queue = run.summary["queue_jobs"]
    of_all_jobs = {
        "queue mean": queue["mean"],
        "queue median": queue["median"],
    } | ({"CPU [s]": run.timing["loop_cpu_s"]} if in_one_go else {})
    groups = {
        "all": recorded >= 0,
        "short": recorded <= HOUR,
        "medium": (recorded > HOUR) & (recorded <= HALF_DAY),
        "long": recorded > HALF_DAY,
    }
    for group, members in groups.items():
        waited = slowdowns[members & (slowdowns > 1)]
        figures: dict[str, float] = {"jobs": int(members.sum()), "waited": len(waited)}
        if len(waited) >= ENOUGH:
            figures |= {
                "slowdown mean": waited.mean(),
                "all jobs' slowdown mean": slowdowns[members].mean(),
                "wait mean": wait[members].mean(),
                **_box("slowdown", waited),
                **_box("wait", wait[members]),
            }
        yield group, figures | (of_all_jobs if group == "all" else {})


def _box(name: str, values: AnyArray) -> dict[str, float]:
    levels = np.quantile(values, QUANTILES).tolist()
    return {f"{name} {q:.0%}": value for q, value in zip(QUANTILES, levels, strict=True)}


def judge(comparison: Comparison, runs: Mapping[str, Any], within: float) -> tuple[str, float]:
    """Return whether a comparison holds, and the ratio of its two figures."""
    name = CALLED.get(comparison.figure, comparison.figure)
    low, high = (
        runs.get(run, {}).get(comparison.group, {}).get(name)
        for run in (comparison.low, comparison.high)
    )
    if low is None or not high:
        return UNJUDGED, math.nan
    ratio = low / high
    holds = {
        "<": ratio < 1 - within,
        "<=": ratio <= 1 + within,
        "~": 1 - within <= ratio <= 1 + within,
    }[comparison.relation]
    return (HOLDS if holds else FAILS), ratio


def verdict(claim: Claim, runs: Mapping[str, Any], within: float) -> str:
    """Return how much of a claim holds, and the least and the largest ratio."""
    judged = [judge(comparison, runs, within) for comparison in claim.comparisons]
    count = Counter(answer for answer, _ in judged)
    ratios = [ratio for _, ratio in judged if not math.isnan(ratio)]
    if not ratios:
        return UNJUDGED
    word = HOLDS if count[HOLDS] == len(ratios) else FAILS if not count[HOLDS] else "in part"
    missing = f", {count[UNJUDGED]} {UNJUDGED}" if count[UNJUDGED] else ""
    answer = f"{word}: {count[HOLDS]} of {len(ratios)}{missing}"
    return f"{answer} ({min(ratios):.2f} to {max(ratios):.2f})"


def draw(rows: Rows, path: Path) -> None:
    """Draw the slowdowns of jobs that waited, and the waits of all, a box a run."""
    with styled("thesis"):
        figure = canvas(10, 3.2 * len(rows))
        grid = figure.subplots(len(rows), len(BOXES), squeeze=False)
        for axes, (log, runs) in zip(grid, rows.items(), strict=True):
            for axis, name in zip(axes, BOXES, strict=True):
                _boxes(axis, name, runs)
                axis.set_title(f"{log}: {name}{' of jobs that waited' * (name != 'wait')}")
        path.write_bytes(save(figure, path.suffix[1:]))


def _boxes(axes: Axes, name: str, runs: Mapping[str, Any]) -> None:
    estimates = {"W": colour(0), "D": colour(1), "R": colour(2)}
    dispatchers = list(dict.fromkeys(run.rpartition("-")[0] for run in runs))
    unit = 3600 if name == "wait" else 1
    for shift, (estimate, ink) in enumerate(estimates.items()):
        boxes, places = [], []
        for place, dispatcher in enumerate(dispatchers):
            row = runs.get(f"{dispatcher}-{estimate}", {}).get("all", {})
            low, first, middle, third, high = (
                row.get(f"{name} {q:.0%}", math.nan) / unit for q in QUANTILES
            )
            boxes.append({"whislo": low, "q1": first, "med": middle, "q3": third, "whishi": high})
            places.append(place + 0.27 * (shift - 1))
        drawn = axes.bxp(
            boxes, positions=places, widths=0.22, showfliers=False, patch_artist=True,
            boxprops={"facecolor": ink, "edgecolor": ink, "alpha": 0.35},
            **{key: {"color": ink} for key in ("medianprops", "whiskerprops", "capprops")},
        )  # fmt: skip
        drawn["boxes"][0].set_label(estimate)
    axes.set_yscale(
        "symlog" if name == "wait" else "log", **({"linthresh": 0.1} if unit > 1 else {})
    )
    axes.set_xticks(range(len(dispatchers)), dispatchers, rotation=60)
    axes.yaxis.set_major_formatter(plain)
    axes.set_ylabel("slowdown" if unit == 1 else "hours")
    axes.legend()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("csv", type=Path, help="file of the rows")
    parser.add_argument("--study", default="remediani", help="whose runs are made [remediani]")
    parser.add_argument("--make", action="store_true", help="make the runs that have no rows")
    parser.add_argument("--only", default="", metavar="RUN", help="make those named so: CP-0-W")
    parser.add_argument("--within", type=float, default=0.1, help="similar: by no more [0.1]")
    parser.add_argument("--claims", type=Path, help="CSV file for the table of claims")
    parser.add_argument("--plots", type=Path, help="SVG, PNG or PDF file for the box plots")
    args = parser.parse_args()
    if args.make:
        make(args.study, args.csv, args.only)
    rows = read(args.csv)
    if not rows:
        parser.error(f"{args.csv} has no rows; --make makes them")
    table = [
        [claim.where, claim.text, *(verdict(claim, runs, args.within) for runs in rows.values())]
        for claim in CLAIMS
    ]
    columns = ["thesis", "claim", *rows]
    measure.table("Claims", columns, table)
    if args.claims:
        with args.claims.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([columns, *table])
    if args.plots:
        draw(rows, args.plots)


if __name__ == "__main__":
    main()
