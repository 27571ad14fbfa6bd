"""
Real logs of machines with GPUs: who waits, and what is used, under auctions, backfilling, planning.

    python benchmarks/heterogeneous.py --select LOG graham-gpu-jobs.parquet
    cpsched compare heterogeneous.toml --out DIR
    python benchmarks/heterogeneous.py DIR [--results FILE]

Two logs: eurora-2014 on Eurora, and the jobs of LOG, graham-2021-sample, that ask for GPUs on the
invented machine ``graham-gpu`` (see its file). With ``--results`` the figures of DIR's runs are
kept in a file, and runs that are only there are shown too; without DIR what is kept is shown.
Prints Markdown tables of means over the seeds, and ratios to ``easy`` with 95 % confidence
intervals.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import campaign
import measure
import numpy as np
import ratios

from cpsched import traces
from cpsched.metrics import jobs as job_metrics
from cpsched.metrics.window import ended
from cpsched.study import load_run
from cpsched.study.paired import ratio
from cpsched_papers.window import WINDOW_HALVED

if TYPE_CHECKING:
    from cpsched.model.workload import Workload
    from cpsched.study import SavedRun

BASE = "easy"
#: Figures of a run, as tables call them; the last two are percent of the machine over the makespan.
FIGURES = (
    "wait h", "GPU wait h", "other wait h", "bsld", "GPU bsld", "p99 GPU wait h", "GPU %", "core %",
)  # fmt: skip


@dataclass(frozen=True, order=True)
class Case:
    """
    One simulation.

    Attributes
    ----------
    jobs
        How many of the log's jobs, the first ones; 0: all.
    """

    log: str
    jobs: int
    predictor: str
    dispatcher: str
    seed: int


def takes_gpus(workload: Workload) -> Any:
    """Return which jobs ask for GPUs, bool."""
    return workload.request[:, workload.resources.index("gpu")] > 0


def figures(run: SavedRun) -> dict[str, Any]:
    """Return what is shown of a run."""
    schedule = run.schedule
    done = ended(schedule)
    start, end = schedule.start[done], schedule.end[done]
    wait = job_metrics.wait(schedule.workload.submit[done], start)
    slow = job_metrics.bounded_slowdown(wait, end - start)
    gpu = takes_gpus(schedule.workload)[done]
    use = run.summary["utilization"]
    other = float(wait[~gpu].mean()) / 3600 if (~gpu).any() else None
    counts = run.about["decisions"]
    values = (
        float(wait.mean()) / 3600, float(wait[gpu].mean()) / 3600, other, float(slow.mean()),
        float(slow[gpu].mean()), float(np.quantile(wait[gpu], 0.99)) / 3600,
        100 * use["gpu"], 100 * use["core"],
    )  # fmt: skip
    return {
        **dict(zip(FIGURES, values, strict=True)),
        "ended": len(wait),
        "rejected": len(schedule.workload) - len(wait),
        "cpu_s": run.timing["loop_cpu_s"],
        "decisions": counts["decisions"],
        "decision_p99_s": run.timing["decision_p99_s"],
        "halved": int(counts.get(WINDOW_HALVED, 0)),
        "source": run.about["versions"]["source"][:10],
    }


def read(folder: Path, results: campaign.Results) -> None:
    """Take the figures of a campaign's runs."""
    for place, path in campaign.finished(folder):
        run = load_run(path)
        first = run.about["arguments"]["first"] or 0
        case = Case(
            place["workload"], first, place["predictor"], place["dispatcher"], place["seed"]
        )
        results.add(case, figures(run))


def report(results: campaign.Results) -> None:
    """Print a table for each log, number of jobs and predictor."""
    found: dict[Any, dict[str, dict[int, Any]]] = defaultdict(lambda: defaultdict(dict))
    for case, row in results.rows.items():
        found[case.log, case.jobs, case.predictor][case.dispatcher][case.seed] = row
    for (log, _, predictor), rows in found.items():
        if BASE in rows:
            _table(log, predictor, rows)


def _table(log: str, predictor: str, rows: dict[str, dict[int, dict[str, Any]]]) -> None:
    seeds = sorted(set.intersection(*(set(of) for of in rows.values())))
    if not seeds:
        return
    base = [rows[BASE][seed] for seed in seeds]
    lines = []
    for name, of in rows.items():
        runs = [of[seed] for seed in seeds]
        means = [_mean([run[key] for run in runs]) for key in FIGURES]
        against = [
            ratios.shown(ratio([run[key] for run in runs], [run[key] for run in base]))
            for key in ("GPU wait h", "bsld")
        ]
        cost = [_mean([run["cpu_s"] for run in runs]), f"{runs[0]['decisions']:,}"]
        slow = f"{1000 * max(run['decision_p99_s'] for run in runs):.2f}"
        lines.append([f"`{name}`", *means, *against, *cost, slow])
    title = f"{log}, {base[0]['ended']:,} jobs ({base[0]['rejected']} rejected), {predictor}"
    columns = ["dispatcher", *FIGURES, "GPU wait / easy", "bsld / easy", "CPU s", "decisions",
               "p99 ms"]  # fmt: skip
    measure.table(f"{title}, seeds {', '.join(map(str, seeds))}", columns, lines)


def _mean(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{np.mean(known):.2f}" if known else "-"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("study", type=Path, nargs="?", help="folder of cpsched compare")
    add("--results", type=Path, help="file where figures of runs are kept")
    add("--select", type=Path, nargs=2, metavar=("LOG", "TARGET"), help="write LOG's GPU jobs")
    args = parser.parse_args()
    if args.select:
        log = traces.read(args.select[0])
        traces.write(log.take(np.flatnonzero(takes_gpus(log))), args.select[1])
        return
    if not args.study and not args.results:
        parser.error("a folder of cpsched compare, --results, or --select")
    results = campaign.Results(args.results, Case)
    if args.study:
        read(args.study, results)
    report(results)


if __name__ == "__main__":
    main()
