"""``cpsched verify``: does a recorded schedule obey its own inputs?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpsched.errors import VerificationError


def command(
    folder: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, or folders of them.")
    ],
) -> None:
    """Check recorded schedules: every job accounted for, nothing over capacity, every rule kept."""
    from cpsched.metrics.verify import verify
    from cpsched.runs import load
    from cpsched.runs.folder import find_runs

    wrong = 0
    for path in (run for given in folder for run in find_runs(given)):
        run = load(path)
        violations = verify(run.schedule)
        num_jobs = len(run.schedule.workload)
        if not violations:
            typer.echo(f"{path}: {num_jobs:,} jobs, nothing wrong")
            continue
        wrong += 1
        typer.echo(f"{path}: {num_jobs:,} jobs, {len(violations)} things wrong")
        for violation in violations:
            typer.echo(f"  {violation.rule}: {violation.message}")
    if wrong:
        raise VerificationError(f"{wrong} of the schedules contradict their own inputs")
