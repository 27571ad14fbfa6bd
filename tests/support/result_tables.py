"""Results tables of runs that nobody simulated."""

from pathlib import Path

from cpsched.metrics.definitions import ALL
from cpsched.report.results_table import ResultsTable
from cpsched.study.comparisons import results_of
from cpsched.study.results import Results, RunResult
from cpsched.study.study import Baseline

COUNTS = {
    "in_log": 100, "excluded": 0, "rejected": 0, "simulated": 100, "completed": 90, "timeout": 10,
    "killed": 0, "cancelled": 0, "never_started": 0, "not_ended": 0, "attempts": 0,
}  # fmt: skip
EASY = {
    "response_by_area_s": 50_000.0, "wait_mean_s": 3600.0, "wait_p99.9_s": 86_400.0,
    "wait_max_s": 172_800.0, "bounded_slowdown_mean": 20.0, "steady_utilization_core": 0.8,
}  # fmt: skip


def run(dispatcher, seed=0, *, log="log", system="machine", predictor="requested", days=None,
        groups=None, knows=False, allocator="first-fit", outcomes=None, **values):  # fmt: skip
    """Return a finished run with these metrics; those of EASY and the usual counts by default."""
    return RunResult(
        path=Path(f"{dispatcher}-{seed}"),
        workload=log,
        system=system,
        dispatcher=dispatcher,
        predictor=predictor,
        seed=seed,
        metrics={ALL: COUNTS | EASY | values, **(groups or {})},
        days=days or {},
        timing={},
        dispatcher_spec="easy",
        allocator=allocator,
        knows_runtimes=knows,
        outcomes=outcomes or {},
    )


def repeated(dispatcher, number=3, *, spread=0.0, **values):
    """Return repetitions whose metrics are these values, a little apart."""
    return [
        run(dispatcher, seed, **{
            name: value * (1 + spread * (seed - 2)) if isinstance(value, float) else value
            for name, value in values.items()
        })
        for seed in range(1, number + 1)
    ]  # fmt: skip


def table(*runs, baseline=None, by_group=False, record=()):
    """Return the results table of runs; ``easy`` is the baseline."""
    baseline = baseline or Baseline(dispatcher="easy")
    by_key = {}
    for result in runs:
        by_key.setdefault(result.key, []).append(result)
    return ResultsTable(
        study=Results(
            title="runs", question="", baseline=baseline, runs=runs, missing=(), by_group=by_group
        ),
        rows=tuple(results_of(list(by_key.values()), baseline)),
        record=tuple(record),
    )
