"""An auction: bids, what is free, and which selections of bids can win."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.api.model import IntArray
    from cpsched_papers.auction.asks import Ask
    from cpsched_papers.auction.bids import Bid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Auction:
    """
    Bids and what is free; B bids, N nodes, R resource kinds, E nodes of all bids together.

    Attributes
    ----------
    bids, weight, ask
        By job: the bids, the value of each (above 0 if it may win), and its request.
    free, capacity
        Shape ``(N, R)``.
    owner, node, amount
        Of every node of every bid, in order: the bid, the node, and what is taken there; shapes
        ``(E,)``, ``(E,)``, ``(E, R)``.
    first
        Where in these the nodes of each bid begin, shape ``(B + 1,)``.
    """

    bids: Sequence[Bid]
    weight: Sequence[int]
    ask: Sequence[Ask]
    free: IntArray
    capacity: IntArray
    owner: IntArray
    node: IntArray
    amount: IntArray
    first: IntArray

    @classmethod
    def of(
        cls,
        bids: Sequence[Bid],
        weight: Sequence[int],
        ask: Sequence[Ask],
        free: IntArray,
        capacity: IntArray,
    ) -> Auction:
        """Return the auction of one bid or more."""
        count = np.array([len(bid.node) for bid in bids], dtype=np.int64)
        owner = np.repeat(np.arange(len(bids), dtype=np.int64), count)
        node = np.concatenate([bid.node for bid in bids])
        units = np.concatenate([bid.units for bid in bids])
        request = np.stack([each.request for each in ask])
        level = np.stack([bid.level for bid in bids])
        amount = units[:, None] * request[owner] + level[owner]
        alone = np.array([each.exclusive for each in ask])[owner]
        if alone.any():
            amount[alone] = capacity[node[alone]]
        first = np.zeros(len(bids) + 1, dtype=np.int64)
        np.cumsum(count, out=first[1:])
        return cls(
            bids=bids,
            weight=weight,
            ask=ask,
            free=free,
            capacity=capacity,
            owner=owner,
            node=node,
            amount=amount,
            first=first,
        )

    def take(self, chosen: IntArray, free: IntArray) -> Auction:
        """Return the auction of some bids, in ascending order, for what is free then."""
        picked = chosen.tolist()
        return Auction.of(
            [self.bids[bid] for bid in picked],
            [self.weight[bid] for bid in picked],
            [self.ask[bid] for bid in picked],
            free,
            self.capacity,
        )

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
    def most(self) -> int:
        """What the best bids of all jobs are worth together, an upper bound on any selection."""
        best: dict[int, int] = {}
        for bid, weight in zip(self.bids, self.weight, strict=True):
            best[bid.job] = max(best.get(bid.job, 0), weight)
        return sum(best.values())

    def is_best(self, winners: Sequence[int]) -> bool:
        """Say whether every job wins the bid that is worth most to it."""
        return self.value(winners) == self.most

    def best_first(self) -> list[int]:
        """Return the bids, job by job, the best of each job first."""
        return sorted(
            range(len(self.bids)), key=lambda bid: (self.bids[bid].job, -self.weight[bid], bid)
        )
