"""Views in which jobs have other runtimes, for reservations or try runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.passes import frozen
from cpsched.model import columns as c
from cpsched.model.jobstore import JobStore
from cpsched.model.jobtable import JobTable, RunningTable
from cpsched.model.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.base.types import IntArray


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
