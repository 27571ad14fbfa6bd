"""
The winner determination program of an auction: which bids win.

The compact program of AUCSCHED2 and 3, (5.1)-(5.4) and (6.1)-(6.4), has one binary variable a bid:
at most one bid of a job wins, and on no node more is taken than is free. That of AUCSCHED1,
(4.1)-(4.8), also decides how many of a job's units go on which node of the bid. As printed, (4.3)
forbids bids of one job that share nodes and (4.4) counts nodes twice; what is meant is that a job
has a unit or more on every node of its winning bid, on no others, and all its units in total.
Since a bid asks for all of its nodes, ``u_jn`` is the sum of the job's bids that name the node.

Nodes that the same bids name, with the same amounts and with the same free, make the same
constraint, which is stated once. Constraints that no selection can break are left out.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched import cpsat

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.auction.asks import Ask
    from cpsched.auction.bids import Bid
    from cpsched.model.types import BoolArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Auction:
    """
    Bids and what is free; B bids, N nodes, R resource kinds, E nodes of all bids together.

    Attributes
    ----------
    bids
        Ordered by job.
    weight
        What each is worth, above 0 where it may win.
    ask
        The request of the job behind each bid.
    free, capacity
        Shape ``(N, R)``.
    owner, node, amount
        The bid, node, and what is taken there, for every node of every bid, in order of bids;
        shapes ``(E,)``, ``(E,)``, ``(E, R)``.
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
        """Return the auction of one bid or more; ``ask`` is the request behind each."""
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

    def of_bid(self, bid: int) -> slice:
        """Return where the nodes of a bid are in ``node`` and ``amount``."""
        return slice(int(self.first[bid]), int(self.first[bid + 1]))

    def value(self, winners: Sequence[int]) -> int:
        """Return what a selection of bids is worth."""
        return sum(self.weight[bid] for bid in winners)

    def greedy(self, order: Sequence[int]) -> list[int]:
        """
        Return the bids that win if they are taken in an order wherever they still fit.

        At most one of a job; worth nothing is not taken.
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
        """What the best bids of all jobs are worth together: no selection is worth more."""
        best: dict[int, int] = {}
        for bid, weight in zip(self.bids, self.weight, strict=True):
            best[bid.job] = max(best.get(bid.job, 0), weight)
        return sum(best.values())

    def is_best(self, winners: Sequence[int]) -> bool:
        """Tell whether every job wins the bid that is worth most to it: nothing is better."""
        return self.value(winners) == self.most

    def best_first(self) -> list[int]:
        """Return the bids, job by job, the best of each job first."""
        return sorted(
            range(len(self.bids)), key=lambda bid: (self.bids[bid].job, -self.weight[bid], bid)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Place:
    """
    Nodes that the same bids name, taking the same there, with the same free.

    Attributes
    ----------
    nodes
        Their numbers, shape ``(M,)``.
    bids
        Those that name them.
    amount
        What each takes on one of them, shape ``(number of bids, R)``.
    binding
        Of which kinds not all jobs that bid could have the most they want, shape ``(R,)``.
    """

    nodes: IntArray
    bids: IntArray
    amount: IntArray
    binding: BoolArray


def places_of(
    auction: Auction, amount: IntArray, most: IntArray, *, single: BoolArray | None = None
) -> list[Place]:
    """
    Return the places of an auction.

    Parameters
    ----------
    amount, most
        What a bid takes on each of its nodes, and the most it could; shape ``(E, R)``.
    single
        Bids whose places are to be single nodes, shape ``(B,)``.
    """
    order = np.argsort(auction.node, kind="stable")
    node, bid, amount = auction.node[order], auction.owner[order], amount[order]
    begins = np.flatnonzero(np.append(True, node[1:] != node[:-1]))
    ends = np.append(begins[1:], len(node))
    binding = _binding(auction, node, bid, most[order], begins)
    alike: defaultdict[tuple[bytes | int, ...], list[int]] = defaultdict(list)
    for at, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        number = int(node[begin])
        alone = single is not None and bool(single[bid[begin:end]].any())
        alike[
            bid[begin:end].tobytes(),
            amount[begin:end].tobytes(),
            auction.free[number].tobytes(),
            number if alone else -1,
        ].append(at)
    return [
        Place(
            nodes=node[begins[members]],
            bids=bid[begins[members[0]] : ends[members[0]]],
            amount=amount[begins[members[0]] : ends[members[0]]],
            binding=binding[members[0]],
        )
        for members in alike.values()
    ]


def _binding(
    auction: Auction, node: IntArray, bid: IntArray, most: IntArray, begins: IntArray
) -> BoolArray:
    """Return of which kinds the jobs' largest demands on each node are more than is free."""
    job = np.array([each.job for each in auction.bids], dtype=np.int64)[bid]
    changes = np.append(True, (node[1:] != node[:-1]) | (job[1:] != job[:-1]))
    firsts = np.flatnonzero(changes)
    largest = np.maximum.reduceat(most, firsts, axis=0)
    total = np.add.reduceat(largest, np.searchsorted(firsts, begins), axis=0)
    binding: BoolArray = total > auction.free[node[begins]]
    return binding


