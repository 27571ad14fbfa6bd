"""AUCSCHED1: auction-based scheduling on a line of nodes (Soner's thesis, chapter 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.auction.auctioneer import BIDS_PER_JOB, Auctioneer, generic_kinds
from cpsched.auction.nodesets import machine_nodesets
from cpsched.auction.preference import (
    TABLE_4_4,
    BidClass,
    Constants,
    preferences,
    preferring_weights,
)
from cpsched.auction.spots import checked_nodesets, line_spots
from cpsched.auction.units import UnitProgram
from cpsched.dispatch.window import SIZE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.auction.asks import Ask
    from cpsched.auction.auction import Program
    from cpsched.auction.bids import Bid, Offer, Spots
    from cpsched.model.system import System
    from cpsched.model.types import IntArray
    from cpsched.model.view import View

#: ``MAXBIDS`` of the thesis.
BIDS = 150
#: Deterministic time; twice as much takes twice as long, and with multifactor proves hardly more.
LIMIT = 0.1


class LineAuctioneer(Auctioneer):
    """An auction whose bids prefer contiguous nodes, beside the ends of what is free."""

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        super().reset(system, seed)
        self.generic: IntArray = generic_kinds(system)

    def weights(
        self, view: View, bids: Sequence[Bid], ask: Sequence[Ask], priorities: Sequence[int]
    ) -> list[int]:
        """Return ``P_j + alpha F_i`` of each bid."""
        nodesets = np.array([bid.num_nodesets for bid in bids])
        # What a job can use may break nodesets up; no bid is of more than there are.
        total = len(machine_nodesets(view.free, self.generic.tolist()))
        level = np.stack([bid.level for bid in bids])[:, self.generic]
        most = np.stack([one.levels[-1] for one in ask])[:, self.generic]
        values = preferences(
            self.constants(),
            np.array([one.job_type for one in ask]),
            np.array([bid.kind for bid in bids]),
            nodes=(np.array([len(bid.node) for bid in bids]), view.system.num_nodes),
            nodesets=(nodesets, max(total, int(nodesets.max()))),
            generic=(level.sum(axis=1), most.sum(axis=1)),
        )
        jobs = [bid.job for bid in bids]
        return preferring_weights(priorities, jobs, values, printed=self.faithful)

    def constants(self) -> Mapping[tuple[int, BidClass], Constants]:
        """Return the constants of the preference values."""
        return TABLE_4_4


class Aucsched1(LineAuctioneer):
    """
    Auction of contiguous nodes: which bids win, and how many units go where (4.1-4.8).

    Parameters
    ----------
    priority, scale, window, bids_per_job, bids, interval, limit, wall, faithful
        As for :class:`~cpsched.auction.auctioneer.Auctioneer`; see ``docs/aucsched.md``.
    nodesets
        From how many neighbouring nodesets a bid of class C comes at most; ``none``: from as many
        as it takes.
    """

    name = "aucsched1"
    ranges = False
    program: ClassVar[type[Program]] = UnitProgram
    searches = False

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
        """Return the candidates of an offer, all nodes of neighbouring nodesets among them."""
        least = 2 if self.faithful else 1
        return line_spots(
            offer, unions=least, fragments=False, nodesets=self.across, most=self.bids_per_job
        )
