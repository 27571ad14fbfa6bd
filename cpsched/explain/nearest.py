"""The node that is next to have room for a job's share."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from cpsched.explain.model import NearestNode

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.explain.context import Holding
    from cpsched.explain.room import Fitting


def nearest_node(fitting: Fitting, free: IntArray, held: list[Holding]) -> NearestNode | None:
    """
    Return the next node to have room for a job's share; None if no end makes room.

    The share is the rest of the job divided by its nodes, or what the largest node holds. Of
    several nodes with room at the same second, the one with the most room now is taken, then the
    first.

    Parameters
    ----------
    free
        What the nodes have, shape ``(N, R)``.
    held
        What jobs hold, and their expected ends.
    """
    capacity = fitting.view.system.capacity
    whole = _held(fitting, capacity)
    share = min(-(-fitting.units // max(fitting.nodes_min, 1)), int(whole.max(initial=0)))
    before = _held(fitting, free)
    lacking = (whole >= share) & (before < share)
    later = free.copy()
    for end, ending in groupby(sorted(held, key=_end), key=_end):
        for one in ending:
            later[one.node] += one.amount
        ready = np.flatnonzero(lacking & (_held(fitting, later) >= share))
        if len(ready):
            best = ready[np.argmax(before[ready])]
            return _described(fitting, free, int(best), share, end)
    return None


def _end(one: Holding) -> int:
    return one.end


def _held(fitting: Fitting, free: IntArray) -> IntArray:
    return fitting.units_held(fitting.units_by_kind(free), free)


def _described(fitting: Fitting, free: IntArray, node: int, share: int, end: int) -> NearestNode:
    system = fitting.view.system
    whole = system.capacity[node]
    needed = whole if fitting.exclusive else share * fitting.request + fitting.per_node
    kind = int(np.argmax(needed - free[node]))
    by_kind = fitting.units_by_kind(free)
    return NearestNode(
        node=system.node_names[node],
        units=share,
        room=int(fitting.units_held(by_kind, free)[node]),
        resource=system.resources[kind],
        free=int(free[node, kind]),
        needed=int(needed[kind]),
        capacity=int(whole[kind]),
        at=end,
    )
