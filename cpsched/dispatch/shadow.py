"""Views in which jobs have other runtimes, for reservations or try runs."""

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
    from collections.abc import Mapping

    from cpsched.base.types import IntArray

#: What reservations are made of: what is predicted, what is hardly exceeded, or the request.
PLAN, BOUND, REQUESTED = "plan", "bound", "requested"
_COLUMNS = {PLAN: c.RUNTIME_ESTIMATE, BOUND: c.RUNTIME_BOUND, REQUESTED: c.REQUESTED_TIME}


class Shadow:
    """
    Makes views in which some columns of the waiting and running jobs are others.

    What is kept from one decision to the next are places to write to, and no state.
    """

    def __init__(self) -> None:
        self._seen: JobStore | None = None
        self._store = JobStore(())

    def view(self, view: View, changed: Mapping[int, IntArray]) -> View:
        """
        Return a view with other columns.

        Parameters
        ----------
        changed
            By column of the store (:mod:`cpsched.model.columns`): the values of the waiting jobs,
            then of the running ones. Where all are as they were, it is the view itself.
        """
        waiting, running = view.waiting, view.running
        rows = np.concatenate([waiting.rows, running.rows])
        block = waiting.store.columns[rows]
        if all((block[:, column] == values).all() for column, values in changed.items()):
            return view
        for column, values in changed.items():
            block[:, column] = values
        store = self._store_like(waiting.store)
        store.writable[rows] = block
        ends = block[len(waiting) :, c.EXPECTED_END]
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

    def _store_like(self, source: JobStore) -> JobStore:
        """Return the store to write to; another one where the view's has grown or is another."""
        if source is not self._seen or len(source.columns) != len(self._store.columns):
            self._seen = source
            self._store = JobStore(source.resources, len(source.columns))
        shadow = self._store
        shadow.shapes, shadow.labels = source.shapes, source.labels
        shadow.size, shadow.reordered = source.size, source.reordered
        shadow.quantiles, shadow.ends_within = source.quantiles, source.ends_within
        return shadow


class ReservationView:
    """
    Shows kernels, which plan with ``plan`` and expected ends, a view for their reservations.

    With ``plan`` that is the view itself. With ``bound`` it is one in which every waiting job is
    planned for as long as its bound, and a running one is expected to end at its bound; where that
    has passed, or the job is being cleaned up, when it is expected to end anyway. With
    ``requested`` the same with requested times, or with predictions where these are longer.
    Priorities, and whatever else jobs are ranked by, go by the view itself.

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
        self._shadow = Shadow()

    def view(self, view: View) -> View:
        """Return the view for a decision's reservations."""
        if self.by_estimate:
            return view
        waiting, running = view.waiting, view.running
        durations = self.durations(running)
        known = running.start + durations
        late = (known <= view.now) | (running.state == c.COMPLETING)
        ends = np.where(late, running.expected_end, known)
        # Of jobs that wait an expected end says nothing.
        pairs = {
            c.RUNTIME_ESTIMATE: (self.durations(waiting), durations),
            c.EXPECTED_END: (waiting.column(c.EXPECTED_END), ends),
        }
        changed = {column: np.concatenate(pair) for column, pair in pairs.items()}
        return self._shadow.view(view, changed)

    def durations(self, jobs: JobTable) -> IntArray:
        """Return how long reservations take jobs to run."""
        durations = jobs.column(self._column)
        if self._column == c.REQUESTED_TIME:
            durations = np.maximum(durations, jobs.runtime_estimate)
        return durations
