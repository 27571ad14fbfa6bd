"""Partitions: the system's queues, with the policy's settings for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.model import immutable
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
