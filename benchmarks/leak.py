"""
How much better histories look that know the runtimes of jobs which still run: a leak, to compare.

    python benchmarks/leak.py --traces DIR [--only kth ctc]

Whole logs of the Parallel Workloads Archive in DIR, first tenth not scored, as ``cpsched
evaluate``. One process, one core; prints Markdown tables.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import measure
import numpy as np

from cpsched import logs, systems
from cpsched.model.prediction import Outcome, Prediction
from cpsched.simulation.arrivals import JobStream
from cpsched.study.prediction.evaluation import evaluate
from cpsched.study.prediction.replay import starts_of, unmapped
from cpsched.systems.mapping import Fitted, fit
from predictors.user_history import UserHistory

#: File, system to take jobs as (None: as the log has them), and the least runtime scored. The
#: system shipped for HPC2N does not model memory, which rules and features use.
LOGS = {
    "kth": ("KTH-SP2-1996-2.1-cln.swf.gz", "kth-sp2", 0),
    "ctc": ("CTC-SP2-1996-3.1-cln.swf.gz", "ctc-sp2", 0),
    "hpc2n": ("HPC2N-2002-2.2-cln.swf.gz", None, 0),
    "blue": ("SDSC-BLUE-2000-4.2-cln.swf.gz", "sdsc-blue", 0),
    "curie": ("CEA-Curie-2011-2.1-cln.swf.gz", None, 1),
    "atlas": ("LLNL-Atlas-2006-2.1-cln.swf.gz", "llnl-atlas", 0),
    "ricc": ("RICC-2010-2.swf.gz", "ricc", 0),
}


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


def fitted(name: str, folder: Path, first: int | None) -> Fitted:
    """Return a log's jobs on its system."""
    file, system, least = LOGS[name]
    workload = logs.read(measure.archive_log(folder, file))
    workload = workload.take(np.flatnonzero(workload.runtime >= least)).select(first=first)
    if system is None:
        return unmapped(workload)
    return fit(workload, systems.load(system), enforce_time_limits=False)


def leak_of(name: str, jobs: Fitted) -> list[dict[str, Any]]:
    """Print the errors of honest and of cheating histories, and return their scores."""
    starts, runtime = starts_of(jobs), JobStream(jobs).runtime
    histories: dict[str, Any] = {
        "honest": UserHistory(),
        "sees running jobs": Leaking(runtime, at_submit=False),
        "sees waiting jobs, too": Leaking(runtime, at_submit=True),
    }
    scores = {what: evaluate(jobs, starts, made).overall for what, made in histories.items()}
    rows = [
        (
            what, (score.mean_error_s or 0) / 60, score.median_log_error, score.close,
            (scores["honest"].mean_error_s or 0) / max(score.mean_error_s or 0, 1e-9),
        )
        for what, score in scores.items()
    ]  # fmt: skip
    columns = ("user-history", "mean error min", "median log error", "within 20 %", "looks better")
    measure.table(f"{name}: {scores['honest'].jobs:,} jobs", columns, rows)
    return [{"who": what, **score.to_dict()} for what, score in scores.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=list(LOGS), choices=list(LOGS))
    parser.add_argument("--first", type=int, default=None, help="jobs of each log [all]")
    parser.add_argument("--json", type=Path, default=None)
    args = parser.parse_args()
    leaks = {name: leak_of(name, fitted(name, args.traces, args.first)) for name in args.only}
    measure.save(args.json, leaks)


if __name__ == "__main__":
    main()
