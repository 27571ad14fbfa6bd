"""Partitions: the system's queues, with the policy's settings for them; and reservations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.model import immutable
from cpsched.api.tools import listed
from slurm_adapter.dispatch.policy import Partition

if TYPE_CHECKING:
    from cpsched.api.model import BoolArray, IntArray, System
    from slurm_adapter.dispatch.policy import Policy

#: Name of the partition of jobs that name none.
NO_PARTITION = ""


class Partitions:
    """
    The partitions of a system under a policy; P of them.

    Attributes
    ----------
    names, rules
        Name and policy settings of each.
    tier
        ``PriorityTier``, shape ``(P,)``.
    nodes
        The nodes of each, shape ``(P, N)``.
    """

    def __init__(self, system: System, policy: Policy) -> None:
        self._policy = policy
        self.names: tuple[str, ...] = (*system.queues, NO_PARTITION)
        self.rules = [policy.partitions.get(name, Partition(name=name)) for name in self.names]
        self._at = {name: at for at, name in enumerate(self.names)}
        queues = [system.queues.get(name) for name in self.names]
        self.tier: IntArray = np.array([queue.priority_tier if queue else 0 for queue in queues])
        groups = np.asarray(system.node_groups)
        masks = [
            np.isin(groups, np.asarray(queue.groups))
            if queue is not None and queue.groups
            else np.ones(system.num_nodes, dtype=np.bool_)
            for queue in queues
        ]
        self.nodes: BoolArray = immutable(np.array(masks, dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.names)

    def of(self, queue: str | None, qos: str, account: str | None) -> list[int]:
        """
        Return the positions of a job's partitions, those of a higher tier first.

        Those that take neither the job's QOS nor its account are left out, unless none is left.
        """
        named = (queue or "").split(",")
        places = [self._at[name] for name in named if name in self._at] or [len(self) - 1]
        taking = [at for at in places if self._takes(at, qos, account or "")]
        return sorted(taking or places, key=lambda at: -int(self.tier[at]))

    def _takes(self, at: int, qos: str, account: str) -> bool:
        rules = self.rules[at]
        return (
            (not rules.allow_qos or qos in rules.allow_qos)
            and qos not in rules.deny_qos
            and (not rules.allow_accounts or account in rules.allow_accounts)
            and account not in rules.deny_accounts
        )


class Reservations:
    """
    The reservations of a policy on a system; V of them.

    Jobs that ask for a reservation run only in it, from its beginning on, if they end by its end;
    all other jobs cannot use its nodes. The log determines which jobs ask for it.

    Attributes
    ----------
    start, end
        Seconds, shape ``(V,)``.
    nodes
        Shape ``(V, N)``.
    """

    def __init__(self, system: System, policy: Policy, epoch: int = 0) -> None:
        found = policy.reservations.values()
        self._at = {one.name: at for at, one in enumerate(found)}
        self.start: IntArray = np.array([one.start - epoch for one in found], dtype=np.int64)
        self.end: IntArray = np.array([one.end - epoch for one in found], dtype=np.int64)
        place = {name: at for at, name in enumerate(system.node_names)}
        self.nodes: BoolArray = np.zeros((len(found), system.num_nodes), dtype=np.bool_)
        for at, one in enumerate(found):
            unknown = next((name for name in one.nodes if name not in place), None)
            if unknown is not None:
                raise ConfigError(
                    f"reservation {one.name} has node {unknown}, which the system does not have;"
                    f" its nodes are {listed(system.node_names)}",
                    where=f"system {system.name}",
                )
            self.nodes[at, [place[name] for name in one.nodes]] = True

    def __len__(self) -> int:
        return len(self.start)

    def at(self, name: str | None) -> int:
        """Return the position of a reservation, -1 if there is none of that name."""
        return self._at.get(name or "", -1)

    def next_change(self, after: int) -> int | None:
        """Return the first second after one at which a reservation begins or ends."""
        later = [at for at in (*self.start.tolist(), *self.end.tolist()) if at > after]
        return min(later, default=None)
