"""What AUCSCHED 1, 2 and 3 have in common: bids for a window of jobs, and an auction of them."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from cpsched.api.dispatchers import fits_now, frozen, stats
from cpsched.api.errors import check_least
from cpsched.api.model import NOTHING, Allocation, Decision, JobTable, Start
from cpsched.api.solver import cpsat
from cpsched_papers.auction.auction import Auction
from cpsched_papers.auction.bids import BidMaker
from cpsched_papers.auction.program import Program, places_of
from cpsched_papers.auction.search import best_greedy, search
from cpsched_papers.window import SIZE, WindowDispatcher

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import IntArray, System, View
    from cpsched_papers.auction.bids import Bid, Offer, Spots

#: ``MAXBIDSPERJOB`` of the thesis.
BIDS_PER_JOB = 15
#: Auctions with at most this many bids, and nodes of all bids, are solved as a whole.
EXACT_BIDS = 400
EXACT_NODES = 20_000
#: How many bids may contain a node of the machine, on average, unless the thesis is followed.
NODES_PER_NODE = 100


class Round(NamedTuple):
    """The auction of a decision, and the jobs that bid in it."""

    view: View
    jobs: JobTable
    auction: Auction


@dataclass(kw_only=True, eq=False)
class Auctioneer(WindowDispatcher):
    """
    Jobs of a window bid for nodes that are free now; an integer program selects the winners.

    Parameters
    ----------
    priority, interval, limit, wall
        As for :class:`~cpsched_papers.window.WindowDispatcher`.
    window
        How many jobs may bid, first by priority of those that may fit now.
    bids_per_job, bids
        The most bids of one job, and of all jobs together.
    faithful
        As the thesis prints it: its constants, a window of all jobs, also of those that fit
        nowhere, bids class by class, none for a job that could make no bid at all, and nothing
        starts if the limit passes before the proof (then the window is halved, as in IPSCHED).
        Otherwise the best selection found wins.
    """

    allocates = "consolidate"
    goes_wrong_when = "the load is high: it starts as many jobs as it can, and wide ones wait"
    #: Whether jobs bid for generic resources in ranges.
    ranges: ClassVar[bool] = True
    #: The program.
    program: ClassVar[type[Program]] = Program
    #: Whether partial auctions replace a program that is too large for one decision.
    searches: ClassVar[bool] = True

    bids_per_job: int = BIDS_PER_JOB
    bids: int = BIDS_PER_JOB * SIZE
    limit: float = 0.2
    faithful: bool = False

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_least("bids_per_job", self.bids_per_job, 1)
        check_least("bids", self.bids, 1)
        # Probing took whole decisions of AUCSCHED1 before it had looked for winners.
        self.limits = replace(self.limits, probe=False)

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        super().reset(system, seed)
        #: The generic resources: all kinds but cores and memory.
        self.generic = np.array(
            [kind for kind, name in enumerate(system.resources) if kind and name != "mem"],
            dtype=np.int64,
        )

    def choose(self, view: View) -> Decision:
        """Hold an auction, without the solver if its outcome is clear."""
        if not len(view.waiting):
            return NOTHING
        now = self._round(view)
        if now is None:
            return self.met(view, (), {stats.SKIPPED_NONE_FIT: 1}, more=False)
        known = best_greedy(now.auction)
        if now.auction.is_best(known):
            return self._won(now, known, {stats.SKIPPED_ALL_FIT: 1})
        if self.faithful or not self.searches or _is_small(now.auction):
            return self._solved(now, known)
        return self._searched(now, known, {})

    def candidates(self, view: View) -> JobTable:
        """Return the jobs that may fit now, or all jobs if the thesis is followed."""
        waiting = view.waiting
        if self.faithful:
            return waiting
        # A job that fits nowhere makes no bids; it must not keep others from bidding.
        return waiting.take(fits_now(view, frozen(waiting.rows.copy()), self.allocator))

    def build(self, view: View) -> Program | None:
        """
        Return the program of a decision for inspection; None if there are no bids.

        It is built even if :meth:`decide` would not need it.
        """
        now = self._round(view) if len(view.waiting) else None
        if now is None:
            return None
        program = self.program(now.auction, self.name)
        program.label(now.jobs.handle.tolist())
        return program

    @abstractmethod
    def spots(self, offer: Offer) -> Spots:
        """Return the candidates of an offer."""

    @abstractmethod
    def weights(self, view: View, bids: Sequence[Bid], priorities: Sequence[int]) -> list[int]:
        """Return the value of each bid as a whole number."""

    def _round(self, view: View) -> Round | None:
        """Return the window and the auction, None without bids."""
        rows, priorities = self.in_window(view)
        jobs = JobTable(view.waiting.store, rows)
        maker = BidMaker(
            view,
            jobs,
            per_job=self.bids_per_job,
            most=self.bids,
            most_nodes=None if self.faithful else NODES_PER_NODE * view.system.num_nodes,
            spots=self.spots,
            ranges=self.ranges,
            turns=not self.faithful,
        )
        bids = maker.make()
        if not self.faithful:
            bids = self._with_first_without_bid(view, jobs, maker, bids)
        if not bids:
            return None
        weights = self.weights(view, bids, priorities.tolist())
        return Round(view, jobs, Auction(bids, weights, view.free, self.allocator.capacity))

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

    def _solved(self, now: Round, known: list[int]) -> Decision:
        """Solve the program; the better of its answer and a known selection wins."""
        auction = now.auction
        program = self.program(auction, self.name)
        if not self.faithful:
            cpsat.add_hints(program.model, program.variables, program.hints(known))
        solved = cpsat.solve(program.model, program.variables, self.limits)
        found = program.winners(solved.values) if solved.has_solution else []
        winners = [bid for bid, _ in found]
        numbers = numbers_of(auction, program, solved, known, winners)
        optimal = solved.status is cpsat.Status.OPTIMAL
        if self.faithful and not optimal:
            return self.missed(now.view, len(now.jobs), numbers)
        if auction.value(winners) < auction.value(known):
            return self._won(now, known, numbers)
        if not optimal and self.searches:
            return self._searched(now, winners, numbers)
        return self._started(now, found, numbers)

    def _searched(self, now: Round, known: list[int], numbers: Mapping[str, float]) -> Decision:
        """Improve a known selection by partial auctions."""
        auction = now.auction
        rng = np.random.default_rng([self.limits.seed, now.view.now])
        found = search(auction, known, self.name, self.limits, rng)
        before, after = auction.value(known), auction.value(found.winners)
        more = {
            stats.SOLVER_CALLS: 0 if numbers else 1,
            stats.SEARCHED: 1,
            stats.MODELLED_JOBS: 0 if numbers else auction.num_jobs,
            stats.IMPROVED: int(after > before),
            stats.GAIN: (after - before) / before if before > 0 else 0.0,
            stats.DETERMINISTIC_TIME: found.deterministic,
            stats.MODEL_VARIABLES: found.variables,
            stats.MODEL_CONSTRAINTS: found.constraints,
        }
        total = {name: numbers.get(name, 0) + value for name, value in more.items()}
        return self._won(now, found.winners, {**numbers, **total})

    def _won(self, now: Round, winners: Sequence[int], numbers: Mapping[str, float]) -> Decision:
        """Return the decision that starts some bids with the units in them."""
        bids = now.auction.bids
        return self._started(now, [(bid, bids[bid].units) for bid in winners], numbers)

    def _started(
        self, now: Round, winners: Sequence[tuple[int, IntArray]], numbers: Mapping[str, float]
    ) -> Decision:
        """
        Return the decision that starts the winning bids with their units.

        If jobs remain there is another auction after the interval: the bids of one auction need not
        cover everything that is free.
        """
        view, auction, handles = now.view, now.auction, now.jobs.handle.tolist()
        starts = []
        for index, units in winners:
            bid = auction.bids[index]
            amount = units[:, None] * bid.ask.request + bid.level
            if bid.ask.exclusive:
                amount = auction.capacity[bid.node]
            starts.append(Start(handles[bid.job], Allocation(bid.node, units, amount)))
        more = bool(starts) and len(starts) < len(view.waiting)
        return self.met(view, starts, {**numbers, stats.BIDS: len(auction.bids)}, more=more)


def _is_small(auction: Auction) -> bool:
    """Return whether the program of all bids is likely to be solved within the limit."""
    if len(auction.bids) > EXACT_BIDS:
        return False
    if len(auction.node) <= EXACT_NODES:
        return True
    # Bids of many nodes each have most of them in common; what counts is the constraints.
    places = places_of(auction, auction.amount, auction.amount)
    return sum(len(place.bids) for place in places) <= EXACT_NODES


def numbers_of(
    auction: Auction,
    program: Program,
    solved: cpsat.Solved,
    known: Sequence[int],
    winners: Sequence[int],
) -> dict[str, float]:
    """Return the statistics of a solve; ``known`` is the selection found without it."""
    optimal = solved.status is cpsat.Status.OPTIMAL
    # The solver's objective is a float, which is inexact above 2^53.
    before = auction.value(known)
    value = max(before, auction.value(winners))
    # Without a proof, the solver may have no bound.
    bound = max(min(-solved.bound, auction.most), value)
    return {
        **stats.of_solve(solved, auction.num_jobs),
        stats.IMPROVED: int(value > before),
        stats.BOUND_GAP: 0.0 if optimal or bound <= 0 else float((bound - value) / bound),
        stats.GAIN: (value - before) / before if before > 0 else 0.0,
        stats.MODEL_VARIABLES: program.size[0],
        stats.MODEL_CONSTRAINTS: program.size[1],
    }
