"""AUCSCHED 1 to 3: auctions on a line of nodes and on a tree of switches (Soner's thesis)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.papers.auction.auctioneer import Auctioneer
from cpsched.papers.auction.lines import machine_lines
from cpsched.papers.auction.preference import (
    TABLE_4_4,
    TABLE_5_2,
    alpha,
    beta,
    costs,
    preferences,
    weights,
)
from cpsched.papers.auction.spots import line_spots, switch_spots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.papers.auction.bids import Bid, BidOffer, Spots
    from cpsched.util.types import FloatArray


@dataclass(kw_only=True, eq=False)
class LineAuctioneer(Auctioneer):
    """An auction whose bids prefer contiguous nodes, next to the ends of what is free."""

    #: Constants of the preference values.
    table: ClassVar[FloatArray]
    #: As for :func:`~cpsched.papers.auction.spots.line_spots`.
    fragments: ClassVar[bool]

    def weights(self, view: View, bids: Sequence[Bid], priorities: Sequence[int]) -> list[int]:
        """
        Return the values of bids, ``P_j + alpha F_i``: priority of the job plus preference of the
        bid.
        """
        nodesets = np.array([bid.num_nodesets for bid in bids])
        # The nodes that a job can use may be more nodesets than the machine has.
        lines = machine_lines(view.free, self.generic.tolist())
        total = sum(len(line.begins) for line in lines)
        level = np.stack([bid.level for bid in bids])[:, self.generic]
        largest = np.stack([bid.request.levels[-1] for bid in bids])[:, self.generic]
        values = preferences(
            self.table,
            np.array([bid.request.job_type for bid in bids]),
            np.array([bid.kind for bid in bids]),
            nodes=(np.array([len(bid.node) for bid in bids]), view.system.num_nodes),
            nodesets=(nodesets, max(total, int(nodesets.max()))),
            generic=(level.sum(axis=1), largest.sum(axis=1)),
        )
        weight = alpha(priorities)
        return weights(priorities, [bid.job for bid in bids], values, weight)

    def spots(self, offer: BidOffer) -> Spots:
        """Return the sets of nodes that a job may bid for."""
        return line_spots(offer, fragments=self.fragments, limit=self.bids_per_job)


@dataclass(kw_only=True, eq=False)
class Aucsched1(LineAuctioneer):
    """
    Auction of contiguous nodes: selects the winning bids and their tasks per node (4.1-4.8).

    A bid is a set of nodes for one waiting job. The numbers are equations of Soner's thesis.
    ``docs/papers/co-allocation.md`` describes the program and its differences from the thesis.
    """

    name = "aucsched1"
    family = "co-allocation by auctions, Soner and Ozturan"
    good_for = "jobs that need neighbouring nodes, as in the thesis"
    table = TABLE_4_4
    fragments = False
    opens_units = True

    #: ``MAXBIDS`` of the thesis.
    bids: int = 150
    #: Twice as much takes twice as long and, with multifactor, proves hardly more.
    limit: float = 0.1


@dataclass(kw_only=True, eq=False)
class Aucsched2(LineAuctioneer):
    """
    Auction of contiguous nodes with fixed tasks in the bids (5.1-5.4), and GPU ranges.

    A bid is a set of nodes for one waiting job. A GPU range allows a job some number of GPUs on
    each node, for example 1 to 4. The numbers are equations of Soner's thesis.
    ``docs/papers/co-allocation.md`` describes the program and its differences from the thesis.
    """

    name = "aucsched2"
    family = "co-allocation by auctions, Soner and Ozturan"
    good_for = "neighbouring nodes and ranges of GPUs per node, as in the thesis"
    table = TABLE_5_2
    fragments = True


@dataclass(kw_only=True, eq=False)
class Aucsched3(Auctioneer):
    """
    Auction of nodes under few and low switches (6.1-6.7), and GPU ranges.

    A bid is a set of nodes for one waiting job. A GPU range allows a job some number of GPUs on
    each node, for example 1 to 4. The numbers are equations of Soner's thesis.
    ``docs/papers/co-allocation.md`` describes the program and its differences from the thesis.
    """

    name = "aucsched3"
    family = "co-allocation by auctions, Soner and Ozturan"
    good_for = "few and low switches of a tree, and ranges of GPUs, as in the thesis"

    def reset(self, system: System, seed: int) -> None:
        """Clear all memory and prepare for a system, before a run starts."""
        super().reset(system, seed)
        self.topology = system.topology
        self.max_generic = int(system.capacity[:, self.generic].sum(axis=1).max(initial=0))

    def spots(self, offer: BidOffer) -> Spots:
        """
        Return the sets of nodes that a job may bid for, those under the lowest switches first.
        """
        return switch_spots(offer, self.topology, limit=self.bids_per_job)

    def weights(self, view: View, bids: Sequence[Bid], priorities: Sequence[int]) -> list[int]:
        """
        Return the values of bids, ``P_j - beta K_ji``: priority of the job minus cost of the nodes.
        """
        topology = self.topology
        first = np.array([bid.node[0] for bid in bids])
        last = np.array([bid.node[-1] for bid in bids])
        level = np.stack([bid.level for bid in bids])[:, self.generic]
        values = costs(
            nodes=(np.array([len(bid.node) for bid in bids]), view.system.num_nodes),
            level=(topology.common_level(first, last), topology.num_levels - 1),
            generic=(level.sum(axis=1), self.max_generic),
        )
        weight = beta(priorities)
        return weights(priorities, [bid.job for bid in bids], -values, weight)
