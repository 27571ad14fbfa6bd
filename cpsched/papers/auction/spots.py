"""
Where a job may bid: windows of class A, B and C and wide bids, on a line or under switches.

On a tree, nodesets are looked for under every switch (thesis, 6.1). Nodes under one switch are
neighbours on the line, so the lowest switch above all nodes of a window is the lowest above its
first and its last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.papers.auction.bids import Spots
from cpsched.papers.auction.lines import spot_of

if TYPE_CHECKING:
    from cpsched.model.topology import Topology
    from cpsched.papers.auction.bids import BidOffer
    from cpsched.papers.auction.lines import Spot
    from cpsched.util.types import BoolArray, IntArray

#: Bids for all nodes of nodesets that one job makes, of one and of more nodesets each.
_MAX_UNIONS = 2
#: At each level this many switches, those with the least sufficient room, are considered.
_MAX_SWITCHES = 4


def line_spots(offer: BidOffer, *, fragments: bool, limit: int) -> Spots:
    """
    Return the candidates of an offer on a line of nodes, by class.

    A job that asks for units alone also bids for *all* nodes of neighbouring nodesets. In AUCSCHED1
    the program then chooses how many units go where; otherwise they are spread evenly.

    Parameters
    ----------
    fragments
        Whether such a job also bids for the nodes with the least room, wherever they are (8.3).
    limit
        Candidates of classes A and C, each.
    """
    line, request = offer.line, offer.request
    begin, end = offer.forward(line.begins)
    begins, ends = offer.backward(line.ends)
    begin, end = np.concatenate([begin, begins]), np.concatenate([end, ends])
    within = line.run[begin] == line.run[end - 1]
    if line.ends.size:
        size = line.before[line.ends] - line.before[line.begins]
        order = np.argsort(size[line.run[begin]], kind="stable")
        begin, end, within = begin[order], end[order], within[order]
    aligned = _unique(begin[within], end[within], limit)
    start, stop = offer.forward(np.arange(len(line.node), dtype=np.int64))
    run = line.run[start]
    inner = (run == line.run[stop - 1]) & (start > line.begins[run]) & (stop < line.ends[run])
    joined: list[Spot] = []
    if not request.contiguous:
        if request.job_type == 1:
            joined += fragments_of(offer) if fragments else []
            joined += unions_of(offer)
        begin, end = begin[~within], end[~within]
        fewest = np.lexsort((end - begin, line.run[end - 1] - line.run[begin]))
        joined += _unique(begin[fewest], end[fewest], limit)
    inside = np.stack([start[inner], stop[inner]], axis=1)
    return Spots(aligned, inside, joined[:limit])


def _unique(begin: IntArray, end: IntArray, limit: int) -> list[Spot]:
    """Return the first few different windows."""
    pairs = list(dict.fromkeys(zip(begin.tolist(), end.tolist(), strict=True)))[:limit]
    return [slice(low, high) for low, high in pairs]


def unions_of(offer: BidOffer) -> list[Spot]:
    """
    Return all nodes of nodesets that hold a job, the fewest nodes first: of one, and of several.

    Never of more neighbouring nodesets than the job needs.
    """
    line, request = offer.line, offer.request
    units_before = line.before[line.ends]
    spots: list[Spot] = []
    for count in (1, 2):
        last = np.searchsorted(units_before, line.before[line.begins] + request.units)
        last = np.maximum(last, np.arange(count - 1, len(units_before) + count - 1))
        known = last < len(units_before)
        begin, last = line.begins[known], last[known]
        end = line.ends[last]
        good = (end - begin >= offer.nodes_min) & (end - begin <= offer.nodes_max)
        fewest = np.argsort(end[good] - begin[good], kind="stable")
        spots += _unique(begin[good][fewest], end[good][fewest], _MAX_UNIONS)
    return spots


def fragments_of(offer: BidOffer) -> list[Spot]:
    """Return the nodes with the least room that hold a job, the first of equal ones."""
    line = offer.line
    order = np.argsort(line.fitting, kind="stable")
    units_up_to = np.cumsum(line.fitting[order])
    count = int(np.searchsorted(units_up_to, offer.request.units)) + 1
    if not offer.nodes_min <= count <= offer.nodes_max:
        return []
    return [spot_of(order[:count])]


def switch_spots(offer: BidOffer, topology: Topology, *, limit: int) -> Spots:
    """
    Return the candidates of an offer on a tree, the lowest switches first.

    Windows at a border of a nodeset under some switch, others within one, windows that cross a
    border, and the nodes with the most room under switches that have just enough. A job that asks
    for units alone also bids for the nodes with the least room, wherever they are, and for all
    nodes of a nodeset, its units spread evenly.

    Parameters
    ----------
    limit
        Candidates that are aligned, and that are joined, each.
    """
    line, request = offer.line, offer.request
    borders = _borders(offer, topology)
    begin, end = _at_borders(offer, borders)
    level = topology.common_level(line.node[begin], line.node[end - 1])
    within = line.run[begin] == line.run[end - 1]
    nodesets = line.run[end - 1] - line.run[begin]
    order = np.lexsort((begin, end - begin, nodesets, level))
    inner, outer = order[within[order]], order[~within[order]]
    aligned = _unique(begin[inner], end[inner], limit)
    joined: list[Spot] = []
    if not request.contiguous:
        joined += _roomiest(offer, topology, limit)
        joined += _unique(begin[outer], end[outer], limit)
        if request.job_type == 1:
            joined[1:1] = [*fragments_of(offer), *unions_of(offer)]
    lowest = int(level.min(initial=topology.num_levels))
    return Spots(aligned, _inside(offer, topology, borders, lowest), joined[:limit])


def _borders(offer: BidOffer, topology: Topology) -> BoolArray:
    """Return the positions, the end of the line included, where a nodeset under a switch ends."""
    line = offer.line
    is_border: BoolArray = np.zeros(len(line.node) + 1, dtype=np.bool_)
    is_border[line.begins] = True
    is_border[line.ends] = True
    for lower in range(topology.num_levels - 1):
        group = topology.level_group(lower)[line.node]
        is_border[1:-1] |= group[1:] != group[:-1]
    return is_border


def _at_borders(offer: BidOffer, borders: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the windows that begin or end at a border."""
    place = np.flatnonzero(borders).astype(np.int64)
    begin, end = offer.forward(place[place < len(offer.line.node)])
    begins, ends = offer.backward(place[place > 0])
    return np.concatenate([begin, begins]), np.concatenate([end, ends])


