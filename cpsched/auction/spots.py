"""Where along a line of nodes a job may bid: windows of class A, B and C, and wide bids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.auction.bids import Spots, spot_of
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from cpsched.auction.bids import Offer, Spot
    from cpsched.model.types import IntArray

#: Bids for all nodes of nodesets that one job makes, of one and of more nodesets each.
_MOST_UNIONS = 2


def checked_nodesets(nodesets: int | None) -> int | None:
    """Return the most nodesets of a bid; raise ConfigError unless it has one at least."""
    if nodesets is not None and nodesets < 1:
        raise ConfigError(f"nodesets is {nodesets}, must be 1 or more, or 'none'")
    return nodesets


def line_spots(
    offer: Offer, *, unions: int | None, fragments: bool, most: int, nodesets: int | None = None
) -> Spots:
    """
    Return the candidates of an offer on a line of nodes, by class.

    Parameters
    ----------
    unions
        Of how many neighbouring nodesets at least a job that asks for units alone bids for *all*
        nodes, more than it needs; None: it does not. In AUCSCHED1 the program then chooses how
        many units go where; otherwise they are spread evenly.
    fragments
        Whether such a job also bids for the nodes with the least to give, wherever they are: the
        bids over many nodes that AUCSCHED2 makes (8.3).
    most
        Candidates of classes A and C, each.
    nodesets
        From how many neighbouring nodesets a window or a union comes at most; None: from as many
        as it takes.
    """
    line, ask = offer.line, offer.ask
    across = len(line.begins) if nodesets is None else nodesets
    begin, end = offer.forward(line.begins)
    begins, ends = offer.backward(line.ends)
    begin, end = np.concatenate([begin, begins]), np.concatenate([end, ends])
    within = line.run[begin] == line.run[end - 1]
    if line.ends.size:
        size = line.before[line.ends] - line.before[line.begins]
        order = np.argsort(size[line.run[begin]], kind="stable")
        begin, end, within = begin[order], end[order], within[order]
    aligned = _unique(begin[within], end[within], most)
    start, stop = offer.forward(np.arange(len(line.node), dtype=np.int64))
    run = line.run[start]
    inner = (run == line.run[stop - 1]) & (start > line.begins[run]) & (stop < line.ends[run])
    joined: list[Spot] = []
    if not ask.contiguous:
        if ask.job_type == 1:
            joined += fragments_of(offer) if fragments else []
            joined += unions_of(offer, unions, nodesets) if unions is not None else []
        crosses = ~within & (line.run[end - 1] - line.run[begin] < across)
        begin, end = begin[crosses], end[crosses]
        fewest = np.lexsort((end - begin, line.run[end - 1] - line.run[begin]))
        joined += _unique(begin[fewest], end[fewest], most)
    inside = np.stack([start[inner], stop[inner]], axis=1)
    return Spots(aligned, inside, joined[:most])


def _unique(begin: IntArray, end: IntArray, most: int) -> list[Spot]:
    """Return the first few different windows."""
    pairs = list(dict.fromkeys(zip(begin.tolist(), end.tolist(), strict=True)))[:most]
    return [slice(low, high) for low, high in pairs]


def unions_of(offer: Offer, least: int, nodesets: int | None = None) -> list[Spot]:
    """
    Return all nodes of neighbouring nodesets that hold a job, of the fewest nodes first.

    Parameters
    ----------
    least
        Nodesets of a union: 1 for single ones and unions of two or more, 2 for these alone; no
        more than that unless the job needs them.
    nodesets
        Of a union at most; None: as many as it takes.
    """
    line, ask = offer.line, offer.ask
    held = line.before[line.ends]
    across = len(held) if nodesets is None else nodesets
    found: list[Spot] = []
    for count in range(least, 3):
        last = np.searchsorted(held, line.before[line.begins] + ask.units)
        last = np.maximum(last, np.arange(count - 1, len(held) + count - 1))
        known = (last < len(held)) & (last - np.arange(len(held)) < across)
        begin, last = line.begins[known], last[known]
        end = line.ends[last]
        good = (end - begin >= offer.nodes_min) & (end - begin <= offer.nodes_max)
        fewest = np.argsort(end[good] - begin[good], kind="stable")
        found += _unique(begin[good][fewest], end[good][fewest], _MOST_UNIONS)
    return found


def fragments_of(offer: Offer) -> list[Spot]:
    """Return the nodes with the least room that hold a job, the first of equal ones."""
    line = offer.line
    order = np.argsort(line.room, kind="stable")
    held = np.cumsum(line.room[order])
    count = int(np.searchsorted(held, offer.ask.units)) + 1
    if not offer.nodes_min <= count <= offer.nodes_max:
        return []
    return [spot_of(order[:count])]
