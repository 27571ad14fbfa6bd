"""What jobs hold on each node, and how Slurm distributes their units over the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model import columns as c
from cpsched.model.allocation import Allocation
from cpsched.slurm.live.fields import gres_of
from cpsched.slurm.live.snapshot import Placed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.slurm.live.snapshot import LiveJob
    from cpsched.util.types import IntArray


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


def holdings(job: LiveJob, node_of: Mapping[str, int], kinds: Sequence[str]) -> Allocation:
    """Return what a job holds on the nodes of a system, by node; a core is a unit."""
    held = [(node_of[one.node], one) for one in _placed(job) if one.node in node_of]
    held.sort(key=lambda item: item[0])
    amounts = [{"core": one.cores, "mem": one.mem, **one.gres} for _, one in held]
    return Allocation(
        np.array([node for node, _ in held], dtype=np.int64),
        np.array([one.cores for _, one in held], dtype=np.int64),
        np.array(
            [[amount.get(kind, 0) for kind in kinds] for amount in amounts], dtype=np.int64
        ).reshape(len(held), len(kinds)),
    )


def within(held: Allocation, free: IntArray, core: int) -> Allocation:
    """Return what of an allocation is free; ``core`` is the column of cores."""
    amount = np.minimum(held.amount, free[held.node])
    there = amount[:, core] > 0
    return Allocation(held.node[there], amount[there, core], amount[there])


def _placed(job: LiveJob) -> Sequence[Placed]:
    """Return what a job holds on each node: its cores evenly, where Slurm does not say."""
    if job.placed or not job.nodes:
        return job.placed
    gres = gres_of(job.gres_per_node)
    share, more = divmod(job.cpus, len(job.nodes))
    cores = [max(share + (at < more), 1) for at in range(len(job.nodes))]
    return [
        Placed(node, own, job.mem * (own if job.mem_per_core else 1), gres)
        for node, own in zip(job.nodes, cores, strict=True)
    ]
