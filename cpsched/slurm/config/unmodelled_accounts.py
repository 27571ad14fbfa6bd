"""The settings of QOS and accounts that no simulation follows, and the jobs they touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.slurm.config.accounts import LimitOwner
from cpsched.slurm.config.inventory import QOS_FLAGS, UNENFORCED, WORDS
from cpsched.slurm.config.unmodelled import Gap, few, of_words
from cpsched.slurm.dispatch.policy import LIMITS
from cpsched.slurm.dispatch.tres import uncounted
from cpsched.slurm.dispatch.values import TRES
from cpsched.util.words import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cpsched.slurm.config.nodes import SiteNodes
    from cpsched.slurm.config.policy import ImportedPolicy
    from cpsched.slurm.config.unmodelled import AccountedJob
    from cpsched.slurm.dispatch.policy import SlurmPolicy


class LimitOwners:
    """The owners of the limits and flags that the jobs of a log have."""

    def __init__(self, policy: SlurmPolicy) -> None:
        self._qos_of = {name: entry.qos for name, entry in policy.partitions.items()}
        self._parents = {
            entry.account: entry.parent for entry in policy.associations if not entry.user
        }

    def has(self, owner: LimitOwner, job: AccountedJob) -> bool:
        """Return whether a job is one of an owner's."""
        if owner.is_qos:
            return owner.name == job.text("qos") or any(
                self._qos_of.get(partition) == owner.name for partition in job.partitions
            )
        if owner.user and owner.user != job.text("user"):
            return False
        return owner.name in self._accounts(job.text("account"))

    def _accounts(self, account: str) -> list[str]:
        """Return an account and those above it."""
        accounts: list[str] = []
        while account and account not in accounts:
            accounts.append(account)
            account = self._parents.get(account, "")
        return accounts

    def gap(self, name: str, owners: Iterable[LimitOwner], instead: str) -> Gap:
        """Return a gap that touches the jobs of some owners."""
        whose = list(dict.fromkeys(owners))
        return Gap(
            f"{name} of {few(map(str, whose))}",
            instead,
            lambda job: any(self.has(owner, job) for owner in whose),
        )


def of_accounts(cluster: SiteNodes, imported: ImportedPolicy) -> list[Gap]:
    """Return the settings of QOS, associations and their limits that are not modelled."""
    owners = LimitOwners(imported.policy)
    return [
        *_of_limits(imported.policy, owners),
        *_of_cells(imported, owners),
        *_of_flags(imported.policy, owners),
        *_of_tres(cluster, imported.policy, owners),
    ]


def _limits(policy: SlurmPolicy) -> Iterator[tuple[LimitOwner, Mapping[str, Any]]]:
    for name, qos in policy.qos.items():
        yield LimitOwner(name, is_qos=True), qos.limits
    for assoc in policy.associations:
        yield LimitOwner(assoc.account, assoc.user), assoc.limits


def _of_limits(policy: SlurmPolicy, owners: LimitOwners) -> Iterator[Gap]:
    """Yield the limits that are read and enforced nowhere."""
    for limit in UNENFORCED:
        if having := [owner for owner, limits in _limits(policy) if limit in limits]:
            yield owners.gap(limit, having, "the limit is not enforced")


def _of_cells(imported: ImportedPolicy, owners: LimitOwners) -> Iterator[Gap]:
    """Yield the columns that no reader takes, each with its values."""
    alike: dict[tuple[str, str], list[LimitOwner]] = {}
    values: dict[tuple[str, str], list[str]] = {}
    for cell in imported.ignored:
        alike.setdefault((cell.column, cell.why), []).append(cell.owner)
        values.setdefault((cell.column, cell.why), []).append(cell.text)
    for (column, why), having in alike.items():
        yield owners.gap(f"{column}={brief(few(values[column, why], 3))}", having, why)


def _of_flags(policy: SlurmPolicy, owners: LimitOwners) -> Iterator[Gap]:
    """Yield the flags and preemption modes of QOS that have no effect."""
    for title, inventory in (("Flags", QOS_FLAGS), ("PreemptMode", WORDS["PreemptMode"])):
        alike: dict[tuple[str, str], list[LimitOwner]] = {}
        for name, qos in policy.qos.items():
            words = qos.flags if title == "Flags" else qos.preempt_mode.split(",")
            for gap in of_words(title, sorted(words), inventory, apart=True):
                alike.setdefault((gap.name, gap.instead), []).append(LimitOwner(name, is_qos=True))
        for (shown, instead), having in alike.items():
            yield owners.gap(shown, having, instead)


def _of_tres(cluster: SiteNodes, policy: SlurmPolicy, owners: LimitOwners) -> Iterator[Gap]:
    """Yield limits and weights of resources that no node has."""
    resources = ["core", *(["mem"] if cluster.has_memory else []), *cluster.amounts()]

    for limit in (name for name, kind in LIMITS.items() if kind is TRES):
        if limit in UNENFORCED:
            continue
        alike: dict[str, list[LimitOwner]] = {}
        for owner, limits in _limits(policy):
            for tres in uncounted(limits.get(limit, ()), resources):
                alike.setdefault(tres, []).append(owner)
        for tres, having in alike.items():
            yield owners.gap(
                f"{limit} of {tres}", having, "the limit is not enforced (no node has the resource)"
            )
    if missing := uncounted(policy["PriorityWeightTRES"], resources):
        yield Gap(
            f"PriorityWeightTRES of {few(missing)}", "such weights add 0 (no node has the resource)"
        )
    for name, partition in policy.partitions.items():
        if missing := uncounted(partition.billing, resources):
            yield Gap(
                f"TRESBillingWeights of {few(missing)} of {name}",
                "such weights add 0 (no node has the resource)",
                lambda job, inside=name: inside in job.partitions,  # type: ignore[misc]
            )
