"""The programs of the auctions, against trying every selection of bids."""

import numpy as np
import pytest
from auctions import best_compact, best_with_units, gpu_view
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cpsched.cp import cpsat
from cpsched.papers.auction.auction import Auction
from cpsched.papers.auction.bids import BidMaker
from cpsched.papers.auction.program import AuctionProgram, node_classes_of
from cpsched.papers.auction.search import best_greedy, search
from cpsched.papers.auction.spots import line_spots

pytestmark = pytest.mark.slow

LIMITS = cpsat.SolverLimits(deterministic=2.0)


def auction_of(free, asks, weights, per_job=4, ranges=True):
    """Return the auction of the bids of some jobs, their weights taken from a list in turn."""
    view = gpu_view(free, asks)
    maker = BidMaker(
        view, view.waiting, per_job=per_job, max_bids=99, max_nodes=10**9, ranges=ranges,
        spots=lambda offer: line_spots(offer, fragments=True, limit=per_job),
    )  # fmt: skip
    bids = maker.make()
    if not bids:
        return None
    return Auction(
        bids,
        [weights[index % len(weights)] for index in range(len(bids))],
        view.free,
        view.system.capacity,
    )


def solved(program):
    """Return the optimum, its winners with their units, checked to fit."""
    solution = cpsat.solve(program.model, program.variables, LIMITS)
    assert solution.status is cpsat.SolverStatus.OPTIMAL
    winners = program.winners(solution.values)
    auction = program.auction
    left = auction.free.copy()
    jobs = [auction.bids[bid].job for bid, _ in winners]
    assert len(set(jobs)) == len(jobs)
    for bid, units in winners:
        request, node = auction.bids[bid].request, auction.bids[bid].node
        assert units.min() >= 1
        assert units.sum() == request.units
        amount = units[:, None] * request.unit_request + auction.bids[bid].level
        left[node] -= auction.capacity[node] if request.exclusive else amount
    assert (left >= 0).all()
    assert round(-solution.objective) == auction.value([bid for bid, _ in winners])
    return round(-solution.objective)


_ASKS = st.fixed_dictionaries(
    {"units": st.integers(1, 5)},
    optional={
        "gpus": st.integers(0, 2), "most_gpus": st.integers(0, 2), "even": st.integers(0, 1),
        "contiguous": st.integers(0, 1), "exclusive": st.sampled_from([0, 0, 1]),
        "nodes_max": st.integers(1, 3), "request": st.sampled_from([(1, 0), (1, 0), (2, 0), (1, 1)]),
    },
)  # fmt: skip
_NODES = st.tuples(st.integers(0, 4), st.integers(0, 2))
_FREE = st.lists(_NODES, min_size=1, max_size=6)
_WEIGHTS = st.lists(st.integers(1, 20), min_size=1, max_size=9)


@settings(max_examples=80)
@given(_FREE, st.lists(_ASKS, min_size=1, max_size=4), _WEIGHTS)
def test_the_compact_program_finds_the_best_selection(free, asks, weights):
    """(5.1)-(5.4), on places instead of nodes, with constraints nobody can break left out."""
    auction = auction_of(free, asks, weights)
    assume(auction is not None)
    assert solved(AuctionProgram(auction, "compact")) == best_compact(auction)


@settings(max_examples=80)
@given(_FREE, st.lists(_ASKS, min_size=1, max_size=3), _WEIGHTS)
def test_the_program_with_units_finds_the_best_selection(free, asks, weights):
    """(4.1)-(4.8): units wherever they fit on the nodes of the bids."""
    auction = auction_of(free, asks, weights, ranges=False)
    assume(auction is not None)
    assert solved(AuctionProgram(auction, "units", open_units=True)) == best_with_units(auction)


@settings(max_examples=60)
@given(_FREE, st.lists(_ASKS, min_size=1, max_size=5), _WEIGHTS, st.integers(0, 9))
def test_searches_never_lose_and_never_cheat(free, asks, weights, seed):
    """Partial auctions give a selection that fits, between the greedy one and the best."""
    auction = auction_of(free, asks, weights)
    assume(auction is not None)
    start = best_greedy(auction)
    rng = np.random.default_rng(seed)
    winners, _ = search(auction, start, "search", cpsat.SolverLimits(deterministic=0.5), rng)
    left = auction.free.copy()
    for bid in winners:
        part = auction.of_bid(bid)
        left[auction.node[part]] -= auction.amount[part]
    assert (left >= 0).all()
    assert auction.value(start) <= auction.value(winners) <= best_compact(auction)
    jobs = [auction.bids[bid].job for bid in winners]
    assert len(set(jobs)) == len(jobs)


@pytest.mark.parametrize("open_units", [False, True])
def test_hints_are_solutions(open_units):
    """A greedy selection given as a hint costs the solver no time at all."""
    auction = auction_of(
        [(4, 2)] * 4, [{"units": 6}, {"units": 4, "gpus": 1}], [3, 2], ranges=False
    )
    program = AuctionProgram(auction, "hinted", open_units=open_units)
    winners = auction.greedy(auction.best_first())
    values = program.hints(winners)
    assert len(values) == len(program.variables) == program.size[0]
    model = program.model
    for variable, value in zip(program.variables, values, strict=True):
        model.add(variable == value)
    assert cpsat.solve(model, program.variables, LIMITS).status is cpsat.SolverStatus.OPTIMAL


def test_equal_nodes_are_one_place():
    """A job on all of 40 nodes against one on the first 20: two places, one constraint."""
    auction = auction_of([(1, 0)] * 40, [{"units": 40}, {"units": 20}], [1], per_job=1)
    places = node_classes_of(auction, auction.amount, auction.amount)
    assert [len(place.nodes) for place in places] == [20, 20]
    program = AuctionProgram(auction, "small")
    assert program.size == (2, 1)


def test_a_bid_worth_nothing_does_not_win():
    """As printed, beta can make ``P - beta K`` negative."""
    auction = auction_of([(1, 0)], [{"units": 1}], [-3])
    assert auction.greedy([0]) == []
    assert solved(AuctionProgram(auction, "negative")) == 0


def test_a_program_can_be_looked_at(tmp_path):
    """Written as text."""
    auction = auction_of([(1, 0)] * 3, [{"units": 1}, {"units": 2}], [1])
    AuctionProgram(auction, "shown").dump(tmp_path / "model.txt")
    assert 'name: "shown"' in (tmp_path / "model.txt").read_text()
