"""
The contract of runtime predictors; implementations live in the package ``predictors``.

A predictor sees job tables, never a workload: what was known at submit, then the outcome of a job
once it has ended, in the order in which things become known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from cpsched.errors import DispatchError
from cpsched.model import columns as c
from cpsched.util.own_code import check_returns, method_of, repr_of, title
from cpsched.util.spec import RemembersArguments
from cpsched.util.types import MAX_TIME

if TYPE_CHECKING:
    from cpsched.model.jobstore import JobStore
    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.util.types import AnyArray, FloatArray, IntArray


#: Levels L of the quantiles a prediction may carry.
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: Seconds after the start; a prediction may carry the H chances that a job has ended by then.
HORIZONS = (60, 600, 3600)
_HORIZONS = np.array(HORIZONS)
#: Share of the jobs whose runtime should not exceed the bound of a prediction.
BOUND = 0.9
#: What rounding may add to a chance, or take from the order of chances.
_ROUNDING = 1e-9


class Prediction(NamedTuple):
    """
    Predicted runtimes of n jobs in seconds: three estimates, quantiles and probabilities.

    Runtimes above the requested time count as the requested time.

    Attributes
    ----------
    ranking_estimate
        Runtime for queue orders, int64, shape ``(n,)``.
    runtime_estimate
        Runtime for reservations, int64, shape ``(n,)``. Accuracy tables score it.
    runtime_bound
        Upper bound of the runtime, which at most one job in ten should exceed, int64, shape
        ``(n,)``.
    quantiles
        Quantiles of the runtime at the levels 0.1, 0.2, ..., 0.9 (:data:`LEVELS`), int64, shape
        ``(n, 9)``, each row non-decreasing. A job without quantiles has a row of -1. None: no job
        has any.
    ends_within
        Probability that the job runs for at most 60, 600 and 3600 s (:data:`HORIZONS`), float64,
        shape ``(n, 3)``, in ``[0, 1]``, each row non-decreasing. A job without probabilities has a
        row of NaN. None: no job has any.
    """

    ranking_estimate: IntArray
    runtime_estimate: IntArray
    runtime_bound: IntArray
    quantiles: IntArray | None = None
    ends_within: FloatArray | None = None

    @classmethod
    def point(cls, runtime: AnyArray) -> Self:
        """
        Return a prediction that uses one runtime per job for all three estimates, whole seconds.
        """
        value = np.asarray(runtime)
        # A list without an entry has a type, too, which says nothing.
        if value.dtype.kind in "iu" or not value.size:
            value = value.astype(np.int64, copy=False)
        return cls(value, value, value)


def answers_of(predictor: RuntimePredictor, prediction: Prediction, jobs: JobTable) -> Prediction:
    """
    Return a predictor's answers for each of n jobs, clipped if it wants that.

    Clipped are runtimes, to ``[1, requested time]``, and with them chances: a job ends by its
    requested time.

    Raises
    ------
    DispatchError
        If they are not one for each job, runtimes are not whole numbers or, unclipped, not
        possible, or quantiles or chances are not a distribution.
    """
    subject = f"{method_of(predictor, 'predict')}predictor '{predictor.name}' answers"
    if not isinstance(prediction, Prediction):
        raise DispatchError(f"{subject} with {type(prediction).__name__}, must be a Prediction")
    num = len(jobs.rows)
    for purpose, values in zip(Prediction._fields, prediction[:3], strict=False):
        if not isinstance(values, np.ndarray) or values.dtype.kind != "i":
            kind = getattr(values, "dtype", type(values).__name__)
            raise DispatchError(
                f"{subject} with {kind} for {purpose}, must be whole seconds (an array of int64)"
            )
        if values.shape != (num,):
            raise DispatchError(
                f"{subject} with shape {values.shape} for {purpose},"
                f" must be one value for each of the {num} jobs"
            )
    fault = distribution_fault(prediction.quantiles, prediction.ends_within, num)
    if fault is not None:
        raise DispatchError(f"{subject} with {fault}")
    if predictor.clipped:
        return _clipped(prediction, jobs.requested_time)
    for values in prediction[:3]:
        if values.min(initial=0) < 0 or values.max(initial=0) > MAX_TIME:
            wrong = int(values[(values < 0) | (values > MAX_TIME)][0])
            raise DispatchError(f"{subject} {wrong} s, must be from 0 to {MAX_TIME}")
    return prediction


def distribution_fault(quantiles: Any, ends_within: Any, num: int) -> str | None:
    """Say what is wrong with quantiles or chances of so many jobs, None where nothing is."""
    for name, values, kind, width in (
        ("quantiles", quantiles, "i", len(LEVELS)),
        ("ends_within", ends_within, "f", len(HORIZONS)),
    ):
        if values is None:
            continue
        if not isinstance(values, np.ndarray) or values.dtype.kind != kind:
            given = getattr(values, "dtype", type(values).__name__)
            wanted = "int64 (seconds)" if kind == "i" else "float64 (chances)"
            return f"{given} for {name}, must be an array of {wanted}"
        if values.shape != (num, width):
            return f"shape {values.shape} for {name}, must be ({num}, {width})"
    # Mostly one job at a time: lists are faster than arrays.
    for row in () if quantiles is None else quantiles.tolist():
        if not (row[0] >= 0 and row[-1] <= MAX_TIME and row == sorted(row)) and set(row) != {-1}:
            return (
                f"quantiles {row}, must be from 0 to {MAX_TIME} s and not decrease along the levels"
            )
    for row in () if ends_within is None else ends_within.tolist():
        steps = all(low <= high + _ROUNDING for low, high in pairwise(row))
        if not (steps and row[0] >= -_ROUNDING and row[-1] <= 1 + _ROUNDING):
            if all(chance != chance for chance in row):  # NaN
                continue
            return f"ends_within {row}, must be from 0 to 1 and not decrease along the horizons"
    return None


def _clipped(prediction: Prediction, requested_time: IntArray) -> Prediction:
    """Return the answers brought into what is possible for jobs with these requested times."""
    ranking, runtime, bound = (
        np.minimum(np.maximum(values, 1), requested_time) for values in prediction[:3]
    )
    quantiles, chances = prediction[3:]
    if quantiles is not None:
        unknown = quantiles[:, 0] == -1
        quantiles = np.minimum(np.maximum(quantiles, 1), requested_time[:, None])
        quantiles[unknown] = -1
    if chances is not None:
        # What is not known stays NaN.
        chances = np.minimum(np.maximum.accumulate(np.maximum(chances, 0.0), axis=1), 1.0)
        ends = (requested_time[:, None] <= _HORIZONS) & ~np.isnan(chances)
        chances[ends] = 1.0
    return Prediction(ranking, runtime, bound, quantiles, chances)


def write_down(store: JobStore, rows: AnyArray, prediction: Prediction) -> None:
    """Write checked answers for some rows into a job store."""
    answers = np.stack(prediction[:3], axis=1)
    store.writable[rows, c.RANKING_ESTIMATE : c.RUNTIME_BOUND + 1] = answers
    store.set_distribution(rows, prediction.quantiles, prediction.ends_within)


class Outcome(NamedTuple):
    """
    Runtimes and final status of n jobs that have just ended.

    Attributes
    ----------
    runtime
        Runtimes in seconds, shape ``(n,)``.
    status
        :class:`~cpsched.util.types.Status` codes, shape ``(n,)``.
    killed
        Whether each job was killed at its requested time, shape ``(n,)``.
    """

    runtime: IntArray
    status: IntArray
    killed: AnyArray


class RuntimePredictor(RemembersArguments, ABC):
    """
    Base class of predictors of runtimes.

    The order of calls is that of simulated time: :meth:`on_submit` and :meth:`predict` when jobs
    arrive, :meth:`on_start` when they start, :meth:`observe` when they end, :meth:`on_cancel` when
    they leave the queue without having run. ``cpsched.checks.of_predictors`` checks this contract.

    Attributes
    ----------
    name
        Name of the predictor in tables.
    clipped
        Whether runtimes below 1 s become 1 s, and those above the requested time become the
        requested time.
    is_request
        Whether the prediction is always the requested time. :meth:`predict` is then not called,
        because job tables have that value from the start.
    needs_truth
        Whether the predictor receives actual runtimes. Its predictions are then no forecasts.
    """

    name: str = ""
    clipped: bool = True
    is_request: bool = False
    needs_truth: bool = False

    def __init_subclass__(cls) -> None:
        """Have what a user's own class returns checked."""
        super().__init_subclass__()
        check_returns(cls, {"stats": _check_counts, "provenance": _check_texts})

    def on_epoch(self, epoch: int | None) -> None:
        """
        Set the Unix time of second 0 of the simulation. Called before :meth:`reset`.

        A predictor needs it to relate hours of the day in one log to those in another.

        Parameters
        ----------
        epoch
            Unix time, seconds. None if the log does not state it.
        """

    def reset(self, system: System, seed: int) -> None:
        """
        Clear everything learned, before a run starts.

        Parameters
        ----------
        system
            The system of the run.
        seed
            Seed of all random choices of the predictor.
        """

    def on_submit(self, jobs: JobTable, now: int) -> None:
        """Note jobs that have just been submitted, before :meth:`predict` is called for them."""

    def on_start(self, jobs: JobTable, now: int) -> None:
        """Note jobs that have just started."""

    def observe(self, jobs: JobTable, outcome: Outcome, now: int) -> None:
        """Learn from the runtimes and the status of jobs that have just ended."""

    def on_cancel(self, jobs: JobTable, now: int) -> None:
        """Forget waiting jobs that were cancelled. :meth:`observe` is not called for them."""

    @abstractmethod
    def predict(self, jobs: JobTable, now: int) -> Prediction:
        """
        Return the predicted runtimes of n jobs, in the order of the table.

        A call must not change later predictions. It may only change the counts of :meth:`stats`.
        """

    def stats(self) -> Mapping[str, int]:
        """
        Return counts by name, such as the number of fitted models. Equal runs have equal counts.
        """
        return {}

    def provenance(self) -> Mapping[str, str]:
        """Return the basis of predictions besides the options, such as the hash of a model file."""
        return {}

    def state(self) -> Mapping[str, Any]:
        """
        Return everything learned and the counts of :meth:`stats`, as arrays, scalars and strings.

        A checkpoint contains this mapping. Nested mappings are allowed. Categories such as users
        are stored as strings, because their codes differ between runs.
        """
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """
        Restore the result of :meth:`state`, in a predictor with the same options, after
        :meth:`reset`.
        """


def _check_counts(predictor: Any, stats: Any) -> None:
    if not isinstance(stats, Mapping) or not all(
        isinstance(value, int | np.integer) for value in stats.values()
    ):
        shown = f"{title(predictor)}.stats returns {repr_of(stats)}"
        raise DispatchError(f"{shown}, must be whole numbers by name")


def _check_texts(predictor: Any, texts: Any) -> None:
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        shown = f"{title(predictor)}.provenance returns {repr_of(texts)}"
        raise DispatchError(f"{shown}, must be texts by name")


def listens(predictor: RuntimePredictor, hook: str) -> bool:
    """Tell whether a predictor does anything in a hook, so that callers can skip it."""
    return getattr(type(predictor), hook) is not getattr(RuntimePredictor, hook)
