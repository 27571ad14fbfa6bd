"""Likely runtimes: the runtimes of the user's jobs and of similar jobs."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.predictors import (
    HORIZONS,
    LEVELS,
    Outcome,
    Prediction,
    RuntimeHistory,
    RuntimePredictor,
    facts_of,
)
from predictors import kernels
from predictors.history import LIMIT
from predictors.job_records import JobReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import FloatArray, IntArray, JobTable, System
    from predictors.job_records import JobRecord

_HORIZONS = np.array(HORIZONS, dtype=np.int64)
_LEVELS = np.array(LEVELS)


class LikelyRuntimes:
    """
    Runtimes of the jobs that ended last, by user and of all, in bounded memory.

    Parameters
    ----------
    limit
        Users remembered; the one longest without an ended job is forgotten first.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._history = RuntimeHistory()
        self._users: OrderedDict[str, int] = OrderedDict()

    def learn(self, job: JobRecord, runtime: int) -> None:
        """Add a job that has just ended."""
        facts = self._facts([job], [self._touch(job.user)])[0]
        self._history.learn(facts.tolist(), max(runtime, 1))

    def _facts(self, jobs: Sequence[JobRecord], users: list[int]) -> FloatArray:
        limit = np.array([job.requested_time for job in jobs], dtype=np.int64)
        cores = np.array([job.units * job.needs[0] for job in jobs], dtype=np.int64)
        return facts_of(np.array(users, dtype=np.int64), limit, limit, cores)

    def _touch(self, user: str | None) -> int:
        """Return the number of a user for whom something happens."""
        if user is None:
            return -1
        users = self._users
        if user not in users:
            if len(users) < self._limit:
                users[user] = len(users)
            else:
                _, users[user] = users.popitem(last=False)
                self._history.forget_user(users[user])
        users.move_to_end(user)
        return users[user]

    def likely(self, jobs: Sequence[JobRecord]) -> tuple[IntArray, FloatArray]:
        """Return likely runtimes of n jobs, seconds, and their weights, shape ``(n, K)``."""
        numbers = [-1 if job.user is None else self._users.get(job.user, -1) for job in jobs]
        found = self._history.likely(self._facts(jobs, numbers))
        return found.runtime.astype(np.int64), found.weight

    def state(self) -> dict[str, Any]:
        """Return everything."""
        return {"history": self._history.state(), "numbers": json.dumps(list(self._users.items()))}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self._history.restore(state["history"])
        self._users = OrderedDict((str(user), int(n)) for user, n in json.loads(state["numbers"]))


def distributions(
    value: IntArray,
    weight: FloatArray,
    requested_time: IntArray,
    chances: FloatArray | None = None,
    asked: FloatArray = _LEVELS,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """
    Return quantiles, chances and runtimes to rank by, see :func:`predictors.kernels.distribute`.

    Parameters
    ----------
    value, weight
        Likely runtimes, shape ``(n, K)``.
    requested_time
        Shape ``(n,)``.
    chances
        To end within :data:`~cpsched.model.prediction.HORIZONS`, shape ``(n, H)``; rows of NaN, and
        None, are what the likely runtimes say.
    asked
        Levels of the likely runtimes taken for :data:`~cpsched.model.prediction.LEVELS`.
    """
    num = len(value)
    requested = np.maximum(requested_time, 1)
    chances = np.full((num, len(HORIZONS)), np.nan) if chances is None else chances.copy()
    chances[requested[:, None] <= _HORIZONS] = 1.0
    unknown = np.isnan(chances).any(axis=1)
    chances[unknown] = np.nan
    quantiles = np.empty((num, len(LEVELS)), dtype=np.int64)
    typical = np.empty(num)
    kernels.distribute(
        value, weight, requested, _HORIZONS, _LEVELS, asked, chances, quantiles, typical
    )
    return quantiles, chances, typical


class JobsAlike(RuntimePredictor):
    """
    Predicts how a job's runtime is distributed, by what the jobs most like it ran.

    The likely runtimes of ``rollout`` and ``urgency`` (:mod:`cpsched.kernels.likely`), of which
    nothing was predicted, as a predictor. Order is by the distribution, plan and bound are the
    requested time.

    Parameters
    ----------
    limit
        Users remembered.
    """

    name = "jobs-alike"

    def __init__(self, limit: int = LIMIT) -> None:
        self._reader = JobReader()
        self._likely_runtimes = LikelyRuntimes(limit)

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Forget all jobs."""
        self._likely_runtimes.clear()

    def observe(self, jobs: JobTable, outcome: Outcome, now: int) -> None:  # noqa: ARG002
        """Remember the runtimes, of jobs that failed too."""
        for job, runtime in zip(self._reader.read(jobs), outcome.runtime.tolist(), strict=True):
            self._likely_runtimes.learn(job, runtime)

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the distribution of each job."""
        value, weight = self._likely_runtimes.likely(self._reader.read(jobs))
        requested = jobs.requested_time
        quantiles, chances, typical = distributions(value, weight, requested)
        ranking = np.rint(typical).astype(np.int64)
        return Prediction(ranking, requested, requested, quantiles, chances)

    def state(self) -> Mapping[str, Any]:
        """Return what is remembered."""
        return self._likely_runtimes.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self._likely_runtimes.restore(state)
