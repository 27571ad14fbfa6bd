"""
What the kernels remember between two decisions, and when they have to forget it.

The arrays and what is in them: :mod:`cpsched.kernels.pass_state`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.kernels import pass_state
from cpsched.kernels.rooms import packed_places
from cpsched.kernels.runs import packed_bits
from cpsched.model.columns import SHAPE_REQUEST

if TYPE_CHECKING:
    from cpsched.model.jobstore import JobStore
    from cpsched.model.topology import Topology
    from cpsched.model.view import View
    from cpsched.util.types import AnyArray, BoolArray, IntArray

_FEWEST_CLASSES = 256


class Memory:
    """
    A cache, and no state: with an empty one every decision is the same, only slower.

    It is emptied where a view has another job store than the last, or one whose queue has been
    reordered; what fits where is forgotten where other nodes are eligible. A store's columns that
    are set at submit, and the masks of eligible nodes, must not be changed in place.

    Parameters
    ----------
    capacity
        Of each node, shape ``(N, R)``.

    Attributes
    ----------
    places
        The topology, see :func:`cpsched.kernels.rooms.packed_places`.
    worth
        What kinds and other jobs' requests are worth, see :class:`cpsched.kernels.rooms.Machine`.
    main, job_classes, class_of, next_of
        The arrays for the kernels, valid for the last view given to :meth:`prepare`.
    """

    def __init__(self, capacity: IntArray, topology: Topology) -> None:
        num_nodes, num_kinds = capacity.shape
        place = pass_state.first_place(num_nodes, num_kinds)
        self.main: IntArray = np.concatenate(
            [np.zeros(place, dtype=np.int64), packed_places(topology)]
        )
        self.places: IntArray = self.main[place:]
        self.job_classes: IntArray = np.zeros((0, pass_state.CLASS_WIDTH), dtype=np.int64)
        self.class_of: AnyArray = np.zeros(0, dtype=np.int32)
        self.next_of: AnyArray = self.class_of
        first = pass_state.first_table(num_kinds)
        self.worth: IntArray = self.main[pass_state.HEADER + num_kinds : first]
        self.worth[:num_kinds] = capacity.min(axis=0)
        tables = self.main[first:][: pass_state.NUM_TABLES * capacity.size]
        tables = tables.reshape(pass_state.NUM_TABLES, num_nodes, num_kinds)
        tables[pass_state.CAPACITY] = capacity
        self._work: IntArray = tables[pass_state.WORK]
        self.main[pass_state.SUMMED] = bool((capacity.sum(axis=0, dtype=float) < 2**62).all())
        first = pass_state.first_bits(num_nodes, num_kinds)
        last = pass_state.first_slot(num_nodes, num_kinds)
        self._bits: IntArray = self.main[first:last].reshape(pass_state.NUM_BITS, -1)
        self._slots: IntArray = self.main[last : last + pass_state.SLOTS]
        self._apart = _differs(np.hstack([capacity, topology.levels[:1].T]))
        self._store: JobStore | None = None
        self._columns: object = None
        self._shapes: object = None
        self._eligible: BoolArray = np.zeros((0, num_nodes), dtype=np.bool_)
        self._reordered = 0

    def prepare(self, view: View) -> None:
        """Forget what does not hold for a view."""
        store = view.waiting.store
        if (
            store.columns is not self._columns
            or store.reordered != self._reordered
            or self.main.item(pass_state.FULL)
        ):
            self._refresh(view)
        else:
            self.prepare_room(view)

    def prepare_room(self, view: View) -> None:
        """Forget what does not hold for a view, classes of jobs left aside."""
        if view.eligible is not self._eligible or view.waiting.store.shapes is not self._shapes:
            self._refresh(view)

    def _refresh(self, view: View) -> None:
        store = view.waiting.store
        full = bool(self.main[pass_state.FULL])
        same = store is self._store and store.reordered == self._reordered
        if not same or full or len(store.shapes) >= len(self.job_classes):
            # Enough that few decisions fill the table again, also for a deep queue.
            self._empty(max(len(store.shapes) + 1, 4 * len(view.waiting) if full else 0))
        if len(store.columns) > len(self.class_of):
            self.class_of = _grown(self.class_of, len(store.columns))
            self.next_of = _grown(self.next_of, len(store.columns))
        known, masks = self._eligible, view.eligible
        if masks is not known and not np.array_equal(masks[: len(known)], known):
            self._forget_room()
        if masks is not known:
            apart = self._apart | _differs(masks.T)
            self._bits[pass_state.APART] = packed_bits(apart)
            self._bits[pass_state.RUNS] = packed_bits(apart | _differs(self._work))
        asked = store.shapes[:, SHAPE_REQUEST]
        self.main[pass_state.LEAST] = asked.min() if len(asked) else 0
        self._store, self._reordered = store, store.reordered
        self._columns, self._shapes, self._eligible = store.columns, store.shapes, masks

    def _empty(self, needed: int) -> None:
        """Clear everything except free capacity, with room for at least this many classes."""
        size = max(1 << (needed - 1).bit_length(), _FEWEST_CLASSES, len(self.job_classes))
        self.job_classes = np.zeros((size, pass_state.CLASS_WIDTH), dtype=np.int64)
        self.class_of[:] = 0
        self.main[pass_state.CLASSES] = self.main[pass_state.FULL] = 0
        self.main[pass_state.LINED] = self.main[pass_state.LINKED] = 0
        self._forget_room()

    def _forget_room(self) -> None:
        """Forget what fits where."""
        self.job_classes[:, pass_state.ROOM] = -1
        self.main[pass_state.TRACKED] = 0
        self._slots[:] = 0


def _grown(array: AnyArray, length: int) -> AnyArray:
    """Return a longer array that begins with the entries of this one, and has zeros behind."""
    grown = np.zeros(length, dtype=array.dtype)
    grown[: len(array)] = array
    return grown


def _differs(rows: AnyArray) -> BoolArray:
    """Say of each row whether it differs from the one before it."""
    differs: BoolArray = np.ones(len(rows), dtype=np.bool_)
    differs[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return differs
