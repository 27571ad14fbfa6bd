"""``cpsched verify``: does a recorded schedule obey its own inputs?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpsched.cli.output import counted, echo, escaped
from cpsched.errors import VerificationError


def command(
    folder: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, or folders of them.")
    ],
) -> None:
    """Check recorded schedules: every job accounted for, nothing over capacity, every rule kept."""
    from cpsched.study import load_run
    from cpsched.study.consistency import contradictions
    from cpsched.study.folder import find_runs
    from cpsched.verification import verify

    wrong = 0
    for path in (run for given in folder for run in find_runs(given)):
        run = load_run(path)
        found = verify(run.schedule, recorded=run.recorded)
        findings = [f"{violation.rule}: {violation.message}" for violation in found]
        if not findings:
            # Nothing can be derived from a schedule that is wrong in itself.
            findings = [f"files: {sentence}" for sentence in contradictions(run)]
        name, jobs = escaped(str(path)), counted(len(run.schedule.workload), "job")
        if not findings:
            echo(f"{name}: {jobs}, OK")
            continue
        wrong += 1
        echo(f"{name}: {jobs}, {counted(len(findings), 'thing')} wrong")
        for finding in findings:
            echo(f"  {finding}")
    if wrong:
        one = "1 schedule contradicts its own inputs"
        raise VerificationError(
            one if wrong == 1 else f"{wrong} schedules contradict their own inputs"
        )
