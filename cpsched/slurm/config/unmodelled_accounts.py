"""What QOS and accounts say and nothing follows, with the jobs it touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched.slurm.config.inventory import QOS_FLAGS, UNENFORCED, WORDS
from cpsched.slurm.config.unmodelled import Gap, few, of_words
from cpsched.slurm.config.without_effect import lacking
from cpsched.slurm.dispatch.policy import LIMITS
from cpsched.slurm.dispatch.values import TRES
from cpsched.util.words import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cpsched.slurm.config.machine import ConfiguredCluster
    from cpsched.slurm.config.policy import ImportedPolicy
    from cpsched.slurm.config.unmodelled import SacctJob
    from cpsched.slurm.dispatch.policy import SlurmPolicy


@dataclass(frozen=True, slots=True)
class LimitOwner:
    """
    A QOS, an account, or a user in an account.

    Attributes
    ----------
    name, user
        Name of the QOS or account; the user, '' for none.
    is_qos
        Whether it is a QOS.
    """

    name: str
    user: str = ""
    is_qos: bool = False

    def __str__(self) -> str:
        if self.is_qos:
            return f"QOS {self.name}"
        return f"user {self.user} in {self.name}" if self.user else f"account {self.name}"


class LimitOwners:
    """Whose limits and flags the jobs of a log have."""

    def __init__(self, policy: SlurmPolicy) -> None:
        self._qos_of = {name: one.qos for name, one in policy.partitions.items()}
        self._parents = {one.account: one.parent for one in policy.associations if not one.user}

    def has(self, owner: LimitOwner, job: SacctJob) -> bool:
        """Tell whether a job is one of an owner's."""
        if owner.is_qos:
            return owner.name == job.text("qos") or any(
                self._qos_of.get(one) == owner.name for one in job.partitions
            )
        if owner.user and owner.user != job.text("user"):
            return False
        return owner.name in self._accounts(job.text("account"))

    def _accounts(self, account: str) -> list[str]:
        """Return an account and those above it."""
        found: list[str] = []
        while account and account not in found:
            found.append(account)
            account = self._parents.get(account, "")
        return found

    def gap(self, name: str, owners: Iterable[LimitOwner], instead: str) -> Gap:
        """Return what is not modelled of some owners."""
        whose = list(dict.fromkeys(owners))
        return Gap(
            f"{name} of {few(map(str, whose))}",
            instead,
            lambda job: any(self.has(owner, job) for owner in whose),
        )


def of_accounts(machine: ConfiguredCluster, imported: ImportedPolicy) -> list[Gap]:
    """Return what of QOS, associations and their limits is not modelled."""
    owners = LimitOwners(imported.policy)
    return [
        *_of_limits(imported.policy, owners),
        *_of_cells(imported, owners),
        *_of_flags(imported.policy, owners),
        *_of_tres(machine, imported.policy, owners),
    ]


def _limits(policy: SlurmPolicy) -> Iterator[tuple[LimitOwner, Mapping[str, Any]]]:
    for name, qos in policy.qos.items():
        yield LimitOwner(name, is_qos=True), qos.limits
    for one in policy.associations:
        yield LimitOwner(one.account, one.user), one.limits


def _of_limits(policy: SlurmPolicy, owners: LimitOwners) -> Iterator[Gap]:
    """Yield the limits that are read and enforced nowhere."""
    for limit in UNENFORCED:
        if having := [owner for owner, limits in _limits(policy) if limit in limits]:
            yield owners.gap(limit, having, "not enforced")


def _of_cells(imported: ImportedPolicy, owners: LimitOwners) -> Iterator[Gap]:
    """Yield the columns that no reader takes, each with its values."""
    alike: dict[tuple[str, str], list[LimitOwner]] = {}
    values: dict[tuple[str, str], list[str]] = {}
    for is_qos, cells in ((True, imported.lost_of_qos), (False, imported.lost_of_associations)):
        for cell in cells:
            key = (cell.column, cell.why)
            name, user = cell.owner
            alike.setdefault(key, []).append(LimitOwner(name, user, is_qos))
            values.setdefault(key, []).append(cell.text)
    for key, having in alike.items():
        column, why = key
        yield owners.gap(f"{column}={brief(few(values[key], 3))}", having, why)


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


def _of_tres(machine: ConfiguredCluster, policy: SlurmPolicy, owners: LimitOwners) -> Iterator[Gap]:
    """Yield limits and weights of resources that no node has."""
    resources = ["core", *(["mem"] if machine.has_memory else []), *machine.amounts()]

    for limit in (name for name, kind in LIMITS.items() if kind is TRES):
        if limit in UNENFORCED:
            continue
        alike: dict[str, list[LimitOwner]] = {}
        for owner, limits in _limits(policy):
            for tres in lacking(limits.get(limit, ()), resources):
                alike.setdefault(tres, []).append(owner)
        for tres, having in alike.items():
            yield owners.gap(f"{limit} of {tres}", having, "not enforced: no node has it")
    if missing := lacking(policy["PriorityWeightTRES"], resources):
        yield Gap(f"PriorityWeightTRES of {few(missing)}", "adds nothing: no node has it")
    for name, one in policy.partitions.items():
        if missing := lacking(one.billing, resources):
            yield Gap(
                f"TRESBillingWeights of {few(missing)} of {name}",
                "adds nothing: no node has it",
                lambda job, inside=name: inside in job.partitions,  # type: ignore[misc]
            )
