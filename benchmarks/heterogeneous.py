"""
Real logs of machines with GPUs: who waits, and what is used, under auctions, backfilling, planning.

Two logs: eurora-2014 on Eurora, and the jobs of graham-2021-sample that ask for GPUs on the
invented machine ``graham-gpu`` (see its file). Submits are jittered by 0 to 5 seconds, the same for
all dispatchers. ``--results FILE`` keeps every run and goes on where it was stopped; prints
Markdown tables of means over the seeds, then ratios to ``easy`` with 95 % confidence intervals.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import campaign
import measure
import numpy as np
import paired
from campaign import Case

from cpsched import systems, traces
from cpsched.dispatch.window import WINDOW_HALVED
from cpsched.mapping import fit
from cpsched.metrics import jobs as job_metrics
from cpsched.metrics.summary import summarize
from cpsched.metrics.window import ended
from cpsched.simulation.simulate import Settings, simulate
from cpsched.study.paired import ratio

if TYPE_CHECKING:
    from cpsched.mapping import Fitted
    from cpsched.model.workload import Workload
    from cpsched.simulation.simulate import Run

#: Logs by name: file, system, and whether only the jobs that ask for GPUs are taken.
LOGS = {
    "eurora-2014": ("eurora-2014.ext.csv.gz", "eurora", False),
    "graham-2021 GPU jobs": ("graham-2021-sample.ext.csv.gz", "graham-gpu", True),
}
DISPATCHERS = (
    "easy",
    "easy:priority=slowdown",
    "prb",
    "prb:priority=slowdown",
    "slurm-backfill",
    "ipsched",
    "aucsched2",
    "rollout",
)
BASE = "easy"
#: Jobs of a run that only warms up.
FEW = 300
#: Figures of a run, as tables call them; the last two are percent of the machine over the makespan.
FIGURES = (
    "wait h", "GPU wait h", "other wait h", "bsld", "GPU bsld", "p99 GPU wait h", "GPU %", "core %",
)  # fmt: skip


def takes_gpus(workload: Workload) -> Any:
    """Return which jobs ask for GPUs, bool."""
    return workload.request[:, workload.resources.index("gpu")] > 0


@lru_cache(maxsize=4)
def fitted(folder: Path, log: str, jobs: int, seed: int) -> Fitted:
    """Return a log's jobs, jittered, on its system."""
    file, system, only_gpus = LOGS[log]
    workload = traces.read(measure.archive_log(folder, file))
    if only_gpus:
        workload = workload.take(np.flatnonzero(takes_gpus(workload)))
    workload = workload.select(first=jobs or None)
    return fit(campaign.moved(workload, seed), systems.load(system))


def figures(run: Run) -> dict[str, Any]:
    """Return what is kept of a run."""
    schedule = run.schedule
    done = ended(schedule)
    start, end = schedule.start[done], schedule.end[done]
    wait = job_metrics.wait(schedule.workload.submit[done], start)
    slow = job_metrics.bounded_slowdown(wait, end - start)
    gpu = takes_gpus(schedule.workload)[done]
    use = summarize(schedule)["utilization"]
    other = float(wait[~gpu].mean()) / 3600 if (~gpu).any() else None
    counts = run.decisions
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
    }


def carry_out(args: argparse.Namespace, results: campaign.Results) -> None:
    """Run what has no result yet."""
    warm = set()
    for seed in range(1, args.seeds + 1):
        for log in args.log or LOGS:
            for dispatcher in args.dispatcher or DISPATCHERS:
                case = Case(log, args.jobs, args.predictor, dispatcher, seed)
                if case in results.rows:
                    continue
                if dispatcher not in warm:
                    # Kernels are compiled, or loaded, at their first call: not on a run's account.
                    warm.add(dispatcher)
                    few = fitted(args.traces, log, FEW, 0)
                    simulate(few, dispatcher=dispatcher, predictor=args.predictor)
                run = simulate(
                    fitted(args.traces, log, args.jobs, seed),
                    dispatcher=dispatcher,
                    predictor=args.predictor,
                    settings=Settings(seed=seed),
                )
                found = figures(run)
                results.add(case, {**found, "source": campaign.source()})
                print(f"{log} {dispatcher} seed {seed}: {found['cpu_s']:.1f} CPU s", flush=True)


def report(args: argparse.Namespace, results: campaign.Results) -> None:
    """Print a table of each log, as far as there are results."""
    for log in LOGS:
        rows: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        for case, row in results.rows.items():
            if (case.log, case.jobs, case.predictor) == (log, args.jobs, args.predictor):
                rows[case.dispatcher][case.seed] = row
        if BASE in rows:
            _table(log, args.predictor, rows)


def _table(log: str, predictor: str, rows: dict[str, dict[int, dict[str, Any]]]) -> None:
    seeds = sorted(set.intersection(*(set(of) for of in rows.values())))
    base = [rows[BASE][seed] for seed in seeds]
    lines = []
    for name, of in rows.items():
        runs = [of[seed] for seed in seeds]
        means = [_mean([run[key] for run in runs]) for key in FIGURES]
        ratios = [
            paired.shown(ratio([run[key] for run in runs], [run[key] for run in base]))
            for key in ("GPU wait h", "bsld")
        ]
        cost = [_mean([run["cpu_s"] for run in runs]), f"{runs[0]['decisions']:,}"]
        slow = f"{1000 * max(run['decision_p99_s'] for run in runs):.2f}"
        lines.append([f"`{name}`", *means, *ratios, *cost, slow])
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
    add("--traces", type=Path, required=True, help="folder with the two logs")
    add("--results", type=Path, default=Path("build/heterogeneous.jsonl"), help="file of results")
    add("--log", action="append", choices=tuple(LOGS), help="only this; repeat for more")
    add("--dispatcher", action="append", help="only this; repeat for more")
    add("--predictor", default="requested", help="[requested]")
    add("--jobs", type=int, default=0, help="first jobs of each log; 0: all [0]")
    add("--seeds", type=int, default=3, help="seeds 1 to this one [3]")
    args = parser.parse_args()
    results = campaign.Results(args.results)
    carry_out(args, results)
    report(args, results)


if __name__ == "__main__":
    main()
