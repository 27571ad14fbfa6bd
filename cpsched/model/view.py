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
    State of the system at one second: N nodes, R resource types, C classes of jobs.

    It is valid while ``decide`` runs. The arrays belong to the simulator. They are read-only and
    change later. Neither the view nor an object reachable from it shows the runtime of a job that
    has not ended, or a job that is not yet submitted.

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
        Nodes that each class of jobs may use now, shape ``(C, N)``.
    waiting
        Jobs that may start, in queue order.
    running
        Running jobs in order of expected end, including jobs of other dispatchers.
    """

    now: int
    system: System
    free: IntArray
    node_up: BoolArray
    eligible: BoolArray
    waiting: JobTable
    running: RunningTable
