"""
Bids: places a job could have now, a few for each job of the window (thesis, 4.1, Figure 4.5).

A bid names nodes, units on each, and how much of the generic resources is taken on each node. The
nodes that a request can use at one level of generic resources form a :class:`Line`. Figure 4.5
makes all bids of class A, then of class B, and of class C only where a job has made fewer bids
than it may, so that a job with many nodesets never bids for nodes of two of them. Here the classes
take turns, and so do the levels of a range, from the highest down. Small nodesets come first; bids
of class B start at a different place for each job, so that equal jobs do not all bid for the same
nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.model.node_sets import unit_capacity
from cpsched.papers.auction.lines import Line, spot_of, spread
from cpsched.papers.auction.preference import BidClass
from cpsched.util.types import MAX_AMOUNT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View
    from cpsched.papers.auction.lines import Spot
    from cpsched.util.types import BoolArray, IntArray

#: More steps than this of a range of generic resources are not bid for (on a node with more GPUs).
MOST_LEVELS = 8
#: How many node counts are tried for an even split whose number of nodes is open.
_MOST_SHARES = 4
#: The golden section: its multiples modulo 1 stay far apart.
_PHASE = 0.6180339887498949


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ask:
    """
    A request that one or more jobs of a window make; R resource kinds.

    Attributes
    ----------
    nodes_max
        No more than the units.
    request
        Amounts of one unit, shape ``(R,)``.
    levels
        What may be taken on every node in addition, least first, shape ``(L, R)``: one row where
        the job names no range.
    """

    units: int
    nodes_min: int
    nodes_max: int
    even: bool
    contiguous: bool
    exclusive: bool
    eligible_class: int
    request: IntArray
    levels: IntArray

    @property
    def job_type(self) -> int:
        """The thesis's type (4.1): 1: units alone; 2: bounds on nodes; 3: an even split."""
        if self.even:
            return 3
        return 1 if self.nodes_min == 1 and self.nodes_max >= self.units else 2


def asks_of(jobs: JobTable, largest: IntArray) -> tuple[list[Ask], list[int]]:
    """
    Return the distinct requests of some jobs, and which of them each job makes.

    ``largest`` is the most of each kind that any node has, shape ``(R,)``.
    """
    number, first = jobs.distinct()
    table = jobs.take(first)
    columns = {
        name: getattr(table, name).tolist()
        for name in ("units", "nodes_min", "nodes_max", "split", "contiguous", "exclusive",
                     "eligible_class")
    }  # fmt: skip
    request, least, most = table.request, table.per_node, table.per_node_max
    asks = [
        Ask(
            units=columns["units"][at],
            nodes_min=columns["nodes_min"][at],
            nodes_max=min(columns["nodes_max"][at], columns["units"][at]),
            even=bool(columns["split"][at]),
            contiguous=bool(columns["contiguous"][at]),
            exclusive=bool(columns["exclusive"][at]),
            eligible_class=columns["eligible_class"][at],
            request=request[at],
            levels=levels_between(least[at], np.minimum(most[at], largest)),
        )
        for at in range(len(table))
    ]
    return asks, number.tolist()


