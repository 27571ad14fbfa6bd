"""
Selections of bids where the whole program is too large for one decision.

From the best greedy selection on, some winners are set free, and an auction is held among them
and the losers for what the other winners leave: a program small enough to be solved, of which the
present selection is a solution. So no step makes the selection worse.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import cpsat, stats
from cpsched.papers.auction.program import AuctionProgram

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cpsched.papers.auction.auction import Auction
    from cpsched.util.types import BoolArray, IntArray

#: Bids of the largest partial auction, and nodes of all its losers' bids together.
_MAX_BIDS = 300
_MAX_NODES = 6000
#: Deterministic time of one partial auction.
_STEP = 0.01
#: Winners that are set free at a time, and partial auctions held, at most.
_MAX_FREED = 10
_ROUNDS = 12


def best_greedy(auction: Auction) -> list[int]:
    """Return the better of two greedy selections: job by job, and by worth for what bids take."""
    selections = [
        auction.greedy(auction.best_first()),
        auction.greedy(_densest_first(auction)),
    ]
    return max(selections, key=auction.value)


def _densest_first(auction: Auction) -> list[int]:
    """Return the bids by worth for what they take, of the kind of which they take most."""
    total = np.maximum(auction.free.sum(axis=0), 1)
    taken = np.add.reduceat(auction.amount, auction.first[:-1], axis=0)
    share = (taken / total).max(axis=1)
    density = np.array(auction.weight, dtype=np.float64) / np.maximum(share, 1e-12)
    order: list[int] = np.argsort(-density, kind="stable").tolist()
    return order


def search(
    auction: Auction,
    start: Sequence[int],
    name: str,
    limits: cpsat.SolverLimits,
    rng: np.random.Generator,
) -> tuple[list[int], dict[str, float]]:
    """
    Improve a selection until the deterministic time is spent, or all partial auctions are held.

    Returns the best selection found, and statistics.

    Parameters
    ----------
    start
        A selection that can win.
    limits
        Their deterministic time is that of all partial auctions together.
    rng
        Chooses which winners are set free.
    """
    weight = np.array(auction.weight, dtype=np.int64)
    winners = np.zeros(len(auction.bids), dtype=np.bool_)
    winners[list(start)] = True
    job = np.array([bid.job for bid in auction.bids], dtype=np.int64)
    spent, size = 0.0, np.zeros(2, dtype=np.int64)
    for freed in _neighbourhoods(auction, winners, rng):
        if spent >= limits.deterministic:
            break
        part = _part(auction, winners, freed, job, weight)
        if part is None:
            continue
        chosen, smaller = part
        program = AuctionProgram(smaller, name)
        hint = np.flatnonzero(winners[chosen]).tolist()
        cpsat.add_hints(program.model, program.wins, program.hints(hint))
        left = min(_STEP, limits.deterministic - spent)
        solved = cpsat.solve(
            program.model, program.wins, replace(limits, deterministic=left, presolve=False)
        )
        spent += solved.deterministic
        size += program.size
        selected = np.array(solved.values, dtype=np.bool_)
        if smaller.value(np.flatnonzero(selected).tolist()) > smaller.value(hint):
            winners[chosen] = selected
    numbers = {
        stats.DETERMINISTIC_TIME: spent,
        stats.MODEL_VARIABLES: int(size[0]),
        stats.MODEL_CONSTRAINTS: int(size[1]),
    }
    return np.flatnonzero(winners).tolist(), numbers


def _neighbourhoods(
    auction: Auction, winners: BoolArray, rng: np.random.Generator
) -> Iterable[IntArray]:
    """Yield winners to set free: by turns those around a place on the line, and any."""
    middle = np.array([int(bid.node[len(bid.node) // 2]) for bid in auction.bids])
    for turn in range(_ROUNDS):
        now = np.flatnonzero(winners)
        count = min(len(now), _MAX_FREED)
        if turn % 2:
            yield rng.permutation(now)[:count]
        else:
            place = rng.integers(len(auction.free))
            yield now[np.argsort(np.abs(middle[now] - place), kind="stable")[:count]]


def _part(
    auction: Auction, winners: BoolArray, freed: IntArray, job: IntArray, weight: IntArray
) -> tuple[IntArray, Auction] | None:
    """
    Return the bids of a partial auction and the auction; None if no new bid could win.

    Winners that are set free and losers bid for what the other winners leave.
    """
    remaining = winners.copy()
    remaining[freed] = False
    left = auction.free.copy()
    for bid in np.flatnonzero(remaining).tolist():
        part = auction.of_bid(bid)
        left[auction.node[part]] -= auction.amount[part]
    fits = (auction.amount <= left[auction.node]).all(axis=1)
    able = np.logical_and.reduceat(fits, auction.first[:-1]) & (weight > 0)
    able &= ~np.isin(job, job[remaining])
    able[freed] = False
    others = np.flatnonzero(able)
    if not len(others):
        return None
    size = np.diff(auction.first)[others]
    fewest = np.argsort(size, kind="stable")
    count = np.searchsorted(np.cumsum(size[fewest]), _MAX_NODES, side="right")
    others = others[fewest[: min(int(count), _MAX_BIDS)]]
    chosen = np.sort(np.concatenate([freed, others]))
    return chosen, auction.take(chosen, left)
