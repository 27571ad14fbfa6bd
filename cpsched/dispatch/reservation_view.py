"""What reservations are made of: what is predicted, what is hardly exceeded, or the request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.passes import frozen
from cpsched.errors import check_choice
from cpsched.model import columns as c
from cpsched.model.jobstore import JobStore
from cpsched.model.jobtable import JobTable, RunningTable
from cpsched.model.view import View

if TYPE_CHECKING:
    from cpsched.model.types import IntArray

PLAN, BOUND, REQUESTED = "plan", "bound", "requested"
_COLUMNS = {PLAN: c.RUNTIME_ESTIMATE, BOUND: c.RUNTIME_BOUND, REQUESTED: c.REQUESTED_TIME}


class ReservationView:
    """
    Shows kernels, which plan with ``plan`` and expected ends, a view for their reservations.

    With ``plan`` that is the view itself. With ``bound`` it is one in which every waiting job is
    planned for as long as its bound, and a running one is expected to end at its bound; where that
    has passed, or the job is being cleaned up, when it is expected to end anyway. With
    ``requested`` the same with requested times, or with predictions where these are longer.
    Priorities, and whatever else jobs are ranked by, go by the view itself.

    What is kept from one decision to the next are places to write to, and no state.

    Parameters
    ----------
    by
        ``plan``, ``bound`` or ``requested``.

    Raises
    ------
    ConfigError
        If it is none of them.
    """

    def __init__(self, by: str) -> None:
        check_choice("reserve", by, _COLUMNS)
        self._column = _COLUMNS[by]
        #: Whether reservations are made of the runtime estimates, as everything else is.
        self.by_estimate = self._column == c.RUNTIME_ESTIMATE
        self._seen: JobStore | None = None
        self._shadow_store = JobStore(())

    def view(self, view: View) -> View:
        """Return the view for a decision's reservations."""
        if self.by_estimate:
            return view
        waiting, running = view.waiting, view.running
        rows = np.concatenate([waiting.rows, running.rows])
        block = waiting.store.columns[rows]
        durations = self._durations(block)
        ends = _ends(block[len(waiting) :], durations[len(waiting) :], view.now)
        old_ends = block[len(waiting) :, c.EXPECTED_END]
        if (ends == old_ends).all() and (durations == block[:, c.RUNTIME_ESTIMATE]).all():
            return view
        block[:, c.RUNTIME_ESTIMATE] = durations
        block[len(waiting) :, c.EXPECTED_END] = ends
        store = self._shadow_store_of(waiting.store)
        store.writable[rows] = block
        by_end = frozen(running.rows[np.lexsort((running.rows, ends))])
        return View(
            view.now,
            view.system,
            view.free,
            view.node_up,
            view.eligible,
            JobTable(store, waiting.rows),
            RunningTable(store, by_end, running.arena),
        )

    def durations(self, jobs: JobTable) -> IntArray:
        """Return how long reservations take jobs to run."""
        return self._durations(jobs.store.columns[jobs.rows])

    def _durations(self, block: IntArray) -> IntArray:
        """Return the same of rows of a store."""
        durations: IntArray = block[:, self._column]
        if self._column == c.REQUESTED_TIME:
            durations = np.maximum(durations, block[:, c.RUNTIME_ESTIMATE])
        return durations

    def _shadow_store_of(self, source: JobStore) -> JobStore:
        """Return the store to write to; another one where the view's has grown or is another."""
        if source is not self._seen or len(source.columns) != len(self._shadow_store.columns):
            self._seen = source
            self._shadow_store = JobStore(source.resources, len(source.columns))
        shadow = self._shadow_store
        shadow.shapes, shadow.labels = source.shapes, source.labels
        shadow.size, shadow.reordered = source.size, source.reordered
        shadow.quantiles, shadow.ends_within = source.quantiles, source.ends_within
        return shadow


def _ends(running: IntArray, durations: IntArray, now: int) -> IntArray:
    """Return when running jobs, rows of a store, end if they take so long."""
    known = running[:, c.START] + durations
    late = (known <= now) | (running[:, c.STATE] == c.COMPLETING)
    ends: IntArray = np.where(late, running[:, c.EXPECTED_END], known)
    return ends
