"""Views in which jobs have other runtimes, or have started: for reservations, try runs, passes."""

from __future__ import annotations

from types import MappingProxyType
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

    from cpsched.model.allocation import Allocation
    from cpsched.util.types import IntArray

#: What reservations are made of: what is predicted, what is hardly exceeded, or the request.
PREDICTED, UPPER, REQUESTED = "predicted", "upper", "requested"
_COLUMNS = {PREDICTED: c.RUNTIME_ESTIMATE, UPPER: c.RUNTIME_BOUND, REQUESTED: c.REQUESTED_TIME}

#: How long a job runs, as asked for and as predicted.
TIMES = (c.REQUESTED_TIME, c.RANKING_ESTIMATE, c.RUNTIME_ESTIMATE, c.RUNTIME_BOUND)


class Shadow:
    """
    Makes views in which some columns of the waiting and running jobs are others.

    Each is valid until the next one is made. What is kept from one decision to the next are places
    to write to, and no state.
    """

    def __init__(self) -> None:
        self._seen: JobStore | None = None
        self._store = JobStore(())

    def view(
        self,
        view: View,
        waiting: Mapping[int, IntArray],
        running: Mapping[int, IntArray] = MappingProxyType({}),
    ) -> View:
        """
        Return a view with other columns.

        Parameters
        ----------
        waiting, running
            Values of the waiting and of the running jobs, by column of the store
            (:mod:`cpsched.model.columns`). Where all are as they were, it is the view itself.
        """
        rows = np.concatenate([view.waiting.rows, view.running.rows])
        before = view.waiting.store.columns[rows]
        block, split = before.copy(), len(view.waiting)
        for part, changed in ((block[:split], waiting), (block[split:], running)):
            for column, values in changed.items():
                part[:, column] = values
        if np.array_equal(block, before):
            return view
        store = self._store_like(view.waiting.store)
        store.writable[rows] = block
        running_rows = view.running.rows
        by_end = frozen(running_rows[np.lexsort((running_rows, block[split:, c.EXPECTED_END]))])
        return View(
            view.now,
            view.system,
            view.free,
            view.node_up,
            view.eligible,
            JobTable(store, view.waiting.rows),
            RunningTable(store, by_end, view.running.arena),
        )

    def started(self, view: View, allocations: Mapping[int, Allocation]) -> View:
        """
        Return a view in which some waiting jobs have started, to go on deciding with.

        Parameters
        ----------
        allocations
            What these jobs hold, by row of the store. Without any it is the view itself.
        """
        if not allocations:
            return view
        running, source = view.running, view.waiting.store
        before = np.concatenate([view.waiting.rows, running.rows])
        store = self._store_like(source)
        columns = store.writable
        columns[before] = source.columns[before]
        arena, columns[running.rows, c.ALLOC_FIRST] = running.arena.compacted(
            *source.columns[running.rows][:, [c.ALLOC_FIRST, c.ALLOC_COUNT]].T
        )
        free = view.free.copy()
        for row, allocation in allocations.items():
            free[allocation.node] -= allocation.amount
            columns[row, [c.ALLOC_FIRST, c.ALLOC_COUNT]] = arena.add(allocation)
            columns[row, c.HELD_UNITS] = allocation.units.sum()
        rows = np.array(list(allocations), dtype=np.int64)
        columns[rows, c.STATE] = c.RUNNING
        columns[rows[:, None], [c.START, c.SINCE]] = view.now
        columns[rows, c.EXPECTED_END] = view.now + np.maximum(columns[rows, c.RUNTIME_ESTIMATE], 1)
        waiting = view.waiting.rows[~np.isin(view.waiting.rows, rows)]
        rows = np.concatenate([running.rows, rows])
        by_end = rows[np.lexsort((rows, columns[rows, c.EXPECTED_END]))]
        return View(
            view.now,
            view.system,
            frozen(free),
            view.node_up,
            view.eligible,
            JobTable(store, frozen(waiting)),
            RunningTable(store, frozen(by_end), arena),
        )

    def _store_like(self, source: JobStore) -> JobStore:
        """Return the store to write to; another one where the view's has grown or is another."""
        if source is not self._seen or len(source.columns) != len(self._store.columns):
            self._seen = source
            self._store = JobStore(source.resources, len(source.columns))
        shadow = self._store
        # Of jobs that have arrived, also of those that are held and in no table.
        fresh = slice(shadow.size, source.size)
        shadow.writable[fresh] = source.columns[fresh]
        shadow.shapes, shadow.labels = source.shapes, source.labels
        shadow.size, shadow.reordered = source.size, source.reordered
        shadow.quantiles, shadow.ends_within = source.quantiles, source.ends_within
        return shadow


class ReservationView:
    """
    Maker of the view for reservations, with other runtimes and expected ends.

    ``predicted``: the view itself. ``upper``: runtimes are the upper bounds of the predictions.
    ``requested``: they are requested times, or predictions if these are longer. Running jobs end by
    the same runtimes, if these have not passed. The order of jobs always follows the view itself.

    Parameters
    ----------
    by
        ``predicted``, ``upper`` or ``requested``.

    Raises
    ------
    ConfigError
        If it is another word.
    """

    def __init__(self, by: str) -> None:
        check_choice("estimate", by, _COLUMNS)
        self._column = _COLUMNS[by]
        #: Whether reservations are made of the runtime estimates, as everything else is.
        self.by_estimate = self._column == c.RUNTIME_ESTIMATE
        self._shadow = Shadow()

    def view(self, view: View) -> View:
        """Return the view that reservations are based on."""
        if self.by_estimate:
            return view
        running = view.running
        durations = self.durations(running)
        known = running.start + durations
        late = (known <= view.now) | (running.state == c.COMPLETING)
        ends = np.where(late, running.expected_end, known)
        return self._shadow.view(
            view,
            {c.RUNTIME_ESTIMATE: self.durations(view.waiting)},
            {c.RUNTIME_ESTIMATE: durations, c.EXPECTED_END: ends},
        )

    def durations(self, jobs: JobTable) -> IntArray:
        """Return the runtimes of jobs that reservations are based on, seconds."""
        durations = jobs.column(self._column)
        if self._column == c.REQUESTED_TIME:
            durations = np.maximum(durations, jobs.runtime_estimate)
        return durations
