"""A policy's numbers, and what is known before anything has happened, as kernels take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.kernels.arrays import FAR
from cpsched.slurm.kernels.desk import BOOK, SETTINGS

if TYPE_CHECKING:
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.util.types import AnyArray

#: Slurm's ln 2, with three digits.
_LN_2 = 0.693
_MICROSECONDS = 10**6


def new_book() -> AnyArray:
    """Return an array of one record: no job has come, and nothing is due."""
    book = np.zeros(1, dtype=BOOK)
    for name in ("after_end", "after_submit", "full", "backfill", "change", "again_at"):
        book[name] = FAR
    for name in ("last", "last_after_submit", "last_backfill"):
        book[name] = -FAR
    return book


def settings_of(policy: SlurmPolicy) -> AnyArray:
    """Return the settings of a policy as an array of one record."""
    flags = policy["PriorityFlags"]
    multifactor = policy["PriorityType"] == "priority/multifactor"
    shares = multifactor and policy["PriorityWeightFairshare"] > 0
    half_life, least = policy["PriorityDecayHalfLife"], policy["sched_min_interval"]
    backfills = policy["SchedulerType"] == "sched/backfill"
    known = {
        "shares": shares,
        "changes": shares or (multifactor and policy["PriorityWeightAge"] > 0),
        "basic": not multifactor,
        "only_rises": "INCR_ONLY" in flags,
        "accrues_always": "ACCRUE_ALWAYS" in flags,
        "minds_time": "SMALL_RELATIVE_TO_TIME" in flags,
        "fair_tree": "NO_FAIR_TREE" not in flags,
        "reserves_after": policy["bf_min_age_reserve"],
        "max_age": policy["PriorityMaxAge"],
        "period": max(policy["PriorityCalcPeriod"], 1),
        "defers": policy["defer"] or policy["defer_batch"],
        "depth": policy["default_queue_depth"],
        "delay": policy["batch_sched_delay"],
        "interval": policy["sched_interval"],
        # Less than a second is none.
        "least": -(-least // _MICROSECONDS) if least >= _MICROSECONDS else 0,
        "backfill_interval": policy["bf_interval"] if backfills else -1,
        "decay": 1 - _LN_2 / half_life if half_life > 0 else 1.0,
        "age": policy["PriorityWeightAge"],
        "fair_share": policy["PriorityWeightFairshare"],
    }
    settings = np.zeros(1, dtype=SETTINGS)
    for name, value in known.items():
        settings[name] = value
    return settings


def grown(array: AnyArray, least: int) -> AnyArray:
    """Return an array of at least so many rows: itself if it has them, else a larger copy."""
    if len(array) >= least:
        return array
    larger = np.zeros((max(2 * len(array), least), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