def _inside(offer: BidOffer, topology: Topology, borders: BoolArray, highest: int) -> IntArray:
    """Return the other windows within a nodeset, under switches of level ``highest`` or lower."""
    line = offer.line
    begin, end = offer.forward(np.flatnonzero(~borders[:-1]).astype(np.int64))
    within = (line.run[begin] == line.run[end - 1]) & ~borders[end]
    begin, end = begin[within], end[within]
    level = topology.common_level(line.node[begin], line.node[end - 1])
    low = level <= highest
    return np.stack([begin[low], end[low]], axis=1)


def _roomiest(offer: BidOffer, topology: Topology, limit: int) -> list[Spot]:
    """Return the nodes with the most room under switches that have just enough, lowest first."""
    line, units = offer.line, offer.request.units
    spots: list[Spot] = []
    for level in range(topology.num_levels):
        group = topology.level_group(level)[line.node]
        fitting = np.bincount(group, weights=line.fitting).astype(np.int64)
        able = np.flatnonzero((fitting >= units) & (np.bincount(group) >= offer.nodes_min))
        fullest = able[np.argsort(fitting[able], kind="stable")]
        for switch in fullest[:_MAX_SWITCHES].tolist():
            members = np.flatnonzero(group == switch)
            best = members[np.argsort(-line.fitting[members], kind="stable")]
            count = int(np.searchsorted(np.cumsum(line.fitting[best]), units)) + 1
            count = max(count, offer.nodes_min)
            if count <= offer.nodes_max:
                spots.append(spot_of(best[:count]))
        if len(spots) >= limit:
            break
    return spots
