"""Judging predictors on a log: everything is predicted at submit with what was known then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError
from cpsched.metrics.jobs import CLASSES, MEDIUM_LIMIT, SHORT_LIMIT
from cpsched.model.jobtable import JobTable
from cpsched.model.prediction import HORIZONS, LEVELS
from cpsched.study.prediction.accuracy import (
    Accuracy,
    DistributionScore,
    accuracy,
    distribution_score,
)
from cpsched.study.prediction.replay import JobStarts, PredictorReplay
from cpsched.util.spec import Spec, build
from cpsched.util.words import brief, counted, duration, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cpsched.model.prediction import RuntimePredictor
    from cpsched.systems.mapping import Fitted
    from cpsched.util.types import AnyArray, FloatArray, IntArray

#: Share of the jobs, the first by submit, that are predicted and learnt from but not scored.
WARMUP = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Evaluation:
    """
    Predictions of a predictor for the jobs of a log, and their accuracy: A jobs.

    Attributes
    ----------
    predictor
        Canonical specification of the predictor.
    rows
        Rows of the predicted jobs in the workload, int64, shape ``(A,)``.
    ranking_estimate, runtime_estimate, runtime_bound
        Predicted runtimes of each job, seconds.
    quantiles, ends_within
        Predicted quantiles and probabilities (:class:`~cpsched.model.prediction.Prediction`). None
        if there are none.
    scored
        Position of the first scored job. The predictor only learns from those before it.
    overall
        Errors over all scored jobs.
    by_class
        Errors of ``short`` (at most 1 h), ``medium`` (at most 12 h) and ``long`` jobs, by runtime.
    distribution
        Scores of quantiles and probabilities. None if there are none.
    stats
        Counts of the predictor over all A jobs, such as uses of a rule.
    provenance
        Basis of the predictions besides the options, such as the hash of a model file.
    cpu_us
        Microseconds of CPU time that the predictor used per job.
    """

    predictor: str
    rows: IntArray
    ranking_estimate: IntArray
    runtime_estimate: IntArray
    runtime_bound: IntArray
    quantiles: IntArray | None
    ends_within: FloatArray | None
    scored: int
    overall: Accuracy
    by_class: Mapping[str, Accuracy]
    distribution: DistributionScore | None
    stats: Mapping[str, int]
    provenance: Mapping[str, str]
    cpu_us: float

    def __repr__(self) -> str:
        errors = ""
        if self.overall.mean_error_s is not None and self.overall.close is not None:
            mean = duration(self.overall.mean_error_s)
            errors = (
                f", mean error {mean}, {percent(self.overall.close)} within a fifth of the runtime"
            )
        return (
            f"<Evaluation of {brief(self.predictor)}: {counted(self.overall.jobs, 'job')}{errors}>"
        )


def evaluate(
    fitted: Fitted,
    starts: JobStarts,
    predictor: str | RuntimePredictor,
    *,
    seed: int = 0,
    warmup: float = WARMUP,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """
    Predict every job of a log in the order of the log, and score the predictions.

    Parameters
    ----------
    fitted
        The jobs. Rejected jobs are left out.
    starts
        Their starts, see :func:`cpsched.study.prediction.replay.starts_of`.
    predictor
        A specification like ``user-history:prefix=4``, or an object.
    seed
        Seed of the predictor.
    warmup
        Share of the jobs that is not scored, the first by submit, in ``[0, 1)``.
    progress
        Called from time to time with the number of jobs submitted so far.

    Raises
    ------
    ConfigError
        If the predictor or an option of it is unknown, or ``warmup`` is impossible.
    """
    if not 0 <= warmup < 1:
        raise ConfigError(f"warmup is {warmup}, must be at least 0 and below 1")
    truth = _Truth()
    spec = predictor if isinstance(predictor, str) else predictor.name
    made = build("predictors", predictor, truth=truth) if isinstance(predictor, str) else predictor
    replay = PredictorReplay(fitted, starts.start, made, seed=seed)
    truth.runtime = replay.arrivals.runtime
    replay.run(progress=progress)
    return _scored(replay, str(Spec.parse(spec)), warmup)


def _scored(replay: PredictorReplay, spec: str, warmup: float) -> Evaluation:
    """Return the scores of the predictions of a replay."""
    arrivals, predictor = replay.arrivals, replay.predictor
    rows, runtime, requested = arrivals.workload_row, arrivals.runtime, arrivals.requested_time
    ranking, plan, bound = (np.ascontiguousarray(column) for column in replay.answers.T)
    everybody = JobTable(replay.store, np.arange(len(rows), dtype=np.int64))
    quantiles, chances = everybody.runtime_quantiles, everybody.ends_within
    scored = slice(int(len(rows) * warmup), None)
    cut = np.minimum(runtime, requested)[scored]

    def score(chosen: AnyArray) -> Accuracy:
        given = (plan, bound, runtime, requested)
        return accuracy(*(values[scored][chosen] for values in given))

    classes = np.digitize(runtime[scored], [SHORT_LIMIT, MEDIUM_LIMIT], right=True)
    return Evaluation(
        predictor=spec,
        rows=rows,
        ranking_estimate=ranking,
        runtime_estimate=plan,
        runtime_bound=bound,
        quantiles=quantiles,
        ends_within=chances,
        scored=scored.start,
        overall=score(classes >= 0),
        by_class={name: score(classes == code) for code, name in enumerate(CLASSES)},
        distribution=None
        if quantiles is None
        else distribution_score(
            quantiles[scored],
            None if chances is None else chances[scored],
            cut,
            requested[scored],
        ),
        stats=dict(predictor.stats()),
        provenance=dict(predictor.provenance()),
        cpu_us=1e6 * max(replay.cpu, 0.0) / max(len(rows), 1),
    )


class _Truth:
    """The runtimes by handle, for the one predictor that is given them on purpose."""

    runtime: IntArray

    def __call__(self, handle: IntArray) -> IntArray:
        return self.runtime[handle]


def to_columns(fitted: Fitted, evaluations: list[Evaluation]) -> dict[str, Any]:
    """
    Return all answers as columns, one row a job and predictor.

    ``predictor``, ``job_id``, ``submit``, ``requested_time``, ``runtime`` (seconds), ``scored``,
    and the three answers ``ranking_estimate``, ``runtime_estimate`` and
    ``runtime_bound``; where some predictor gives them, ``quantile_10`` to ``quantile_90`` (percent)
    and ``ends_within_60`` to ``ends_within_3600`` (seconds), empty for those that give none.
    """
    from cpsched.util import arrow

    workload = fitted.workload
    rows = np.concatenate([item.rows for item in evaluations])
    names = [item.predictor for item in evaluations for _ in range(len(item.rows))]
    scored = [np.arange(len(item.rows)) >= item.scored for item in evaluations]
    columns = {
        "predictor": arrow.strings(names),
        "job_id": arrow.strings(workload.job_id[rows].tolist()),
    }
    for name in ("submit", "requested_time", "runtime"):
        columns[name] = arrow.numbers(getattr(workload, name)[rows])
    columns["scored"] = arrow.numbers(np.concatenate(scored))
    for name in ("ranking_estimate", "runtime_estimate", "runtime_bound"):
        columns[name] = arrow.numbers(np.concatenate([getattr(item, name) for item in evaluations]))
    for name, labels in _DISTRIBUTION.items():
        given = [getattr(item, name) for item in evaluations]
        if all(values is None for values in given):
            continue
        blocks = [
            np.full((len(item.rows), len(labels)), np.nan) if values is None else values
            for item, values in zip(evaluations, given, strict=True)
        ]
        block = np.concatenate(blocks)
        known = block >= 0  # neither -1 nor NaN
        for at, label in enumerate(labels):
            columns[label] = arrow.numbers(block[:, at], known[:, at])
    return columns


#: Columns of quantiles and of chances.
_DISTRIBUTION = {
    "quantiles": [f"quantile_{round(100 * level)}" for level in LEVELS],
    "ends_within": [f"ends_within_{horizon}" for horizon in HORIZONS],
}
