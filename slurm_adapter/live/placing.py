"""How Slurm distributes the units of a job over the nodes it is bound to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.model import Allocation
from cpsched.api.model import columns as c

if TYPE_CHECKING:
    from cpsched.api.model import IntArray


def as_slurm_fills(allocation: Allocation, shape: IntArray, free: IntArray) -> Allocation:
    """
    Return an allocation on the same nodes with the units as Slurm places them.

    Bound to nodes, ``select/cons_tres`` fills the first with as many free cores as possible while
    leaving one for each of the others, then the second, and so on (tested on 22.05). The allocation
    is returned unchanged if that is not possible, if units must be even, or if the job takes whole
    nodes.

    Parameters
    ----------
    shape
        What the job asks for: a row of :attr:`cpsched.model.jobstore.JobStore.shapes`.
    free
        What each node has left, shape ``(N, R)``.
    """
    kinds = free.shape[1]
    request = shape[c.SHAPE_REQUEST : c.SHAPE_REQUEST + kinds]
    on_node = shape[c.SHAPE_REQUEST + kinds : c.SHAPE_REQUEST + 2 * kinds]
    count = len(allocation.node)
    if count == 1 or shape[c.SHAPE_SPLIT] or shape[c.SHAPE_EXCLUSIVE]:
        return allocation
    asked = request > 0
    room = ((free[allocation.node] - on_node)[:, asked] // request[asked]).min(axis=1)
    left = int(allocation.units.sum())
    units = np.zeros(count, dtype=np.int64)
    for at in range(count):
        units[at] = min(int(room[at]), left - (count - at - 1))
        left -= int(units[at])
    if left or (units < 1).any():
        return allocation
    # What a job holds besides its units, which may be more than its minimum.
    beside = allocation.amount - allocation.units[:, None] * request
    return Allocation(allocation.node, units, units[:, None] * request + beside)
