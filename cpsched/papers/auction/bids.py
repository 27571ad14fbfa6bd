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
MAX_LEVELS = 8
#: How many node counts are tried for an even split whose number of nodes is open.
_MAX_SHARES = 4
#: The golden section: its multiples modulo 1 stay far apart.
_PHASE = 0.6180339887498949


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BidRequest:
    """
    A request that one or more jobs of a window make; R resource kinds.

    Attributes
    ----------
    nodes_max
        No more than the units.
    unit_request
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
    unit_request: IntArray
    levels: IntArray

    @property
    def job_type(self) -> int:
        """The thesis's type (4.1): 1: units alone; 2: bounds on nodes; 3: an even split."""
        if self.even:
            return 3
        return 1 if self.nodes_min == 1 and self.nodes_max >= self.units else 2


def requests_of(jobs: JobTable, largest: IntArray) -> tuple[list[BidRequest], list[int]]:
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
    unit_request, least, per_node_max = table.request, table.per_node, table.per_node_max
    requests = [
        BidRequest(
            units=columns["units"][at],
            nodes_min=columns["nodes_min"][at],
            nodes_max=min(columns["nodes_max"][at], columns["units"][at]),
            even=bool(columns["split"][at]),
            contiguous=bool(columns["contiguous"][at]),
            exclusive=bool(columns["exclusive"][at]),
            eligible_class=columns["eligible_class"][at],
            unit_request=unit_request[at],
            levels=levels_between(least[at], np.minimum(per_node_max[at], largest)),
        )
        for at in range(len(table))
    ]
    return requests, number.tolist()


def levels_between(least: IntArray, largest: IntArray) -> IntArray:
    """
    Return the amounts on each node that are bid for, least first, shape ``(L, R)``.

    All kinds with a range go up together, one by one, or in at most ``MAX_LEVELS`` even steps.
    """
    span = np.maximum(largest - least, 0)
    longest = int(span.max(initial=0))
    steps = min(longest + 1, MAX_LEVELS)
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
    request
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
    request: BidRequest
    kind: BidClass
    node: IntArray
    units: IntArray
    level: IntArray
    num_nodesets: int


class BidOffer:
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

    def __init__(self, request: BidRequest, level: IntArray, line: Line, nodes: int = 0) -> None:
        self.request = request
        self.level = level
        self.line = line
        self.nodes_min = nodes or request.nodes_min
        self.nodes_max = nodes or request.nodes_max
        self.spots: Spots | None = None

    def forward(self, begin: IntArray) -> tuple[IntArray, IntArray]:
        """
        Return the shortest windows ``[begin, end)`` that hold the job, from given positions on.

        Positions from which there is none are left out.
        """
        line = self.line
        end = np.searchsorted(line.before, line.before[begin] + self.request.units).astype(np.int64)
        end = np.maximum(end, begin + self.nodes_min)
        good = (end <= len(line.node)) & (end - begin <= self.nodes_max)
        return begin[good], end[good]

    def backward(self, end: IntArray) -> tuple[IntArray, IntArray]:
        """Return the shortest windows that hold the job and end at given positions."""
        before = self.line.before
        begin = np.searchsorted(before, before[end] - self.request.units, side="right") - 1
        begin = np.minimum(begin, end - self.nodes_min).astype(np.int64)
        good = (begin >= 0) & (end - begin <= self.nodes_max)
        return begin[good], end[good]

    def bid(self, job: int, handle: int, spot: Spot, units: IntArray | None = None) -> Bid:
        """Return the bid of a job for a spot; where units are not given they are spread on it."""
        line, run, kind = self.line, self.line.run[spot], BidClass.C
        if units is None:
            fixed = self.nodes_min == self.nodes_max
            units = spread(line.fitting[spot], self.request.units, evenly=fixed)
        num_nodesets = int(run[-1] - run[0]) + 1
        if not isinstance(spot, slice):
            num_nodesets = len(np.unique(run))
        elif num_nodesets == 1:
            aligned = spot.start == line.begins[run[0]] or spot.stop == line.ends[run[0]]
            kind = BidClass.A if aligned else BidClass.B
        return Bid(
            job, handle, self.request, kind, line.node[spot], units, self.level, num_nodesets
        )


