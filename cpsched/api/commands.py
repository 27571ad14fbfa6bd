"""What a command is made of: options, what it prints, bars, reports."""

from __future__ import annotations

from cpsched.cli import fidelity
from cpsched.cli.options import (
    JOBS,
    LOGS,
    LOOK,
    SLURM,
    AsJson,
    Dispatcher,
    EnforceLimits,
    Log,
    Overwrite,
    Predictor,
    Seed,
    SystemName,
    grouped,
)
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.cli.progress import counted_of, display, progress_bar, reading, times, working
from cpsched.cli.report import not_simulated, say, totals, width
from cpsched.cli.results import results_as_data
