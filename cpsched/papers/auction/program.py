"""
The winner determination program of an auction: which bids win.

The compact program of AUCSCHED2 and 3, (5.1)-(5.4) and (6.1)-(6.4), has one binary variable for
each bid: at most one bid of a job wins, and on no node more is taken than is free. That of
AUCSCHED1, (4.1)-(4.8), also decides how many of a job's units go on which node of its bid. As
printed, (4.3) and (4.4) cannot be meant (``docs/papers/co-allocation.md``): here a job has a unit
or more on every node of its winning bid, on no others, and all its units in total.

Nodes on which the same bids take the same amounts form one node class with one
constraint. Constraints that no selection can violate are left out.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import cpsat
from cpsched.papers.auction.lines import spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.papers.auction.auction import Auction
    from cpsched.util.types import BoolArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeClass:
    """
    Nodes that the same bids name, taking the same there, with the same free.

    Attributes
    ----------
    nodes, bids
        Nodes, shape ``(M,)``, and the bids that name them.
    amount
        What each bid takes on one of them, shape ``(number of bids, R)``.
    binding
        Which kinds are too short for all jobs that bid, shape ``(R,)``.
    """

    nodes: IntArray
    bids: IntArray
    amount: IntArray
    binding: BoolArray


def node_classes_of(
    auction: Auction, amount: IntArray, largest: IntArray, *, single: BoolArray | None = None
) -> list[NodeClass]:
    """
    Return the node classes of an auction.

    Parameters
    ----------
    amount, largest
        What a bid takes on each of its nodes, and the most it could; shape ``(E, R)``.
    single
        Bids whose node classes are to be single nodes, shape ``(B,)``.
    """
    order = np.argsort(auction.node, kind="stable")
    node, bid, amount = auction.node[order], auction.owner[order], amount[order]
    begins = np.flatnonzero(np.append(True, node[1:] != node[:-1]))
    ends = np.append(begins[1:], len(node))
    binding = _binding(auction, node, bid, largest[order], begins)
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
        NodeClass(
            nodes=node[begins[members]],
            bids=bid[begins[members[0]] : ends[members[0]]],
            amount=amount[begins[members[0]] : ends[members[0]]],
            binding=binding[members[0]],
        )
        for members in alike.values()
    ]


def _binding(
    auction: Auction, node: IntArray, bid: IntArray, highest: IntArray, begins: IntArray
) -> BoolArray:
    """Return of which kinds the jobs' largest demands on each node are more than is free."""
    job = np.array([each.job for each in auction.bids], dtype=np.int64)[bid]
    changes = np.append(True, (node[1:] != node[:-1]) | (job[1:] != job[:-1]))
    firsts = np.flatnonzero(changes)
    largest = np.maximum.reduceat(highest, firsts, axis=0)
    total = np.add.reduceat(largest, np.searchsorted(firsts, begins), axis=0)
    binding: BoolArray = total > auction.free[node[begins]]
    return binding


