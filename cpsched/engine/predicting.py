"""What is predicted of jobs: written down at submit, and corrected once it has passed."""

from __future__ import annotations

from enum import StrEnum
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError
from cpsched.model.prediction import (
    HORIZONS,
    LEVELS,
    Prediction,
    answers_of,
    distribution_fault,
    listens,
    write_down,
)
from cpsched.util.types import MAX_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cpsched.model.jobstore import JobStore
    from cpsched.model.jobtable import JobTable
    from cpsched.model.prediction import RuntimePredictor
    from cpsched.util.types import FloatArray, IntArray


class Correction(StrEnum):
    """Rule for the expected end of a running job that has run longer than predicted."""

    REQUESTED = "requested"
    """At its requested time."""
    DOUBLE = "double"
    """After twice the time expected so far, but no later than its requested time."""


def predict(predictor: RuntimePredictor, store: JobStore, jobs: JobTable, now: int) -> None:
    """Ask about jobs that have just arrived, and write the answers, clipped, into the store."""
    if predictor.is_request:
        return
    if listens(predictor, "on_submit"):
        predictor.on_submit(jobs, now)
    write_down(store, jobs.rows, answers_of(predictor, predictor.predict(jobs, now), jobs))


def checked_prediction(predicted: Sequence[Any]) -> Prediction:
    """
    Return what calling code predicts for one job.

    Parameters
    ----------
    predicted
        In the order of :class:`~cpsched.model.prediction.Prediction`: three runtimes; then, where
        they
        are known, its quantiles and its chances.

    Raises
    ------
    ConfigError
        If they are not that.
    """
    fault: str | None = ""
    try:
        answers = [index(seconds) for seconds in predicted[:3]]
        quantiles, ends_within = _distribution(*predicted[3:])
        if len(answers) == 3 and min(answers) >= 0 and max(answers) <= MAX_TIME:
            fault = distribution_fault(quantiles, ends_within, 1)
    except (TypeError, ValueError):
        pass
    if fault is not None:
        raise ConfigError(
            f"is {predicted!r:.80}, {fault and f'with {fault}, '}must be three whole numbers of"
            f" seconds from 0 to {MAX_TIME} (ranking_estimate, runtime_estimate, runtime_bound),"
            f" then, if known, {len(LEVELS)} quantiles and {len(HORIZONS)} probabilities",
            where="Cluster.submit",
            key="predicted",
        )
    ranking, runtime, bound = (np.array([seconds]) for seconds in answers)
    return Prediction(ranking, runtime, bound, quantiles, ends_within)


def _distribution(
    quantiles: Iterable[int] | None = None, ends_within: Iterable[float] | None = None
) -> tuple[IntArray | None, FloatArray | None]:
    """Return the quantiles and chances of one job as arrays of one row."""
    return (
        None if quantiles is None else np.array([[index(seconds) for seconds in quantiles]]),
        None if ends_within is None else np.array([[float(chance) for chance in ends_within]]),
    )
