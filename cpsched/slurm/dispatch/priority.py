"""
Slurm's multifactor priority, factor by factor.

After Slurm's page *Multifactor Priority Plugin* and ``man slurm.conf``; the columns and their
names are those of ``sprio -l``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from cpsched.util.types import FloatArray, IntArray

#: Columns of jobs: partition, association and QOS (-1: none), from when on age counts, CPUs, fewest
#: nodes, time limit in minutes, and nice.
PARTITION, ASSOCIATION, QOS, SINCE, CPUS, NODES, MINUTES, NICE = range(8)
NUM_COLUMNS = 8
#: The highest priority a job can have.
MOST = float(2**32 - 1)


class Factors(NamedTuple):
    """Weighted factors of n jobs as ``sprio -l`` lists them; ``tres`` has shape ``(n, T)``."""

    age: FloatArray
    association: FloatArray
    fair_share: FloatArray
    job_size: FloatArray
    partition: FloatArray
    qos: FloatArray
    nice: IntArray
    tres: FloatArray

    def priority(self) -> IntArray:
        """Return the sums: whole numbers, at least 1 (0: the job is held) and at most ``MOST``."""
        summed = self.age + self.association + self.fair_share + self.job_size + self.partition
        summed = summed + self.qos + (self.tres.sum(axis=1) - self.nice)
        priorities: IntArray = np.clip(summed, 1.0, MOST).astype(np.int64)
        return priorities


def _none() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Multifactor:
    """
    Weights and tables from which factors follow.

    Attributes
    ----------
    age, association_weight, fair_share, job_size, partition_weight, qos_weight
        ``PriorityWeightAge`` and so on.
    tres_weight
        ``PriorityWeightTRES``, shape ``(T,)``.
    max_age
        ``PriorityMaxAge``, seconds.
    favor_small, small_relative_to_time
        ``PriorityFavorSmall`` and the flag of that name.
    cpus, nodes
        Of the whole machine.
    partition, qos, association
        Each one's factor: normalized, unless the flags ``NO_NORMAL_...`` are set.
    partition_tres
        What each partition has of each kind in ``tres_weight``, shape ``(P, T)``; ones where it is
        not normalized.
    """

    age: float = 0.0
    association_weight: float = 0.0
    fair_share: float = 0.0
    job_size: float = 0.0
    partition_weight: float = 0.0
    qos_weight: float = 0.0
    tres_weight: FloatArray = field(default_factory=_none)
    max_age: int = 7 * 86400
    favor_small: bool = False
    small_relative_to_time: bool = False
    cpus: int = 1
    nodes: int = 1
    partition: FloatArray = field(default_factory=_none)
    qos: FloatArray = field(default_factory=_none)
    association: FloatArray = field(default_factory=_none)
    partition_tres: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def factors(
        self, jobs: IntArray, tres: FloatArray | IntArray, now: int, fair_share: FloatArray
    ) -> Factors:
        """
        Return the weighted factors of n jobs.

        Parameters
        ----------
        jobs
            int64, shape ``(n, NUM_COLUMNS)``; a job in several partitions is here once for each.
        tres
            How much each asks for of each kind that has a weight, shape ``(n, T)``.
        fair_share
            Of each association, shape ``(A,)``.
        """
        own, partition = jobs[:, ASSOCIATION], jobs[:, PARTITION]
        return Factors(
            age=self.age_of(jobs[:, SINCE], now),
            association=self.association_weight * _at(self.association, own),
            fair_share=self.fair_share * _at(fair_share, own),
            job_size=self.job_size * self._size(jobs),
            partition=self.partition_weight * _at(self.partition, partition),
            qos=self.qos_weight * _at(self.qos, jobs[:, QOS]),
            nice=jobs[:, NICE],
            tres=self._tres(partition, tres),
        )

    def age_of(self, since: IntArray, now: int) -> FloatArray:
        """Return the weighted age factor of jobs whose age counts from some second on."""
        waited = np.maximum(now - since, 0)
        part = waited / max(self.max_age, 1)
        aged: FloatArray = self.age * np.where(waited < self.max_age, part, 1.0)
        return aged

    def _size(self, jobs: IntArray) -> FloatArray:
        """Return the job size factor, within [0, 1]."""
        cpus = jobs[:, CPUS]
        nodes, part = jobs[:, NODES] / self.nodes, cpus / self.cpus
        if self.small_relative_to_time:
            size = np.maximum(nodes, part) / np.maximum(jobs[:, MINUTES], 1)
        else:
            size = np.where(cpus > 0, (nodes + part) / 2, nodes)
        if self.favor_small:
            size = 1.0 - size
        clipped: FloatArray = np.clip(size, 0.0, 1.0)
        return clipped

    def _tres(self, partition: IntArray, asked: FloatArray | IntArray) -> FloatArray:
        """Return the weighted factors of each kind of trackable resource."""
        if not len(self.tres_weight):
            return np.zeros((len(partition), 0))
        total = np.where(partition[:, np.newaxis] >= 0, self.partition_tres[partition], 0.0)
        part = np.zeros_like(total)
        np.divide(asked, total, part, where=total > 0)
        return part * self.tres_weight


def normalized(priorities: IntArray, *, keep: bool = False) -> FloatArray:
    """Return priorities as parts of the highest of them, or as they are."""
    highest = priorities.max(initial=0)
    values = priorities.astype(np.float64)
    return values if keep or not highest else values / highest


def _at(values: FloatArray, positions: IntArray) -> FloatArray:
    """Return values by position, 0 for position -1."""
    if not len(values):
        return np.zeros(len(positions))
    factors: FloatArray = np.where(positions >= 0, values[np.maximum(positions, 0)], 0.0)
    return factors
