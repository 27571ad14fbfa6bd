"""What a dispatcher may know when it decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpsched.model.jobtable import JobTable, RunningTable
    from cpsched.model.system import System
    from cpsched.util.types import BoolArray, IntArray


@dataclass(slots=True, eq=False)
class View:
    """
    State of the system at one second, as a dispatcher sees it: N nodes, R resource types.

    It is valid while ``decide`` runs. The arrays belong to the simulator. They are read-only and
    change later. A view has no runtimes of jobs that have not ended, and no jobs that are not yet
    submitted.

    Attributes
    ----------
    now
        The present second.
    system
        The system.
    free
        Free capacity of each node, int64, shape ``(N, R)``. 0 on nodes that are down.
    node_up
        Whether each node is up, shape ``(N,)``.
    eligible
        Whether jobs of each of C classes may use each node now, shape ``(C, N)``. A class is a set
        of jobs with the same eligible nodes. ``waiting.eligible_class`` is the row of each job.
    waiting
        Waiting jobs in queue order. Held jobs are not among them.
    running
        Running jobs in order of expected end, including those that another dispatcher started.
    """

    now: int
    system: System
    free: IntArray
    node_up: BoolArray
    eligible: BoolArray
    waiting: JobTable
    running: RunningTable
