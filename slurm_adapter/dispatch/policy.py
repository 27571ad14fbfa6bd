"""
A site's policy: the parts of slurm.conf, accounts and QOS that decide the order of jobs.

:mod:`slurm_adapter.dispatch.policy_file` reads and writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from slurm_adapter.dispatch import values as v
from slurm_adapter.dispatch.parameters import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: The limits of QOS and associations, as sacctmgr names them, and what kind of value each has.
LIMITS: Mapping[str, v.Kind] = {
    **dict.fromkeys(("GrpTRES", "GrpTRESMins", "GrpTRESRunMins"), v.TRES),
    **dict.fromkeys(("GrpJobs", "GrpSubmit"), v.COUNT),
    "GrpWall": v.LENGTH,
    **dict.fromkeys(("MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MinTRES"), v.TRES),
    **dict.fromkeys(("MaxTRESPU", "MaxTRESPA", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA"), v.TRES),
    **dict.fromkeys(("MaxJobs", "MaxSubmit"), v.COUNT),
    **dict.fromkeys(("MaxJobsPU", "MaxJobsPA", "MaxSubmitPU", "MaxSubmitPA"), v.COUNT),
    "MaxWall": v.LENGTH,
}


@dataclass(frozen=True, kw_only=True)
class Qos:
    """
    A quality of service.

    Attributes
    ----------
    priority
        Of its jobs, before it is normalised.
    usage_factor
        By which the usage of its jobs counts.
    limits
        By the names of :data:`LIMITS`: counts, seconds, or amounts by TRES in lower case
        (``cpu``, ``mem`` in KB, ``node``, ``gres/gpu``, ``billing``).
    preempt
        The QOS whose jobs it may preempt.
    preempt_mode
        What is done to its jobs then; '': the cluster's.
    grace
        Seconds between the notice and that.
    preempt_exempt
        Seconds that its jobs run at least before they are preempted; None: the cluster's.
    flags
        Such as ``DenyOnLimit`` or ``NoDecay``.
    """

    name: str
    priority: int = 0
    usage_factor: float = 1.0
    limits: Mapping[str, Any] = field(default_factory=dict)
    preempt: tuple[str, ...] = ()
    preempt_mode: str = ""
    grace: int = 0
    preempt_exempt: int | None = None
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Association:
    """
    An account, or a user in an account.

    Attributes
    ----------
    account, user, partition
        ``user`` is '' for the account itself, ``partition`` '' for all.
    parent
        The account above an account; '' for the root. Of a user, it is the account.
    shares
        Raw shares; None: those of the parent (``fairshare=parent``).
    priority
        Of its jobs, before it is normalised.
    limits
        See :class:`Qos`.
    qos, default_qos
        What its jobs may ask for, and what they have if they do not.
    usage
        What it has used already when the simulation begins: seconds of billing TRES, decayed
        (``RawUsage`` of sshare); of users alone.
    """

    account: str
    user: str = ""
    partition: str = ""
    parent: str = ""
    shares: int | None = 1
    priority: int = 0
    limits: Mapping[str, Any] = field(default_factory=dict)
    qos: tuple[str, ...] = ()
    default_qos: str = ""
    usage: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Partition:
    """
    What a partition adds to the system's queue of the same name.

    Attributes
    ----------
    job_factor
        ``PriorityJobFactor``.
    billing
        ``TRESBillingWeights`` by TRES in lower case, memory by MB; empty: a job's cores.
    qos
        The QOS whose limits all its jobs have besides their own.
    allow_qos, deny_qos, allow_accounts, deny_accounts
        Whose jobs it accepts; empty: everyone's.
    """

    name: str
    job_factor: int = 1
    billing: Mapping[str, float] = field(default_factory=dict)
    qos: str = ""
    allow_qos: tuple[str, ...] = ()
    deny_qos: tuple[str, ...] = ()
    allow_accounts: tuple[str, ...] = ()
    deny_accounts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """
    Nodes that are kept for some.

    Attributes
    ----------
    start, end
        Unix seconds, ``[start, end)``.
    nodes
        Names.
    users, accounts
        For whom; none of both for maintenance.
    flags
        Such as ``MAINT`` or ``IGNORE_JOBS``.
    """

    name: str
    start: int
    end: int
    nodes: tuple[str, ...]
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Policy:
    """
    A policy.

    Attributes
    ----------
    parameters
        Values of the given parameters of :data:`~slurm_adapter.dispatch.parameters.PARAMETERS`.
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
    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    licenses: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter, or its default."""
        return self.parameters.get(name, PARAMETERS[name].default)

    def with_parameters(self, given: Mapping[str, Any]) -> Policy:
        """Return a policy in which some parameters have other values."""
        return replace(self, parameters={**self.parameters, **given})


#: Of a key: it is not there.
ABSENT: Any = object()


class Key(NamedTuple):
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
    """

    name: str
    field: str
    kind: v.Kind


