"""Outages that are known before they begin: jobs that would run into them keep off their nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.shadow import Shadow
from cpsched.model import columns as c
from cpsched.model.arrays import immutable
from cpsched.model.schedule import Outages

if TYPE_CHECKING:
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, IntArray


class Maintenance:
    """
    Shows waiting jobs without the nodes on which they would run into a planned outage.

    As Slurm's maintenance reservations: a job that started now and ran for its requested time may
    not be on a node that is to go down within that time. Dispatchers see other classes of eligible
    nodes for such jobs, and nothing else of outages to come.

    Attributes
    ----------
    outages
        All outages; each counts from the second from which it is known until it begins.
    """

    def __init__(self) -> None:
        self.outages = Outages.none()
        self._shadow = Shadow()
        #: When the outages begin that count now, and the nodes of each and those before it.
        self._starts: IntArray = np.zeros(0, dtype=np.int64)
        self._nodes: BoolArray = np.zeros((0, 0), dtype=np.bool_)
        #: Shapes and classes of the store, which precede the derived ones.
        self._base = (0, 0)
        #: Derived shapes: what each is of, a shape of the store and how many outages.
        self._derived: dict[tuple[int, int], int] = {}
        #: Of each row of the store, how many outages count; -1: not seen yet.
        self._seen: IntArray = np.zeros(0, dtype=np.int64)
        self._changes = 0
        #: Columns of the shadow, and the rows in it that have derived shapes.
        self._stale: tuple[IntArray, IntArray] | None = None

    def view(self, view: View) -> View:
        """Return what dispatchers are shown; the view itself where no planned outage matters."""
        if not len(self.outages):
            return view
        counts = (self.outages.known <= view.now) & (view.now < self.outages.start)
        if not counts.any():
            return view
        jobs = view.waiting
        self._take_up(view, counts)
        number = np.searchsorted(self._starts, view.now + jobs.requested_time, side="left")
        if not number.any():
            return view
        self._note(jobs.rows, number, len(jobs.store.columns))
        shape = jobs.shape
        for at in np.flatnonzero(number).tolist():
            pair = int(shape[at]), int(number[at])
            shape[at] = self._base[0] + self._derived.setdefault(pair, len(self._derived))
        source = jobs.store
        if self._stale is not None:
            # A removed derived shape must not be looked up.
            written, rows = self._stale
            written[rows, c.SHAPE] = source.columns[rows, c.SHAPE]
        shown = self._shadow.view(view, {c.SHAPE: shape})
        store = shown.waiting.store
        self._stale = store.writable, jobs.rows[number > 0]
        pairs = np.array(list(self._derived), dtype=np.int64)
        more = source.shapes[pairs[:, 0]]
        masks = view.eligible[more[:, c.SHAPE_CLASS]] & ~self._nodes[pairs[:, 1] - 1]
        more[:, c.SHAPE_CLASS] = len(view.eligible) + np.arange(len(more))
        store.shapes = immutable(np.concatenate([source.shapes, more]))
        # What is remembered of jobs by their shapes may be of other nodes.
        store.reordered = source.reordered + self._changes
        return replace(shown, eligible=immutable(np.concatenate([view.eligible, masks])))

    def _take_up(self, view: View, counts: BoolArray) -> None:
        """Bring up to date which outages count, and where derived shapes begin."""
        starts = np.unique(self.outages.start[counts])
        begins = np.searchsorted(starts, self.outages.start[counts])
        nodes = np.zeros((len(starts), len(view.free)), dtype=np.bool_)
        nodes[begins, self.outages.node[counts]] = True
        nodes = np.logical_or.accumulate(nodes, axis=0)
        base = len(view.waiting.store.shapes), len(view.eligible)
        same = base == self._base and np.array_equal(nodes, self._nodes)
        if not same or not np.array_equal(starts, self._starts):
            self._starts, self._nodes, self._base = starts, nodes, base
            self._derived = {}
            self._changes += 1

    def _note(self, rows: IntArray, number: IntArray, num_rows: int) -> None:
        """Note how many outages count for each job, and whether that has changed for one."""
        if num_rows > len(self._seen):
            grown = np.full(num_rows, -1, dtype=np.int64)
            grown[: len(self._seen)] = self._seen
            self._seen = grown
        before = self._seen[rows]
        if ((before >= 0) & (before != number)).any():
            self._changes += 1
        self._seen[rows] = number
