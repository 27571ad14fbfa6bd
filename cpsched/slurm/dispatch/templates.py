"""
What the records of jobs are made of: what of a job matters to Slurm, found out once for jobs alike.

A job has a record in each of its partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.model import columns as c
from cpsched.slurm.dispatch import priority
from cpsched.slurm.dispatch.limits import JobOwner, LimitCounters, LimitedJob, limited_tres
from cpsched.slurm.dispatch.priority import Multifactor, normalized
from cpsched.slurm.dispatch.settings import NO_LIMIT
from cpsched.slurm.dispatch.tres import TresCounter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpsched import _core
    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.slurm.dispatch.accounts import Accounts
    from cpsched.slurm.dispatch.partitions import Partitions, Reservations
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.util.types import FloatArray

#: Labels that say whose a job is and where it runs, by column.
_WHO = {
    c.QUEUE: "queue",
    c.QOS: "qos",
    c.USER: "user",
    c.GROUP: "group",
    c.LICENSES: "licenses",
    c.RESERVATION: "reservation",
}


class Template(NamedTuple):
    """
    What the records of jobs alike have in common, a row for each of their partitions.

    Attributes
    ----------
    records
        Partition, limit set, user, association, QOS, reservation, the second by which the job must
        have ended, nice, and standing in the queue.
    amounts
        What a job counts in limits: 1, and its TRES.
    factors
        Weighted factors that do not change, in the order of their sum; and what a second costs,
        with the usage factor of the QOS.
    """

    records: list[tuple[int, ...]]
    amounts: list[tuple[int, ...]]
    factors: list[tuple[float, ...]]


class JobTemplates:
    """
    Finds out what the records of jobs are made of.

    Parameters
    ----------
    limits
        Where limits are counted.
    """

    def __init__(
        self,
        system: System,
        policy: SlurmPolicy,
        partitions: Partitions,
        reservations: Reservations,
        accounts: Accounts,
        limits: _core.SlurmLimits,
    ) -> None:
        self.policy = policy
        self.partitions, self.reservations, self.accounts = partitions, reservations, accounts
        billed = (name for one in partitions.rules for name in one.billing)
        weights = policy["PriorityWeightTRES"]
        names = dict.fromkeys([*limited_tres(policy), *billed, *weights])
        names.pop("billing", None)
        self.tres = TresCounter(system, tuple(names))
        self.kinds = (*self.tres.names, "billing")
        self.limits = LimitCounters(policy, accounts.associations, self.kinds, limits)
        self._qos = {name: at for at, name in enumerate(policy.qos)}
        #: The QOS that another may preempt: jobs of others go first.
        by_qos = policy["PreemptType"] == "preempt/qos"
        self._preempted = {name for one in policy.qos.values() if by_qos for name in one.preempt}
        self._flags = policy["PriorityFlags"]
        self.multifactor = self._multifactor(system)
        self._who: dict[tuple[int, ...], JobOwner] = {}
        self._factors: dict[tuple[object, ...], tuple[float, ...]] = {}
        self._bills: dict[tuple[int, tuple[int, ...]], float] = {}

    def _multifactor(self, system: System) -> Multifactor:
        policy, parts = self.policy, self.partitions
        flags = self._flags

        def keeps(kind: str) -> bool:
            return f"NO_NORMAL_{kind}" in flags or "NO_NORMAL_ALL" in flags

        def factors(values: list[int], kind: str) -> FloatArray:
            return normalized(np.array(values, dtype=np.int64), keep=keeps(kind))

        weights = policy["PriorityWeightTRES"]
        tres_weight = np.array([weights.get(name, 0.0) for name in self.kinds])
        partition_tres = np.array(
            [[*self.tres.of_nodes(system.capacity[nodes]).tolist(), 0] for nodes in parts.nodes],
            dtype=np.float64,
        )
        return Multifactor(
            age=policy["PriorityWeightAge"],
            association_weight=policy["PriorityWeightAssoc"],
            fair_share=policy["PriorityWeightFairshare"],
            job_size=policy["PriorityWeightJobSize"],
            partition_weight=policy["PriorityWeightPartition"],
            qos_weight=policy["PriorityWeightQOS"],
            tres_weight=tres_weight if tres_weight.any() else np.zeros(0),
            max_age=policy["PriorityMaxAge"],
            favor_small=policy["PriorityFavorSmall"],
            small_relative_to_time="SMALL_RELATIVE_TO_TIME" in flags,
            cpus=int(system.total[0]),
            nodes=system.num_nodes,
            partition=factors([one.job_factor for one in parts.rules], "PART"),
            qos=factors([one.priority for one in policy.qos.values()], "QOS"),
            association=factors([one.priority for one in self.accounts.associations], "ASSOC"),
            partition_tres=np.ones_like(partition_tres) if keeps("TRES") else partition_tres,
        )

    def of(self, labels: Mapping[str, Sequence[str]], jobs: JobTable) -> Iterator[Template]:
        """
        Return the template of each of some jobs.

        Parameters
        ----------
        labels
            Of the job store that their codes are of.
        """
        taken = self.tres.amounts(jobs).tolist()
        rows = jobs.store.columns[jobs.rows].tolist()
        for values, amounts in zip(rows, map(tuple, taken), strict=True):
            who = self._find_who(labels, values)
            made = [self._record(values, who, one, amounts) for one in who.partitions]
            yield Template(*map(list, zip(*made, strict=True)))

    def _record(
        self, values: list[int], who: JobOwner, partition: int, amounts: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...]]:
        """Return what is the same of all jobs like one in a partition, as of :class:`Template`."""
        billing = self._bill(partition, amounts)
        counted = (1, *amounts, int(billing))
        limit, minutes = values[c.ARRAY_LIMIT], -(-values[c.REQUESTED_TIME] // 60)
        array = values[c.ARRAY] if limit > 0 else None
        limit_set = self.limits.limit_set(
            LimitedJob(self.partitions.rules[partition].qos, who, array, limit, minutes),
            counted[1:],
        )
        own, nice, qos = who.reservation, values[c.NICE], self._qos.get(who.qos, -1)
        until = int(self.reservations.end[own]) if own >= 0 else NO_LIMIT
        safe = who.qos not in self._preempted
        standing = (((safe << 1) + (own >= 0)) << 17) + int(self.partitions.tier[partition])
        cpus = amounts[self.kinds.index("cpu")]
        by_minutes = minutes if self.multifactor.small_relative_to_time else 0
        # In the order of the columns of priority.
        job = partition, who.association, qos, 0, cpus, values[c.NODES_MIN], by_minutes, nice
        rules = self.policy.qos.get(who.qos)
        usage = billing * (rules.usage_factor if rules is not None else 1.0)
        record = (partition, limit_set, who.user, who.association, qos, own, until, nice, standing)
        return record, counted, (*self._fixed(job, counted), float(usage))

    def _fixed(self, job: tuple[int, ...], counted: tuple[int, ...]) -> tuple[float, ...]:
        """Return the weighted factors of a job that do not change, in the order of their sum."""
        rules = self.multifactor
        # Without their weights, whose it is and what it takes make no difference.
        own = job[priority.ASSOCIATION] if rules.association_weight else -1
        key = (own, *job[:1], *job[2:], counted if len(rules.tres_weight) else ())
        found = self._factors.get(key)
        if found is None:
            columns, tres = np.array([job], dtype=np.int64), np.array([counted[1:]], dtype=np.int64)
            one = rules.factors(columns, tres, 0, np.zeros(len(self.accounts.tree)))
            rest = one.tres.sum(axis=1) - one.nice
            parts = (one.association, one.job_size, one.partition, one.qos, rest)
            found = self._factors[key] = tuple(float(part.item()) for part in parts)
        return found

    def _bill(self, partition: int, amounts: tuple[int, ...]) -> float:
        """Return what a second of a job costs in a partition."""
        found = self._bills.get((partition, amounts))
        if found is None:
            row, weights = np.array([amounts]), self.partitions.rules[partition].billing
            (found,) = self.tres.billing(row, weights, largest="MAX_TRES" in self._flags).tolist()
            self._bills[partition, amounts] = found
        return found

    def _find_who(self, labels: Mapping[str, Sequence[str]], values: list[int]) -> JobOwner:
        key = tuple(values[column] for column in _WHO)
        found = self._who.get(key)
        if found is None:
            queue, qos, user, account, licenses, reservation = (
                labels[label][code] if code >= 0 else None
                for label, code in zip(_WHO.values(), key, strict=True)
            )
            first = (queue or "").partition(",")[0]
            association = self.accounts.find(account, user, first)
            own = qos or self.accounts.default_qos(association)
            partitions = tuple(self.partitions.of(queue, own, account))
            path = self.accounts.path(association)
            found = JobOwner(
                *(partitions, own, association, path, key[2], key[3], licenses or ""),
                self.reservations.at(reservation),
            )
            self._who[key] = found
        return found