class Table(NamedTuple):
    """
    A table of a policy file.

    Attributes
    ----------
    name
        As in the file.
    within
        The attribute of a policy that has its entries.
    entry
        What an entry is.
    keys
        Those of an entry; the first is its name.
    """

    name: str
    within: str
    entry: type[Any]
    keys: tuple[Key, ...]

    def of(self, policy: Policy) -> list[Any]:
        """Return a policy's entries."""
        found = getattr(policy, self.within)
        return list(found.values() if isinstance(found, dict) else found)

    def defaults(self) -> dict[str, Any]:
        """Return the values of attributes that an entry need not say."""
        # What has neither is a name, which must be said.
        names = {one.name for one in fields(self.entry) if one.default is one.default_factory}
        usual = vars(self.entry(**dict.fromkeys(names)))
        return {name: value for name, value in usual.items() if name not in names}

    def make(self, value_of: Callable[[Key], Any]) -> Any:
        """Return an entry of what ``value_of`` returns for its keys, :data:`ABSENT` where none."""
        found: dict[str, Any] = {}
        for key in self.keys:
            value = value_of(key)
            if value is ABSENT:
                continue
            if key.field == "limits":
                found.setdefault("limits", {})[key.name] = value
            else:
                found[key.field] = value
        return self.entry(**found)


_OF_LIMITS = tuple(Key(name, "limits", kind) for name, kind in LIMITS.items())
PARTITIONS = Table(
    "partition",
    "partitions",
    Partition,
    (
        Key("PartitionName", "name", v.NAME),
        Key("PriorityJobFactor", "job_factor", v.COUNT),
        Key("TRESBillingWeights", "billing", v.WEIGHTS),
        Key("QOS", "qos", v.NAME),
        Key("AllowQos", "allow_qos", v.NAMES),
        Key("DenyQos", "deny_qos", v.NAMES),
        Key("AllowAccounts", "allow_accounts", v.NAMES),
        Key("DenyAccounts", "deny_accounts", v.NAMES),
    ),
)
QOS = Table(
    "qos",
    "qos",
    Qos,
    (
        Key("Name", "name", v.NAME),
        Key("Priority", "priority", v.COUNT),
        Key("UsageFactor", "usage_factor", v.NUMBER),
        *_OF_LIMITS,
        Key("Preempt", "preempt", v.NAMES),
        Key("PreemptMode", "preempt_mode", v.MODE),
        Key("GraceTime", "grace", v.LENGTH),
        Key("PreemptExemptTime", "preempt_exempt", v.LENGTH),
        Key("Flags", "flags", v.WORDS),
    ),
)
ASSOCIATIONS = Table(
    "association",
    "associations",
    Association,
    (
        Key("Account", "account", v.NAME),
        Key("User", "user", v.NAME),
        Key("Partition", "partition", v.NAME),
        Key("Parent", "parent", v.NAME),
        Key("Share", "shares", v.SHARES),
        Key("Priority", "priority", v.COUNT),
        *_OF_LIMITS,
        Key("QOS", "qos", v.NAMES),
        Key("DefaultQOS", "default_qos", v.NAME),
        Key("RawUsage", "usage", v.NUMBER),
    ),
)
RESERVATIONS = Table(
    "reservation",
    "reservations",
    Reservation,
    (
        Key("ReservationName", "name", v.NAME),
        Key("StartTime", "start", v.MOMENT),
        Key("EndTime", "end", v.MOMENT),
        Key("Nodes", "nodes", v.LIST),
        Key("Users", "users", v.NAMES),
        Key("Accounts", "accounts", v.NAMES),
        Key("Flags", "flags", v.WORDS),
    ),
)
TABLES = (PARTITIONS, QOS, ASSOCIATIONS, RESERVATIONS)
