"""The user's last runtimes as the prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.model.prediction import Outcome, Prediction, RuntimePredictor
from predictors.history import LIMIT
from predictors.job_records import JobReader
from predictors.recent_runtimes import RecentRuntimes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System


class Last(RuntimePredictor):
    """
    Predicts the runtime of the user's last job that has ended.

    Parameters
    ----------
    limit
        Users remembered; the one longest without an ended job is forgotten first.

    Notes
    -----
    The requested time, until a job of the user has ended. Jobs without a user have no history.
    """

    name = "last"
    #: Runtimes the prediction is the mean of.
    count = 1

    def __init__(self, limit: int = LIMIT) -> None:
        self._recent = RecentRuntimes(self.count, limit)
        self._reader = JobReader(prefix="none")

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Forget all users."""
        self._recent.clear()

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the mean of the last runtimes, in whole seconds rounded up."""
        answers = []
        for job in self._reader.read(jobs):
            runtimes = self._recent.get(job.user, ())
            enough = len(runtimes) == self.count
            answers.append(-(-sum(runtimes) // self.count) if enough else job.requested_time)
        return Prediction.point(np.array(answers, dtype=np.int64))

    def observe(self, jobs: JobTable, outcome: Outcome, now: int) -> None:  # noqa: ARG002
        """Remember the runtimes."""
        for job, runtime in zip(self._reader.read(jobs), outcome.runtime.tolist(), strict=True):
            if job.user is not None:
                self._recent.add(job.user, runtime)

    def state(self) -> Mapping[str, Any]:
        """Return the last runtimes of each user."""
        return {"recent": self._recent.dump()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self._recent.load(state["recent"])


class LastTwo(Last):
    """
    Predicts the mean runtime of the user's last two jobs that have ended.

    Parameters
    ----------
    limit
        Users remembered.

    Notes
    -----
    Tsafrir, Etsion and Feitelson (2007), Backfilling using system-generated predictions rather
    than user runtime estimates, IEEE TPDS 18(6). The requested time, until two jobs have ended.
    """

    name = "last-2"
    count = 2
