"""
The work that is unfinished over time, and the jobs that have waited longer than it explains.

In order of submission, a system that is never idle has finished all work that was unfinished at a
job's submit after as many seconds as that work takes on the whole system. That time depends on the
arrivals and the system, hardly on the order of the queue, and needs no constant in hours: it is
minutes on one log and days on another. A job that has waited longer has been overtaken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.model import columns as c

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cpsched.base.types import BoolArray, FloatArray, IntArray
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View

#: A job is overdue once it has waited so many times as long as the largest backlog takes.
OVERDUE = 1.5


class Backlog:
    """
    The backlog at the decisions since the jobs that wait were submitted.

    The backlog is the time, in seconds, that a system needs for all jobs that wait or run: for each
    resource the sum over jobs of what they take times the seconds that they are expected to run on,
    over what the system has; the largest. Jobs that may use some of the nodes only are compared
    with what these have.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget everything."""
        #: Decisions with a larger backlog than all later ones: seconds, and their backlogs.
        self._second: IntArray = np.zeros(0, dtype=np.int64)
        self._backlog: FloatArray = np.zeros(0)
        #: Of the jobs at the last decision, by handle: how long each is expected to run.
        self._handle: IntArray = np.zeros(0, dtype=np.int64)
        self._expected: FloatArray = np.zeros(0)
        self._masks: BoolArray | None = None
        self._capacity: IntArray = np.zeros((0, 0), dtype=np.int64)

    def note(
        self,
        view: View,
        expected: FloatArray,
        taken: Callable[[JobTable], IntArray],
        mean_of: Callable[[JobTable], FloatArray],
    ) -> None:
        """
        Note the backlog of a decision.

        Parameters
        ----------
        view
            With jobs that wait.
        expected
            How long the n waiting jobs are expected to run, seconds, shape ``(n,)``.
        taken
            Returns the least amounts that jobs take, see
            :meth:`cpsched.dispatch.priority.Priority.taken`.
        mean_of
            Returns the same as ``expected`` for jobs that run already at the first decision.
        """
        waiting, running = view.waiting, view.running
        runs = self._known(running, mean_of)
        left = np.maximum(runs - (view.now - running.start), 0)
        total = self._work(view, waiting, expected, taken) + self._work(view, running, left, taken)
        backlog = float(total.max(initial=0.0))
        first = int(np.searchsorted(self._second, waiting.submit.min()))
        last = len(self._backlog) - int(np.searchsorted(self._backlog[::-1], backlog, side="right"))
        # The last decision before the first submit is of no job that waits.
        self._second = np.append(self._second[first : max(first, last)], view.now)
        self._backlog = np.append(self._backlog[first : max(first, last)], backlog)
        handle = np.concatenate([waiting.handle, running.handle])
        order = np.argsort(handle)
        self._handle, self._expected = handle[order], np.concatenate([expected, runs])[order]

    def _known(self, running: JobTable, mean_of: Callable[[JobTable], FloatArray]) -> FloatArray:
        """Return how long the running jobs were expected to run when they last waited."""
        handle = running.handle
        at = np.searchsorted(self._handle, handle)
        known = np.zeros(len(handle), dtype=np.bool_)
        inside = at < len(self._handle)
        known[inside] = self._handle[at[inside]] == handle[inside]
        runs = np.zeros(len(handle))
        runs[known] = self._expected[at[known]]
        if not known.all():
            runs[~known] = mean_of(running.take(~known))
        return runs

    def _work(
        self,
        view: View,
        jobs: JobTable,
        seconds: FloatArray,
        taken: Callable[[JobTable], IntArray],
    ) -> FloatArray:
        """Return the seconds that jobs take of all nodes of each class, shape ``(C, R)``."""
        if self._masks is not view.eligible:
            self._masks = view.eligible
            capacity = [view.system.capacity[mask].sum(axis=0) for mask in view.eligible]
            self._capacity = np.maximum(capacity, 1)
        number = jobs.store.shapes[jobs.column(c.SHAPE), c.SHAPE_CLASS]
        work = taken(jobs) * seconds[:, None]
        num = len(self._capacity)
        total = [np.bincount(number, amounts, minlength=num) for amounts in work.T]
        needed: FloatArray = np.array(total).T / self._capacity
        return needed

    @property
    def latest(self) -> float:
        """The backlog at the last decision, seconds."""
        return float(self._backlog[-1]) if len(self._backlog) else 0.0

    def overdue(self, submit: IntArray, now: int, factor: float) -> BoolArray:
        """
        Return which jobs have waited longer than ``factor`` times the largest backlog meanwhile.

        Parameters
        ----------
        submit
            Seconds of submission, shape ``(n,)``.
        """
        if not len(self._second):
            return np.zeros(len(submit), dtype=np.bool_)
        at = np.searchsorted(self._second, submit)
        largest = self._backlog[np.minimum(at, len(self._backlog) - 1)]
        late: BoolArray = now - submit > factor * largest
        return late

    def state(self) -> dict[str, Any]:
        """Return everything noted, as arrays."""
        return {
            "second": self._second.copy(),
            "backlog": self._backlog.copy(),
            "handle": self._handle.copy(),
            "expected": self._expected.copy(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self.forget()
        self._second = np.array(state["second"], dtype=np.int64)
        self._backlog = np.array(state["backlog"], dtype=np.float64)
        self._handle = np.array(state["handle"], dtype=np.int64)
        self._expected = np.array(state["expected"], dtype=np.float64)
