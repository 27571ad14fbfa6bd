"""When the usage of associations is set back, and usage by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from cpsched import _core
from cpsched.slurm.dispatch.settings import usage_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.util.types import FloatArray, IntArray

#: For how many years it is known beforehand when usage is set back.
_YEARS = 60


def usage_of(tree: _core.ShareTree, policy: SlurmPolicy) -> _core.SlurmUsage:
    """Return the usage of associations, nothing so far, under a policy from 1970 on."""
    settings = usage_settings(policy)
    return _core.SlurmUsage(
        tree, settings, used_before(policy, np.zeros(len(tree))), resets(policy, 0)
    )


def used_before(policy: SlurmPolicy, used: FloatArray) -> FloatArray:
    """Return the usage with which a simulation begins."""
    return np.zeros(len(used)) if policy["PriorityUsageResetPeriod"] == "NOW" else used


def resets(policy: SlurmPolicy, epoch: int) -> IntArray:
    """Return the seconds at which usage is set back."""
    return np.array([*_resets(policy["PriorityUsageResetPeriod"], epoch)], dtype=np.int64)


def _resets(period: str, epoch: int) -> Iterator[int]:
    """Return the seconds after the first at which usage is set back, for many years."""
    day = datetime.fromtimestamp(epoch, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    months = {"MONTHLY": 1, "QUARTERLY": 3, "YEARLY": 12}.get(period)
    # Slurm's weeks begin on Sunday.
    days = {"DAILY": (1, 1), "WEEKLY": (7 - (day.weekday() + 1) % 7, 7)}.get(period)
    month = day.year * 12 + (day.month - 1) // (months or 1) * (months or 1)
    following, last = day, day.year + _YEARS
    while (months or days) and following.year < last:
        if months:
            month += months
            following = day.replace(year=month // 12, month=month % 12 + 1, day=1)
        elif days:
            following += timedelta(days=days[following > day])
        yield int(following.timestamp()) - epoch
