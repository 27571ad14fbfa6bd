"""The settings of a Slurm site that a search may change, with the values that are tried."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.slurm.dispatch.policy import LIMITS
from cpsched.slurm.dispatch.values import COUNT, TIME, TRES, WEIGHTS
from cpsched.tuning.parts import SEARCH
from cpsched.tuning.settings import Cost, Setting, Space
from cpsched.util.slurm_quantities import INFINITE, clock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpsched.model.system import Queue, System
    from cpsched.model.workload import Workload
    from cpsched.slurm.dispatch.policy import SlurmPolicy

_DAY = 86400
_WEIGHTS = (0, 100, 1000, 10_000, 100_000)
#: Values of parameters, in Slurm's units.
_PARAMETERS: dict[str, Sequence[int]] = {
    "bf_interval": (15, 30, 60, 120, 300),
    "bf_window": (720, 1440, 2880, 5760, 10_080),
    "bf_resolution": (60, 300, 600, 1800),
    "bf_max_job_test": (100, 500, 2000, 10_000),
    "bf_max_job_user": (0, 5, 10, 20, 50),
    "bf_job_part_count_reserve": (0, 1, 5, 20, 100),
    "bf_min_age_reserve": (0, 600, 3600, 14_400, 43_200, 86_400),
    "default_queue_depth": (100, 500, 2000),
}
#: Their 0 means all jobs.
_ALL_BY_0 = frozenset({"bf_max_job_user", "bf_job_part_count_reserve"})
#: Values of times, seconds.
_TIMES = (_DAY, 3 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY)
_PRIORITIES = (0, 10, 100, 1000)
_JOB_FACTORS = (1, 10, 100)
_TIERS = (1, 2, 3)
#: Limits of QOS that are halved, doubled and taken away.
_LIMITS = {
    name: kind
    for name, kind in LIMITS.items()
    if kind in (COUNT, TRES) and not any(word in name for word in ("Submit", "Mins", "Min"))
}
#: Limits of a single job.
_OF_JOBS = frozenset({"MaxTRES", "MaxTRESPerNode"})
#: With it the size factor is divided by the requested time.
_RELATIVE = "SMALL_RELATIVE_TO_TIME"


def slurm_space(policy: SlurmPolicy, system: System, workload: Workload | None = None) -> Space:
    """
    Return the settings of a policy that a site may change.

    Factors without a meaning on the site are left out: for example fair share without accounts, or
    the QOS weight if all QOS have the same priority.

    Parameters
    ----------
    workload
        The jobs on the system. None: all jobs of the log ask for a time, so that default times have
        no effect.
    """
    settings = [
        *_priorities(policy, system),
        *_scheduler(policy),
        *_of_qos(policy),
        *_job_factors(policy),
        *_tiers(policy, system),
        *_times_of_queues(system, workload),
    ]
    keys = {item.key for item in settings}
    return Space.of([item for item in settings if item.needs is None or item.needs[0] in keys])


def _priorities(policy: SlurmPolicy, system: System) -> Iterator[Setting]:
    """Yield the settings of priorities; none where jobs go by their submits."""
    if policy["PriorityType"] != "priority/multifactor":
        return
    names = ["Age", "JobSize"]
    if policy.associations:
        names.append("Fairshare")
        yield _weighted(_time(policy, "PriorityDecayHalfLife"), "Fairshare")
    if len(policy.qos) > 1:
        names.append("QOS")
    if len(system.queues) > 1:
        names.append("Partition")
    for name in names:
        yield _ordered(f"PriorityWeight{name}", _WEIGHTS, policy[f"PriorityWeight{name}"])
    if weights := policy["PriorityWeightTRES"]:
        yield _tres_weights(weights)
    yield _weighted(_time(policy, "PriorityMaxAge"), "Age")
    yield _weighted(_favor_small(policy), "JobSize")
    yield _flags(policy)


def _scheduler(policy: SlurmPolicy) -> Iterator[Setting]:
    """Yield the settings of the passes; those of backfill only where it is on."""
    for name, values in _PARAMETERS.items():
        if not name.startswith("bf_") or policy["SchedulerType"] == "sched/backfill":
            yield _ordered(name, values, policy[name], last=0 if name in _ALL_BY_0 else None)


def _tres_weights(weights: Mapping[str, float]) -> Setting:
    """Return the site's weights of TRES, all of them times a factor; empty: none."""
    texts = [
        WEIGHTS.shown({name: float(f"{w * factor:.12g}") for name, w in weights.items()})
        for factor in (0.1, 1, 10)
    ]
    return Setting(key="PriorityWeightTRES", values=("", *texts), current=texts[1])


def _weighted(setting: Setting, factor: str) -> Setting:
    """Return a setting that has no effect if the weight of a factor is 0."""
    return replace(setting, needs=(f"PriorityWeight{factor}", None))


def _favor_small(policy: SlurmPolicy) -> Setting:
    name = "PriorityFavorSmall"
    return Setting(key=name, values=("no", "yes"), current="yes" if policy[name] else "no")


