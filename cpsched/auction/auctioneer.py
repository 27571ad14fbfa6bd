"""What AUCSCHED 1, 2 and 3 have in common: bids for a window of jobs, and an auction of them."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cpsched import cpsat
from cpsched.auction.auction import Auction, Program, places_of
from cpsched.auction.bids import BidMaker
from cpsched.auction.search import best_greedy, search
from cpsched.cp import stats
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher, WaitReason
from cpsched.dispatch.passes import fits_now, frozen
from cpsched.dispatch.window import (
    SCALES,
    Window,
    priority_values,
    program_priorities,
    window_rows,
)
from cpsched.errors import ConfigError
from cpsched.model.allocation import Allocation
from cpsched.model.decision import NOTHING, Decision, Start
from cpsched.model.jobtable import JobTable
from cpsched.priority import make_priority

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.auction.asks import Ask
    from cpsched.auction.bids import Bid, Offer, Spots
    from cpsched.model.system import System
    from cpsched.model.types import IntArray
    from cpsched.model.view import View

#: ``MAXBIDSPERJOB`` of the thesis.
BIDS_PER_JOB = 15
LIMIT = 0.2
#: Auctions with no more bids, and bids on their places, are solved as a whole.
EXACT_BIDS = 400
EXACT_NODES = 20_000
#: In how many bids each node of the machine may be, on average, if the thesis is not followed.
NODES_PER_NODE = 100


class Auctioneer(Dispatcher):
    """
    Bids of a window of jobs for places that are free now, and an integer program that sells them.

    Parameters
    ----------
    priority
        ``basic`` (first come, first served), ``multifactor``, or any other priority.
    scale
        How priorities become whole numbers: ``ranks`` plus an offset, ``points`` as they are, or
        ``auto``: points for multifactor, ranks for the rest.
    window
        How many jobs, first by priority, may bid; of those that may fit now.
    bids_per_job, bids
        Bids of one job, and of all together.
    interval
        Seconds between decisions; ``none``: a decision at every event.
    limit
        Deterministic time a decision's solve may take.
    wall
        Seconds of wall time as a net behind it; a solve that meets it may not be repeatable.
    faithful
        As the thesis prints it: its constants, a window of all jobs, also of those that fit
        nowhere, bids class by class, none for a job that could make no bid at all, and nothing
        starts where the limit passes before the proof (then the window is halved, as in IPSCHED).
        Otherwise the best selection found wins.
    """

    selects_sets = True
    #: Whether generic resources are bid for in ranges.
    ranges: ClassVar[bool]
    #: The program.
    program: ClassVar[type[Program]] = Program
    #: Whether partial auctions stand in for a program that is too large for one decision.
    searches: ClassVar[bool] = True

    def __init__(
        self,
        priority: str,
        scale: str,
        window: int,
        bids_per_job: int,
        bids: int,
        interval: int | None,
        limit: float,
        wall: float | None,
        faithful: bool,
    ) -> None:
        if scale not in SCALES:
            raise ConfigError(f"scale is '{scale}', must be one of {', '.join(SCALES)}")
        for name, value in (("bids_per_job", bids_per_job), ("bids", bids)):
            if value < 1:
                raise ConfigError(f"{name} is {value}, must be 1 or more")
        if interval is not None and interval < 1:
            raise ConfigError(f"interval is {interval}, must be 1 or more, or 'none'")
        self.priority = make_priority(priority)
        self.scale = scale
        self.window = Window(window)
        self.bids_per_job = bids_per_job
        self.bids = bids
        self.interval = interval
        # Probing took whole decisions of AUCSCHED1, which then had not even looked for winners.
        self.limits = cpsat.Limits(deterministic=limit, wall=wall, probe=False)
        self.faithful = faithful
        self.allocator = make_allocator("consolidate")

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        self.system = system
        self.priority.reset(system)
        self.allocator.reset(system)
        self.window.met()
        self.limits = replace(self.limits, seed=seed)

    def state(self) -> Mapping[str, Any]:
        """Return the window."""
        return self.window.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a window."""
        self.window.restore(state)

    def decide(self, view: View) -> Decision:
        """Answer one view: hold an auction, without the solver where its outcome is plain."""
        if not len(view.waiting):
            return NOTHING
        jobs = self._jobs(view)
        auction = self._auction(view, jobs)
        if auction is None:
            return self._settled(view, Decision(stats={stats.SKIPPED_NONE_FIT: 1}))
        known = best_greedy(auction)
        if auction.is_best(known):
            return self._won(view, jobs, auction, known, {stats.SKIPPED_ALL_FIT: 1})
        if self.faithful or not self.searches or _is_small(auction):
            return self._solved(view, jobs, auction, known)
        return self._searched(view, jobs, auction, known, {})

    def considered(self, view: View) -> IntArray:
        """Return the window, as rows of the job store."""
        return self._jobs(view).rows

    def ranking(self, view: View) -> IntArray:
        """Return the queue by priority."""
        return self.priority.rows(view)

    def wait_reason(
        self,
        view: View,  # noqa: ARG002
        decision: Decision,
        row: int,  # noqa: ARG002
        derived: WaitReason,
    ) -> WaitReason:
        """Say that nothing starts where the limit passed before there was an answer."""
        missed = decision.stats.get(stats.WINDOW_HALVED)
        return WaitReason.UNDECIDED if missed else derived

    def build(self, view: View) -> Program | None:
        """
        Return the program of a decision, for a look at it; None if there is no bid.

        It is built whether or not :meth:`decide` would need it.
        """
        jobs = self._jobs(view)
        auction = self._auction(view, jobs)
        if auction is None:
            return None
        program = self.program(auction, self.name)
        program.label(jobs.handle.tolist())
        return program

    @abstractmethod
    def spots(self, offer: Offer) -> Spots:
        """Return the candidates of an offer."""

    @abstractmethod
    def weights(
        self, view: View, bids: Sequence[Bid], ask: Sequence[Ask], priorities: Sequence[int]
    ) -> list[int]:
        """Return what each bid is worth, as whole numbers; ``ask`` is the request behind it."""

    def _jobs(self, view: View) -> JobTable:
        """Return the window: the first by priority of all jobs, or of those that may fit now."""
        waiting = view.waiting
        if not self.faithful:
            # A job that fits nowhere bids for nothing; it must not keep others from bidding.
            waiting = waiting.take(fits_now(view, frozen(waiting.rows.copy()), self.allocator))
        values = priority_values(self.priority, waiting, view.now)
        return JobTable(waiting.store, window_rows(waiting, values, self.window.size))

    def _auction(self, view: View, jobs: JobTable) -> Auction | None:
        """Return the auction, None without bids."""
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
            bids = self._with_the_first_left_out(view, jobs, maker, bids)
        if not bids:
            return None
        values = priority_values(self.priority, jobs, view.now)
        priorities = program_priorities(self.priority, values, self.scale).tolist()
        ask = [maker.asks[maker.ask_of[bid.job]] for bid in bids]
        weights = self.weights(view, bids, ask, priorities)
        return Auction.of(bids, weights, ask, view.free, self.allocator.capacity)

    def _with_the_first_left_out(
        self, view: View, jobs: JobTable, maker: BidMaker, bids: list[Bid]
    ) -> list[Bid]:
        """
        Return the bids, and one more for the first job that fits and makes none.

        Its nodes are too far apart for a bid, and might be for ever. Such a bid for every job
        would scatter them all: they win it, because most jobs started is what counts first.
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

    def _solved(self, view: View, jobs: JobTable, auction: Auction, known: list[int]) -> Decision:
        """Solve the program; the better of its answer and a known selection wins."""
        program = self.program(auction, self.name)
        if not self.faithful:
            cpsat.add_hints(program.model, program.variables, program.hints(known))
        solved = cpsat.solve(program.model, program.variables, self.limits)
        numbers = _numbers(auction, program, solved, auction.value(known))
        optimal = solved.status is cpsat.Status.OPTIMAL
        if self.faithful and not optimal:
            self.window.missed(len(jobs))
            numbers[stats.WINDOW_HALVED] = 1
            return Decision(again_at=self._next(view), stats=numbers)
        found = program.winners(solved.values) if solved.has_solution else []
        winners = [bid for bid, _ in found]
        if auction.value(winners) < auction.value(known):
            return self._won(view, jobs, auction, known, numbers)
        if not optimal and self.searches:
            return self._searched(view, jobs, auction, winners, numbers)
        return self._settled(view, _started(auction, jobs, found, numbers))

    def _searched(
        self,
        view: View,
        jobs: JobTable,
        auction: Auction,
        known: list[int],
        numbers: Mapping[str, float],
    ) -> Decision:
        """Improve a known selection by partial auctions."""
        rng = np.random.default_rng([self.limits.seed, view.now])
        found = search(auction, known, self.name, self.limits, rng)
        before, after = auction.value(known), auction.value(found.winners)
        more = {
            stats.SOLVER_CALLS: 0 if numbers else 1,
            stats.SEARCHED: 1,
            stats.MODELLED_JOBS: 0 if numbers else _num_jobs(auction),
            stats.IMPROVED: int(after > before),
            stats.GAIN: (after - before) / before if before > 0 else 0.0,
            stats.DETERMINISTIC_TIME: found.deterministic,
            stats.MODEL_VARIABLES: found.variables,
            stats.MODEL_CONSTRAINTS: found.constraints,
        }
        total = {name: numbers.get(name, 0) + value for name, value in more.items()}
        return self._won(view, jobs, auction, found.winners, {**numbers, **total})

    def _won(
        self,
        view: View,
        jobs: JobTable,
        auction: Auction,
        winners: Sequence[int],
        numbers: Mapping[str, float],
    ) -> Decision:
        """Return the decision that starts some bids with the units in them."""
        with_units = [(bid, auction.bids[bid].units) for bid in winners]
        return self._settled(view, _started(auction, jobs, with_units, numbers))

    def _settled(self, view: View, decision: Decision) -> Decision:
        """
        Return a decision that met the limit: from the next one on the window is whole again.

        The next auction is held after the interval, whether or not anything happens until then,
        if the window was halved, or some win while others wait: not all that could have been had
        need have been bid for.
        """
        left = len(decision.actions) < len(view.waiting)
        again = not self.window.is_full or (left and bool(decision.actions))
        again_at = self._next(view) if again else None
        self.window.met()
        return decision._replace(again_at=again_at)

    def _next(self, view: View) -> int:
        return view.now + (self.interval or 1)


def _started(
    auction: Auction,
    jobs: JobTable,
    winners: Sequence[tuple[int, IntArray]],
    numbers: Mapping[str, float],
) -> Decision:
    """Return the decision that starts the winning bids with their units."""
    handles = jobs.handle.tolist()
    actions = []
    for index, units in winners:
        bid, ask = auction.bids[index], auction.ask[index]
        if ask.exclusive:
            amount = auction.capacity[bid.node]
        else:
            amount = units[:, None] * ask.request + bid.level
        actions.append(Start(handles[bid.job], Allocation(bid.node, units, amount)))
    return Decision(actions, stats={**numbers, stats.BIDS: len(auction.bids)})


def _is_small(auction: Auction) -> bool:
    """Tell whether the program of all bids is likely to be solved within a decision's limit."""
    if len(auction.bids) > EXACT_BIDS:
        return False
    if len(auction.node) <= EXACT_NODES:
        return True
    # Bids of many nodes each have most of them in common: what counts are the constraints.
    places = places_of(auction, auction.amount, auction.amount)
    return sum(len(place.bids) for place in places) <= EXACT_NODES


