"""
Limits of QOS, associations, licences and job arrays, all as counters with a maximum.

A job that starts adds to the counters of its *limit set*, which follows from partition, QOS,
association, user, licences and array; it may not start while one of them would be too high. A limit
on single jobs is a counter with maximum 0. After Slurm's pages *Resource Limits* and *Quality of
Service*; limits and reasons are named as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.util.words import amount, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpsched import _core
    from cpsched.slurm.dispatch.policy import Association, Qos, SlurmPolicy

#: How reasons call a TRES in each kind of limit; {} is "Cpu" and so on.
_GROUP = {"cpu": "CpuLimit", "mem": "MemLimit", "node": "NodeLimit", "billing": "Billing"}
_PER_JOB = {"cpu": "CpuPerJobLimit", "mem": "MemoryPerJob", "node": "NodePerJobLimit"}
_PER_USER = {"cpu": "CpuPerUserLimit", "mem": "MemoryPerUser", "node": "NodePerUserLimit"}
_PER_ACCOUNT = {"cpu": "CpuPerAccount", "mem": "MemoryPerAccount", "node": "NodePerAccount"}
_LEAST = {"cpu": "CpuNotSatisfied", "mem": "Memory", "node": "Node", "gres": "GRES"}
#: Limits on single jobs.
_OF_A_JOB = ("MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxWall", "MinTRES")
#: Order in which Slurm checks limits; it names the first that holds a job.
_ARRAY, _QOS_JOBS, _QOS_TIME, _JOBS, _TIME, _LICENSES, _QOS, _ASSOCIATION = range(8)
#: Flag of a QOS whose limits come before those of the partition's QOS.
_OVER_PARTITION = "overpartqos"


class JobOwner(NamedTuple):
    """
    Whose a job is, and where it may run.

    Attributes
    ----------
    partitions
        Positions of its partitions.
    qos
        Its QOS.
    association, path
        The position of its association, -1 for none; and of that and all above it.
    user, account
        Codes of their names.
    licenses
        As the job asks for them: ``matlab:2,ansys``.
    reservation
        The position of its reservation, -1 for none.
    """

    partitions: tuple[int, ...]
    qos: str
    association: int
    path: tuple[int, ...]
    user: int
    account: int
    licenses: str
    reservation: int


class LimitedJob(NamedTuple):
    """
    What a job counts as in a partition.

    Attributes
    ----------
    partition_qos
        The QOS of its partition.
    who
        Whose it is.
    array, array_limit
        Its array and how many of its tasks may run at once; None and 0: any number.
    minutes
        Its time limit.
    """

    partition_qos: str
    who: JobOwner
    array: int | None
    array_limit: int
    minutes: int


class ExceededLimit(NamedTuple):
    """
    A limit on single jobs that a job is over.

    Attributes
    ----------
    reason
        As ``squeue`` names it.
    detail
        Whose limit it is, the limit and the job's value, in words.
    """

    reason: str
    detail: str


class LimitCounters:
    """
    Counters of a policy, and the limit sets of jobs.

    Parameters
    ----------
    limits
        Where they are counted.

    Attributes
    ----------
    reasons
        Of each counter, as ``squeue`` names them.
    """

    def __init__(
        self,
        policy: SlurmPolicy,
        associations: Sequence[Association],
        kinds: Sequence[str],
        limits: _core.SlurmLimits,
    ) -> None:
        self._policy, self._associations, self._limits = policy, associations, limits
        self._enforced, self._on_jobs = _are_enforced(policy), limits_jobs(policy)
        self._kind = {name: at for at, name in enumerate(kinds, start=1)}
        self.reasons: list[str] = []
        self._counters: dict[object, int] = {}
        #: Of each counter: the limit, its TRES if it has one, and whose it is.
        self._keys: list[tuple[Any, ...]] = []
        #: Of the set that is being made: ranks and entries.
        self._made: list[tuple[int, tuple[int, int, int, bool]]] = []
        self._sets: dict[object, int] = {}

    def limit_set(self, job: LimitedJob, amounts: Sequence[int]) -> int:
        """Return the number of the limit set of a job that takes so much, without the leading 1."""
        key = (job, amounts) if self._on_jobs else job[:-1]
        number = self._sets.get(key)
        if number is None:
            over = next(self._too_much(job, amounts), None) if self._on_jobs else None
            if over is not None:
                self._add(_rank(over.reason), ("job", *over), 0, over.reason, 0)
            if self._enforced:
                self._charge(job)
            self._charge_licenses(job)
            if job.array_limit > 0:
                self._add(_ARRAY, ("array", job.array), job.array_limit, "JobArrayTaskLimit", 0)
            ranked = sorted(self._made, key=lambda item: item[0])
            number = self._sets[key] = self._limits.add_set([entry for _, entry in ranked])
            self._made.clear()
        return number

    def never_fits(self, limit_set: int, amounts: Sequence[int]) -> str:
        """Return the limit that a job exceeds even if nothing runs; '' if there is none."""
        over = (
            counter
            for counter, kind, factor, checked in self._limits.set(limit_set)
            if checked and amounts[kind] * factor > self._limits.counter(counter)[1]
        )
        return next((self.describe(counter, limit_set, amounts) for counter in over), "")

    def describe(self, counter: int, limit_set: int, amounts: Sequence[int]) -> str:
        """Describe a counter's limit, its use and a job's request; '' if that does not count."""
        limit, *scope = self._keys[counter]
        own = {entry[0]: entry for entry in self._limits.set(limit_set)}
        if counter not in own:
            return ""
        _, kind, factor, _ = own[counter]
        asked = amounts[kind] * factor
        used, maximum, _ = self._limits.counter(counter)
        if limit == "job":
            return f"{self.reasons[counter]}: {scope[1]}"
        tres = str(scope.pop(0)) if kind else ""
        numbers = (
            amount(tres, number) if tres else f"{number:,}" for number in (used, maximum, asked)
        )
        whose = {"array": "of its array", "license": f"of licence {scope[0]}"}.get(limit)
        whose = whose or f"{limit} of {self._holder(scope)}"
        usage = "{} of {} in use, and the job asks for {}".format(*numbers)
        return f"{self.reasons[counter]}: {whose}, {usage}"

    def _holder(self, scope: Sequence[object]) -> str:
        """Return whose limit it is."""
        kind, which, *each = scope
        if kind == "qos":
            return f"QOS {which}" + (" for each user or account" if each else "")
        assoc = self._associations[int(str(which))]
        return f"user {assoc.user}" if assoc.user else f"account {assoc.account}"

    def _add(
        self,
        rank: int,
        key: tuple[Any, ...],
        maximum: int,
        reason: str,
        kind: int,
        factor: int = 1,
        *,
        checked: bool = True,
    ) -> None:
        """Let the set that is being made add to a counter."""
        counter = self._counters.get(key)
        if counter is None:
            # Limits on numbers of jobs are looked at before nodes are; the others stop the queue.
            counter = self._counters[key] = self._limits.add_counter(maximum, kind > 0)
            self.reasons.append(reason)
            self._keys.append(key)
        self._made.append((rank, (counter, kind, factor, checked)))

    # --- which limits -----------------------------------------------------------------------------

    def _levels(self, job: LimitedJob) -> Iterator[tuple[str, Qos]]:
        """Return the QOS of a job that has limits, the one first whose limits come first."""
        names = [job.partition_qos, job.who.qos]
        own = self._policy.qos.get(job.who.qos)
        if own is not None and _OVER_PARTITION in {flag.lower() for flag in own.flags}:
            names.reverse()
        for name in dict.fromkeys(names):
            if name in self._policy.qos:
                yield name, self._policy.qos[name]

    def _charge(self, job: LimitedJob) -> None:
        """Let a set count in the limits of QOS and associations."""
        decided: set[object] = set()
        for name, qos in self._levels(job):
            own = ("qos", name)
            user, account = (*own, job.who.user), (*own, job.who.account)
            for limit, scope, reasons, prefix in (
                ("GrpTRES", own, _GROUP, "QOSGrp"),
                ("MaxTRESPU", user, _PER_USER, "QOSMax"),
                ("MaxTRESPA", account, _PER_ACCOUNT, "Max"),
                ("GrpJobs", own, {"": "JobsLimit"}, "QOSGrp"),
                ("MaxJobsPU", user, {"": "JobsPerUserLimit"}, "QOSMax"),
                ("MaxJobsPA", account, {"": "JobsPerAccount"}, "Max"),
            ):
                self._charge_to(qos.limits, limit, scope, (reasons, prefix), decided)
        if {("MaxJobsPU", ""), ("MaxJobsPA", "")} & decided:
            decided.add(("MaxJobs", ""))
        by_qos = frozenset(decided)
        for at in job.who.path:
            limits = self._associations[at].limits
            # What a QOS says goes; all associations up the tree count beside each other.
            beside = set(by_qos)
            place = ("assoc", at)
            self._charge_to(limits, "GrpTRES", place, (_GROUP, "AssocGrp"), beside)
            self._charge_to(limits, "GrpJobs", place, ({"": "JobsLimit"}, "AssocGrp"), beside)
            if at == job.who.path[0]:
                inherited = self._inherited(job, "MaxJobs")
                named = {"": "JobsLimit"}, "AssocMax"
                self._charge_to(inherited, "MaxJobs", place, named, decided)

    def _charge_to(
        self,
        limits: Mapping[str, Any],
        limit: str,
        scope: tuple[object, ...],
        named: tuple[Mapping[str, str], str],
        decided: set[object],
    ) -> None:
        """Let it count in a limit, of jobs or of each TRES, which are named by ends and prefix."""
        value = limits.get(limit, {})
        is_qos = scope[0] == "qos"
        reasons, prefix = named
        for tres, maximum in (value if isinstance(value, dict) else {"": value}).items():
            if tres and tres not in self._kind:
                continue
            kind = self._kind.get(tres, 0)
            rank = _ASSOCIATION if kind else _JOBS
            if is_qos:
                rank = _QOS if kind else _QOS_JOBS
            key = (limit, tres, *scope) if tres else (limit, *scope)
            checked = (limit, tres) not in decided
            self._add(rank, key, maximum, prefix + _named(tres, reasons), kind, checked=checked)
            decided.add((limit, tres))

    def _charge_licenses(self, job: LimitedJob) -> None:
        for text in filter(None, job.who.licenses.split(",")):
            name, _, count = text.partition(":")
            maximum = self._policy.licenses.get(name)
            if maximum is not None:
                factor = int(count) if count.isdigit() else 1
                key = "license", name
                self._add(_LICENSES, key, maximum, "Licenses", 0, factor)

    def _inherited(self, job: LimitedJob, limit: str) -> Mapping[str, Any]:
        """Return the limits of the first association up the tree that has one of a name."""
        for at in job.who.path:
            if limit in self._associations[at].limits:
                return self._associations[at].limits
        return {}

    # --- limits on single jobs --------------------------------------------------------------------

    def _too_much(self, job: LimitedJob, amounts: Sequence[int]) -> Iterator[ExceededLimit]:
        """Return the limits for which a job can never start, whatever runs."""
        decided: set[object] = set()
        for name, qos in self._levels(job):
            whose = f"QOS {name}"
            yield from self._over(qos.limits, "QOSMax", whose, job, amounts, decided)
            least = qos.limits.get("MinTRES", {})
            for tres, bound in least.items():
                own = self._amount(tres, amounts)
                if tres in self._kind and own < bound:
                    yield _over_limit("QOSMin", tres, _LEAST, "MinTRES", whose, bound, own)
        above = {
            limit: self._inherited(job, limit).get(limit)
            for limit in ("MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxWall")
        }
        limits = {limit: value for limit, value in above.items() if value is not None}
        yield from self._over(limits, "AssocMax", "the association", job, amounts, decided)

    def _over(
        self,
        limits: Mapping[str, Any],
        prefix: str,
        whose: str,
        job: LimitedJob,
        amounts: Sequence[int],
        decided: set[object],
    ) -> Iterator[ExceededLimit]:
        nodes = max(self._amount("node", amounts), 1)
        for limit, factor, share, reasons in (
            ("MaxTRES", 1, 1, _PER_JOB),
            ("MaxTRESPerNode", 1, nodes, {name: f"{name.title()}PerNode" for name in _PER_JOB}),
            ("MaxTRESMins", job.minutes, 1, {"cpu": "CpuMinutesPerJobLimit"}),
        ):
            new = {
                tres: maximum
                for tres, maximum in limits.get(limit, {}).items()
                if (limit, tres) not in decided
            }
            decided.update((limit, tres) for tres in new)
            for tres, maximum in new.items():
                own = -(-self._amount(tres, amounts) * factor // share)
                if tres in self._kind and own > maximum:
                    yield _over_limit(prefix, tres, reasons, limit, whose, maximum, own)
        if "MaxWall" in limits and "MaxWall" not in decided:
            decided.add("MaxWall")
            maximum, own = limits["MaxWall"], job.minutes * 60
            if own > maximum:
                detail = (
                    f"MaxWall of {whose} is {duration(maximum)}, and the job asks for"
                    f" {duration(own)}"
                )
                yield ExceededLimit(f"{prefix}WallDurationPerJobLimit", detail)

    def _amount(self, tres: str, amounts: Sequence[int]) -> int:
        return int(amounts[self._kind[tres] - 1]) if tres in self._kind else 0


def _over_limit(
    prefix: str, tres: str, reasons: Mapping[str, str], limit: str, whose: str, bound: int, own: int
) -> ExceededLimit:
    """Return a limit on single jobs that a job is over, or below."""
    unit = " minutes" if limit.endswith("Mins") else ""
    where = " on each node" if limit.endswith("PerNode") else ""
    numbers = [amount(tres, number) + unit for number in (bound, own)]
    detail = "{} of {} is {}, and the job asks for {}{}".format(limit, whose, *numbers, where)
    return ExceededLimit(prefix + _named(tres, reasons), detail)


def _rank(reason: str) -> int:
    """Return when Slurm checks a limit on single jobs."""
    by_time = reason.endswith("WallDurationPerJobLimit")
    if reason.startswith("Assoc"):
        return _TIME if by_time else _ASSOCIATION
    return _QOS_TIME if by_time else _QOS


def _named(tres: str, reasons: Mapping[str, str]) -> str:
    """Return the name of a TRES after a reason's prefix."""
    kind = tres.partition("/")[0]
    if kind in reasons:
        return reasons[kind]
    name = "GRES" if kind == "gres" else kind.title()
    # "CpuPerUserLimit" is used for GRES, too, except for its last word.
    return reasons["cpu"].replace("Cpu", name, 1).removesuffix("Limit")


def _are_enforced(policy: SlurmPolicy) -> bool:
    enforced = {word.lower() for word in policy["AccountingStorageEnforce"]}
    return bool(enforced & {"all", "limits", "safe"})


def limits_jobs(policy: SlurmPolicy) -> bool:
    """Say whether a policy has limits on single jobs, whatever runs."""
    on_jobs = any(name in limits for limits in policy.limits() for name in _OF_A_JOB)
    return _are_enforced(policy) and on_jobs


def limited_tres(policy: SlurmPolicy) -> list[str]:
    """Return the TRES that a policy's limits name, CPUs, memory and nodes first."""
    named = [
        tres
        for limits in policy.limits()
        for value in limits.values()
        if isinstance(value, dict)
        for tres in value
    ]
    return list(dict.fromkeys(["cpu", "mem", "node", *named]))
