"""
The work that is unfinished over time, and the jobs that have waited longer than it explains.

In order of submission, a system that is never idle has finished all work that was unfinished at a
job's submit after as many seconds as that work takes on the whole system. That time depends on the
arrivals and the system, hardly on the order of the queue, and needs no constant in hours: it is
minutes on one log and days on another. A job that has waited longer has been overtaken.

A job's reference is the largest backlog since its submit, or :data:`SHARE` of the largest of the
last four weeks if that is more: on a quiet day a job may wait as long as others wait on busy ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.model import columns as c

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, FloatArray, IntArray

#: A job is overdue once it has waited so many times as long as its reference.
OVERDUE = 1.5
#: Share of the largest backlog of the last :data:`MEMORY` seconds that a reference is at least.
SHARE = 2 / 3
MEMORY = 28 * 86400


class Backlog:
    """
    Backlog at the decisions since the submits of the waiting jobs.

    The backlog is the time, in seconds, that a system needs for all waiting and running jobs. For
    each resource it is the sum of each job's amount times its expected remaining seconds, divided
    by the capacity. The largest of these values counts. Jobs that may use only some nodes are
    compared with the capacity of these nodes.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget everything."""
        #: Decisions with a larger backlog than all later ones: seconds, and their backlogs.
        self._second: IntArray = np.zeros(0, dtype=np.int64)
        self._backlog: FloatArray = np.zeros(0)
        #: Of the jobs at the last decision, by handle: how long each is expected to run, and its
        #: longest wait so far over its reference of then, 0 for running jobs.
        self._handle: IntArray = np.zeros(0, dtype=np.int64)
        self._expected: FloatArray = np.zeros(0)
        self._delay: FloatArray = np.zeros(0)
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
            :meth:`cpsched.dispatch.orders.Priority.taken`.
        mean_of
            Returns the same as ``expected`` for jobs that run already at the first decision.
        """
        waiting, running = view.waiting, view.running
        runs, known = self._last(running.handle, self._expected)
        if not known.all():
            runs[~known] = mean_of(running.take(~known))
        left = np.maximum(runs - (view.now - running.start), 0)
        total = self._work(view, waiting, expected, taken) + self._work(view, running, left, taken)
        backlog = float(total.max(initial=0.0))
        self._add(min(int(waiting.submit.min()), view.now - MEMORY), view.now, backlog)
        before, _ = self._last(waiting.handle, self._delay)
        delay = np.maximum(before, self._delays(waiting.submit, view.now))
        handle = np.concatenate([waiting.handle, running.handle])
        order = np.argsort(handle)
        self._handle, self._expected = handle[order], np.concatenate([expected, runs])[order]
        self._delay = np.concatenate([delay, np.zeros(len(runs))])[order]

    def _add(self, oldest: int, now: int, backlog: float) -> None:
        """Add the backlog of a decision, and forget smaller ones and those before ``oldest``."""
        first = int(np.searchsorted(self._second, oldest))
        last = len(self._backlog) - int(np.searchsorted(self._backlog[::-1], backlog, side="right"))
        # No waiting job was there at the last decision before the first submit.
        self._second = np.append(self._second[first : max(first, last)], now)
        self._backlog = np.append(self._backlog[first : max(first, last)], backlog)

    def _delays(self, submit: IntArray, now: int) -> FloatArray:
        """Return the waits over the references, shape ``(n,)``; infinity over no backlog at all."""
        at = np.searchsorted(self._second, submit)
        largest = self._backlog[np.minimum(at, len(self._backlog) - 1)]
        recent = self._backlog[np.searchsorted(self._second, now - MEMORY)]
        reference = np.maximum(largest, SHARE * recent)
        wait = (now - submit).astype(np.float64)
        delays = np.where(wait > 0, np.inf, 0.0)
        np.divide(wait, reference, out=delays, where=reference > 0)
        return delays

    def _last(self, handle: IntArray, values: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return values of jobs at the last decision, 0 if unknown, and which jobs were there."""
        at = np.searchsorted(self._handle, handle)
        known = np.zeros(len(handle), dtype=np.bool_)
        inside = at < len(self._handle)
        known[inside] = self._handle[at[inside]] == handle[inside]
        last = np.zeros(len(handle))
        last[known] = values[at[known]]
        return last, known

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

    def overdue(self, handle: IntArray, factor: float) -> BoolArray:
        """
        Return which jobs have waited longer than ``factor`` times their reference at any decision.

        So an overdue job stays overdue, also while jobs that were submitted later add to the
        backlog.

        Parameters
        ----------
        handle
            Handles of waiting jobs, shape ``(n,)``; False for those of no decision yet.
        """
        late: BoolArray = self._last(handle, self._delay)[0] > factor
        return late

    def state(self) -> dict[str, Any]:
        """Return everything noted, as arrays."""
        return {
            "second": self._second.copy(),
            "backlog": self._backlog.copy(),
            "handle": self._handle.copy(),
            "expected": self._expected.copy(),
            "delay": self._delay.copy(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        self.forget()
        self._second = np.array(state["second"], dtype=np.int64)
        self._backlog = np.array(state["backlog"], dtype=np.float64)
        self._handle = np.array(state["handle"], dtype=np.int64)
        self._expected = np.array(state["expected"], dtype=np.float64)
        self._delay = np.array(state["delay"], dtype=np.float64)
