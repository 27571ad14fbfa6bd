"""
How much running jobs shrink for waiting ones, and which jobs get idle units.

After the strategies that Zojer, Posner and Ozden (2026) compare: jobs start with their fewest or
with their preferred units, shrink when others wait, and grow when nodes are idle. There a job that
shrinks frees nodes at its next scheduling point, so that a waiting job first gets an agreement on
them; here it frees them at once and pays with a pause.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from cpsched.malleable.levels import Lines

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.model.jobtable import RunningTable


class Strategy(StrEnum):
    """What sizes jobs have."""

    MINIMUM = "minimum"
    """
    Jobs start with their fewest units. Those that have most above them shrink first, down to
    these; those with least above them grow first.
    """
    PREFERRED = "preferred"
    """
    Jobs start with the units they prefer, or with as many as are free. Those that have most above
    what they prefer shrink first, and all may shrink to their fewest; all grow to what they prefer
    before any grows further.
    """
    AVERAGE = "average"
    """As ``minimum``, by the share of its range that a job has."""
    COMMON_POOL = "common-pool"
    """
    As ``minimum``, and as long as jobs wait all running ones give up what is above their fewest
    units, into a pool for the waiting ones, and none grows.
    """
    KEEP_PREFERRED = "keep-preferred"
    """As ``preferred``, but no running job shrinks below what it prefers."""

    @property
    def starts_small(self) -> bool:
        """Whether jobs start with their fewest units, and not with those they prefer."""
        return self in (Strategy.MINIMUM, Strategy.AVERAGE, Strategy.COMMON_POOL)

    @property
    def collects(self) -> bool:
        """Whether what waiting jobs may need is kept for them."""
        return self is Strategy.COMMON_POOL

    def least(self, jobs: RunningTable) -> IntArray:
        """Return the units that running jobs keep when others wait, shape ``(n,)``."""
        if self is Strategy.KEEP_PREFERRED:
            return _wanted(jobs)
        return jobs.units_min

    def lines(self, jobs: RunningTable) -> Lines:
        """Return the order in which jobs shrink and grow."""
        base = jobs.units_min if self.starts_small else _wanted(jobs)
        width = np.ones(len(jobs))
        if self is Strategy.AVERAGE:
            width = np.maximum(jobs.units_max - jobs.units_min, 1).astype(np.float64)
        return Lines(base.astype(np.float64), width)


def _wanted(jobs: RunningTable) -> IntArray:
    """Return what running jobs prefer: what they have asked for, else what their users have."""
    return np.where(jobs.wanted_units > 0, jobs.wanted_units, jobs.units)
