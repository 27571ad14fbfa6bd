"""
Everything that code which embeds cpsched needs, in one place.

Load a log and a machine, simulate at once or step by step, plug in a dispatcher or a predictor of
your own, or run a machine yourself and ask a dispatcher what to start
(``docs/guides/embedding.md``). What is here stays; other modules may change.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cpsched.base.spec import build
    from cpsched.base.tables import Column, Table
    from cpsched.base.types import Status
    from cpsched.dispatch.allocators import make_allocator
    from cpsched.dispatch.contract import Dispatcher, Reservation
    from cpsched.dispatch.learning import LearningDispatcher
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
    from cpsched.logs import read as read_log
    from cpsched.logs import write as write_log
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
    from cpsched.report import Comparison, compare, compare_runs, what_if
    from cpsched.simulation.observers import Observer, RunObserver
    from cpsched.simulation.simulate import Checkpoint, Run, Settings, simulate
    from cpsched.simulation.simulator import Simulator
    from cpsched.study import SavedRun, load_run, save_run
    from cpsched.systems import load as load_system
    from cpsched.systems import parse as parse_system
    from cpsched.systems import save as save_system
    from cpsched.verification import verify


if TYPE_CHECKING:
    # For annotations here.
    from collections.abc import Iterator

    from cpsched.base.types import AnyArray
    from cpsched.dispatch.allocators import Allocator


def _homes() -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each name in the list of imports above, its module, and what it is called there."""
    listed, *_ = (
        node
        for node in ast.parse(Path(__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.If)
    )
    for node in ast.walk(listed):
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                yield name.asname or name.name, (str(node.module), name.name)


#: Where each name comes from; imported when first asked for.
_HOMES = dict(_homes())

__all__ = sorted([*_HOMES, "start_by"])  # pyright: ignore


def __getattr__(name: str) -> Any:
    # A plug-in that needs one room (``cpsched.api.model``) does not pay for the others.
    if name not in _HOMES:
        raise AttributeError(f"module 'cpsched.api' has no attribute {name!r}")
    module, original = _HOMES[name]
    return getattr(import_module(module), original)


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
    from cpsched.dispatch.passes import frozen, start_in_order

    return start_in_order(view, frozen(view.waiting.rows[order]), allocator, stop=stop)