class Program:
    """
    The program (5.1)-(5.4) of an auction: units and amounts are as in the bids.

    Parameters
    ----------
    name
        Of the model.

    Attributes
    ----------
    model
        Minimises the negative worth of the winners.
    wins
        Whether each bid wins.
    """

    def __init__(self, auction: Auction, name: str) -> None:
        self.auction = auction
        self.model = cpsat.new_model(name)
        self.wins = tuple(self.model.new_bool_var("") for _ in auction.bids)
        self._stated: set[tuple[bytes, bytes, int]] = set()
        self._add_selection()
        self._add_nodes()

    @property
    def variables(self) -> tuple[cpsat.IntVar, ...]:
        """All variables, ``wins`` first."""
        return self.wins

    @property
    def num_variables(self) -> int:
        """Number of variables."""
        return len(self.model.proto.variables)

    @property
    def num_constraints(self) -> int:
        """Number of constraints."""
        return len(self.model.proto.constraints)

    def hints(self, winners: Sequence[int]) -> list[int]:
        """Return the variables' values for a selection that can win."""
        chosen = set(winners)
        return [int(bid in chosen) for bid in range(len(self.wins))]

    def winners(self, values: Sequence[int]) -> list[tuple[int, IntArray]]:
        """Return the winning bids of a solution, and their units on each of their nodes."""
        bids = self.auction.bids
        chosen = np.flatnonzero(values[: len(self.wins)]).tolist()
        return [(bid, bids[bid].units) for bid in chosen]

    def label(self, handle: Sequence[int]) -> None:
        """Name the variables for a reader: ``win_H_B``, bid B, of the job with handle H."""
        for number, (bid, variable) in enumerate(zip(self.auction.bids, self.wins, strict=True)):
            variable.name = f"win_{handle[bid.job]}_{number}"

    def dump(self, path: Path | str) -> None:
        """Write the model as a CP-SAT proto: text where the name ends in ``.txt``, else binary."""
        cpsat.dump(self.model, path)

    def _add_selection(self) -> None:
        """State the objective (4.1, 5.1, 6.1) and that a job wins once at most (4.2, 5.2, 6.2)."""
        for variables in self._by_job().values():
            if len(variables) > 1:
                self.model.add_at_most_one(variables)
        self.model.minimize(weighted(self.wins, [-weight for weight in self.auction.weight]))

    def _by_job(self) -> dict[int, list[cpsat.IntVar]]:
        of_job: defaultdict[int, list[cpsat.IntVar]] = defaultdict(list)
        for bid, variable in zip(self.auction.bids, self.wins, strict=True):
            of_job[bid.job].append(variable)
        return of_job

    def _add_nodes(self) -> None:
        """State that no node gives more than it has: (5.3), (5.4)."""
        auction = self.auction
        for place in places_of(auction, auction.amount, auction.amount):
            for kind in np.flatnonzero(place.binding).tolist():
                self._add_node(place, kind)

    def _add_node(self, place: Place, kind: int) -> None:
        takes = place.amount[:, kind]
        some = takes > 0
        free = int(self.auction.free[place.nodes[0], kind])
        # Kinds of one place, and places that differ in what does not matter, say the same.
        key = (place.bids[some].tobytes(), takes[some].tobytes(), free)
        if key not in self._stated:
            self._stated.add(key)
            variables = [self.wins[bid] for bid in place.bids[some].tolist()]
            self.model.add(weighted(variables, takes[some].tolist()) <= free)


def weighted(variables: Sequence[cpsat.IntVar], weights: Sequence[int]) -> cpsat.LinearExprT:
    """Return a weighted sum of one variable or more, in one call."""
    expression: cpsat.LinearExprT = variables[0].weighted_sum(variables, weights)
    return expression
