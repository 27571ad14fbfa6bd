"""Learning a predictor from a whole log, and writing it to a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.metrics.predictions import job_sample
from cpsched.study.prediction.evaluation import evaluate
from cpsched.util.spec import Spec, build
from predictors import model_file
from predictors.learned import Learned

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.study.prediction.evaluation import Evaluation
    from cpsched.study.prediction.replay import JobStarts
    from cpsched.systems.mapping import Fitted


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """
    A predictor that has seen a log.

    Attributes
    ----------
    predictor
        With its last model fitted to the end of the log.
    evaluation
        How good it was on the way: every job predicted before it was learnt from.
    """

    predictor: Learned
    evaluation: Evaluation


def learner(spec: str) -> Learned:
    """
    Make the predictor a specification names.

    Raises
    ------
    ConfigError
        If it is unknown, or learns nothing that could be saved.
    """
    made = build("predictors", spec, truth=lambda handle: handle)
    if not isinstance(made, Learned):
        raise ConfigError(
            f"'{Spec.parse(spec).name}' has no model to train. Use gbm-log or gbm-quantile.",
            key="--predictor",
        )
    if made.frozen:
        raise ConfigError(
            "a frozen model learns nothing. Leave 'frozen' out to train it further",
            key="--predictor",
        )
    return made


def train(
    fitted: Fitted,
    starts: JobStarts,
    spec: str,
    *,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Training:
    """
    Train a predictor on a log, and fit its model at the last submit of the log.

    Parameters
    ----------
    fitted
        The jobs. Rejected jobs are left out.
    starts
        Starts of the jobs, see :func:`cpsched.study.prediction.replay.starts_of`.
    spec
        Specification of a predictor that learns, such as ``gbm-log:trees=50``.
    seed
        Seed of the predictor.
    progress
        Called from time to time with the number of jobs submitted so far.

    Raises
    ------
    ConfigError
        If the predictor does not learn, or the log is too short for a model.
    """
    predictor = learner(spec)
    evaluation = evaluate(fitted, starts, predictor, seed=seed, progress=progress)
    workload = fitted.workload
    predictor.refit(int(workload.submit[-1]) if len(workload) else 0)
    if not predictor.ready:
        raise ConfigError(
            f"{len(evaluation.rows):,} jobs are too few for a model. Give a longer log, or a lower"
            " start (--predictor gbm-log:start=N).",
            where=workload.title,
        )
    return Training(predictor, evaluation)


def save(path: str | Path, training: Training, fitted: Fitted, spec: str) -> None:
    """
    Write a trained predictor to a model file, with the log's name and digest, and the options.

    Parameters
    ----------
    training
        Result of :func:`train`.
    fitted, spec
        The arguments of :func:`train`.
    """
    workload, rows = fitted.workload, training.evaluation.rows
    training.predictor.drop_unfinished()
    trained = {
        "options": str(Spec.parse(spec)),
        "workload": workload.title,
        "workload_sha256": workload.digest(),
        "jobs_sample": job_sample(workload.take(rows)),
        "system": fitted.system.name,
        "jobs": len(rows),
        "first_submit": int(workload.submit[rows[0]]),
        "last_submit": int(workload.submit[rows[-1]]),
        "epoch": workload.epoch,
        "hours_from": training.predictor.hours_from,
        "before": training.predictor.trained_before(),
    }
    made = training.predictor
    model_file.write(Path(path), made.name, made.state(), trained)
