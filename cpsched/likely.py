"""
How long jobs ran of what was predicted, as a dispatcher sees it.

Nothing here is asked of a predictor or the simulator: a job that no longer runs has ended, and its
runtime is known from then on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.kernels import likely
from cpsched.kernels.scenarios import overdue_slope
from cpsched.model import columns as c

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.decision import Decision
    from cpsched.model.jobtable import JobTable
    from cpsched.model.types import FloatArray, IntArray
    from cpsched.model.view import View

#: A job that takes less of the machine, or nothing, counts as if it took this much.
_LEAST_SHARE = 1e-9
#: Ended jobs remembered of each user, and of all.
_OWN, _ALL = 10, 500


class Likely(NamedTuple):
    """
    Likely runtimes of n jobs, see :func:`cpsched.kernels.likely.likely_runtimes`.

    Attributes
    ----------
    estimate
        What is predicted, for where nothing is known; shape ``(n,)``.
    runtime, num
        Seconds, and how many there are, of two sources.
    """

    estimate: IntArray
    runtime: IntArray
    num: IntArray

    def take(self, positions: IntArray) -> Likely:
        """Return those of some of the jobs."""
        return Likely(self.estimate[positions], self.runtime[positions], self.num[positions])

    def join(self, others: Likely) -> Likely:
        """Return those of these jobs, then those of others."""
        return Likely(*(np.concatenate(pair) for pair in zip(self, others, strict=True)))

    def typical(self) -> IntArray:
        """Return medians, seconds."""
        typical: IntArray = likely.typical_runtimes(self.estimate, self.runtime, self.num)
        return typical

    def draw(self, scenarios: int, seed: int, elapsed: IntArray, expected: IntArray) -> IntArray:
        """Draw runtimes, see :func:`cpsched.kernels.likely.draw_runtimes`."""
        drawn: IntArray = likely.draw_runtimes(
            scenarios, seed, elapsed, expected, self.runtime, self.num
        )
        return drawn

    def urgency(self, waited: IntArray, share: FloatArray, patience: float) -> FloatArray:
        """
        Return how much a second of waiting is expected to cost for each second of the machine.

        The rule of weighted shortest processing times (Smith 1956), with the slope of a job's cost
        (:func:`cpsched.kernels.scenarios.job_cost`) for its weight, and its share of the machine
        times its runtime for the processing time.

        Parameters
        ----------
        waited
            Seconds.
        share
            The largest share of the machine each job takes.
        """
        slope, mean = likely.expectations(self.estimate, self.runtime, self.num)
        taken = mean * np.maximum(share, _LEAST_SHARE)
        urgency: FloatArray = (slope + overdue_slope(waited, patience)) / taken
        return urgency


class RuntimeHistory:
    """Ratios of runtime to prediction, of each user and of all."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget everything."""
        self._running: dict[int, tuple[int, int, int, int]] = {}
        self._users: dict[str, int] = {}
        self._codes: IntArray = np.full(1, -1, dtype=np.int64)
        self._store: object = None
        self.user_ratio: FloatArray = np.zeros((16, _OWN))
        self.user_count: IntArray = np.zeros(16, dtype=np.int64)
        self._past: FloatArray = np.zeros((4, _ALL))
        self._num_past = 0
        #: What :attr:`past` found; None where a job has ended since.
        self._newest_first: FloatArray | None = None

    def users(self, jobs: JobTable) -> IntArray:
        """Return our number for the user of each job, -1 where unknown."""
        labels = jobs.store.labels["user"]
        if jobs.store is not self._store:
            self._store = jobs.store
            self._codes = np.full(1, -1, dtype=np.int64)
        if len(labels) >= len(self._codes):
            known = self._users
            more = [known.setdefault(label, len(known)) for label in labels[len(self._codes) - 1 :]]
            # The last entry stays -1: it is what the code of an unknown user (-1) finds.
            self._codes = np.array([*self._codes[:-1].tolist(), *more, -1], dtype=np.int64)
            self._make_room(len(known))
        numbers: IntArray = self._codes[jobs.column(c.USER)]
        return numbers

    def _make_room(self, num_users: int) -> None:
        while num_users > len(self.user_count):
            self.user_ratio = np.concatenate([self.user_ratio, np.zeros_like(self.user_ratio)])
            self.user_count = np.concatenate([self.user_count, np.zeros_like(self.user_count)])

    def note_ends(self, view: View) -> None:
        """Learn from the jobs that ran at the last decision and do no more."""
        running = view.running
        handles = running.handle.tolist()
        known = self._running
        gone = known.keys() - set(handles)
        if gone:
            ended = sorted(gone)
            failed = set(_of_handles(view.waiting, ended).handle.tolist())
            for handle in ended:
                user, plan, limit, start = known.pop(handle)
                # A start that failed (on a real system) is not an end: the job waits again.
                if handle not in failed:
                    self.learn(user, plan, limit, max(view.now - start, 1))
        if len(known) < len(handles):
            self._remember(running, running.start)

    def note_starts(self, view: View, decision: Decision) -> None:
        """Remember what starts now: it may have ended when the dispatcher is asked next."""
        if not decision.actions:
            return
        started = _of_handles(view.waiting, [action.handle for action in decision.actions])
        self._remember(started, np.full(len(started), view.now, dtype=np.int64))

    def _remember(self, jobs: JobTable, start: IntArray) -> None:
        plan, limit = np.maximum(jobs.runtime_estimate, 1), np.maximum(jobs.requested_time, 1)
        columns = (jobs.handle, self.users(jobs), plan, limit, start)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for handle, user, predicted, most, begin in rows:
            self._running.setdefault(handle, (user, predicted, most, begin))

    def learn(self, user: int, plan: int, limit: int, runtime: int) -> None:
        """
        Learn from one job that has ended.

        Parameters
        ----------
        user
            Number of its user, -1 where unknown.
        plan, limit, runtime
            Its prediction and its requested time (at least 1), and how long it ran; seconds.
        """
        self._make_room(user + 1)
        ratio = runtime / plan
        self._past[:, self._num_past % _ALL] = ratio, math.log(plan), math.log(limit), user
        self._num_past += 1
        self._newest_first = None
        if user >= 0:
            self.user_ratio[user, self.user_count[user] % _OWN] = ratio
            self.user_count[user] += 1

    def forget_user(self, user: int) -> None:
        """Forget whose jobs a user's were, so that the number can be another's."""
        if user < len(self.user_count):
            self.user_count[user] = 0
        self._past[3][self._past[3] == user] = -1
        self._newest_first = None

    @property
    def past(self) -> FloatArray:
        """The jobs that ended last, see :func:`cpsched.kernels.likely.likely_runtimes`."""
        if self._newest_first is None:
            places = self._num_past - 1 - np.arange(min(self._num_past, _ALL))
            # In the same layout however many there are, or kernels are compiled again.
            self._newest_first = np.take(self._past, places % _ALL, axis=1)
        return self._newest_first

    def likely(self, user: IntArray, plan: IntArray, limit: IntArray) -> Likely:
        """Return the likely runtimes of jobs with these users, predictions and requests."""
        found = likely.likely_runtimes(
            user, plan, limit, self.past, self.user_ratio, self.user_count
        )
        return Likely(np.minimum(plan, limit), *found)

    def of(self, jobs: JobTable) -> Likely:
        """Return the likely runtimes of jobs."""
        plan, limit = np.maximum(jobs.runtime_estimate, 1), np.maximum(jobs.requested_time, 1)
        return self.likely(self.users(jobs), plan, limit)

    def state(self) -> dict[str, Any]:
        """Return everything seen, as arrays, strings and numbers."""
        running = sorted(self._running.items())
        return {
            "running": np.array([(h, *rest) for h, rest in running], dtype=np.int64).reshape(-1, 5),
            "users": list(self._users),
            "user_ratio": self.user_ratio.copy(),
            "user_count": self.user_count.copy(),
            "past": self._past.copy(),
            "num_past": self._num_past,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave."""
        self.forget()
        running = np.asarray(state["running"]).tolist()
        self._running = {handle: tuple(known) for handle, *known in running}
        self._users = {str(user): number for number, user in enumerate(state["users"])}
        self.user_ratio = np.array(state["user_ratio"], dtype=np.float64)
        self.user_count = np.array(state["user_count"], dtype=np.int64)
        self._past = np.array(state["past"], dtype=np.float64)
        self._num_past = int(state["num_past"])


def _of_handles(jobs: JobTable, handles: list[int]) -> JobTable:
    """Return those of some jobs that have one of these handles, at least one."""
    # As np.isin, at a fraction of its cost where these are few.
    wanted, handle = np.sort(handles), jobs.handle
    nearest = wanted[np.searchsorted(wanted, handle).clip(max=len(wanted) - 1)]
    return jobs.take(nearest == handle)
