"""
cpsched: a simulator and scheduling engine for HPC batch jobs.

What a session needs most can be taken from the package itself: ``cpsched.simulate(log, "eurora")``.
:mod:`cpsched.api` has the rest of what embedding code may rely on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cpsched.logs import read as read_log
    from cpsched.logs import write as write_log
    from cpsched.report import compare, compare_runs, what_if
    from cpsched.simulation.simulate import simulate
    from cpsched.study import load_run, save_run
    from cpsched.systems import load as load_system

__all__ = [
    "compare",
    "compare_runs",
    "load_run",
    "load_system",
    "read_log",
    "save_run",
    "simulate",
    "what_if",
    "write_log",
]


def __getattr__(name: str) -> Any:
    # Imported at the first use, so that ``cpsched --help`` stays quick.
    if name in __all__:
        return getattr(import_module("cpsched.api"), name)
    raise AttributeError(f"module 'cpsched' has no attribute {name!r}")
