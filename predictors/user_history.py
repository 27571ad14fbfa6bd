"""Runtimes as those of the user's earlier jobs that are most alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.model.prediction import Outcome, Prediction, RuntimePredictor
from predictors.history import History, median
from predictors.job_records import JobReader
from predictors.remembered import LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System


class UserHistory(RuntimePredictor):
    """
    Runtime of the most similar of the user's ended jobs, the newest first (D in Remediani 2017).

    Parameters
    ----------
    prefix
        Prefix of a job name: ``stem`` (the text before the first digit), a number of characters, or
        ``none``.
    memory
        Whether the requested memory is compared too. In the thesis it is not.
    limit
        Largest number of keys that each rule remembers. A key is a user with the properties that
        the rule compares. The key longest without an ended job is forgotten first.

    Notes
    -----
    The six rules of Remediani (2017), section 3.1.2. The first rule with a match applies, and the
    newest match (by end) is taken: (1) the full profile: name, queue, requested time, cores, GPUs,
    MICs, nodes. (2) The same with the prefix of the name. (3) As 1, with any resources. (4) As 2,
    with any resources. (5) The name, else its prefix. (6) The requested time.
    """

    name = "user-history"
    _plus = False

    def __init__(self, prefix: str = "stem", memory: bool = False, limit: int = LIMIT) -> None:
        self._reader = JobReader(prefix=prefix, memory=memory)
        self._history = History(keep=3 if self._plus else 1, plus=self._plus, limit=limit)
        self._used = [0] * len(self._history.rules)

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Clear the history of all jobs, before a run starts."""
        self._history.clear()
        self._used = [0] * len(self._history.rules)

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the prediction of the first matching rule for each job."""
        answers = []
        for job in self._reader.read(jobs):
            rule, runtimes = self._history.match(job)
            self._used[rule - 1] += 1
            answers.append(median(runtimes) if runtimes else job.requested_time)
        return Prediction.point(np.array(answers, dtype=np.int64))

    def observe(self, jobs: JobTable, outcome: Outcome, now: int) -> None:  # noqa: ARG002
        """Add the runtimes of ended jobs to the history, including failed jobs."""
        for job, runtime in zip(self._reader.read(jobs), outcome.runtime.tolist(), strict=True):
            self._history.learn(job, runtime)

    def stats(self) -> Mapping[str, int]:
        """Return the number of predictions by each rule."""
        rules = enumerate(self._history.rules)
        return {f"rule {index + 1}: {rule}": self._used[index] for index, rule in rules}

    def state(self) -> Mapping[str, Any]:
        """Return the history and the counts of rules, for a checkpoint."""
        return {"used": np.array(self._used, dtype=np.int64), "history": self._history.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        self._used = state["used"].tolist()
        self._history.restore(state["history"])


class UserHistoryPlus(UserHistory):
    """
    Median runtime of up to three similar ended jobs of the same user, the newest first.

    Parameters
    ----------
    prefix, memory, limit
        As for :class:`UserHistory`. Memory is compared by default.

    Notes
    -----
    The rules of :class:`UserHistory` with two more before the requested time: (6) the user's jobs
    with the same requested time, (7) the user's last jobs.
    """

    name = "user-history-plus"
    _plus = True

    def __init__(self, prefix: str = "stem", memory: bool = True, limit: int = LIMIT) -> None:
        super().__init__(prefix, memory, limit)
