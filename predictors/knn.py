"""Distributions of runtimes: those of the user's jobs and of similar jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched import _core
from cpsched.dispatch.runtime_distribution import RuntimeHistory, facts_of
from cpsched.model.prediction import HORIZONS, LEVELS, Outcome, Prediction, RuntimePredictor
from predictors.job_records import JobReader
from predictors.remembered import LIMIT, Remembered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.util.types import FloatArray, IntArray
    from predictors.job_records import JobRecord

_HORIZONS = np.array(HORIZONS, dtype=np.int64)
_LEVELS = np.array(LEVELS)


class Knn(RuntimePredictor):
    """
    Empirical runtime distribution of the ended jobs most similar to a job (k nearest neighbours).

    The order ``wsept`` uses the same distribution (:mod:`cpsched.dispatch.runtime_distribution`).
    Queue orders get an estimate from the distribution. Reservations and upper bounds get the
    requested time.

    Parameters
    ----------
    limit
        Largest number of users that are remembered. The user longest without an ended job is
        forgotten first.
    """

    name = "knn"

    def __init__(self, limit: int = LIMIT) -> None:
        self._reader = JobReader()
        self._limit = limit
        #: Numbers of users in the history.
        self._users: Remembered[int] = Remembered(limit)
        self._history = RuntimeHistory()

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Clear the history of all jobs, before a run starts."""
        self._users.clear()
        self._history = RuntimeHistory()

    def observe(self, jobs: JobTable, outcome: Outcome, now: int) -> None:  # noqa: ARG002
        """Add the runtimes of ended jobs to the history, including failed jobs."""
        for job, runtime in zip(self._reader.read(jobs), outcome.runtime.tolist(), strict=True):
            [facts] = _facts([job], [self._number(job.user)]).tolist()
            self._history.learn(facts, max(runtime, 1))

    def _number(self, user: str | None) -> int:
        """Return the number of a user of whom a job has ended, one that is forgotten in need."""
        if user is None:
            return -1
        number = self._users.get(user)
        if number is None:
            number = len(self._users)
            if number == self._limit:
                _, number = self._users.popitem(last=False)
                self._history.forget_user(number)
        self._users.put(user, number)
        return number

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the runtime distribution of each job."""
        read, requested = self._reader.read(jobs), jobs.requested_time
        numbers = [-1 if job.user is None else self._users.get(job.user, -1) for job in read]
        runtime, weight, _ = self._history.distribution(_facts(read, numbers))
        quantiles, chances, typical = distributions(runtime, weight, requested)
        ranking = np.rint(typical).astype(np.int64)
        return Prediction(ranking, requested, requested, quantiles, chances)

    def state(self) -> Mapping[str, Any]:
        """Return the history of ended jobs, for a checkpoint."""
        return {"history": self._history.state(), "numbers": self._users.dump()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        self._history.restore(state["history"])
        self._users.take(state["numbers"], int)


def _facts(jobs: Sequence[JobRecord], users: list[int]) -> FloatArray:
    limit = np.array([job.requested_time for job in jobs], dtype=np.int64)
    cores = np.array([job.units * job.needs[0] for job in jobs], dtype=np.int64)
    return facts_of(np.array(users, dtype=np.int64), limit, limit, cores)


def distributions(
    runtime: FloatArray, weight: FloatArray, requested_time: IntArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """
    Return quantiles and chances of n jobs, and runtimes to rank them by.

    Parameters
    ----------
    runtime, weight
        Possible runtimes and their weights, at least one more than 0, shape ``(n, K)``.
    requested_time
        Shape ``(n,)``; no runtime is above.

    Returns
    -------
    quantiles, chances, typical
        As in :class:`~cpsched.model.prediction.Prediction`; and ``sqrt(E[r] / E[1 / max(r, 10)])``,
        shape ``(n,)``: the rule of Smith (1956) for the bounded slowdown.
    """
    limit = np.maximum(requested_time, 1)
    quantiles, chances, typical = _core.runtime_predictions(
        runtime, weight, limit, _HORIZONS, _LEVELS
    )
    return quantiles, chances, typical
