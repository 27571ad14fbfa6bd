"""
Everything that code which embeds cpsched needs, in one place.

Load a log and a machine, simulate at once or step by step, plug in a dispatcher or a predictor of
your own, or run a machine yourself and ask a dispatcher what to start
(``docs/guides/embedding.md``). What is here stays; other modules may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.base.spec import build
from cpsched.base.tables import Column, Table
from cpsched.base.types import Status
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher, Reservation
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.passes import frozen, start_in_order
from cpsched.dispatch.priority import make_priority
from cpsched.engine.cluster import Cluster
from cpsched.engine.encoder import Request
from cpsched.errors import (
    ConfigError,
    CpschedError,
    DispatchError,
    InfeasibleRequestError,
    RunError,
    TraceError,
    UnknownNameError,
    VerificationError,
)
from cpsched.kernels.compiling import kernel
from cpsched.mapping import Fitted, fit
from cpsched.metrics.leading import Figures
from cpsched.metrics.summary import summarize
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Decision, PlannedStarts, Start
from cpsched.model.jobtable import Job, JobTable, RunningTable
from cpsched.model.prediction import Outcome, Prediction, RuntimePredictor
from cpsched.model.schedule import JobOutcome, Schedule
from cpsched.model.system import Queue, System
from cpsched.model.view import View
from cpsched.model.workload import Workload
from cpsched.show import Comparison, compare, compare_runs
from cpsched.simulation.observers import Observer, RunObserver
from cpsched.simulation.simulate import Checkpoint, Run, Settings, simulate
from cpsched.simulation.simulator import Simulator
from cpsched.study import SavedRun, load_run, save_run
from cpsched.systems import load as load_system
from cpsched.systems import parse as parse_system
from cpsched.systems import save as save_system
from cpsched.traces import read as read_log
from cpsched.traces import write as write_log
from cpsched.verification import verify

if TYPE_CHECKING:
    from cpsched.base.types import AnyArray
    from cpsched.dispatch.allocators import Allocator

__all__ = [
    "Allocation",
    "Checkpoint",
    "Cluster",
    "Column",
    "Comparison",
    "ConfigError",
    "CpschedError",
    "Decision",
    "DispatchError",
    "Dispatcher",
    "Figures",
    "Fitted",
    "InfeasibleRequestError",
    "Job",
    "JobOutcome",
    "JobTable",
    "LearningDispatcher",
    "Observer",
    "Outcome",
    "PlannedStarts",
    "Prediction",
    "Queue",
    "Request",
    "Reservation",
    "Run",
    "RunError",
    "RunObserver",
    "RunningTable",
    "RuntimePredictor",
    "SavedRun",
    "Schedule",
    "Settings",
    "Simulator",
    "Start",
    "Status",
    "System",
    "Table",
    "TraceError",
    "UnknownNameError",
    "VerificationError",
    "View",
    "Workload",
    "build",
    "compare",
    "compare_runs",
    "fit",
    "kernel",
    "load_run",
    "load_system",
    "make_allocator",
    "make_priority",
    "parse_system",
    "read_log",
    "save_run",
    "save_system",
    "simulate",
    "start_by",
    "summarize",
    "verify",
    "write_log",
]


def start_by(view: View, order: AnyArray, allocator: Allocator, *, stop: bool = False) -> Decision:
    """
    Start waiting jobs in an order, as long as they fit.

    Parameters
    ----------
    order
        Positions in ``view.waiting``, in the order of trial; jobs left out wait.
    allocator
        Chooses the nodes, see :func:`make_allocator`.
    stop
        Whether to stop at the first job that does not fit; otherwise it is skipped.
    """
    return start_in_order(view, frozen(view.waiting.rows[order]), allocator, stop=stop)
