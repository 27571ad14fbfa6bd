"""
One decision of IPSCHED as numbers: the jobs that may start, the nodes in classes, the weights.

Nodes are one class where nothing the window asks for tells them apart; see the notes of
:class:`Problem` for what that keeps of the program, and what it leaves to be checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING, Self

import numpy as np

from cpsched import cpsat
from cpsched.model import columns as c
from cpsched.model.jobtable import JobTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.types import BoolArray, IntArray
    from cpsched.model.view import View


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """
    What the program is made of; J jobs in order of priority, K classes of nodes, R kinds.

    Attributes
    ----------
    rows, handle
        Of the job store, and the simulator's number for each, shape ``(J,)``.
    weight
        What a job is worth, on no node at all: ``P_j``, or ``P_j R_j``; shape ``(J,)``.
    units, nodes_min, nodes_max
        ``R_j^cpu`` in units, and the bounds of 3.6; shape ``(J,)``.
    request, per_node
        What a unit takes, and what the job takes besides on every node it touches
        (``R_j^gres``); shape ``(J, R)``.
    even, contiguous, exclusive
        What the papers do not know: the same on every node, neighbouring nodes, whole nodes;
        shape ``(J,)``.
    shape, kind, alike
        Equal numbers for jobs whose units ask for the same; for those that are equal in all; and
        how many of these fit at once at most; shape ``(J,)``.
    members
        The nodes of each class, in ascending order.
    free
        What each node of a class has left, shape ``(K, R)``.
    room
        How many units of a job one node of a class holds, at most its units; shape ``(J, K)``.
    num_nodes
        ``|N|``: all nodes of the machine.

    Notes
    -----
    A class of one node has exactly the thesis's variables ``x_nj`` and ``t_nj``. A class of m
    equal nodes has their sums: every solution of the program on nodes is one on classes with the
    same value, so the best on classes is never below the best on nodes. The other way round is
    looked at afterwards (:mod:`cpsched.ipsched.layout`).
    """

    rows: IntArray
    handle: IntArray
    weight: tuple[int, ...]
    units: IntArray
    nodes_min: IntArray
    nodes_max: IntArray
    request: IntArray
    per_node: IntArray
    even: BoolArray
    contiguous: BoolArray
    exclusive: BoolArray
    shape: IntArray
    kind: IntArray
    alike: IntArray
    members: tuple[IntArray, ...]
    free: IntArray
    room: IntArray
    num_nodes: int

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, view: View, rows: IntArray, weight: Sequence[int]) -> Self:
        """
        Return the problem of some rows of the store, given in order of priority.

        Parameters
        ----------
        weight
            Of each row, positive.
        """
        jobs = JobTable(view.waiting.store, rows)
        exclusive = jobs.exclusive.astype(np.bool_)
        request, per_node = jobs.request, jobs.per_node
        eligible_class = jobs.eligible_class
        if exclusive.any():
            asked = np.arange(request.shape[1])
        else:
            asked = np.flatnonzero((request + per_node).any(axis=0))
        members = _classes(view, np.unique(eligible_class), asked, whole=bool(exclusive.any()))
        first = np.array([nodes[0] for nodes in members], dtype=np.int64)
        units = jobs.units
        room = _room(view, first, request, per_node, exclusive, units * len(units))
        room[~view.eligible[eligible_class][:, first]] = 0
        alike = room @ np.array([len(nodes) for nodes in members]) // units
        room = np.minimum(room, units[:, None])
        used = np.flatnonzero(room.sum(axis=0))
        columns = jobs.store.columns[rows]
        asked_for = columns[:, [c.SHAPE, c.UNITS, c.NODES_MIN, c.NODES_MAX]]
        _, kind = np.unique(asked_for, axis=0, return_inverse=True)
        return cls(
            rows=rows,
            handle=jobs.handle,
            weight=_in_range(weight, len(view.free)),
            units=units,
            nodes_min=jobs.nodes_min,
            nodes_max=np.minimum(jobs.nodes_max, np.minimum(units, len(view.free))),
            request=request,
            per_node=per_node,
            even=jobs.split.astype(np.bool_),
            contiguous=jobs.contiguous.astype(np.bool_),
            exclusive=exclusive,
            shape=columns[:, c.SHAPE],
            kind=kind.reshape(-1),
            alike=alike,
            members=tuple(members[k] for k in used.tolist()),
            free=view.free[first[used]],
            room=room[:, used],
            num_nodes=len(view.free),
        )

    @property
    def count(self) -> IntArray:
        """Nodes in each class, shape ``(K,)``."""
        return np.array([len(nodes) for nodes in self.members], dtype=np.int64)

    def take(self, jobs: IntArray) -> Problem:
        """Return the problem of some of the jobs, given by position in ascending order."""
        names = ("rows", "handle", "units", "nodes_min", "nodes_max", "request", "per_node", "even",
                 "contiguous", "exclusive", "shape", "kind", "alike", "room")  # fmt: skip
        return replace(
            self,
            weight=tuple(self.weight[job] for job in jobs.tolist()),
            **{name: getattr(self, name)[jobs] for name in names},
        )

    def on_nodes(self) -> Problem:
        """Return the same with every node a class of its own: the program as it is printed."""
        count = self.count
        return replace(
            self,
            members=tuple(np.array([node]) for nodes in self.members for node in nodes.tolist()),
            free=np.repeat(self.free, count, axis=0),
            room=np.repeat(self.room, count, axis=1),
        )

    def goes_before(self) -> BoolArray:
        """
        Return at ``[b, a]`` whether some best solution never starts b without a; shape ``(J, J)``.

        So it is if a is worth no less, asks for the same with no more units, and keeps its bounds
        on nodes wherever b does: then a can have b's place. Of equal jobs the first goes first.
        """
        weight, units = np.array(self.weight), self.units
        same = self.shape[:, None] == self.shape
        # An even split depends on what divides the units.
        same &= (units[:, None] == units) | ~self.even
        first: BoolArray = (
            same
            & (weight[:, None] <= weight)
            & (units[:, None] >= units)
            & (self.nodes_min[:, None] >= self.nodes_min)
            & (np.minimum(self.nodes_max[:, None], units) <= self.nodes_max)
            & (self.nodes_min <= units)
        )
        equal = first & first.T
        before: BoolArray = (first & ~equal) | np.tril(equal, -1)
        return before

    def without_the_hopeless(self) -> Problem:
        """
        Return the problem without jobs that some best solution does not start.

        Those are jobs that do not fit on the machine together with all that go before them.
        """
        before = self.goes_before() | np.eye(len(self), dtype=np.bool_)
        kept = (before & (self.kind[:, None] == self.kind)).sum(axis=1) <= self.alike
        fewest = self.fewest_nodes()
        total = (self.free * self.count[:, None]).sum(axis=0)
        taken = self.request * self.units[:, None] + self.per_node * fewest[:, None]
        kept &= (before @ taken <= total).all(axis=1)
        return self if kept.all() else self.take(np.flatnonzero(kept))

    def fewest_nodes(self) -> IntArray:
        """Return the fewest nodes each job can be on, if it had them to itself; shape ``(J,)``."""
        order = np.argsort(-self.room, axis=1, kind="stable")
        room = np.take_along_axis(self.room, order, axis=1)
        count = np.broadcast_to(self.count, room.shape)
        count = np.take_along_axis(count, order, axis=1)
        before = np.cumsum(room * count, axis=1) - room * count
        left = np.clip(self.units[:, None] - before, 0, None)
        nodes = np.minimum(-(-left // np.maximum(room, 1)), count)
        fewest: IntArray = np.maximum(nodes.sum(axis=1), self.nodes_min)
        return fewest

    def worth(self, job: int, nodes: int) -> int:
        """Return what a job on some nodes adds to 3.1, times ``2 |N|``."""
        return self.weight[job] * (2 * self.num_nodes - nodes)


def _classes(
    view: View, eligible_classes: IntArray, asked: IntArray, *, whole: bool
) -> list[IntArray]:
    """Return the nodes in classes, in order of their first node; those with nothing left out."""
    free = view.free[:, asked]
    parts = [free, view.eligible[eligible_classes].T]
    if whole:
        untouched = (view.free == view.system.capacity).all(axis=1)
        parts.append(untouched[:, None])
    key = np.concatenate(parts, axis=1, dtype=np.int64)
    _, first, code = np.unique(key, axis=0, return_index=True, return_inverse=True)
    code = code.reshape(-1)
    by_class = np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code))[:-1])
    return [by_class[index] for index in np.argsort(first, kind="stable").tolist()]


def _room(
    view: View,
    nodes: IntArray,
    request: IntArray,
    per_node: IntArray,
    exclusive: BoolArray,
    most: IntArray,
) -> IntArray:
    """Return how many units of each job fit on some nodes; ``most``, or fewer."""
    room = np.broadcast_to(most[:, None], (len(most), len(nodes))).copy()
    for kind in range(request.shape[1]):
        left = view.free[nodes, kind][None, :] - per_node[:, kind][:, None]
        need = request[:, kind][:, None]
        fit = np.where(need > 0, left // np.maximum(need, 1), np.where(left >= 0, room, 0))
        room = np.minimum(room, np.maximum(fit, 0))
    if exclusive.any():
        touched = (view.free[nodes] != view.system.capacity[nodes]).any(axis=1)
        room[np.ix_(exclusive, touched)] = 0
    return room


def _in_range(weight: Sequence[int], num_nodes: int) -> tuple[int, ...]:
    """
    Return weights in the smallest whole numbers that keep their ratios.

    Where their sum times ``2 |N|`` would leave 64 bits they are divided, rounding to 1 or more.
    """
    divisor = gcd(*weight)
    small = [value // divisor for value in weight]
    portion = -(-2 * num_nodes * sum(small) // (cpsat.MOST // 2))
    return tuple(max(1, value // max(portion, 1)) for value in small)
