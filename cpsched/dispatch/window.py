"""
Which jobs a decision looks at, and what integer priority each of them has in its program.

IPSCHED and AUCSCHED take the first ``MAX_JOB_COUNT`` jobs in order of priority; where the solver
misses its limit, nothing starts and half as many are looked at the next time (thesis, 3.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError
from cpsched.priority import Fifo, Multifactor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.jobtable import JobTable
    from cpsched.model.types import FloatArray, IntArray
    from cpsched.priority import Priority

#: ``MAX_JOB_COUNT`` of the papers.
SIZE = 200
#: How a priority becomes the whole number of a program: see :func:`program_priorities`.
SCALES = ("auto", "ranks", "points")
_MOST_POINTS = 2**31


class Window:
    """
    How many jobs a decision looks at.

    The papers do not say when a halved window grows again: here, to its full size after the next
    decision that met the limit.

    Parameters
    ----------
    size
        Of the full window, 1 or more.

    Attributes
    ----------
    size
        In force now.

    Raises
    ------
    ConfigError
        If the size is below 1.
    """

    __slots__ = ("_full", "size")

    def __init__(self, size: int = SIZE) -> None:
        if size < 1:
            raise ConfigError(f"window is {size}, must be 1 or more")
        self._full = size
        self.size = size

    @property
    def is_full(self) -> bool:
        """Whether it has its full size."""
        return self.size == self._full

    def missed(self, waiting: int) -> None:
        """Take note that the limit passed: half of the jobs looked at, and never below 1."""
        self.size = max(1, min(self.size, waiting) // 2)

    def met(self) -> None:
        """Take note that the limit was met: the full size again."""
        self.size = self._full

    def state(self) -> Mapping[str, Any]:
        """Return what is remembered between decisions."""
        return {"window": self.size}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave."""
        self.size = int(state["window"])


def window_rows(jobs: JobTable, values: FloatArray | IntArray, size: int) -> IntArray:
    """
    Return the first ``size`` jobs in order of priority, as rows of the job store.

    Parameters
    ----------
    jobs
        The queue.
    values
        Of each job, higher goes first, shape ``(n,)``. Ties keep queue order: earlier submit
        first, then log order.

    Returns
    -------
    ndarray
        At most ``size`` rows, highest priority first; read-only, as kernels want them.
    """
    rows: IntArray = jobs.rows[np.argsort(-values, kind="stable")[:size]]
    rows.flags.writeable = False
    return rows


def priority_values(priority: Priority, jobs: JobTable, now: int) -> FloatArray:
    """
    Return values that order jobs as a priority does, higher first, equal where it is a tie.

    First come, first served counts down from 0, and jobs of one second are no tie, as Slurm's
    basic priorities do. The values of another priority with one key are that key's, turned round;
    those of one with several are negative ranks.
    """
    if isinstance(priority, Fifo):
        return -np.arange(len(jobs), dtype=np.float64)
    keys = [np.asarray(key, dtype=np.float64) for key in priority.keys(jobs, now)]
    if len(keys) == 1:
        return -keys[0]
    _, place = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    return -place.reshape(-1).astype(np.float64)


def rank_priorities(values: FloatArray) -> IntArray:
    """
    Return positive integer priorities that keep order and ties: ranks plus an offset.

    Slurm's basic priorities count down from a large number, so that k + 1 jobs always weigh more
    than k; times cores times twice the nodes they leave 64 bits. With n jobs the ranks 1, 2, ...
    plus an offset of n * n keep all of that, and stay small.

    Parameters
    ----------
    values
        Higher is more important, shape ``(n,)``.

    Returns
    -------
    ndarray
        int64, shape ``(n,)``, between ``n * n + 1`` and ``n * n + n``.
    """
    _, rank = np.unique(values, return_inverse=True)
    num = len(values)
    ranks: IntArray = rank.reshape(-1).astype(np.int64) + (num * num + 1)
    return ranks


def point_priorities(values: FloatArray) -> IntArray:
    """
    Return priorities that are points, as Slurm's multifactor has them: whole numbers, 1 or more.

    Parameters
    ----------
    values
        Points, shape ``(n,)``. Where the least are below 1 all are raised until they are 1, or
        jobs that differ would become equal; differences beyond ``2^31`` count as that.
    """
    raised = values + max(1.0 - float(values.min(initial=1.0)), 0.0)
    points: IntArray = np.clip(np.rint(raised), 1, _MOST_POINTS).astype(np.int64)
    return points


def program_priorities(priority: Priority, values: FloatArray, scale: str) -> IntArray:
    """
    Return the integer priorities of a program's jobs.

    Parameters
    ----------
    values
        Of the jobs in the window, see :func:`priority_values`.
    scale
        One of :data:`SCALES`. ``ranks``, ``points``; ``auto``: points where the priority is made
        of them (``multifactor``), ranks otherwise.
    """
    points = scale == "points" or (scale == "auto" and isinstance(priority, Multifactor))
    return point_priorities(values) if points else rank_priorities(values)
