"""AUCSCHED2: a compact program, and generic resources in ranges (Soner's thesis, chapter 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.auction.aucsched1 import LineAuctioneer
from cpsched.auction.auctioneer import BIDS_PER_JOB, LIMIT
from cpsched.auction.preference import TABLE_5_2, TABLE_5_2_CORRECTED, BidClass, Constants
from cpsched.auction.spots import checked_nodesets, line_spots
from cpsched.dispatch.window import SIZE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.auction.bids import Offer, Spots

#: All that a full window may make.
BIDS = BIDS_PER_JOB * SIZE


class Aucsched2(LineAuctioneer):
    """
    Auction of contiguous nodes with units fixed in the bids (5.1-5.4), and GPU ranges.

    Parameters
    ----------
    priority, scale, window, bids_per_job, bids, interval, limit, wall, faithful
        As for :class:`~cpsched.auction.auctioneer.Auctioneer`; see ``docs/aucsched.md``.
    nodesets
        From how many neighbouring nodesets a bid of class C comes at most; ``none``: from as many
        as it takes.
    """

    name = "aucsched2"
    ranges = True

    def __init__(
        self,
        priority: str = "basic",
        scale: str = "auto",
        window: int = SIZE,
        bids_per_job: int = BIDS_PER_JOB,
        bids: int = BIDS,
        interval: int | None = 3,
        limit: float = LIMIT,
        wall: float | None = None,
        faithful: bool = False,
        nodesets: int | None = None,
    ) -> None:
        super().__init__(
            priority, scale, window, bids_per_job, bids, interval, limit, wall, faithful
        )
        self.across = checked_nodesets(nodesets)

    def spots(self, offer: Offer) -> Spots:
        """Return the candidates of an offer, and bids over many nodes for core-only jobs."""
        unions = None if self.faithful else 1
        return line_spots(
            offer, unions=unions, fragments=True, nodesets=self.across, most=self.bids_per_job
        )

    def constants(self) -> Mapping[tuple[int, BidClass], Constants]:
        """Return the constants of the preference values: Table 5.2."""
        return TABLE_5_2 if self.faithful else TABLE_5_2_CORRECTED
