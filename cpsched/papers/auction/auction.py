"""An auction: bids, what is free, and which selections of bids can win."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.papers.auction.bids import Bid
    from cpsched.util.types import IntArray


class Auction:
    """
    Bids and what is free; B bids of one or more, N nodes, R resource kinds.

    Parameters
    ----------
    bids, weight
        By job: the bids, and the value of each (above 0 if it may win).
    free, capacity
        Shape ``(N, R)``.

    Attributes
    ----------
    owner, node, amount
        Of every node of every bid, in order: the bid, the node, and what is taken there; shapes
        ``(E,)``, ``(E,)``, ``(E, R)``.
    first
        Where in these the nodes of each bid begin, shape ``(B + 1,)``.
    """

    def __init__(
        self, bids: Sequence[Bid], weight: Sequence[int], free: IntArray, capacity: IntArray
    ) -> None:
        self.bids, self.weight = bids, weight
        self.free, self.capacity = free, capacity
        count = np.array([len(bid.node) for bid in bids], dtype=np.int64)
        self.owner: IntArray = np.repeat(np.arange(len(bids), dtype=np.int64), count)
        self.node: IntArray = np.concatenate([bid.node for bid in bids])
        units = np.concatenate([bid.units for bid in bids])
        unit_request = np.stack([bid.request.unit_request for bid in bids])
        level = np.stack([bid.level for bid in bids])
        self.amount: IntArray = units[:, None] * unit_request[self.owner] + level[self.owner]
        alone = np.array([bid.request.exclusive for bid in bids])[self.owner]
        if alone.any():
            self.amount[alone] = capacity[self.node[alone]]
        self.first: IntArray = np.concatenate([[0], np.cumsum(count)])

    def take(self, chosen: IntArray, free: IntArray) -> Auction:
        """Return the auction of some bids, in ascending order, for what is free then."""
        picked = chosen.tolist()
        bids = [self.bids[bid] for bid in picked]
        return Auction(bids, [self.weight[bid] for bid in picked], free, self.capacity)

    @property
    def num_jobs(self) -> int:
        """How many jobs bid."""
        return len({bid.job for bid in self.bids})

    def of_bid(self, bid: int) -> slice:
        """Return where the nodes of a bid are in ``node`` and ``amount``."""
        return slice(int(self.first[bid]), int(self.first[bid + 1]))

    def value(self, winners: Sequence[int]) -> int:
        """Return what a selection of bids is worth."""
        return sum(self.weight[bid] for bid in winners)

    def greedy(self, order: Sequence[int]) -> list[int]:
        """
        Return the bids that win if they are taken in an order wherever they still fit.

        No job wins twice, and no bid that is worth nothing.
        """
        left = self.free.copy()
        winners: list[int] = []
        served: set[int] = set()
        for bid in order:
            job = self.bids[bid].job
            if job in served or self.weight[bid] <= 0:
                continue
            part = self.of_bid(bid)
            nodes = self.node[part]
            remains = left[nodes] - self.amount[part]
            if (remains >= 0).all():
                left[nodes] = remains
                served.add(job)
                winners.append(bid)
        return winners

    @property
    def upper_bound(self) -> int:
        """What the best bids of all jobs are worth together, an upper bound on any selection."""
        best: dict[int, int] = {}
        for bid, weight in zip(self.bids, self.weight, strict=True):
            best[bid.job] = max(best.get(bid.job, 0), weight)
        return sum(best.values())

    def is_best(self, winners: Sequence[int]) -> bool:
        """Say whether every job wins the bid that is worth most to it."""
        return self.value(winners) == self.upper_bound

    def best_first(self) -> list[int]:
        """Return the bids, job by job, the best of each job first."""
        return sorted(
            range(len(self.bids)), key=lambda bid: (self.bids[bid].job, -self.weight[bid], bid)
        )