class BidMaker:
    """
    Makes the bids of a decision.

    Parameters
    ----------
    view
        What is free now.
    jobs
        The window, highest priority first.
    per_job, max_bids
        Bids of one job, and of all together (``MAXBIDSPERJOB``, ``MAXBIDS``).
    max_nodes
        Nodes of all bids together, in equal parts for all jobs; a job may always make two bids.
    spots
        Finds the candidates of an offer.
    ranges
        Whether jobs bid for ranges of generic resources, not only for the least amount.

    Attributes
    ----------
    requests, request_of
        The different requests, and which of them each job makes.
    """

    def __init__(
        self,
        view: View,
        jobs: JobTable,
        *,
        per_job: int,
        max_bids: int,
        max_nodes: int,
        spots: Callable[[BidOffer], Spots],
        ranges: bool,
    ) -> None:
        self.requests, self.request_of = requests_of(
            jobs, view.system.capacity.max(axis=0, initial=0)
        )
        self._nodes_per_job = max_nodes // max(len(jobs), 1)
        self._view = view
        self._handle: list[int] = jobs.handle.tolist()
        self._per_job = per_job
        self._max_bids = max_bids
        self._spots = spots
        self._ranges = ranges
        self._idle = (view.free == view.system.capacity).all(axis=1)
        self._offers: dict[int, list[BidOffer]] = {}
        self._lines: dict[tuple[object, ...], Line] = {}

    def make(self) -> list[Bid]:
        """Return the bids, job by job from the highest priority on, until there are too many."""
        made: list[Bid] = []
        for job, number in enumerate(self.request_of):
            if len(made) >= self._max_bids:
                break
            bids: list[Bid] = []
            for offer, spot in self._in_turn(self.offers(number), job):
                if self._enough(bids):
                    break
                bids.append(offer.bid(job, self._handle[job], spot))
            made += bids[: self._max_bids - len(made)]
        return made

    def _enough(self, bids: list[Bid]) -> bool:
        """Say whether a job has made all the bids it may make."""
        if len(bids) >= self._per_job:
            return True
        nodes = sum(len(bid.node) for bid in bids)
        return len(bids) > 1 and nodes >= self._nodes_per_job

    def offers(self, number: int) -> list[BidOffer]:
        """Return the offers for a request, that with the most generic resources first."""
        if number not in self._offers:
            request = self.requests[number]
            levels = request.levels[::-1] if self._ranges else request.levels[:1]
            self._offers[number] = [
                offer for level in levels for offer in self._at_level(request, level)
            ]
        return self._offers[number]

    def bid_on(self, job: int, node: IntArray, units: IntArray) -> Bid:
        """Return the bid of a job for nodes that hold it, at the least level."""
        request = self.requests[self.request_of[job]]
        line = self._line(request, request.levels[0], int(units[0]) if request.even else 0)
        spot = spot_of(np.searchsorted(line.node, node))
        return BidOffer(request, request.levels[0], line).bid(job, self._handle[job], spot, units)

    def _line(self, request: BidRequest, level: IntArray, share: int) -> Line:
        # A job that asks for nothing fits anywhere, all of it.
        max_units = MAX_AMOUNT if request.unit_request.any() else request.units
        amounts = request.unit_request.tobytes(), level.tobytes()
        key = (request.eligible_class, request.exclusive, *amounts, share, max_units)
        if key not in self._lines:
            usable: BoolArray = self._view.eligible[request.eligible_class]
            if request.exclusive:
                usable = usable & self._idle
            unit_request, limits = request.unit_request[None, :], np.array([max_units])
            fitting = (
                usable * unit_capacity(self._view.free, unit_request, level[None, :], limits)[0]
            )
            if share:
                fitting = np.where(fitting >= share, np.int64(share), np.int64(0))
            self._lines[key] = Line.of(fitting)
        return self._lines[key]

    def _at_level(self, request: BidRequest, level: IntArray) -> list[BidOffer]:
        if not request.even:
            line = self._line(request, level, 0)
            enough = line.before[-1] >= request.units and len(line.node) >= request.nodes_min
            return [BidOffer(request, level, line)] if enough else []
        candidates: list[BidOffer] = []
        for nodes in range(
            request.nodes_min, min(request.nodes_max, self._view.system.num_nodes) + 1
        ):
            if request.units % nodes:
                continue
            line = self._line(request, level, request.units // nodes)
            if len(line.node) >= nodes:
                candidates.append(BidOffer(request, level, line, nodes))
            if len(candidates) == _MAX_SHARES:
                break
        return candidates

    def _in_turn(self, offers: list[BidOffer], job: int) -> Iterable[tuple[BidOffer, Spot]]:
        """Yield distinct spots, classes and offers in turn."""
        for offer in offers:
            if offer.spots is None:
                offer.spots = self._spots(offer)
        candidates = [(offer, offer.spots) for offer in offers if offer.spots is not None]
        queues = [
            *((offer, spots.aligned) for offer, spots in candidates),
            *((offer, _spaced(spots.inside, job, self._per_job)) for offer, spots in candidates),
            *((offer, spots.joined) for offer, spots in candidates),
        ]
        seen: set[tuple[int, object]] = set()
        for offer, spot in _round_robin(queues):
            nodes_key: object = (
                (spot.start, spot.stop) if isinstance(spot, slice) else spot.tobytes()
            )
            key = id(offer), nodes_key
            if key not in seen:
                seen.add(key)
                yield offer, spot


def _round_robin(queues: Sequence[tuple[BidOffer, list[Spot]]]) -> Iterable[tuple[BidOffer, Spot]]:
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