def _num_jobs(auction: Auction) -> int:
    return len({bid.job for bid in auction.bids})


def _numbers(
    auction: Auction, program: Program, solved: cpsat.Solved, known: int
) -> dict[str, float]:
    optimal = solved.status is cpsat.Status.OPTIMAL
    value = max(known, round(-solved.objective)) if solved.has_solution else known
    # Without a proof of its own, the solver may know no bound at all.
    bound = max(min(-solved.bound, auction.most), value)
    return {
        stats.SOLVER_CALLS: 1,
        stats.MODELLED_JOBS: _num_jobs(auction),
        stats.PROVEN_OPTIMAL: int(optimal),
        stats.LIMIT_HITS: int(not optimal and not solved.wall_limit_hit),
        stats.WALL_LIMIT_HITS: int(solved.wall_limit_hit),
        stats.NO_SOLUTION: int(not solved.has_solution),
        stats.IMPROVED: int(value > known),
        stats.BOUND_GAP: 0.0 if optimal or bound <= 0 else float((bound - value) / bound),
        stats.GAIN: (value - known) / known if known > 0 else 0.0,
        stats.DETERMINISTIC_TIME: solved.deterministic,
        stats.MODEL_VARIABLES: program.num_variables,
        stats.MODEL_CONSTRAINTS: program.num_constraints,
    }


def generic_kinds(system: System) -> IntArray:
    """Return the kinds that are generic resources: all but cores and memory."""
    return np.array(
        [kind for kind, name in enumerate(system.resources) if kind and name != "mem"],
        dtype=np.int64,
    )
