"""What reservations are made of: what is predicted, what is hardly exceeded, or the request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.shadow import Shadow
from cpsched.errors import check_choice
from cpsched.model import columns as c

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View

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
        running = view.running
        rows = np.concatenate([view.waiting.rows, running.rows])
        block = view.waiting.store.columns[rows]
        durations = self._durations(block)
        split = len(view.waiting)
        ends = block[:, c.EXPECTED_END].copy()
        ends[split:] = _ends(block[split:], durations[split:], view.now)
        return self._shadow.view(view, {c.RUNTIME_ESTIMATE: durations, c.EXPECTED_END: ends})

    def durations(self, jobs: JobTable) -> IntArray:
        """Return how long reservations take jobs to run."""
        return self._durations(jobs.store.columns[jobs.rows])

    def _durations(self, block: IntArray) -> IntArray:
        """Return the same of rows of a store."""
        durations: IntArray = block[:, self._column]
        if self._column == c.REQUESTED_TIME:
            durations = np.maximum(durations, block[:, c.RUNTIME_ESTIMATE])
        return durations


def _ends(running: IntArray, durations: IntArray, now: int) -> IntArray:
    """Return when running jobs, rows of a store, end if they take so long."""
    known = running[:, c.START] + durations
    late = (known <= now) | (running[:, c.STATE] == c.COMPLETING)
    ends: IntArray = np.where(late, running[:, c.EXPECTED_END], known)
    return ends