def levels_between(least: IntArray, most: IntArray) -> IntArray:
    """
    Return the amounts on each node that are bid for, least first, shape ``(L, R)``.

    All kinds with a range go up together, one by one, or in at most ``MOST_LEVELS`` even steps.
    """
    span = np.maximum(most - least, 0)
    longest = int(span.max(initial=0))
    steps = min(longest + 1, MOST_LEVELS)
    part = np.arange(steps, dtype=np.int64)[:, None]
    levels: IntArray = least + (span * part // max(steps - 1, 1))
    return levels


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
    job, handle
        Position of the job in the window, and its handle.
    ask
        Its request.
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
    handle: int
    ask: Ask
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
    nodes
        Their number for an even split; 0 otherwise.

    Attributes
    ----------
    nodes_min, nodes_max
        Bounds on the number of nodes.
    spots
        The candidates, once they are known.
    """

    def __init__(self, ask: Ask, level: IntArray, line: Line, nodes: int = 0) -> None:
        self.ask = ask
        self.level = level
        self.line = line
        self.nodes_min = nodes or ask.nodes_min
        self.nodes_max = nodes or ask.nodes_max
        self.spots: Spots | None = None

    def forward(self, begin: IntArray) -> tuple[IntArray, IntArray]:
        """
        Return the shortest windows ``[begin, end)`` that hold the job, from given positions on.

        Positions from which there is none are left out.
        """
        line = self.line
        end = np.searchsorted(line.before, line.before[begin] + self.ask.units).astype(np.int64)
        end = np.maximum(end, begin + self.nodes_min)
        good = (end <= len(line.node)) & (end - begin <= self.nodes_max)
        return begin[good], end[good]

    def backward(self, end: IntArray) -> tuple[IntArray, IntArray]:
        """Return the shortest windows that hold the job and end at given positions."""
        before = self.line.before
        begin = np.searchsorted(before, before[end] - self.ask.units, side="right") - 1
        begin = np.minimum(begin, end - self.nodes_min).astype(np.int64)
        good = (begin >= 0) & (end - begin <= self.nodes_max)
        return begin[good], end[good]

    def bid(self, job: int, handle: int, spot: Spot, units: IntArray | None = None) -> Bid:
        """Return the bid of a job for a spot; where units are not given they are spread on it."""
        line, run, kind = self.line, self.line.run[spot], BidClass.C
        if units is None:
            fixed = self.nodes_min == self.nodes_max
            units = spread(line.room[spot], self.ask.units, evenly=fixed)
        num_nodesets = int(run[-1] - run[0]) + 1
        if not isinstance(spot, slice):
            num_nodesets = len(np.unique(run))
        elif num_nodesets == 1:
            aligned = spot.start == line.begins[run[0]] or spot.stop == line.ends[run[0]]
            kind = BidClass.A if aligned else BidClass.B
        return Bid(job, handle, self.ask, kind, line.node[spot], units, self.level, num_nodesets)


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
    spots
        Finds the candidates of an offer.
    ranges
        Whether jobs bid for ranges of generic resources, not only for the least amount.

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
        most_nodes: int,
        spots: Callable[[Offer], Spots],
        ranges: bool,
    ) -> None:
        self.asks, self.ask_of = asks_of(jobs, view.system.capacity.max(axis=0, initial=0))
        self._nodes_per_job = most_nodes // max(len(jobs), 1)
        self._view = view
        self._handle: list[int] = jobs.handle.tolist()
        self._per_job = per_job
        self._most = most
        self._spots = spots
        self._ranges = ranges
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
                found.append(offer.bid(job, self._handle[job], spot))
            made += found[: self._most - len(made)]
        return made

    def _enough(self, found: list[Bid]) -> bool:
        """Say whether a job has made all the bids it may make."""
        if len(found) >= self._per_job:
            return True
        nodes = sum(len(bid.node) for bid in found)
        return len(found) > 1 and nodes >= self._nodes_per_job

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
        return Offer(ask, ask.levels[0], line).bid(job, self._handle[job], spot, units)

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
                found.append(Offer(ask, level, line, nodes))
            if len(found) == _MOST_SHARES:
                break
        return found

    def _in_turn(self, offers: list[Offer], job: int) -> Iterable[tuple[Offer, Spot]]:
        """Yield distinct spots, classes and offers in turn."""
        for offer in offers:
            if offer.spots is None:
                offer.spots = self._spots(offer)
        found = [(offer, offer.spots) for offer in offers if offer.spots is not None]
        queues = [
            *((offer, spots.aligned) for offer, spots in found),
            *((offer, _spaced(spots.inside, job, self._per_job)) for offer, spots in found),
            *((offer, spots.joined) for offer, spots in found),
        ]
        seen: set[tuple[int, object]] = set()
        for offer, spot in _round_robin(queues):
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
