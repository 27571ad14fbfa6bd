"""AUCSCHED3: auction-based scheduling on a tree of switches (Soner's thesis, chapter 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.auction.aucsched2 import BIDS
from cpsched.auction.auctioneer import BIDS_PER_JOB, LIMIT, Auctioneer, generic_kinds
from cpsched.auction.preference import BETAS, costing_weights, costs
from cpsched.auction.switches import switch_spots
from cpsched.dispatch.window import SIZE
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.auction.asks import Ask
    from cpsched.auction.bids import Bid, Offer, Spots
    from cpsched.model.system import System
    from cpsched.model.types import IntArray
    from cpsched.model.view import View


class Aucsched3(Auctioneer):
    """
    Auction of nodes under few and low switches (6.1-6.7), and GPU ranges.

    Parameters
    ----------
    priority, scale, window, bids_per_job, bids, interval, limit, wall, faithful
        As for :class:`~cpsched.auction.auctioneer.Auctioneer`; see ``docs/aucsched.md``.
    beta
        What costs weigh beside priorities. ``pairs``: (6.7) with the smallest difference of two
        priorities that is not 0; ``sums``: so little that no selection loses by costs to one of
        lower total priority; ``printed``: (6.7) as it stands. ``faithful`` takes this one.
    """

    name = "aucsched3"
    ranges = True

    def __init__(
        self,
        priority: str = "basic",
        scale: str = "auto",
        window: int = SIZE,
        bids_per_job: int = BIDS_PER_JOB,
        bids: int = BIDS,
        beta: str = "pairs",
        interval: int | None = 3,
        limit: float = LIMIT,
        wall: float | None = None,
        faithful: bool = False,
    ) -> None:
        if beta not in BETAS:
            raise ConfigError(f"beta is '{beta}', must be one of {', '.join(BETAS)}")
        if faithful and beta not in ("pairs", "printed"):
            raise ConfigError(f"beta is '{beta}', and faithful=yes takes the printed one")
        super().__init__(
            priority, scale, window, bids_per_job, bids, interval, limit, wall, faithful
        )
        self.beta = "printed" if faithful else beta

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        super().reset(system, seed)
        self.generic: IntArray = generic_kinds(system)
        self._most_generic = int(system.capacity[:, self.generic].sum(axis=1).max(initial=0))

    def spots(self, offer: Offer) -> Spots:
        """Return the candidates of an offer, the lowest switches first."""
        topology, most = self.system.topology, self.bids_per_job
        return switch_spots(offer, topology, unions=not self.faithful, most=most)

    def weights(
        self,
        view: View,
        bids: Sequence[Bid],
        ask: Sequence[Ask],  # noqa: ARG002
        priorities: Sequence[int],
    ) -> list[int]:
        """Return ``P_j - beta K_ji`` of each bid."""
        topology = view.system.topology
        first = np.array([bid.node[0] for bid in bids])
        last = np.array([bid.node[-1] for bid in bids])
        level = np.stack([bid.level for bid in bids])[:, self.generic]
        values = costs(
            nodes=(np.array([len(bid.node) for bid in bids]), view.system.num_nodes),
            level=(topology.common_level(first, last), topology.num_levels - 1),
            generic=(level.sum(axis=1), self._most_generic),
        )
        return costing_weights(priorities, [bid.job for bid in bids], values, self.beta)
