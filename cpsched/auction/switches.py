"""
Bids on a tree of switches: nodesets are looked for under every switch (thesis, 6.1).

Nodes under one switch are neighbours in the line, so a nodeset under a switch is a run of nodes cut
at the switch's ends, and the lowest switch above all nodes of a bid is the lowest above its first
and its last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.auction.bids import Spots, spot_of
from cpsched.auction.spots import fragments_of, unions_of

if TYPE_CHECKING:
    from cpsched.auction.bids import Offer, Spot
    from cpsched.model.topology import Topology
    from cpsched.model.types import BoolArray, IntArray

#: At each level so many switches, those with the least room that suffices, are looked at.
_MOST_SWITCHES = 4


def switch_spots(offer: Offer, topology: Topology, *, unions: bool, most: int) -> Spots:
    """
    Return the candidates of an offer on a tree, the lowest switches first.

    At each level, windows at the beginning or the end of a nodeset under a switch, then those
    elsewhere in one, then those that cross from one to another under the same switch; and, on
    switches with just enough room, the nodes with the most room. A job that asks for units alone
    also bids for the nodes with the least to give, wherever they are.

    Parameters
    ----------
    unions
        Whether such a job bids for all nodes of a nodeset too, its units spread evenly.
    most
        Candidates that are aligned, and that are joined, each.
    """
    line, ask = offer.line, offer.ask
    borders = _borders(offer, topology)
    begin, end = _at_borders(offer, borders)
    level = topology.common_level(line.node[begin], line.node[end - 1])
    within = line.run[begin] == line.run[end - 1]
    nodesets = line.run[end - 1] - line.run[begin]
    order = np.lexsort((begin, end - begin, nodesets, level))
    aligned = _first(begin, end, order[within[order]], most)
    joined: list[Spot] = []
    if not ask.contiguous:
        joined += _roomiest(offer, topology, most)
        joined += _first(begin, end, order[~within[order]], most)
        if ask.job_type == 1:
            joined[1:1] = [*fragments_of(offer), *(unions_of(offer, 1) if unions else [])]
    lowest = int(level.min(initial=topology.num_levels))
    return Spots(aligned, _inside(offer, topology, borders, lowest), joined[:most])


def _borders(offer: Offer, topology: Topology) -> BoolArray:
    """Return before which positions of the line, its end among them, a switch or nodeset ends."""
    line = offer.line
    found: BoolArray = np.zeros(len(line.node) + 1, dtype=np.bool_)
    found[line.begins] = True
    found[line.ends] = True
    for lower in range(topology.num_levels - 1):
        group = topology.level_group(lower)[line.node]
        found[1:-1] |= group[1:] != group[:-1]
    return found


def _at_borders(offer: Offer, borders: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the windows that begin or end where a nodeset under some switch does."""
    place = np.flatnonzero(borders).astype(np.int64)
    begin, end = offer.forward(place[place < len(offer.line.node)])
    begins, ends = offer.backward(place[place > 0])
    return np.concatenate([begin, begins]), np.concatenate([end, ends])


def _inside(offer: Offer, topology: Topology, borders: BoolArray, most: int) -> IntArray:
    """Return the other windows within a nodeset, under switches of a level at most."""
    line = offer.line
    begin, end = offer.forward(np.flatnonzero(~borders[:-1]).astype(np.int64))
    within = (line.run[begin] == line.run[end - 1]) & ~borders[end]
    begin, end = begin[within], end[within]
    level = topology.common_level(line.node[begin], line.node[end - 1])
    low = level <= most
    return np.stack([begin[low], end[low]], axis=1)


def _first(begin: IntArray, end: IntArray, order: IntArray, most: int) -> list[Spot]:
    """Return the first few different windows in an order."""
    pairs = zip(begin[order].tolist(), end[order].tolist(), strict=True)
    return [slice(low, high) for low, high in list(dict.fromkeys(pairs))[:most]]


def _roomiest(offer: Offer, topology: Topology, most: int) -> list[Spot]:
    """Return the nodes with the most room under switches that have just enough, lowest first."""
    line, units = offer.line, offer.ask.units
    found: list[Spot] = []
    for level in range(topology.num_levels):
        group = topology.level_group(level)[line.node]
        room = np.bincount(group, weights=line.room).astype(np.int64)
        able = np.flatnonzero((room >= units) & (np.bincount(group) >= offer.nodes_min))
        fullest = able[np.argsort(room[able], kind="stable")]
        for switch in fullest[:_MOST_SWITCHES].tolist():
            members = np.flatnonzero(group == switch)
            best = members[np.argsort(-line.room[members], kind="stable")]
            count = int(np.searchsorted(np.cumsum(line.room[best]), units)) + 1
            count = max(count, offer.nodes_min)
            if count <= offer.nodes_max:
                found.append(spot_of(best[:count]))
        if len(found) >= most:
            break
    return found