class AuctionProgram(cpsat.HasModel):
    """
    The program of an auction: (5.1)-(5.4), or with open units (4.1)-(4.8).

    With open units, a job whose units are not split evenly has one or more of them on every node of
    its winning bid, as the program chooses. Units that need one of a single kind are a quantity:
    the program says how many go on the nodes of a node class together, and any way to give every
    node one and fill up the rest is a solution. Other units are packed node by node. All bids of a
    job take the same on each node in addition to its units.

    Parameters
    ----------
    open_units
        Whether units may lie on the nodes of a bid otherwise than the bid says.

    Attributes
    ----------
    model
        Minimises the negative worth of the winners.
    wins
        Whether each bid wins.
    """

    def __init__(self, auction: Auction, name: str, *, open_units: bool = False) -> None:
        self.auction = auction
        self.model = cpsat.new_model(name)
        self.wins = tuple(self.model.new_bool_var("") for _ in auction.bids)
        self._stated: set[tuple[bytes, bytes, int]] = set()
        #: The least that bids take of their nodes: one unit on each where units are open.
        self._least = auction.amount
        #: Jobs whose units are not settled by which of their bids wins, and their units.
        self._free_jobs: dict[int, int] = {}
        #: Units of a job on a node class, by job and node class.
        self._units: dict[tuple[int, int], cpsat.IntVar] = {}
        largest, single = auction.amount, None
        if open_units:
            self._fitting = _fitting_units(auction)
            self._free_jobs = _free_jobs(auction, self._fitting)
            largest, single = self._opened()
        self._add_selection()
        self._node_classes = node_classes_of(auction, self._least, largest, single=single)
        for number, node_class in enumerate(self._node_classes):
            self._add_node_class(number, node_class)
        self._add_all_units()

    @property
    def variables(self) -> tuple[cpsat.IntVar, ...]:
        """All variables, ``wins`` first."""
        return (*self.wins, *self._units.values())

    def hints(self, winners: Sequence[int]) -> list[int]:
        """Return the variables' values for a selection that can win, units as in the bids."""
        bids, chosen = self.auction.bids, set(winners)
        units: dict[int, dict[int, int]] = {
            bids[bid].job: dict(zip(bids[bid].node.tolist(), bids[bid].units.tolist(), strict=True))
            for bid in winners
        }
        put = [
            sum(
                units.get(job, {}).get(node, 0)
                for node in self._node_classes[node_class].nodes.tolist()
            )
            for job, node_class in self._units
        ]
        return [*(int(bid in chosen) for bid in range(len(self.wins))), *put]

    def winners(self, values: Sequence[int]) -> list[tuple[int, IntArray]]:
        """Return the winning bids of a solution, and their units on each of their nodes."""
        auction = self.auction
        chosen = np.flatnonzero(values[: len(self.wins)]).tolist()
        given = dict(zip(self._units, values[len(self.wins) :], strict=True))
        left = auction.free.copy()
        for bid in chosen:
            left[auction.bids[bid].node] -= self._least[auction.of_bid(bid)]
        winning: list[tuple[int, IntArray]] = []
        for bid in chosen:
            job, put = auction.bids[bid].job, auction.bids[bid].units
            if job in self._free_jobs:
                own = {node_class: units for (of, node_class), units in given.items() if of == job}
                put = self._fill(bid, own, left)
            winning.append((bid, put))
        return winning

    def _fill(self, bid: int, given: dict[int, int], left: IntArray) -> IntArray:
        """Put a bid's units on its nodes, beyond the one on each; take them from ``left``."""
        request, node = self.auction.bids[bid].request, self.auction.bids[bid].node
        units = np.ones(len(node), dtype=np.int64)
        kinds = np.flatnonzero(request.unit_request)
        for node_class, amount in given.items():
            members = self._node_classes[node_class].nodes
            if not amount:
                continue
            fitting = (left[members][:, kinds] // request.unit_request[kinds]).min(
                axis=1, initial=amount
            )
            put = spread(1 + fitting, amount, evenly=True)
            units[np.searchsorted(node, members)] = put
            left[members] -= (put - 1)[:, None] * request.unit_request
        return units

    def _opened(self) -> tuple[IntArray, BoolArray]:
        """Return the most that bids take of their nodes, and which need their nodes apart."""
        auction = self.auction
        self._least, largest = auction.amount.copy(), auction.amount.copy()
        single = np.zeros(len(auction.bids), dtype=np.bool_)
        for index, bid in enumerate(auction.bids):
            if bid.job in self._free_jobs:
                part, request = auction.of_bid(index), bid.request
                self._least[part] = request.unit_request + bid.level
                largest[part] = self._fitting[part, None] * request.unit_request + bid.level
                single[index] = request.unit_request.sum() != 1
        return largest, single

    def _by_job(self) -> dict[int, list[cpsat.IntVar]]:
        of_job: defaultdict[int, list[cpsat.IntVar]] = defaultdict(list)
        for bid, variable in zip(self.auction.bids, self.wins, strict=True):
            of_job[bid.job].append(variable)
        return of_job

    def _add_selection(self) -> None:
        """State the objective (4.1, 5.1, 6.1) and that a job wins once at most (4.2, 5.2, 6.2)."""
        for variables in self._by_job().values():
            if len(variables) > 1:
                self.model.add_at_most_one(variables)
        self.model.minimize(weighted(self.wins, [-weight for weight in self.auction.weight]))

    def _add_all_units(self) -> None:
        """State (4.4): all of a job's units, on the nodes of the bid that wins."""
        units_of: defaultdict[int, list[cpsat.IntVar]] = defaultdict(list)
        for (job, _), units in self._units.items():
            units_of[job].append(units)
        for job, wins in self._by_job().items():
            if job in self._free_jobs:
                variables = [*units_of[job], *wins]
                ones, total = [1] * len(units_of[job]), self._free_jobs[job]
                self.model.add(weighted(variables, ones + [-total] * len(wins)) == 0)

    def _add_node_class(self, number: int, node_class: NodeClass) -> None:
        """State that no node gives more than it has: (4.5)-(4.8), (5.3), (5.4)."""
        bids, size = self.auction.bids, len(node_class.nodes)
        of_job: defaultdict[int, list[int]] = defaultdict(list)
        for at, bid in enumerate(node_class.bids.tolist() if self._free_jobs else ()):
            if bids[bid].job in self._free_jobs:
                of_job[bids[bid].job].append(at)
        for job, members in of_job.items():
            self._add_units(number, node_class, job, members)
        for kind in np.flatnonzero(node_class.binding).tolist():
            free = int(self.auction.free[node_class.nodes[0], kind])
            takes = node_class.amount[:, kind].copy()
            variables: list[cpsat.IntVar] = []
            weights: list[int] = []
            for job, members in of_job.items():
                unit_request = int(
                    bids[int(node_class.bids[members[0]])].request.unit_request[kind]
                )
                if unit_request:
                    takes[members] -= unit_request
                    variables.append(self._units[job, number])
                    weights.append(unit_request)
            if not variables:
                self._add_node(node_class, kind)
                continue
            taking = np.flatnonzero(takes)
            variables += [self.wins[bid] for bid in node_class.bids[taking].tolist()]
            weights += (size * takes[taking]).tolist()
            self.model.add(weighted(variables, weights) <= size * free)

    def _add_node(self, node_class: NodeClass, kind: int) -> None:
        takes = node_class.amount[:, kind]
        taking = takes > 0
        free = int(self.auction.free[node_class.nodes[0], kind])
        # Kinds of one class, and classes that differ in what does not matter, say the same.
        key = (node_class.bids[taking].tobytes(), takes[taking].tobytes(), free)
        if key not in self._stated:
            self._stated.add(key)
            variables = [self.wins[bid] for bid in node_class.bids[taking].tolist()]
            self.model.add(weighted(variables, takes[taking].tolist()) <= free)

    def _add_units(self, number: int, node_class: NodeClass, job: int, members: list[int]) -> None:
        """Add a job's units on a class: one a node or more where a bid for it wins, else none."""
        size, bid = len(node_class.nodes), int(node_class.bids[members[0]])
        at = int(self.auction.first[bid]) + int(
            np.searchsorted(self.auction.bids[bid].node, node_class.nodes[0])
        )
        max_units = min(int(self._fitting[at]) * size, self._free_jobs[job])
        units = self.model.new_int_var(0, max_units, "")
        self._units[job, number] = units
        wins = [self.wins[bid] for bid in node_class.bids[members].tolist()]
        self.model.add(weighted([units, *wins], [1, *[-size] * len(wins)]) >= 0)
        self.model.add(weighted([units, *wins], [1, *[-max_units] * len(wins)]) <= 0)


