"""What AUCSCHED 1, 2 and 3 have in common: bids for a window of jobs, and an auction of them."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.cp import cpsat, stats
from cpsched.dispatch.passes import fits_now, frozen
from cpsched.errors import check_least
from cpsched.model.allocation import Allocation
from cpsched.model.decision import NOTHING, Decision, Start
from cpsched.model.jobtable import JobTable
from cpsched.papers.auction.auction import Auction
from cpsched.papers.auction.bids import BidMaker
from cpsched.papers.auction.program import AuctionProgram, node_classes_of
from cpsched.papers.auction.search import best_greedy, search
from cpsched.papers.window import SIZE, WindowDispatcher

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.papers.auction.bids import Bid, BidOffer, Spots
    from cpsched.util.types import IntArray

#: ``MAXBIDSPERJOB`` of the thesis.
BIDS_PER_JOB = 15
#: Auctions with at most this many bids, and nodes of all bids, are solved as a whole.
EXACT_BIDS = 400
EXACT_NODES = 20_000
#: How many bids may contain a node of the machine, on average.
NODES_PER_NODE = 100


@dataclass(kw_only=True, eq=False)
class Auctioneer(WindowDispatcher):
    """
    Base class of auctions: waiting jobs bid for sets of free nodes, and an integer program selects.

    Parameters
    ----------
    order, interval, limit
        As for :class:`~cpsched.papers.window.WindowDispatcher`.
    window
        Number of jobs that may bid, by priority among those that may fit now.
    bids_per_job, bids
        Largest number of bids of one job, and of all jobs.

    Notes
    -----
    If the limit passes before the solver proves the best selection, the best one found wins. The
    window stays as it is.
    """

    allocates = "pack"
    goes_wrong_when = "the load is high (it starts as many jobs as possible, and wide ones wait)"
    #: Whether the program decides on units: then jobs bid for no ranges of generic resources, and
    #: partial auctions do not replace a program that is too large for one decision.
    opens_units: ClassVar[bool] = False

    bids_per_job: int = BIDS_PER_JOB
    bids: int = BIDS_PER_JOB * SIZE
    limit: float = 0.2

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_least("bids_per_job", self.bids_per_job, 1)
        check_least("bids", self.bids, 1)
        # Probing took whole decisions of AUCSCHED1 before it had looked for winners.
        self.limits = replace(self.limits, probe=False)

    def reset(self, system: System, seed: int) -> None:
        """Clear all memory and prepare for a system, before a run starts."""
        super().reset(system, seed)
        #: The generic resources: all kinds but cores and memory.
        self.generic = np.array(
            [kind for kind, name in enumerate(system.resources) if kind and name != "mem"],
            dtype=np.int64,
        )

    def choose(self, view: View) -> Decision:
        """
        Return the starts of the winning bids. The solver is not called if they are clear without
        it.
        """
        if not len(view.waiting):
            return NOTHING
        auction = self._auction(view)
        if auction is None:
            return self.met(view, (), {stats.SKIPPED_NONE_FIT: 1}, more=False)
        known = best_greedy(auction)
        if auction.is_best(known):
            return self._started(view, auction, _as_bid(auction, known), {stats.SKIPPED_ALL_FIT: 1})
        if self.opens_units or _is_small(auction):
            return self._solved(view, auction, known)
        return self._searched(view, auction, known, {})

    def candidates(self, view: View) -> JobTable:
        """Return the waiting jobs that may fit now. Only they bid."""
        waiting = view.waiting
        return waiting.take(fits_now(view, frozen(waiting.rows.copy()), self.allocator))

    @abstractmethod
    def spots(self, offer: BidOffer) -> Spots:
        """Return the sets of nodes that a job may bid for."""

    @abstractmethod
    def weights(self, view: View, bids: Sequence[Bid], priorities: Sequence[int]) -> list[int]:
        """Return the value of each bid as a whole number."""

    def _auction(self, view: View) -> Auction | None:
        """Return the auction of the window, None without bids."""
        rows, priorities = self.in_window(view)
        jobs = JobTable(view.waiting.store, rows)
        maker = BidMaker(
            view,
            jobs,
            per_job=self.bids_per_job,
            max_bids=self.bids,
            max_nodes=NODES_PER_NODE * view.system.num_nodes,
            spots=self.spots,
            ranges=not self.opens_units,
        )
        bids = self._with_first_without_bid(view, jobs, maker, maker.make())
        if not bids:
            return None
        weights = self.weights(view, bids, priorities.tolist())
        return Auction(bids, weights, view.free, self.allocator.capacity)

    def _with_first_without_bid(
        self, view: View, jobs: JobTable, maker: BidMaker, bids: list[Bid]
    ) -> list[Bid]:
        """
        Return the bids, and one more for the first job that fits but makes none.

        Its free nodes are too far apart for a bid, and might stay so forever. Only the first such
        job gets one: the number of jobs has priority, so such bids would win and all jobs would be
        scattered.
        """
        bidding = {bid.job for bid in bids}
        job = next((job for job in range(len(jobs)) if job not in bidding), None)
        if job is None or len(bids) >= self.bids:
            return bids
        place = self.allocator.place(view, int(jobs.rows[job]), view.free)
        if place is None:
            return bids
        at = bisect_left(bids, job, key=lambda bid: bid.job)
        return [*bids[:at], maker.bid_on(job, place.node, place.units), *bids[at:]]

    def _solved(self, view: View, auction: Auction, known: list[int]) -> Decision:
        """Solve the program; the better of its answer and a known selection wins."""
        program = AuctionProgram(auction, self.name, open_units=self.opens_units)
        cpsat.add_hints(program.model, program.variables, program.hints(known))
        solved = cpsat.solve(program.model, program.variables, self.limits)
        winning = program.winners(solved.values) if solved.has_solution else []
        winners = [bid for bid, _ in winning]
        numbers = {
            **stats.of_solve(solved, auction.num_jobs),
            stats.MODEL_VARIABLES: program.size[0],
            stats.MODEL_CONSTRAINTS: program.size[1],
        }
        if auction.value(winners) < auction.value(known):
            return self._started(view, auction, _as_bid(auction, known), numbers)
        if solved.status is not cpsat.SolverStatus.OPTIMAL and not self.opens_units:
            return self._searched(view, auction, winners, numbers)
        return self._started(view, auction, winning, numbers)

    def _searched(
        self, view: View, auction: Auction, known: list[int], numbers: Mapping[str, float]
    ) -> Decision:
        """Improve a known selection by partial auctions."""
        rng = np.random.default_rng([self.limits.seed, view.now])
        winners, spent = search(auction, known, self.name, self.limits, rng)
        more = {
            stats.SOLVER_CALLS: 0 if numbers else 1,
            stats.SEARCHED: 1,
            stats.MODELLED_JOBS: 0 if numbers else auction.num_jobs,
            **spent,
        }
        total = {name: numbers.get(name, 0) + value for name, value in more.items()}
        return self._started(view, auction, _as_bid(auction, winners), {**numbers, **total})

    def _started(
        self,
        view: View,
        auction: Auction,
        winners: Sequence[tuple[int, IntArray]],
        numbers: Mapping[str, float],
    ) -> Decision:
        """
        Return the decision that starts the winning bids with their units.

        If jobs remain there is another auction after the interval: the bids of one auction need not
        cover everything that is free.
        """
        starts = []
        for index, units in winners:
            bid = auction.bids[index]
            amount = units[:, None] * bid.request.unit_request + bid.level
            if bid.request.exclusive:
                amount = auction.capacity[bid.node]
            starts.append(Start(bid.handle, Allocation(bid.node, units, amount)))
        more = bool(starts) and len(starts) < len(view.waiting)
        return self.met(view, starts, {**numbers, stats.BIDS: len(auction.bids)}, more=more)


def _as_bid(auction: Auction, winners: Sequence[int]) -> list[tuple[int, IntArray]]:
    """Return winners with the units that are in their bids."""
    return [(bid, auction.bids[bid].units) for bid in winners]


def _is_small(auction: Auction) -> bool:
    """Return whether the program of all bids is likely to be solved within the limit."""
    if len(auction.bids) > EXACT_BIDS:
        return False
    if len(auction.node) <= EXACT_NODES:
        return True
    # Bids of many nodes each have most of them in common; what counts is the constraints.
    node_classes = node_classes_of(auction, auction.amount, auction.amount)
    return sum(len(place.bids) for place in node_classes) <= EXACT_NODES
