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
    The state of the machine at one instant; N nodes, R resource kinds, C eligibility classes.

    Valid while ``decide`` runs: the arrays are the simulator's own, read-only, and change after
    it. Nothing in it, nor anything reachable from it, knows a runtime before the job has ended or
    a job before it is submitted.

    Attributes
    ----------
    now
        The present second.
    system
        The machine.
    free
        What each node has left, int64, shape ``(N, R)``; nothing on nodes that are down.
    node_up
        Shape ``(N,)``.
    eligible
        Which nodes each class of jobs may use now, shape ``(C, N)``.
    waiting
        Jobs that may start, in queue order.
    running
        Jobs that hold nodes, in order of expected end; jobs that are not ours are among them.
    """

    now: int
    system: System
    free: IntArray
    node_up: BoolArray
    eligible: BoolArray
    waiting: JobTable
    running: RunningTable