def _flags(policy: SlurmPolicy) -> Setting:
    """Return the flags of priorities, with and without the one that divides by time."""
    current = policy["PriorityFlags"]
    sets = (current - {_RELATIVE}, current | {_RELATIVE})
    without, favoured = (",".join(sorted(flags)) for flags in sets)
    own = favoured if _RELATIVE in current else without
    return Setting(key="PriorityFlags", values=(without, favoured), current=own)


def _time(policy: SlurmPolicy, name: str) -> Setting:
    values = sorted({*_TIMES, policy[name]})
    shown = TIME.shown
    return Setting(key=name, values=tuple(map(shown, values)), current=shown(policy[name]))


def _ordered(
    key: str,
    values: Sequence[int],
    current: int,
    cost: Cost = Cost.RECONFIGURE,
    last: int | None = None,
) -> Setting:
    """Return a setting of whole numbers in ascending order, the site's among them, one last."""
    every = sorted({*values, current}, key=lambda value: (value == last, value))
    return Setting(key=key, values=tuple(map(str, every)), current=str(current), cost=cost)


def _of_qos(policy: SlurmPolicy) -> Iterator[Setting]:
    several = len(policy.qos) > 1
    for name, qos in policy.qos.items():
        if several:
            priority = _ordered(f"qos.{name}.Priority", _PRIORITIES, qos.priority)
            # Preemption has an order by it, too.
            preempts = policy["PreemptType"] == "preempt/qos"
            yield priority if preempts else _weighted(priority, "QOS")
        for limit, kind in _LIMITS.items():
            given = qos.limits.get(limit)
            if given is not None and _is_finite(given):
                texts = [str(kind.shown(_times(given, factor))) for factor in (0.5, 1, 2)]
                # An empty value takes the limit away.
                yield Setting(
                    key=f"qos.{name}.{limit}",
                    values=tuple(dict.fromkeys([*texts, ""])),
                    current=texts[1],
                    # A limit of each job rejects those that ask for more.
                    cost=Cost.SCRIPTS if limit in _OF_JOBS else Cost.USERS,
                )


def _is_finite(limit: int | Mapping[str, int]) -> bool:
    """Return whether a limit, or one of each resource, is neither 0 nor UNLIMITED."""
    amounts = [limit] if isinstance(limit, int) else limit.values()
    return any(0 < amount < INFINITE for amount in amounts)


def _times(limit: int | Mapping[str, int], factor: float) -> int | dict[str, int]:
    """Return a limit, or one for each resource, times a factor."""
    if isinstance(limit, int):
        return _scaled(limit, factor)
    return {name: _scaled(amount, factor) for name, amount in limit.items()}


def _scaled(amount: int, factor: float) -> int:
    """Return an amount times a factor, at least 1. 0 and UNLIMITED stay."""
    return max(1, int(amount * factor)) if 0 < amount < INFINITE else amount


def _job_factors(policy: SlurmPolicy) -> Iterator[Setting]:
    if len(policy.partitions) > 1:
        for name, partition in policy.partitions.items():
            key = f"partition.{name}.PriorityJobFactor"
            yield _weighted(_ordered(key, _JOB_FACTORS, partition.job_factor), "Partition")


def _tiers(policy: SlurmPolicy, system: System) -> Iterator[Setting]:
    """
    Yield the tiers of partitions; none where jobs of a higher tier preempt others.

    Users notice them: a lower tier waits for all jobs of a higher one, whatever their priorities.
    """
    queues = system.queues.values()
    if len(queues) < 2 or policy["PreemptType"] == "preempt/partition_prio":
        return
    # In a system file without tiers all are 0, which stands for Slurm's default of 1.
    values = [tier for tier in _TIERS if tier > 1 or any(queue.priority_tier for queue in queues)]
    for queue in queues:
        yield _ordered(f"priority-tier {queue.name}", values, queue.priority_tier, Cost.USERS)


def _times_of_queues(system: System, workload: Workload | None) -> Iterator[Setting]:
    for name, queue in system.queues.items():
        if queue.max_time is not None:
            yield _halved_or_doubled(f"max-time {name}", queue.max_time)
        if queue.default_time is not None and workload is not None and _acts(queue, workload):
            yield _halved_or_doubled(f"default-time {name}", queue.default_time, queue.max_time)


def _acts(queue: Queue, workload: Workload) -> bool:
    """
    Return whether jobs have the default time of a queue, because they ask for none.

    Only jobs of the search part count: later ones must not change what is searched.
    """
    submit = workload.submit
    early = submit <= submit[0] + SEARCH * (submit[-1] - submit[0])
    # Jobs in several queues have that of the first.
    firsts = [names.partition(",")[0] == queue.name for names in workload.queue.values]
    own = np.array([*firsts, False])[workload.queue.codes]
    assumed = workload.requested_time_assumed & (workload.requested_time == queue.default_time)
    return bool((own & assumed & early).any())


def _halved_or_doubled(key: str, time: int, most: int | None = None) -> Setting:
    """Return a setting of half a time in whole minutes, the time and its double, up to a limit."""
    half = -(-time // 120) * 60
    values = sorted({min(value, most or value) for value in (half, time, 2 * time)})
    return Setting(
        key=key, values=tuple(map(clock, values)), current=clock(time), cost=Cost.SCRIPTS
    )