def weighted(variables: Sequence[cpsat.IntVar], weights: Sequence[int]) -> cpsat.LinearExprT:
    """Return a weighted sum of one variable or more, in one call."""
    expression: cpsat.LinearExprT = variables[0].weighted_sum(variables, weights)
    return expression


def _fitting_units(auction: Auction) -> IntArray:
    """Return how many units of its job fit on each node of each bid, shape ``(E,)``."""
    bids, owner = auction.bids, auction.owner
    unit_request = np.stack([bid.request.unit_request for bid in bids])[owner]
    level = np.stack([bid.level for bid in bids])[owner]
    units = np.array([bid.request.units for bid in bids], dtype=np.int64)[owner]
    left = auction.free[auction.node] - level
    each = np.where(unit_request > 0, left // np.maximum(unit_request, 1), units[:, None])
    fitting: IntArray = np.minimum(each.min(axis=1), units)
    return fitting


def _free_jobs(auction: Auction, fitting: IntArray) -> dict[int, int]:
    """Return the jobs whose units can be put on a bid's nodes in several ways, and their units."""
    total = np.add.reduceat(fitting, auction.first[:-1]).tolist()
    return {
        bid.job: bid.request.units
        for bid, max_units in zip(auction.bids, total, strict=True)
        if len(bid.node) < bid.request.units < max_units
        and not (bid.request.even or bid.request.exclusive)
    }
