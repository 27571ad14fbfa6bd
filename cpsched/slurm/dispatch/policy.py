"""
A site's policy: the parts of slurm.conf, accounts and QOS that decide the order of jobs.

:mod:`cpsched.slurm.dispatch.policy_file` reads and writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.slurm.dispatch import values as v
from cpsched.slurm.dispatch.parameters import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: The limits of QOS and associations, as sacctmgr names them, and what kind of value each has.
LIMITS: Mapping[str, v.ValueType] = {
    **dict.fromkeys(("GrpTRES", "GrpTRESMins", "GrpTRESRunMins"), v.TRES),
    **dict.fromkeys(("GrpJobs", "GrpSubmit"), v.COUNT),
    "GrpWall": v.LENGTH,
    **dict.fromkeys(("MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MinTRES"), v.TRES),
    **dict.fromkeys(("MaxTRESPU", "MaxTRESPA", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA"), v.TRES),
    **dict.fromkeys(("MaxJobs", "MaxSubmit"), v.COUNT),
    **dict.fromkeys(("MaxJobsPU", "MaxJobsPA", "MaxSubmitPU", "MaxSubmitPA"), v.COUNT),
    "MaxWall": v.LENGTH,
}
#: Of a key: nothing is said, or must be.
ABSENT: Any = object()


def _key(name: str, kind: v.ValueType, usual: Any = ABSENT) -> Any:
    """Return an attribute with what files call it, the kind of its values, and its default."""
    about = {"key": (name, kind, {} if usual is dict else usual)}
    if usual is dict:
        return field(default_factory=dict, metadata=about)
    return field(metadata=about) if usual is ABSENT else field(default=usual, metadata=about)


@dataclass(frozen=True, kw_only=True)
class Qos:
    """
    A quality of service.

    Attributes
    ----------
    name
        Name of the QOS.
    priority
        Priority of its jobs; the factor is its share of the highest one.
    usage_factor
        Factor by which the usage of its jobs counts.
    limits
        By the names of :data:`LIMITS`: counts, seconds, or amounts by TRES in lower case
        (``cpu``, ``mem`` in KB, ``node``, ``gres/gpu``, ``billing``).
    preempt
        The QOS whose jobs it may preempt.
    preempt_mode
        Action on its jobs when they are preempted; default: the cluster's.
    grace
        Time between the notice to a job and its preemption.
    preempt_exempt
        Time that its jobs run before they may be preempted; default: the cluster's.
    flags
        Flags such as ``DenyOnLimit`` or ``NoDecay``.
    """

    name: str = _key("Name", v.NAME)
    priority: int = _key("Priority", v.COUNT, 0)
    usage_factor: float = _key("UsageFactor", v.NUMBER, 1.0)
    limits: Mapping[str, Any] = field(default_factory=dict)
    preempt: tuple[str, ...] = _key("Preempt", v.NAMES, ())
    preempt_mode: str = _key("PreemptMode", v.MODE, "")
    grace: int = _key("GraceTime", v.LENGTH, 0)
    preempt_exempt: int | None = _key("PreemptExemptTime", v.LENGTH, None)
    flags: frozenset[str] = _key("Flags", v.WORDS, frozenset())


@dataclass(frozen=True, kw_only=True)
class Association:
    """
    An account, or a user in an account.

    Attributes
    ----------
    account
        Name of the account.
    user
        Name of the user; empty for the account itself.
    partition
        The partition it is for; empty for all.
    parent
        The account above an account; empty for the root. The parent of a user is the account.
    shares
        Raw shares; ``parent``: those of the parent.
    priority
        Priority of its jobs; the factor is its share of the highest one.
    limits
        See :class:`Qos`.
    qos
        The QOS that its jobs may ask for.
    default_qos
        The QOS of jobs that ask for none.
    usage
        Usage of a user when the simulation begins, decayed: seconds of billing TRES, as
        ``RawUsage`` of ``sshare``.
    """

    account: str = _key("Account", v.NAME)
    user: str = _key("User", v.NAME, "")
    partition: str = _key("Partition", v.NAME, "")
    parent: str = _key("Parent", v.NAME, "")
    shares: int | None = _key("Share", v.SHARES, 1)
    priority: int = _key("Priority", v.COUNT, 0)
    limits: Mapping[str, Any] = field(default_factory=dict)
    qos: tuple[str, ...] = _key("QOS", v.NAMES, ())
    default_qos: str = _key("DefaultQOS", v.NAME, "")
    usage: float = _key("RawUsage", v.NUMBER, 0.0)


@dataclass(frozen=True, kw_only=True)
class Partition:
    """
    The settings of a partition that the system's queue of the same name does not have.

    Attributes
    ----------
    name
        Name of the partition.
    job_factor
        The partition factor of its jobs, before it is normalized.
    billing
        Billing weights by TRES, memory by MB; empty: a job's cores.
    qos
        The QOS whose limits apply to all its jobs, in addition to their own.
    allow_qos
        QOS that it accepts; empty: all.
    deny_qos
        QOS that it refuses.
    allow_accounts
        Accounts that it accepts; empty: all.
    deny_accounts
        Accounts that it refuses.
    """

    name: str = _key("PartitionName", v.NAME)
    job_factor: int = _key("PriorityJobFactor", v.COUNT, 1)
    billing: Mapping[str, float] = _key("TRESBillingWeights", v.WEIGHTS, dict)
    qos: str = _key("QOS", v.NAME, "")
    allow_qos: tuple[str, ...] = _key("AllowQos", v.NAMES, ())
    deny_qos: tuple[str, ...] = _key("DenyQos", v.NAMES, ())
    allow_accounts: tuple[str, ...] = _key("AllowAccounts", v.NAMES, ())
    deny_accounts: tuple[str, ...] = _key("DenyAccounts", v.NAMES, ())


@dataclass(frozen=True, kw_only=True)
class SlurmReservation:
    """
    Nodes that are kept for some users or for maintenance.

    Attributes
    ----------
    name
        Name of the reservation.
    start
        First second, as a date in UTC or Unix seconds.
    end
        First second after it.
    nodes
        Names of the nodes.
    users
        Users whose jobs may run in it.
    accounts
        Accounts whose jobs may run in it. Without users and accounts it is for maintenance.
    flags
        Flags such as ``MAINT`` or ``IGNORE_JOBS``.
    """

    name: str = _key("ReservationName", v.NAME)
    start: int = _key("StartTime", v.MOMENT)
    end: int = _key("EndTime", v.MOMENT)
    nodes: tuple[str, ...] = _key("Nodes", v.LIST)
    users: tuple[str, ...] = _key("Users", v.NAMES, ())
    accounts: tuple[str, ...] = _key("Accounts", v.NAMES, ())
    flags: frozenset[str] = _key("Flags", v.WORDS, frozenset())


@dataclass(frozen=True, kw_only=True)
class SlurmPolicy:
    """
    A policy.

    Attributes
    ----------
    parameters
        Values of the given parameters of :data:`~cpsched.slurm.dispatch.parameters.PARAMETERS`.
    partitions, qos, reservations
        By name.
    associations
        Accounts and users, in any order.
    licenses
        How many there are of each.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    qos: Mapping[str, Qos] = field(default_factory=dict)
    associations: tuple[Association, ...] = ()
    reservations: Mapping[str, SlurmReservation] = field(default_factory=dict)
    licenses: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter, or its default."""
        return self.parameters.get(name, PARAMETERS[name].default)

    def limits(self) -> list[Mapping[str, Any]]:
        """Return the limits of all QOS and associations."""
        of_qos = [qos.limits for qos in self.qos.values()]
        return of_qos + [assoc.limits for assoc in self.associations]

    def with_parameters(self, given: Mapping[str, Any]) -> SlurmPolicy:
        """Return a policy in which some parameters have other values."""
        return replace(self, parameters={**self.parameters, **given})


class PolicyKey(NamedTuple):
    """
    What a file calls an attribute.

    Attributes
    ----------
    name
        As Slurm spells it.
    field
        The attribute; ``limits`` of a limit, which is there by its name.
    kind
        Of its values.
    usual
        The value where nothing is said; :data:`ABSENT` where it must be.
    """

    name: str
    field: str
    kind: v.ValueType
    usual: Any

    @property
    def needed(self) -> bool:
        """Whether there must be a value."""
        return self.usual is ABSENT and self.field != "limits"


class PolicyTable:
    """
    A table of a policy file.

    Parameters
    ----------
    name
        As in the file.
    within
        The attribute of a policy that has its entries.
    entry
        What an entry is.

    Attributes
    ----------
    keys
        Of an entry.
    """

    def __init__(self, name: str, within: str, entry: type[Any]) -> None:
        self.name, self.within, self.entry = name, within, entry
        self.keys: list[PolicyKey] = []
        for attribute in fields(entry):
            if attribute.name == "limits":
                self.keys += [
                    PolicyKey(limit, "limits", kind, ABSENT) for limit, kind in LIMITS.items()
                ]
            else:
                name, kind, usual = attribute.metadata["key"]
                self.keys.append(PolicyKey(name, attribute.name, kind, usual))

    def of(self, policy: SlurmPolicy) -> list[Any]:
        """Return a policy's entries."""
        entries = getattr(policy, self.within)
        return list(entries.values() if isinstance(entries, dict) else entries)

    def make(self, value_of: Callable[[PolicyKey], Any]) -> Any:
        """Return an entry of what ``value_of`` returns for its keys, :data:`ABSENT` where none."""
        values: dict[str, Any] = {}
        for key in self.keys:
            value = value_of(key)
            if value is ABSENT:
                continue
            if key.field == "limits":
                values.setdefault("limits", {})[key.name] = value
            else:
                values[key.field] = value
        return self.entry(**values)


PARTITIONS = PolicyTable("partition", "partitions", Partition)
QOS = PolicyTable("qos", "qos", Qos)
ASSOCIATIONS = PolicyTable("association", "associations", Association)
RESERVATIONS = PolicyTable("reservation", "reservations", SlurmReservation)
TABLES = (PARTITIONS, QOS, ASSOCIATIONS, RESERVATIONS)
