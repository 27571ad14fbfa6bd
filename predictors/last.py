"""The user's last runtimes as the prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import check_range
from cpsched.model.prediction import Outcome, Prediction, RuntimePredictor
from predictors.job_records import JobReader
from predictors.remembered import LIMIT, RecentRuntimes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System


#: Runtimes remembered of a user.
_MAX_COUNT = 1000


class Last(RuntimePredictor):
    """
    Mean runtime of the last ended jobs of the same user, by default of the last one.

    Parameters
    ----------
    count
        Number of jobs. 2 in Tsafrir, Etsion and Feitelson (2007), Backfilling using
        system-generated predictions rather than user runtime estimates, IEEE TPDS 18(6).
    limit
        Largest number of users that are remembered. The user longest without an ended job is
        forgotten first.

    Notes
    -----
    The prediction is the requested time until ``count`` jobs of the user have ended, and for jobs
    without a user.
    """

    name = "last"

    def __init__(self, count: int = 1, limit: int = LIMIT) -> None:
        check_range("count", count, 1, _MAX_COUNT)
        self._count = count
        self._recent = RecentRuntimes(count, limit)
        self._reader = JobReader(prefix="none")

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Clear the history of all users, before a run starts."""
        self._recent.clear()

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the mean of the user's last runtimes for each job, whole seconds, rounded up."""
        answers = []
        for job in self._reader.read(jobs):
            runtimes = self._recent.get(job.user, ())
            enough = len(runtimes) == self._count
            answers.append(-(-sum(runtimes) // self._count) if enough else job.requested_time)
        return Prediction.point(np.array(answers, dtype=np.int64))

    def observe(self, jobs: JobTable, outcome: Outcome, now: int) -> None:  # noqa: ARG002
        """Add the runtimes of ended jobs to the history of their users."""
        for job, runtime in zip(self._reader.read(jobs), outcome.runtime.tolist(), strict=True):
            if job.user is not None:
                self._recent.add(job.user, runtime)

    def state(self) -> Mapping[str, Any]:
        """Return the last runtimes of each user, for a checkpoint."""
        return {"recent": self._recent.dump()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        self._recent.load(state["recent"])
