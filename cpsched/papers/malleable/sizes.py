"""
Which jobs shrink and which grow: sizes that bring jobs to one level within their bounds.

Each job has a line ``base + level * width`` of sizes; a strategy is a choice of these lines. The
strategies are four of those that Zojer, Posner and Ozden (2026) compare: jobs start with their
fewest or with their preferred units, shrink when others wait, and grow when nodes are idle. There a
job that shrinks frees nodes at its next scheduling point, so that a waiting job first gets an
agreement on them; here it frees them at once and pays with a pause.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.model.jobtable import RunningTable
    from cpsched.util.types import FloatArray, IntArray

#: Halvings of the range of levels: enough for a unit of any machine.
_HALVINGS = 40


class SizeLines(NamedTuple):
    """
    The sizes of n jobs by level.

    Attributes
    ----------
    base, width
        Units at level 0, and how many more a level is, above 0; shape ``(n,)``.
    """

    base: FloatArray
    width: FloatArray

    def sizes(self, level: float, least: IntArray, largest: IntArray) -> IntArray:
        """Return the sizes at a level, rounded down and within bounds."""
        sizes = np.floor(self.base + level * self.width).astype(np.int64)
        return np.clip(sizes, least, largest)

    def highest(
        self, least: IntArray, largest: IntArray, good: Callable[[IntArray], bool]
    ) -> IntArray:
        """Return the sizes at the highest level at which they are good; those at no level least."""
        low = float(((least - self.base) / self.width).min()) - 1
        high = float(((largest - self.base) / self.width).max()) + 1
        if good(self.sizes(high, least, largest)):
            return self.sizes(high, least, largest)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (
                (middle, high) if good(self.sizes(middle, least, largest)) else (low, middle)
            )
        return self.sizes(low, least, largest)


def grown(
    lines: SizeLines, sizes_now: IntArray, largest: IntArray, weight: IntArray, free_cores: int
) -> IntArray:
    """
    Return sizes from ``sizes_now`` to ``largest`` at the highest level for which cores are free.

    Parameters
    ----------
    weight
        What a unit of each job takes of the free cores, shape ``(n,)``.
    """
    return lines.highest(
        sizes_now, largest, lambda size: int(((size - sizes_now) * weight).sum()) <= free_cores
    )


def shrunk(
    lines: SizeLines, sizes_now: IntArray, least: IntArray, weight: IntArray, need: int
) -> IntArray:
    """
    Return sizes from ``least`` to ``sizes_now`` that give back as much as needed, or all they can.

    They are those of the highest level that gives enough; of the jobs that would shrink then, those
    that give most do so, and no more than needed.
    """
    size = lines.highest(
        least, sizes_now, lambda size: int(((sizes_now - size) * weight).sum()) >= need
    )
    gives = (sizes_now - size) * weight
    order = np.argsort(-gives, kind="stable")
    before = np.cumsum(gives[order]) - gives[order]
    wanted = np.clip(need - before, 0, gives[order])
    sizes = sizes_now.copy()
    sizes[order] -= -(-wanted // weight[order])
    return sizes


class Strategy(StrEnum):
    """Strategy for the sizes of jobs."""

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
    KEEP_PREFERRED = "keep-preferred"
    """As ``preferred``, but no running job shrinks below what it prefers."""

    @property
    def starts_small(self) -> bool:
        """Whether jobs start with their fewest units, and not with those they prefer."""
        return self in (Strategy.MINIMUM, Strategy.AVERAGE)

    def least(self, jobs: RunningTable) -> IntArray:
        """Return the units that running jobs keep when others wait, shape ``(n,)``."""
        if self is Strategy.KEEP_PREFERRED:
            return _wanted(jobs)
        return jobs.units_min

    def lines(self, jobs: RunningTable) -> SizeLines:
        """Return the order in which jobs shrink and grow."""
        base = jobs.units_min if self.starts_small else _wanted(jobs)
        width = np.ones(len(jobs))
        if self is Strategy.AVERAGE:
            width = np.maximum(jobs.units_max - jobs.units_min, 1).astype(np.float64)
        return SizeLines(base.astype(np.float64), width)


def _wanted(jobs: RunningTable) -> IntArray:
    """Return what running jobs prefer: what they have asked for, else what their users have."""
    return np.where(jobs.wanted_units > 0, jobs.wanted_units, jobs.units)
