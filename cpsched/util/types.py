"""Array types, enumerations and limits that every part of the model shares."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
StrArray: TypeAlias = NDArray[np.str_]
AnyArray: TypeAlias = NDArray[Any]

#: In an int64 column: "the log does not say". Never a legal time, count or amount.
MISSING: int = int(np.iinfo(np.int64).min)
#: ``nodes_max`` of a job that may touch any number of nodes.
UNBOUNDED: int = 2**31 - 1
#: Times beyond this many seconds (about 31,700 years) are not believed.
MAX_TIME: int = 10**12
#: A requested time of this many seconds stands for none: Slurm plans with a year, too.
NO_TIME_LIMIT: int = 365 * 86400
#: Amounts of one resource beyond this are not believed.
MAX_AMOUNT: int = 2**53
#: More nodes than this are taken for a typing error.
MAX_NODES: int = 1_000_000


class Split(IntEnum):
    """Distribution of a job's tasks over its nodes."""

    ANY = 0
    """Any number of units on each node."""
    EVEN = 1
    """The same number of units on each node touched."""


class Status(IntEnum):
    """Status of a job at its end, as recorded in the log."""

    UNKNOWN = -1
    FAILED = 0
    COMPLETED = 1
    CANCELLED = 5
    TIMEOUT = 6
    """Killed at its requested time."""
    PREEMPTED = 7
    """Taken off its nodes before it had ended: for another job, or to be queued again."""


class DependencyType(IntEnum):
    """Condition on the job on which another one depends."""

    AFTERANY = 0
    """It has ended, however."""
    AFTEROK = 1
    """It has completed."""
    AFTERNOTOK = 2
    """It has ended without completing."""
    AFTER = 3
    """It has started, or was cancelled."""


class JobType(IntEnum):
    """Type of a job by the changes of its size (Feitelson and Rudolph 1996)."""

    RIGID = 0
    MOLDABLE = 1
    MALLEABLE = 2
    EVOLVING = 3
