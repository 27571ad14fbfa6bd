"""Running jobs that are told to give up nodes: written down, told, and seen to hold the others."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cpsched.api.errors import RunError
from slurm_adapter.live.backend import Shrink, UnreachableError, WrongNodesError

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurm_adapter.live.backend import Backend
    from slurm_adapter.live.journal import Journal, Order
    from slurm_adapter.live.mirror import Mirror
    from slurm_adapter.live.snapshot import LiveJob, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrinking:
    """
    What the dispatcher wants of running jobs, carried out by a Slurm.

    Attributes
    ----------
    patience
        Seconds within which Slurm has to show what it has taken an order for.
    may_shrink
        Whether a job was started from here, and is still ours.
    say
        What is called with each line for people.
    """

    journal: Journal
    backend: Backend
    mirror: Mirror
    patience: float
    may_shrink: Callable[[LiveJob], bool]
    say: Callable[[str], None]

    def open_orders(self) -> list[Order]:
        """Return the orders of jobs that have not been seen to hold only what they keep."""
        return [one for one in self.journal.orders.values() if one.keeps]

    def check(self, snapshot: Snapshot, *, first: bool) -> int:
        """
        See whether jobs have given up the nodes that they were told to, and no others.

        Parameters
        ----------
        first
            Whether the orders are of a process that has ended: it may not have come to tell Slurm.

        Returns
        -------
        int
            How many jobs have.

        Raises
        ------
        WrongNodesError
            If one holds other nodes than it has held or was ordered to keep.
        RunError
            If Slurm has taken an order, and does not carry it out.
        """
        count = 0
        for order in self.open_orders():
            job = snapshot.jobs[order.job]
            nodes, took = set(job.nodes), time.time() - order.at
            is_same_run = job.state == "RUNNING" and job.start <= order.at
            if not is_same_run or (first and nodes == set(order.nodes)):
                self._keep(job.key)
            elif nodes == set(order.keeps):
                count += 1
                self.journal.settled(job.key, shrunk=True)
                self.say(f"job {job.key} holds only {','.join(job.nodes)} after {took:.1f} s")
            elif nodes != set(order.nodes):
                raise WrongNodesError(
                    f"job {job.key} holds {','.join(job.nodes)}, it was ordered to keep"
                    f" {','.join(order.keeps)} of {','.join(order.nodes)}"
                )
            elif took > self.patience:
                raise RunError(
                    f"job {job.key} still holds {','.join(job.nodes)} {took:.0f} s after it was"
                    f" ordered to keep {','.join(order.keeps)} only"
                )
        return count

    def tell(self, snapshot: Snapshot) -> None:
        """
        Tell jobs to give up the nodes that the last decision wants from them.

        Raises
        ------
        UnreachableError
            If Slurm does not answer. Whether it has heard is seen when it does.
        """
        orders, refused = [], {}
        for key, keeps in ((one.key, one.nodes) for one in self.mirror.shrinks):
            job = snapshot.jobs[key]
            if not self.may_shrink(job):
                refused[key] = "it was not started from here, or ends"
            elif not set(keeps) < set(job.nodes):
                refused[key] = "Slurm lets a running job only give up nodes"
            else:
                order = self.journal.orders[key]
                orders.append(replace(order, nodes=job.nodes, keeps=keeps, at=time.time()))
        if orders:
            self.journal.shrink(orders)
            refused |= self._told(orders)
        for key, why in refused.items():
            self._keep(key, for_good=True)
            self.say(f"job {key} keeps its nodes: {why}")

    def _told(self, orders: list[Order]) -> dict[str, str]:
        """Tell Slurm; return why it refuses, by job."""
        try:
            refused = self.backend.shrink([Shrink(order.job, order.keeps) for order in orders])
        except UnreachableError:
            for order in orders:
                self._keep(order.job)
            raise
        for order in orders:
            if order.job not in refused:
                self.say(f"job {order.job} is ordered to keep {','.join(order.keeps)} only")
        return dict(refused)

    def _keep(self, key: str, *, for_good: bool = False) -> None:
        """Take note that a job runs on as it is; for good: it is not asked again."""
        order = self.journal.orders.get(key)
        if order is not None and order.keeps:
            self.journal.settled(key, shrunk=False)
        self.mirror.stays(key, for_good=for_good)
