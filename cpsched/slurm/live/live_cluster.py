"""A cluster in Slurm's terms: names of nodes, Unix time, and the allocations that Slurm made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.engine.cluster import Cluster
from cpsched.errors import DispatchError
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Start
from cpsched.model.schedule import Outages
from cpsched.slurm.live.fields import gres_of
from cpsched.slurm.live.requests import YEAR, running_request
from cpsched.slurm.live.snapshot import Placed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cpsched.model.system import System
    from cpsched.slurm.live.snapshot import LiveJob, Reserved
    from cpsched.util.types import IntArray

#: Seconds before a reservation by which jobs must end: they start a little after the order.
_MARGIN = 60


class LiveCluster(Cluster):
    """
    A cluster in Slurm's terms.

    Parameters
    ----------
    epoch
        Unix time of its second 0.

    Attributes
    ----------
    closed
        The nodes on which nothing may start.
    """

    def __init__(
        self, system: System, dispatcher: str, predictor: str, *, seed: int, epoch: int
    ) -> None:
        super().__init__(system, dispatcher, predictor, any_queue=True, seed=seed, epoch=epoch)
        self.epoch = epoch
        self.closed: frozenset[int] = frozenset()
        self._reserved: tuple[Reserved, ...] = ()
        self._node_of = {name: node for node, name in enumerate(system.node_names)}
        self._cores = system.resource_index("core")

    def second(self, unix: int) -> int:
        """Return a second of the cluster, no earlier than the last one."""
        return max(unix - self.epoch, self.now)

    # --- nodes -----------------------------------------------------------------------------------

    def follow_nodes(self, closed: Iterable[str], reserved: tuple[Reserved, ...], now: int) -> None:
        """Start no job on closed nodes, nor one that could run into a reservation."""
        self.close({self._node_of[name] for name in closed if name in self._node_of}, now)
        if reserved == self._reserved:
            return
        rows = [
            (self._node_of[name], block.start - _MARGIN - self.epoch, block.end - self.epoch)
            for block in reserved
            for name in block.nodes
            if name in self._node_of
        ]
        self.plan_outages(Outages.of(rows, [0] * len(rows)))
        self._reserved = reserved

    def close(self, nodes: Iterable[int], now: int) -> None:
        """Let jobs start on all nodes but these."""
        closed = frozenset(nodes)
        if closed != self.closed:
            self.set_down(closed, now)
            self.closed = closed

    # --- jobs ------------------------------------------------------------------------------------

    def leave(self, row: int, now: int) -> None:
        """Remove a job that has not ended; nothing is learnt from it."""
        if self.machine.is_in(row, c.RUNNING):
            self.failed(row, now)
        self.cancel(row, now)

    def run(self, job: LiveJob, now: int) -> int:
        """Enter a running job with its allocation; return its handle, -1 without an allocation."""
        allocation = _allocation_of(job, self._node_of, self.system.resources)
        if not self.closed.isdisjoint(allocation.node.tolist()):
            # Jobs on a closed node continue; it is closed again when all have entered.
            self.close((), now)
        allocation = _free_part(allocation, self.machine.free, self._cores)
        if not len(allocation.node):
            return -1
        end = (job.end if job.end > job.start >= 0 else job.start + YEAR) - self.epoch
        rest = replace(job, time_limit=max(end - now, 1))
        request = running_request(rest, allocation.amount, self.system.resources)
        row = self.submit(request, now, job_id=job.key)
        self.start([Start(row, allocation)], now)
        return row

    def holds_as_seen(self, row: int, job: LiveJob) -> bool:
        """Return whether a job holds in Slurm as many cores of each node as here."""
        here = self.machine.allocation(row)
        if job.exclusive or not job.placed:
            return True
        cores = _allocation_of(job, self._node_of, self.system.resources).units
        return np.array_equal(cores, here.amount[:, self._cores])

    def has_started(self, start: Start, now: int, *, must: bool) -> bool:
        """
        Start a job on its nodes as Slurm will fill them; return whether they are free.

        Raises
        ------
        DispatchError
            If they must be free, and are not.
        """
        machine = self.machine
        shape = machine.store.shapes[machine.store.columns.item(start.handle, c.SHAPE)]
        filled = _as_slurm_fills(start.allocation, shape, machine.free)
        try:
            self.start([Start(start.handle, filled)], now)
        except DispatchError:
            if must:
                raise
            return False
        return True


def _as_slurm_fills(allocation: Allocation, shape: IntArray, free: IntArray) -> Allocation:
    """
    Return an allocation on the same nodes with the units as Slurm places them.

    Bound to nodes, ``select/cons_tres`` fills the first with as many free cores as possible while
    leaving one for each of the others, then the second, and so on (tested on 22.05). The allocation
    is returned unchanged if that is not possible, if units must be even, or if the job takes whole
    nodes.

    Parameters
    ----------
    shape
        The job's request: a row of :attr:`cpsched.model.jobstore.JobStore.shapes`.
    free
        The free capacity of each node, shape ``(N, R)``.
    """
    num = free.shape[1]
    request = shape[c.SHAPE_REQUEST : c.SHAPE_REQUEST + num]
    on_node = shape[c.SHAPE_REQUEST + num : c.SHAPE_REQUEST + 2 * num]
    count = len(allocation.node)
    if count == 1 or shape[c.SHAPE_SPLIT] or shape[c.SHAPE_EXCLUSIVE]:
        return allocation
    asked = request > 0
    fitting = ((free[allocation.node] - on_node)[:, asked] // request[asked]).min(axis=1)
    left = int(allocation.units.sum())
    units = np.zeros(count, dtype=np.int64)
    for at in range(count):
        units[at] = min(int(fitting[at]), left - (count - at - 1))
        left -= int(units[at])
    if left or (units < 1).any():
        return allocation
    # A job's amounts besides those of its units may be more than its minimum.
    extra = allocation.amount - allocation.units[:, None] * request
    return Allocation(allocation.node, units, units[:, None] * request + extra)


def _allocation_of(
    job: LiveJob, node_of: Mapping[str, int], resources: Sequence[str]
) -> Allocation:
    """Return a job's allocation on the nodes of a system, by node; a core is a unit."""
    placed = [(node_of[part.node], part) for part in _placed(job) if part.node in node_of]
    placed.sort(key=lambda item: item[0])
    amounts = [{"core": part.cores, "mem": part.mem, **part.gres} for _, part in placed]
    return Allocation(
        np.array([node for node, _ in placed], dtype=np.int64),
        np.array([part.cores for _, part in placed], dtype=np.int64),
        np.array(
            [[amount.get(name, 0) for name in resources] for amount in amounts], dtype=np.int64
        ).reshape(len(placed), len(resources)),
    )


def _free_part(allocation: Allocation, free: IntArray, core: int) -> Allocation:
    """Return the part of an allocation that is free; ``core`` is the column of cores."""
    amount = np.minimum(allocation.amount, free[allocation.node])
    has_core = amount[:, core] > 0
    return Allocation(allocation.node[has_core], amount[has_core, core], amount[has_core])


def _placed(job: LiveJob) -> Sequence[Placed]:
    """Return a job's allocation on each node: its cores evenly, where Slurm does not say."""
    if job.placed or not job.nodes:
        return job.placed
    gres = gres_of(job.gres_per_node)
    share, more = divmod(job.cpus, len(job.nodes))
    cores = [max(share + (at < more), 1) for at in range(len(job.nodes))]
    return [
        Placed(node, own, job.mem * (own if job.mem_per_core else 1), gres)
        for node, own in zip(job.nodes, cores, strict=True)
    ]
