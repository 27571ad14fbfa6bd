"""
Bids: places a job could have now, a few for each job of the window (thesis, 4.1, Figure 4.5).

A bid names nodes, units on each, and how much of the generic resources is taken on each node. The
nodes that a request can use at one level of generic resources form a :class:`Line`. Figure 4.5
makes all bids of class A, then of class B, and of class C only where a job has made fewer bids
than it may, so that a job with many nodesets never bids for nodes of two of them. By default the
classes take turns, and so do the levels of a range, from the highest down. Small nodesets come
first; bids of class B start at a different place for each job, so that equal jobs do not all bid
for the same nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from cpsched.api.machines import unit_capacity
from cpsched.api.model import MAX_AMOUNT
from cpsched_papers.auction.asks import asks_of
from cpsched_papers.auction.preference import BidClass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cpsched.api.model import BoolArray, IntArray, JobTable, View
    from cpsched_papers.auction.asks import Ask


#: Positions in a line: a window, or, where they are not consecutive, the positions in order.
Spot: TypeAlias = "slice | IntArray"

#: How many node counts are tried for an even split whose number of nodes is open.
_MOST_SHARES = 4
#: The golden section: its multiples modulo 1 stay far apart.
_PHASE = 0.6180339887498949


class Spots(NamedTuple):
    """
    Candidates for bids, best first.

    Attributes
    ----------
    aligned, joined
        Of class A and of class C.
    inside
        All windows of class B, begin and end, shape ``(n, 2)``.
    """

    aligned: list[Spot]
    inside: IntArray
    joined: list[Spot]


class Bid(NamedTuple):
    """
    A place that a job could have now; K nodes, R resource kinds.

    Attributes
    ----------
    job
        Position of the job in the window.
    kind
        Class of the bid.
    node, units
        Nodes in ascending order, and the job's units on each, shape ``(K,)``.
    level
        What is taken on each node in addition, shape ``(R,)``.
    num_nodesets
        How many nodesets its nodes are in.
    """

    job: int
    kind: BidClass
    node: IntArray
    units: IntArray
    level: IntArray
    num_nodesets: int


class Offer:
    """
    The candidates of a request at one level of generic resources.

    Parameters
    ----------
    level
        What is taken on each node in addition, shape ``(R,)``.
    line
        The nodes it can use.
    share
        Units on each node of an even split; 0 otherwise.

    Attributes
    ----------
    nodes_min, nodes_max
        Bounds on the number of nodes.
    spots
        The candidates, once they are known.
    """

    def __init__(self, ask: Ask, level: IntArray, line: Line, share: int = 0) -> None:
        self.ask = ask
        self.level = level
        self.line = line
        nodes = ask.units // share if share else 0
        self.nodes_min = nodes or ask.nodes_min
        self.nodes_max = nodes or ask.nodes_max
        self.spots: Spots | None = None

    def forward(self, begin: IntArray) -> tuple[IntArray, IntArray]:
        """Return the shortest windows from some positions on."""
        return self.line.forward(begin, self.ask.units, self.nodes_min, self.nodes_max)

    def backward(self, end: IntArray) -> tuple[IntArray, IntArray]:
        """Return the shortest windows up to some positions."""
        return self.line.backward(end, self.ask.units, self.nodes_min, self.nodes_max)

    def bid(self, job: int, spot: Spot) -> Bid:
        """Return the bid of a job for a spot."""
        fixed = self.nodes_min == self.nodes_max
        units = spread(self.line.room[spot], self.ask.units, evenly=fixed)
        return _bid(self.line, spot, job, units, self.level)


def _bid(line: Line, spot: Spot, job: int, units: IntArray, level: IntArray) -> Bid:
    run = line.run[spot]
    kind = BidClass.C
    num_nodesets = int(run[-1] - run[0]) + 1
    if not isinstance(spot, slice):
        num_nodesets = len(np.unique(run))
    elif num_nodesets == 1:
        aligned = spot.start == line.begins[run[0]] or spot.stop == line.ends[run[0]]
        kind = BidClass.A if aligned else BidClass.B
    return Bid(job, kind, line.node[spot], units, level, num_nodesets)


def spot_of(positions: IntArray) -> Spot:
    """Return the spot of some positions of a line, in any order."""
    found: IntArray = np.sort(positions)
    first, last = int(found[0]), int(found[-1])
    return slice(first, last + 1) if last - first + 1 == len(found) else found


def spread(room: IntArray, units: int, *, evenly: bool) -> IntArray:
    """
    Put units on nodes, at least one on each.

    The thesis does not specify this. If a job sets its number of nodes, an even spread leaves cores
    for the generic resources on all of them; otherwise filling one node after the other leaves
    whole nodes free.

    Parameters
    ----------
    room
        Units each node holds, at least 1, shape ``(K,)``; together they hold all.
    units
        At least K.
    evenly
        As even as the room allows; otherwise nodes are filled in order, unless fewer would do.
    """
    count = len(room)
    if not evenly:
        taken = room.copy()
        taken[-1] -= int(room.sum()) - units
        if taken[-1] >= 1:
            return taken
    each, extra = divmod(units, count)
    taken = np.full(count, each, dtype=np.int64)
    taken[:extra] += 1
    if (taken <= room).all():
        return taken
    # The largest number that every node can get, as far as it has the room.
    low, high = 1, int(room.max())
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(room, middle).sum()) <= units:
            low = middle
        else:
            high = middle - 1
    taken = np.minimum(room, low)
    taken[np.flatnonzero(room > low)[: units - int(taken.sum())]] += 1
    return taken


class BidMaker:
    """
    Makes the bids of a decision.

    Parameters
    ----------
    view
        What is free now.
    jobs
        The window, highest priority first.
    per_job, most
        Bids of one job, and of all together (``MAXBIDSPERJOB``, ``MAXBIDS``).
    most_nodes
        Nodes of all bids together, in equal parts for all jobs; a job may always make two bids.
        None: no such limit.
    spots
        Finds the candidates of an offer.
    ranges
        Whether jobs bid for ranges of generic resources, not only for the least amount.
    turns
        Whether the classes of bids take turns, instead of one coming after the other (Figure 4.5).

    Attributes
    ----------
    asks, ask_of
        The different requests, and which of them each job makes.
    """

    def __init__(
        self,
        view: View,
        jobs: JobTable,
        *,
        per_job: int,
        most: int,
        most_nodes: int | None,
        spots: Callable[[Offer], Spots],
        ranges: bool,
        turns: bool,
    ) -> None:
        self.asks, self.ask_of = asks_of(jobs, view.system.capacity.max(axis=0, initial=0))
        self._nodes_per_job = None if most_nodes is None else most_nodes // max(len(jobs), 1)
        self._view = view
        self._per_job = per_job
        self._most = most
        self._spots = spots
        self._ranges = ranges
        self._turns = turns
        self._idle = (view.free == view.system.capacity).all(axis=1)
        self._offers: dict[int, list[Offer]] = {}
        self._lines: dict[tuple[object, ...], Line] = {}

    def make(self) -> list[Bid]:
        """Return the bids, job by job from the highest priority on, until there are too many."""
        made: list[Bid] = []
        for job, number in enumerate(self.ask_of):
            if len(made) >= self._most:
                break
            found: list[Bid] = []
            for offer, spot in self._in_turn(self.offers(number), job):
                if self._enough(found):
                    break
                found.append(offer.bid(job, spot))
            made += found[: self._most - len(made)]
        return made

    def _enough(self, found: list[Bid]) -> bool:
        """Say whether a job has made all the bids it may make."""
        if len(found) >= self._per_job:
            return True
        most = self._nodes_per_job
        return most is not None and len(found) > 1 and sum(len(bid.node) for bid in found) >= most

    def offers(self, number: int) -> list[Offer]:
        """Return the offers for a request, that with the most generic resources first."""
        if number not in self._offers:
            ask = self.asks[number]
            levels = ask.levels[::-1] if self._ranges else ask.levels[:1]
            self._offers[number] = [
                offer for level in levels for offer in self._at_level(ask, level)
            ]
        return self._offers[number]

    def bid_on(self, job: int, node: IntArray, units: IntArray) -> Bid:
        """Return the bid of a job for nodes that hold it, at the least level."""
        ask = self.asks[self.ask_of[job]]
        line = self._line(ask, ask.levels[0], int(units[0]) if ask.even else 0)
        spot = spot_of(np.searchsorted(line.node, node))
        return _bid(line, spot, job, units, ask.levels[0])

    def _line(self, ask: Ask, level: IntArray, share: int) -> Line:
        # A job that asks for nothing fits anywhere, all of it.
        most = MAX_AMOUNT if ask.request.any() else ask.units
        amounts = ask.request.tobytes(), level.tobytes()
        key = (ask.eligible_class, ask.exclusive, *amounts, share, most)
        if key not in self._lines:
            usable: BoolArray = self._view.eligible[ask.eligible_class]
            if ask.exclusive:
                usable = usable & self._idle
            request, limit = ask.request[None, :], np.array([most])
            room = usable * unit_capacity(self._view.free, request, level[None, :], limit)[0]
            if share:
                room = np.where(room >= share, np.int64(share), np.int64(0))
            self._lines[key] = Line.of(room)
        return self._lines[key]

    def _at_level(self, ask: Ask, level: IntArray) -> list[Offer]:
        if not ask.even:
            line = self._line(ask, level, 0)
            enough = line.before[-1] >= ask.units and len(line.node) >= ask.nodes_min
            return [Offer(ask, level, line)] if enough else []
        found: list[Offer] = []
        for nodes in range(ask.nodes_min, min(ask.nodes_max, self._view.system.num_nodes) + 1):
            if ask.units % nodes:
                continue
            line = self._line(ask, level, ask.units // nodes)
            if len(line.node) >= nodes:
                found.append(Offer(ask, level, line, ask.units // nodes))
            if len(found) == _MOST_SHARES:
                break
        return found

    def _in_turn(self, offers: list[Offer], job: int) -> Iterable[tuple[Offer, Spot]]:
        """Yield distinct spots, offers in turn; classes in turn too, or one after the other."""
        for offer in offers:
            if offer.spots is None:
                offer.spots = self._spots(offer)
        found = [(offer, offer.spots) for offer in offers if offer.spots is not None]
        classes = [
            [(offer, spots.aligned) for offer, spots in found],
            [(offer, _spaced(spots.inside, job, self._per_job)) for offer, spots in found],
            [(offer, spots.joined) for offer, spots in found],
        ]
        ordered = [list(chain(*classes))] if self._turns else classes
        seen: set[tuple[int, object]] = set()
        for offer, spot in chain.from_iterable(map(_round_robin, ordered)):
            place: object = (spot.start, spot.stop) if isinstance(spot, slice) else spot.tobytes()
            key = id(offer), place
            if key not in seen:
                seen.add(key)
                yield offer, spot


def _round_robin(queues: Sequence[tuple[Offer, list[Spot]]]) -> Iterable[tuple[Offer, Spot]]:
    """Yield the first of each queue, then the second of each, and so on."""
    for turn in range(max((len(queue) for _, queue in queues), default=0)):
        for offer, queue in queues:
            if turn < len(queue):
                yield offer, queue[turn]


def _spaced(windows: IntArray, job: int, count: int) -> list[Spot]:
    """Return some windows, evenly spaced; where they start depends on the job."""
    total = len(windows)
    if total > count:
        begin = (job * _PHASE) % 1.0
        picked = ((np.arange(count) + begin) * (total / count)).astype(np.int64) % total
        windows = windows[picked]
    return [slice(low, high) for low, high in windows.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """
    The nodes that a request can use, in order, in runs called nodesets; M nodes in P nodesets.

    Attributes
    ----------
    node, room
        Their numbers and how many units each holds, at least 1; shape ``(M,)``.
    before
        Units that fit on the nodes before each, and on all of them; shape ``(M + 1,)``.
    run
        The nodeset of each, from 0 on, shape ``(M,)``.
    begins, ends
        Positions in the line at which nodesets begin and end (half-open), shape ``(P,)``.
    """

    node: IntArray
    room: IntArray
    before: IntArray
    run: IntArray
    begins: IntArray
    ends: IntArray

    @classmethod
    def of(cls, room: IntArray) -> Line:
        """Return the line of the nodes that hold a unit or more, given ``room``, shape ``(N,)``."""
        node = np.flatnonzero(room > 0).astype(np.int64)
        held = room[node]
        before = np.zeros(len(node) + 1, dtype=np.int64)
        np.cumsum(held, out=before[1:])
        first = np.ones(len(node), dtype=np.bool_)
        first[1:] = node[1:] != node[:-1] + 1
        begins = np.flatnonzero(first).astype(np.int64)
        ends = np.append(begins[1:], len(node)).astype(np.int64)[: len(begins)]
        return cls(node, held, before, np.cumsum(first) - 1, begins, ends)

    def forward(
        self, begin: IntArray, units: int, nodes_min: int, nodes_max: int
    ) -> tuple[IntArray, IntArray]:
        """
        Return the shortest windows ``[begin, end)`` that hold a job, from given positions on.

        Positions from which there is none are left out.
        """
        end = np.searchsorted(self.before, self.before[begin] + units).astype(np.int64)
        end = np.maximum(end, begin + nodes_min)
        good = (end <= len(self.node)) & (end - begin <= nodes_max)
        return begin[good], end[good]

    def backward(
        self, end: IntArray, units: int, nodes_min: int, nodes_max: int
    ) -> tuple[IntArray, IntArray]:
        """Return the shortest windows that hold a job and end at given positions."""
        begin = np.searchsorted(self.before, self.before[end] - units, side="right") - 1
        begin = np.minimum(begin, end - nodes_min).astype(np.int64)
        good = (begin >= 0) & (end - begin <= nodes_max)
        return begin[good], end[good]


def machine_lines(free: IntArray, generic: Iterable[int]) -> list[Line]:
    """
    Return the nodesets of a machine, those of Figure 4.4 of the thesis, as lines.

    Parameters
    ----------
    free
        Cores first, shape ``(N, R)``.
    generic
        Which kinds are generic resources. The first line is of all nodes with a core free; then
        there is one for each level of each kind, of those that have as much of it free, too.
    """
    cores = free[:, 0]
    levels = [
        np.where(free[:, kind] >= level, cores, 0)
        for kind in generic
        for level in range(1, int(free[:, kind].max(initial=0)) + 1)
    ]
    return [Line.of(usable) for usable in (cores, *levels)]
