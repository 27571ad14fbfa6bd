"""
cpsched: an HPC batch scheduling simulator.

It replays a job log under other dispatchers, from backfilling to constraint programming, and
reports who waits less, who waits longer, and how certain that is. All public names can be imported
from here: ``cpsched.simulate(log, "eurora")``. All other modules are private and may change
(``docs/guides/embed.md``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cpsched.former_names import name_removed_modules

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator, make_allocator
    from cpsched.dispatch.contract import Dispatcher, Reservation
    from cpsched.dispatch.learning import LearningDispatcher
    from cpsched.dispatch.orders import Priority, make_priority
    from cpsched.dispatch.passes import start_by
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
    from cpsched.logs import read as read_log
    from cpsched.logs import write as write_log
    from cpsched.metrics.summary import summarize
    from cpsched.model.allocation import Allocation
    from cpsched.model.decision import Decision, PlannedStarts, Start
    from cpsched.model.jobtable import Job, JobTable, RunningTable
    from cpsched.model.prediction import Outcome, Prediction, RuntimePredictor
    from cpsched.model.schedule import JobOutcome, Schedule
    from cpsched.model.system import Queue, System
    from cpsched.model.view import View
    from cpsched.model.workload import Workload
    from cpsched.report import (
        Comparison,
        ResultsTable,
        compare,
        compare_runs,
        load_results,
        what_if,
    )
    from cpsched.simulation.observers import Observer, RunObserver
    from cpsched.simulation.simulate import Checkpoint, Run, Settings, simulate
    from cpsched.simulation.simulator import Simulator
    from cpsched.study import SavedRun, load_run, save_run
    from cpsched.study.changes import Change
    from cpsched.study.prediction.evaluation import evaluate
    from cpsched.study.prediction.replay import starts_of
    from cpsched.study.prediction.training import save as save_model
    from cpsched.study.prediction.training import train
    from cpsched.systems import load as load_system
    from cpsched.systems import parse as parse_system
    from cpsched.systems import save as save_system
    from cpsched.systems.mapping import Fitted, fit
    from cpsched.tuning.api import tune
    from cpsched.tuning.tune import Tuned
    from cpsched.util.spec import build
    from cpsched.util.types import Status
    from cpsched.verification import verify

#: Each public name and where it is defined.
_HOMES = {
    "Allocation": "cpsched.model.allocation:Allocation",
    "Allocator": "cpsched.dispatch.allocators:Allocator",
    "Change": "cpsched.study.changes:Change",
    "Checkpoint": "cpsched.simulation.simulate:Checkpoint",
    "Cluster": "cpsched.engine.cluster:Cluster",
    "Comparison": "cpsched.report:Comparison",
    "ConfigError": "cpsched.errors:ConfigError",
    "CpschedError": "cpsched.errors:CpschedError",
    "Decision": "cpsched.model.decision:Decision",
    "DispatchError": "cpsched.errors:DispatchError",
    "Dispatcher": "cpsched.dispatch.contract:Dispatcher",
    "Fitted": "cpsched.systems.mapping:Fitted",
    "InfeasibleRequestError": "cpsched.errors:InfeasibleRequestError",
    "Job": "cpsched.model.jobtable:Job",
    "JobOutcome": "cpsched.model.schedule:JobOutcome",
    "JobTable": "cpsched.model.jobtable:JobTable",
    "LearningDispatcher": "cpsched.dispatch.learning:LearningDispatcher",
    "Observer": "cpsched.simulation.observers:Observer",
    "Outcome": "cpsched.model.prediction:Outcome",
    "PlannedStarts": "cpsched.model.decision:PlannedStarts",
    "Prediction": "cpsched.model.prediction:Prediction",
    "Priority": "cpsched.dispatch.orders:Priority",
    "Queue": "cpsched.model.system:Queue",
    "Request": "cpsched.engine.encoder:Request",
    "Reservation": "cpsched.dispatch.contract:Reservation",
    "Run": "cpsched.simulation.simulate:Run",
    "RunError": "cpsched.errors:RunError",
    "RunObserver": "cpsched.simulation.observers:RunObserver",
    "ResultsTable": "cpsched.report:ResultsTable",
    "RunningTable": "cpsched.model.jobtable:RunningTable",
    "RuntimePredictor": "cpsched.model.prediction:RuntimePredictor",
    "SavedRun": "cpsched.study:SavedRun",
    "Schedule": "cpsched.model.schedule:Schedule",
    "Settings": "cpsched.simulation.simulate:Settings",
    "Simulator": "cpsched.simulation.simulator:Simulator",
    "Start": "cpsched.model.decision:Start",
    "Status": "cpsched.util.types:Status",
    "System": "cpsched.model.system:System",
    "TraceError": "cpsched.errors:TraceError",
    "Tuned": "cpsched.tuning.tune:Tuned",
    "UnknownNameError": "cpsched.errors:UnknownNameError",
    "VerificationError": "cpsched.errors:VerificationError",
    "View": "cpsched.model.view:View",
    "Workload": "cpsched.model.workload:Workload",
    "build": "cpsched.util.spec:build",
    "compare": "cpsched.report:compare",
    "compare_runs": "cpsched.report:compare_runs",
    "evaluate": "cpsched.study.prediction.evaluation:evaluate",
    "fit": "cpsched.systems.mapping:fit",
    "load_run": "cpsched.study:load_run",
    "load_system": "cpsched.systems:load",
    "make_allocator": "cpsched.dispatch.allocators:make_allocator",
    "make_priority": "cpsched.dispatch.orders:make_priority",
    "parse_system": "cpsched.systems:parse",
    "read_log": "cpsched.logs:read",
    "load_results": "cpsched.report:load_results",
    "save_model": "cpsched.study.prediction.training:save",
    "save_run": "cpsched.study:save_run",
    "save_system": "cpsched.systems:save",
    "simulate": "cpsched.simulation.simulate:simulate",
    "start_by": "cpsched.dispatch.passes:start_by",
    "starts_of": "cpsched.study.prediction.replay:starts_of",
    "summarize": "cpsched.metrics.summary:summarize",
    "train": "cpsched.study.prediction.training:train",
    "tune": "cpsched.tuning.api:tune",
    "verify": "cpsched.verification:verify",
    "what_if": "cpsched.report:what_if",
    "write_log": "cpsched.logs:write",
}

__all__ = [
    "Allocation",
    "Allocator",
    "Change",
    "Checkpoint",
    "Cluster",
    "Comparison",
    "ConfigError",
    "CpschedError",
    "Decision",
    "DispatchError",
    "Dispatcher",
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
    "Priority",
    "Queue",
    "Request",
    "Reservation",
    "ResultsTable",
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
    "TraceError",
    "Tuned",
    "UnknownNameError",
    "VerificationError",
    "View",
    "Workload",
    "build",
    "compare",
    "compare_runs",
    "evaluate",
    "fit",
    "load_results",
    "load_run",
    "load_system",
    "make_allocator",
    "make_priority",
    "parse_system",
    "read_log",
    "save_model",
    "save_run",
    "save_system",
    "simulate",
    "start_by",
    "starts_of",
    "summarize",
    "train",
    "tune",
    "verify",
    "what_if",
    "write_log",
]


name_removed_modules()


def __getattr__(name: str) -> Any:
    if name == "_core":
        from cpsched.util.native import load_core

        return load_core()
    # Imported at the first use, so that ``cpsched --help`` stays quick.
    if name not in _HOMES:
        raise AttributeError(f"module 'cpsched' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute)
