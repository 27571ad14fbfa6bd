"""
The contract of runtime predictors; implementations live in the package ``predictors``.

A predictor sees job tables, never a workload: what was known at submit, then the outcome of a job
once it has ended, in the order in which things become known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from cpsched.arguments import RemembersArguments
from cpsched.errors import DispatchError
from cpsched.model.types import MAX_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.model.types import AnyArray, IntArray


class Prediction(NamedTuple):
    """
    Predicted runtimes of n jobs in seconds; three answers that may differ.

    Attributes
    ----------
    ranking_estimate
        To rank jobs by, shape ``(n,)``.
    runtime_estimate
        To plan reservations with; the one accuracy tables score.
    runtime_bound
        What the runtime will hardly exceed.
    """

    ranking_estimate: IntArray
    runtime_estimate: IntArray
    runtime_bound: IntArray

    @classmethod
    def point(cls, runtime: AnyArray) -> Self:
        """Give one answer for all three purposes: whole seconds, one for each job."""
        value = np.asarray(runtime)
        # A list without an entry has a type, too, which says nothing.
        if value.dtype.kind in "iu" or not value.size:
            value = value.astype(np.int64, copy=False)
        return cls(value, value, value)


def answers_of(predictor: RuntimePredictor, prediction: Prediction, jobs: JobTable) -> IntArray:
    """
    Return a predictor's three answers for each of n jobs, clipped if it wants that.

    Returns
    -------
    ndarray
        int64, shape ``(n, 3)``: columns as the fields of :class:`Prediction`.

    Raises
    ------
    DispatchError
        If they are not whole numbers, not one for each job, or, unclipped, not runtimes.
    """
    if not isinstance(prediction, Prediction):
        raise DispatchError(
            f"predictor '{predictor.name}' answers with {type(prediction).__name__}, must be a"
            " Prediction"
        )
    num = len(jobs.rows)
    for purpose, values in zip(Prediction._fields, prediction, strict=True):
        if not isinstance(values, np.ndarray) or values.dtype.kind != "i":
            kind = getattr(values, "dtype", type(values).__name__)
            raise DispatchError(
                f"predictor '{predictor.name}' answers with {kind} for {purpose}, must be whole"
                " seconds (an array of int64)"
            )
        if values.shape != (num,):
            raise DispatchError(
                f"predictor '{predictor.name}' answers with shape {values.shape} for {purpose},"
                f" must be one value for each of the {num} jobs"
            )
    answers: IntArray = np.stack(prediction, axis=1)
    if predictor.clipped:
        return np.clip(answers, 1, jobs.requested_time[:, None])
    if answers.min(initial=0) < 0 or answers.max(initial=0) > MAX_TIME:
        wrong = int(answers[(answers < 0) | (answers > MAX_TIME)][0])
        raise DispatchError(
            f"predictor '{predictor.name}' answers {wrong} s, must be from 0 to {MAX_TIME}"
        )
    return answers


class Outcome(NamedTuple):
    """
    What became of n jobs that have just ended.

    Attributes
    ----------
    runtime
        Seconds they ran, shape ``(n,)``.
    status
        :class:`~cpsched.model.types.Status` codes.
    killed
        Whether the job was ended at its requested time.
    """

    runtime: IntArray
    status: IntArray
    killed: AnyArray


class RuntimePredictor(RemembersArguments, ABC):
    """
    Predicts how long jobs will run.

    The order of calls is that of simulated time: :meth:`on_submit` and :meth:`predict` when jobs
    arrive, :meth:`on_start` when they start, :meth:`observe` when they end, :meth:`on_cancel` when
    they leave the queue without having run. Predictions are clipped to ``[1, requested time]`` by
    the caller unless :attr:`clipped` is False. ``predictors.checks`` checks what is promised here.

    Attributes
    ----------
    name
        What the predictor is called in tables.
    clipped
        Whether its answers are brought into ``[1, requested time]``.
    is_request
        Whether its answer is always the requested time. That is what job tables hold before a
        predictor has answered, so it need not be asked.
    """

    name: str = ""
    clipped: bool = True
    is_request: bool = False

    def on_epoch(self, epoch: int | None) -> None:
        """
        Take note of the Unix time of second 0, None where it is not known; before :meth:`reset`.

        So that what was learnt of one log's hours holds for another's.
        """

    def reset(self, system: System, seed: int) -> None:
        """Forget everything learnt, before a run starts."""

    def on_submit(self, jobs: JobTable, now: int) -> None:
        """Take note of jobs that have just arrived."""

    def on_start(self, jobs: JobTable, now: int) -> None:
        """Take note of jobs that have just started."""

    def observe(self, jobs: JobTable, outcome: Outcome, now: int) -> None:
        """Learn from jobs that have just ended."""

    def on_cancel(self, jobs: JobTable, now: int) -> None:
        """Forget jobs that were cancelled while they waited; they will not be observed."""

    @abstractmethod
    def predict(self, jobs: JobTable, now: int) -> Prediction:
        """
        Predict the runtimes of jobs, in table order.

        Asking changes no later answer; only :meth:`stats` may count it.
        """

    def stats(self) -> Mapping[str, int]:
        """Return counts worth showing, the same in equal runs: rules used, refits, ..."""
        return {}

    def provenance(self) -> Mapping[str, str]:
        """Return what the answers rest on besides the options: the hash of a model file, ..."""
        return {}

    def state(self) -> Mapping[str, Any]:
        """
        Return everything learnt, and the counts, as arrays, scalars and strings.

        Nested mappings are allowed. Categories are kept as strings: their codes are of one run.
        """
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave, in a predictor made and reset like that one."""


def listens(predictor: RuntimePredictor, hook: str) -> bool:
    """Tell whether a predictor does anything in a hook, so that callers can skip it."""
    return getattr(type(predictor), hook) is not getattr(RuntimePredictor, hook)
