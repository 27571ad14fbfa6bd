"""
Names that are called otherwise here, and what to write instead, for errors of one line.

There are no aliases: such a name is an error.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Names of former versions, and names that others use, by what they name: what to write instead.
OTHER_NAMES: Mapping[str, Mapping[str, str]] = {
    "dispatcher": {
        "urgency": "Use easy-wsept.",
        "easy-urgency": "Use easy-wsept.",
        "planned-easy": "Use easy-plan.",
        "plan": "Use lookahead.",
        "cph": "Use cp-pool (cph-0 to cph-3 are its presets).",
        "cp": "Use cp-nodes (cp-0 to cp-3 are its presets).",
        "try": "Use speculative.",
        "policy": "Use learned.",
        "rollout": "Use easy-wsept.",
        "per-machine": "Split the log (cpsched log convert --split), and simulate each part.",
        "fcfs": "FCFS is called fifo.",
        "backfill": "EASY backfilling is called easy.",
        "backfilling": "EASY backfilling is called easy.",
        "easy-backfilling": "EASY backfilling is called easy.",
        "conservative-backfilling": "Conservative backfilling is called conservative.",
    },
    "priority": {"urgency": "Use wsept.", "fcfs": "FCFS is called fifo."},
    "allocator": {
        "consolidate": "Use pack.",
        "frugal": "Use spare-scarce.",
        "least-loss": "Use fgd.",
    },
    "predictor": {"jobs-alike": "Use knn."},
    "kind of outages": {"drawn": "Use random."},
    "set": {"v1": "Use v2, the same logs and dispatchers with the new names."},
    "option": {
        "priority": "Use order.",
        "reserve": "Use estimate=predicted, upper or requested.",
        "patience": "Use aging.",
        "share": "Use width_exponent.",
    },
    "key": {
        "correction": "Use estimate_correction.",
        "enforce_limits": "Use enforce_time_limits.",
        "format": "Use input_format.",
        "seeds": "Use repeat.",
    },
    "output format": {"xdmod": "Use slurm, which writes as sacct prints."},
    "command": {
        "cpsched import-accasim": "Use cpsched accasim import.",
        "cpsched machines": "Use cpsched log convert --split, and compare each log.",
        "cpsched negotiation": "Use cpsched show negotiation FILE.",
        "cpsched sheet": "Use cpsched report.",
        "cpsched try": "Use cpsched compare LOG --out DIR, which infers the system.",
        "cpsched when": "Use cpsched forecast.",
        "cpsched workload": "Use cpsched log.",
        "cpsched slurm fidelity": "Use cpsched validate.",
        "cpsched slurm run": "Use cpsched slurm sandbox, a private Slurm on this machine.",
        "cpsched slurm demo": "Use cpsched slurm sandbox.",
        "cpsched slurm when": "Use cpsched slurm forecast.",
        "cpsched slurm twin": "Export sacct from cron, and run cpsched compare on that log.",
        "cpsched slurm serve": "Run cpsched slurm forecast --openmetrics FILE from cron.",
        **dict.fromkeys(
            (f"cpsched slurm {name}" for name in ("pause", "resume", "watchdog", "health")),
            "cpsched starts jobs only in a private Slurm: cpsched slurm sandbox.",
        ),
        "cpsched bench card": "Use cpsched bench --json, and the tables in its folder.",
        "cpsched bench verify": "Use cpsched verify.",
    },
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
