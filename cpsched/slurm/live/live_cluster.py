"""A cluster in Slurm's terms: names of nodes, Unix time, and jobs that hold what they hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.engine.cluster import Cluster
from cpsched.errors import DispatchError
from cpsched.model import columns as c
from cpsched.model.decision import Start
from cpsched.model.schedule import Outages
from cpsched.slurm.live.placing import as_slurm_fills, holdings, within
from cpsched.slurm.live.requests import YEAR, holding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.model.allocation import Allocation
    from cpsched.model.system import System
    from cpsched.slurm.live.snapshot import LiveJob, Reserved

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
        self._core = system.resource_index("core")

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
            (self._node_of[name], one.start - _MARGIN - self.epoch, one.end - self.epoch)
            for one in reserved
            for name in one.nodes
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

    def names(self, allocation: Allocation) -> tuple[str, ...]:
        """Return the names of an allocation's nodes."""
        return tuple(self.system.node_names[node] for node in allocation.node.tolist())

    # --- jobs ------------------------------------------------------------------------------------

    def leave(self, row: int, now: int) -> None:
        """Remove a job that has not ended; nothing is learnt from it."""
        if self.machine.is_in(row, c.RUNNING):
            self.failed(row, now)
        self.cancel(row, now)

    def run(self, job: LiveJob, now: int) -> int:
        """Enter a running job, with what it holds; return its handle, -1 if it holds nothing."""
        amounts = holdings(job, self._node_of, self.system.resources)
        if not self.closed.isdisjoint(amounts.node.tolist()):
            # Jobs on a closed node continue; it is closed again when all have entered.
            self.close((), now)
        held = within(amounts, self.machine.free, self._core)
        if not len(held.node):
            return -1
        left = replace(job, time_limit=max(self._end_of(job) - now, 1))
        request = holding(left, held.amount, self.system.resources)
        row = self.submit(request, now, job_id=job.key)
        self.start([Start(row, held)], now)
        return row

    def _end_of(self, job: LiveJob) -> int:
        """Return the second at which the limit of a running job is over."""
        return (job.end if job.end > job.start >= 0 else job.start + YEAR) - self.epoch

    def holds_as_seen(self, row: int, job: LiveJob) -> bool:
        """Say whether a job holds in Slurm as many cores of each node as here."""
        here = self.machine.allocation(row)
        if job.exclusive or not job.placed:
            return True
        cores = holdings(job, self._node_of, self.system.resources).units
        return np.array_equal(cores, here.amount[:, self._core])

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
        filled = as_slurm_fills(start.allocation, shape, machine.free)
        try:
            self.start([Start(start.handle, filled)], now)
        except DispatchError:
            if must:
                raise
            return False
        return True
