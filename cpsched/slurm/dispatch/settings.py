"""A policy's numbers, as the native scheduler takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

#: Slurm's ln 2, with three digits.
_LN_2 = 0.693
_MICROSECONDS = 10**6
#: More than any number of jobs, later than any second.
NO_LIMIT = 2**62
#: Seconds within which Slurm takes the ends of running jobs together at first.
_ENDS_WITHIN = 30
#: Parameters for which 0 means no limit, by what they bound.
LIMITS = {
    "partition_depth": "partition_job_depth",
    "most_starts": "sched_max_job_start",
    "of_user": "bf_max_job_user",
    "of_partition": "bf_max_job_part",
    "of_user_in_partition": "bf_max_job_user_part",
    "of_association": "bf_max_job_assoc",
    "backfill_starts": "bf_max_job_start",
    "partition_reservations": "bf_job_part_count_reserve",
}

if TYPE_CHECKING:
    from cpsched.slurm.dispatch.policy import SlurmPolicy


def usage_settings(policy: SlurmPolicy) -> dict[str, Any]:
    """Return how usage counts."""
    half_life = policy["PriorityDecayHalfLife"]
    return {
        "counts": counts_usage(policy),
        "is_fair_tree": "NO_FAIR_TREE" not in policy["PriorityFlags"],
        "period": max(policy["PriorityCalcPeriod"], 1),
        "decay": 1 - _LN_2 / half_life if half_life > 0 else 1.0,
        "dampening": float(policy["FairShareDampeningFactor"]),
    }


def counts_usage(policy: SlurmPolicy) -> bool:
    """Say whether priorities depend on usage."""
    return _is_multifactor(policy) and policy["PriorityWeightFairshare"] > 0


def _is_multifactor(policy: SlurmPolicy) -> bool:
    return bool(policy["PriorityType"] == "priority/multifactor")


def priority_settings(policy: SlurmPolicy, *, limits_jobs: bool) -> dict[str, Any]:
    """
    Return how priorities follow from age and shares.

    Parameters
    ----------
    limits_jobs
        Whether there are limits on single jobs, which go by their time limit, too.
    """
    flags, multifactor = policy["PriorityFlags"], _is_multifactor(policy)
    ages = multifactor and policy["PriorityWeightAge"] > 0
    return {
        "is_basic": not multifactor,
        "only_rises": "INCR_ONLY" in flags,
        "accrues_always": "ACCRUE_ALWAYS" in flags,
        "by_minutes": "SMALL_RELATIVE_TO_TIME" in flags or limits_jobs,
        "changes": counts_usage(policy) or ages,
        "age": float(policy["PriorityWeightAge"]),
        "fair_share": float(policy["PriorityWeightFairshare"]),
        "max_age": policy["PriorityMaxAge"],
        "reserves_after": policy["bf_min_age_reserve"],
    }


def timer_settings(policy: SlurmPolicy, lag: int) -> dict[str, Any]:
    """Return when passes are due; ``lag``: seconds from an event to the pass it brings about."""
    least = policy["sched_min_interval"]
    backfills = policy["SchedulerType"] == "sched/backfill"
    return {
        "lag": lag,
        "defers": bool(policy["defer"] or policy["defer_batch"]),
        "depth": policy["default_queue_depth"],
        "delay": policy["batch_sched_delay"],
        "interval": policy["sched_interval"],
        # Less than a second is none.
        "least": -(-least // _MICROSECONDS) if least >= _MICROSECONDS else 0,
        "backfill_interval": policy["bf_interval"] if backfills else -1,
    }


def pass_settings(policy: SlurmPolicy) -> dict[str, Any]:
    """Return how far passes go."""
    return {
        **{name: policy[parameter] or NO_LIMIT for name, parameter in LIMITS.items()},
        "tested": policy["bf_max_job_test"],
        "array_reservations": policy["bf_max_job_array_resv"],
        "window": policy["bf_window"] * 60,
        "resolution": policy["bf_resolution"],
        "whole_nodes": True,
        "gap": 1,
        "least_priority": policy["bf_min_prio_reserve"],
        "limits_stop": bool(policy["assoc_limit_stop"]),
        "ends_within": _ENDS_WITHIN,
        "ends_more": policy["bf_window_linear"],
        "tightest_node": True,
    }
