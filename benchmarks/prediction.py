"""
How good predictors are, and what they do to schedules.

    python benchmarks/prediction.py accuracy --traces DIR [--only kth ctc] [--predictors NAME ...]
    python benchmarks/prediction.py leak --traces DIR [--only kth ctc]
    python benchmarks/prediction.py schedules --traces DIR [--only kth ctc] [--jitters N]

``accuracy``: whole logs, first tenth not scored, as ``cpsched evaluate``. ``leak``: how much better
histories look that know the runtimes of jobs which still run. ``schedules``: mean
bounded slowdown of EASY-SJBF and SDPRB on the first 20,000 jobs under each predictor, mean and
deviation over runs whose submit times are moved by up to 10 seconds (seeds 1 to N); with controls
``scaled:factor=0.1`` and ``actual:factor=0.5``. DIR holds logs of the Parallel Workloads Archive.
One process, one core; prints Markdown tables.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import measure
import numpy as np

from cpsched import systems, traces
from cpsched.mapping import Fitted, fit
from cpsched.metrics.summary import summarize
from cpsched.prediction import Outcome, Prediction
from cpsched.simulation.arrivals import Arrivals
from cpsched.simulation.simulate import simulate
from cpsched.study.sources import jittered
from predictors.evaluation import evaluate
from predictors.replay import starts_of
from predictors.unmapped import unmapped
from predictors.user_history import UserHistory

#: File, system to take jobs as (None: as the log has them), and the least runtime scored.
LOGS = {
    "kth": ("KTH-SP2-1996-2.1-cln.swf.gz", "kth-sp2", 0),
    "ctc": ("CTC-SP2-1996-3.1-cln.swf.gz", "ctc-sp2", 0),
    "hpc2n": ("HPC2N-2002-2.2-cln.swf.gz", "hpc2n", 0),
    "blue": ("SDSC-BLUE-2000-4.2-cln.swf.gz", "sdsc-blue", 0),
    "curie": ("CEA-Curie-2011-2.1-cln.swf.gz", None, 1),
    "atlas": ("LLNL-Atlas-2006-2.1-cln.swf.gz", "llnl-atlas", 0),
    "ricc": ("RICC-2010-2.swf.gz", "ricc", 0),
}
PREDICTORS = (
    "requested", "last-2", "user-history", "user-history-plus", "linear", "gbm-ratio", "gbm-log",
    "gbm-quantile", "stack",
)  # fmt: skip
CONTROLLED = (
    "requested", "scaled:factor=0.1", "last-2", "user-history", "user-history-plus", "gbm-ratio",
    "gbm-log", "stack", "actual", "actual:factor=0.5",
)  # fmt: skip
DISPATCHERS = ("easy:backfill=sjf", "prb:priority=slowdown")
#: Jobs simulated, and seconds by which a submit moves at most.
FIRST, MOST = 20_000, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("what", choices=("accuracy", "leak", "schedules"))
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=list(LOGS), choices=list(LOGS))
    parser.add_argument("--predictors", nargs="*", default=None)
    parser.add_argument("--jitters", type=int, default=3)
    parser.add_argument("--first", type=int, default=None)
    parser.add_argument("--json", type=Path, default=None)
    arguments = parser.parse_args()
    measured = {"accuracy": accuracy_of, "leak": leak_of, "schedules": schedules_of}[arguments.what]
    results = {name: measured(name, arguments) for name in arguments.only}
    libraries = ("cpsched", "numpy", "numba", "scikit-learn", "lightgbm")
    print(
        "\n" + ", ".join(f"{name} {found}" for name, found in measure.versions(libraries).items())
    )
    measure.save(arguments.json, {arguments.what: results})


def _workload(name: str, arguments: argparse.Namespace) -> Any:
    file, _, least = LOGS[name]
    workload = traces.read(measure.archive_log(arguments.traces, file))
    return workload.take(np.flatnonzero(workload.runtime >= least))


def _fitted(name: str, arguments: argparse.Namespace) -> Fitted:
    workload = _workload(name, arguments)
    system = LOGS[name][1]
    if arguments.first:
        workload = workload.take(np.arange(min(arguments.first, len(workload))))
    # The system shipped for HPC2N does not model memory, which rules and features use.
    if system is None or name == "hpc2n":
        return unmapped(workload)
    return fit(workload, systems.load(system), enforce_limits=False)


class Leaking(UserHistory):
    """The six rules, told runtimes when jobs start, or even when they are submitted: a cheat."""

    name = "leaking"

    def __init__(self, runtime: Any, *, at_submit: bool) -> None:
        super().__init__()
        self._runtime, self._at_submit = runtime, at_submit

    def predict(self, jobs: Any, now: int) -> Prediction:
        """Answer, then learn what was asked for."""
        answers = super().predict(jobs, now)
        if self._at_submit:
            self._cheat(jobs, now)
        return answers

    def on_start(self, jobs: Any, now: int) -> None:
        """Learn the runtimes of jobs that have just started."""
        if not self._at_submit:
            self._cheat(jobs, now)

    def observe(self, jobs: Any, outcome: Outcome, now: int) -> None:
        """Learn nothing: it was known."""

    def _cheat(self, jobs: Any, now: int) -> None:
        handles = jobs.handle
        super().observe(jobs, Outcome(self._runtime[handles], handles, handles), now)


def leak_of(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    fitted = _fitted(name, arguments)
    starts, runtime = starts_of(fitted), Arrivals(fitted).runtime
    histories: dict[str, Any] = {
        "honest": UserHistory(),
        "sees running jobs": Leaking(runtime, at_submit=False),
        "sees waiting jobs, too": Leaking(runtime, at_submit=True),
    }
    scores = {who: evaluate(fitted, starts, made).overall for who, made in histories.items()}
    rows = [
        (
            who, (score.mean_error_s or 0) / 60, score.median_log_error, score.close,
            (scores["honest"].mean_error_s or 0) / max(score.mean_error_s or 0, 1e-9),
        )
        for who, score in scores.items()
    ]  # fmt: skip
    columns = ("user-history", "mean error min", "median log error", "within 20 %", "looks better")
    measure.table(f"{name}: {scores['honest'].jobs:,} jobs", columns, rows)
    return [{"who": who, **score.to_dict()} for who, score in scores.items()]


def accuracy_of(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    fitted = _fitted(name, arguments)
    starts, rows, results = starts_of(fitted), [], []
    for predictor in arguments.predictors or PREDICTORS:
        done = evaluate(fitted, starts, predictor)
        score = done.overall
        refits = done.stats.get("refits", 0)
        results.append({"predictor": predictor, **score.to_dict(), "cpu_us": done.cpu_us})
        errors = (score.median_log_error, score.close, score.under, score.rank)
        mean = (score.mean_error_s or 0) / 60
        bound = (score.bound_exceeded, (score.bound_loss_s or 0) / 60)
        rows.append([predictor, mean, *errors, *bound, done.cpu_us, refits])
    columns = ("predictor", "mean error min", "median log error", "within 20 %", "too low")
    more = ("rank", "above bound", "bound's loss min", "CPU us/job, refits included", "refits")
    measure.table(f"{name}: {len(fitted.workload):,} jobs", columns + more, rows)
    return results


def schedules_of(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    workload = _workload(name, arguments)
    first = arguments.first or FIRST
    workload = workload.take(np.arange(min(first, len(workload))))
    machine = systems.load(LOGS[name][1] or "cea-curie")
    fits = [
        fit(jittered(workload, seed, MOST), machine) for seed in range(1, arguments.jitters + 1)
    ]
    rows, results = [], []
    for predictor in arguments.predictors or CONTROLLED:
        row: list[object] = [predictor]
        before = time.process_time()
        for dispatcher in DISPATCHERS:
            values = [_slowdown(fitted, dispatcher, predictor) for fitted in fits]
            results.append({"predictor": predictor, "dispatcher": dispatcher, "values": values})
            row.append(f"{np.mean(values):.1f} +- {np.std(values):.1f}")
        runs = len(DISPATCHERS) * len(fits)
        rows.append([*row, (time.process_time() - before) / runs])
        print(f"{name} {rows[-1]}", flush=True)
    title = (
        f"{name}: mean bounded slowdown, first {len(workload):,} jobs, {len(fits)} jittered runs"
    )
    measure.table(title, ("predictor", *DISPATCHERS, "CPU s a run"), rows)
    return results


def _slowdown(fitted: Fitted, dispatcher: str, predictor: str) -> float:
    run = simulate(fitted, dispatcher=dispatcher, predictor=predictor)
    return float(summarize(run.schedule)["bounded_slowdown"]["all"]["mean"])


if __name__ == "__main__":
    main()
