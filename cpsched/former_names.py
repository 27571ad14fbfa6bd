"""
Names that are gone or used elsewhere, and what replaces them, for errors that say so in one line.

There are no aliases: such a name is an error.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Names that are gone, by what they were, and what to use instead.
REMOVED: Mapping[str, Mapping[str, str]] = {
    "dispatcher": {
        "urgency": "use easy-wsept",
        "easy-urgency": "use easy-wsept",
        "planned-easy": "use easy-plan",
        "plan": "use lookahead",
        "cph": "use cp-pool (cph-0 to cph-3 are its presets)",
        "cp": "use cp-nodes (cp-0 to cp-3 are its presets)",
        "try": "use speculative",
        "policy": "use learned",
        "rollout": "use easy-wsept",
        "per-machine": "split the log (log convert --split), and simulate each part",
    },
    "priority": {"urgency": "use wsept"},
    "allocator": {
        "consolidate": "use pack",
        "frugal": "use spare-scarce",
        "least-loss": "use fgd",
    },
    "predictor": {"jobs-alike": "use knn"},
    "kind of outages": {"drawn": "use random"},
    "set": {"v1": "use v2, the same logs and dispatchers with the new names"},
    "option": {
        "priority": "use order",
        "reserve": "use estimate=predicted, upper or requested",
        "patience": "use aging",
        "share": "use width_exponent",
    },
    "key": {
        "correction": "use estimate_correction",
        "enforce_limits": "use enforce_time_limits",
        "format": "use input_format",
        "seeds": "use repeat",
    },
    "output format": {"xdmod": "use slurm, which writes as sacct prints"},
    "command": {
        "cpsched import-accasim": "use accasim import",
        "cpsched machines": "use log convert --split, and compare each log",
        "cpsched negotiation": "use show negotiation FILE",
        "cpsched sheet": "use report",
        "cpsched try": "use compare LOG --out DIR, which infers the system",
        "cpsched when": "use forecast",
        "cpsched workload": "use log",
        "cpsched slurm fidelity": "use validate",
        "cpsched slurm run": "use slurm sandbox, a private Slurm on this machine",
        "cpsched slurm demo": "use slurm sandbox",
        "cpsched slurm when": "use slurm forecast",
        "cpsched slurm twin": "export sacct from cron, and compare the file",
        "cpsched slurm serve": "use slurm forecast --openmetrics FILE or --json, from cron",
        **dict.fromkeys(
            (f"cpsched slurm {name}" for name in ("pause", "resume", "watchdog", "health")),
            "cpsched acts on a private Slurm alone (slurm sandbox)",
        ),
        "cpsched bench card": "use bench --json and the tables in its folder",
        "cpsched bench verify": "use verify",
    },
}
#: Names that others use for things that have another name here.
USED_ELSEWHERE: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "dispatcher": {
        "fcfs": ("FCFS", "fifo"),
        "backfill": ("EASY backfilling", "easy"),
        "backfilling": ("EASY backfilling", "easy"),
        "easy-backfilling": ("EASY backfilling", "easy"),
        "conservative-backfilling": ("conservative backfilling", "conservative"),
    },
    "priority": {"fcfs": ("FCFS", "fifo")},
}
#: Options that have another name now; of several names those that the command has.
RENAMED_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "--by": ("--deadline",),
    "--correction": ("--estimate-correction",),
    "--enforce-limits": ("--enforce-time-limits",),
    "--forecasts": ("--samples",),
    "--format": ("--input-format", "--export"),
    "--jobs": ("--workers",),
    "--no-enforce-limits": ("--no-enforce-time-limits",),
    "--on": ("--executor",),
    "--overwrite": ("--force",),
    "--policy": ("--slurm-policy",),
    "--score": ("--evaluate",),
    "--seeds": ("--repeat",),
    "--stats": ("--all-tables",),
}

_CPSCHED = "import public names from cpsched itself"
#: Modules that code may still import.
REMOVED_MODULES: Mapping[str, str] = {
    "cpsched.api": _CPSCHED,
    "cpsched.traces": "use cpsched.read_log and cpsched.write_log",
    "predictors.checks": "use cpsched.checks.of_predictors",
    "predictors.evaluation": "use cpsched.evaluate",
    "predictors.replay": "use cpsched.starts_of",
    "predictors.training": "use cpsched.train and cpsched.save_model",
    "batsim_adapter": "use cpsched.batsim",
    "cpsched_papers": "use cpsched.papers",
    "gym_environment": "use cpsched.gym",
    "slurm_adapter": "use cpsched.slurm",
}


class _RemovedModules:
    """Last finder of imports: names what replaces a module of this project that is gone."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004
        """
        Return None: the module is not found.

        Raises
        ------
        ModuleNotFoundError
            If it is one of those removed.
        """
        if instead := REMOVED_MODULES.get(name):
            raise ModuleNotFoundError(f"{name} was removed: {instead}", name=name)


def name_removed_modules() -> None:
    """Make the import of a removed module raise an error that names its replacement."""
    if _RemovedModules not in sys.meta_path:
        sys.meta_path.append(_RemovedModules)
