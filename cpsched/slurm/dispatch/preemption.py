"""Which jobs may preempt which under a policy: by QOS, or by the tiers of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.preemptable import Act, PreemptionRules, QueueRules
from cpsched.model.system import Preempt

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.model.jobtable import JobTable, RunningTable
    from cpsched.model.system import System
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.util.types import BoolArray, IntArray

#: The effect of a mode; ``GANG`` and ``WITHIN`` are combined with others.
_MODES = {
    "REQUEUE": Preempt.REQUEUE,
    "SUSPEND": Preempt.SUSPEND,
    "CANCEL": Preempt.KILL,
    "OFF": Preempt.OFF,
}


def _order(jobs: RunningTable, rank: IntArray, *, youngest: bool) -> IntArray:
    """Return jobs, as positions, in the order in which Slurm preempts them; small ones early."""
    if youngest:
        return np.lexsort((jobs.rows, -jobs.start))
    return np.lexsort((jobs.rows, jobs.num_nodes, rank))


def _mode(policy: SlurmPolicy, words: frozenset[str] | str) -> Preempt:
    named = words.split(",") if isinstance(words, str) else words
    return _possible(policy, next((_MODES[word] for word in named if word in _MODES), Preempt.OFF))


def _possible(policy: SlurmPolicy, mode: Preempt) -> Preempt:
    """Return the mode that is possible: jobs that may not be requeued are cancelled."""
    return Preempt.KILL if mode is Preempt.REQUEUE and not policy["JobRequeue"] else mode


class QosRules(PreemptionRules):
    """``preempt/qos``: a job may preempt those whose QOS its own names."""

    asks_once = True

    def __init__(self, policy: SlurmPolicy, qos_of: Callable[[IntArray], IntArray]) -> None:
        self._qos_of = qos_of
        self._youngest: bool = policy["preempt_youngest_first"]
        all_qos = list(policy.qos.values())
        names = [qos.name for qos in all_qos]
        cluster, exempt = _mode(policy, policy["PreemptMode"]), policy["PreemptExemptTime"]
        #: Of each QOS; the last one is that of jobs without.
        self._acts = [
            Act(
                # "cluster" stands for what the cluster has.
                _mode(policy, qos.preempt_mode) if qos.preempt_mode in _MODES else cluster,
                qos.grace,
                exempt if qos.preempt_exempt is None else qos.preempt_exempt,
            )
            for qos in all_qos
        ] + [Act(Preempt.OFF, 0)]
        self._priority: IntArray = np.array([qos.priority for qos in all_qos] + [0], dtype=np.int64)
        self._allowed: BoolArray = np.zeros((len(all_qos) + 1, len(all_qos) + 1), dtype=np.bool_)
        for at, qos in enumerate(all_qos):
            self._allowed[at, [names.index(other) for other in qos.preempt]] = True

    def tier(self, jobs: JobTable) -> IntArray:
        """Return the position of each job's QOS, -1 for none."""
        return self._qos_of(jobs.rows)

    def acts(self, jobs: JobTable) -> list[Act]:
        """Return the acts that the QOS of each job allows."""
        return [self._acts[at] for at in self.tier(jobs).tolist()]

    def allows(self, asking: int, running: int) -> bool:
        """Return whether one QOS may preempt another."""
        return bool(self._allowed[asking, running])

    def order(self, jobs: RunningTable) -> IntArray:
        """Return in which order jobs are preempted: by the priority of their QOS first."""
        return _order(jobs, self._priority[self.tier(jobs)], youngest=self._youngest)


class PartitionRules(QueueRules):
    """``preempt/partition_prio``: jobs of a higher ``PriorityTier`` may preempt others."""

    asks_once = True

    def __init__(self, policy: SlurmPolicy, system: System) -> None:
        super().__init__(system.queues)
        self._cluster = _mode(policy, policy["PreemptMode"])
        self._policy = policy
        self._exempt: int = policy["PreemptExemptTime"]
        self._youngest: bool = policy["preempt_youngest_first"]

    def order(self, jobs: RunningTable) -> IntArray:
        """Return in which order jobs are preempted: those of low tiers first."""
        return _order(jobs, self.tier(jobs), youngest=self._youngest)

    def acts(self, jobs: JobTable) -> list[Act]:
        """Return the acts of each job's partition, or of the cluster where it has none."""
        return [
            Act(
                self._cluster if act.mode is Preempt.OFF else _possible(self._policy, act.mode),
                act.grace,
                self._exempt,
            )
            for act in super().acts(jobs)
        ]
