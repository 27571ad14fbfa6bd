"""``cpsched verify``: does a recorded schedule obey its own inputs?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cpsched.cli.options import AsJson
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.cli.progress import working
from cpsched.errors import VerificationError


def command(
    folder: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run folders, or folders that contain them."),
    ],
    as_json: AsJson = False,
) -> None:
    """Check recorded schedules: every job accounted for, nothing over capacity, every rule kept."""
    from cpsched.study.folder import find_runs

    checked: list[dict[str, Any]] = []
    paths = [run for given in folder for run in find_runs(given)]
    with working("checking") as told:
        for done, path in enumerate(paths):
            told(done, len(paths))
            checked.append(_checked(path))
    wrong = sum(bool(one["findings"]) for one in checked)
    if as_json:
        print_json("verify", {"wrong": wrong, "runs": checked})
    for run_checked in () if as_json else checked:
        number = len(run_checked["findings"])
        said = f"{counted(number, 'thing')} wrong" if number else "OK"
        line = f"{escaped(run_checked['folder'])}: {counted(run_checked['jobs'], 'job')}, {said}"
        echo("\n  ".join([line, *run_checked["findings"]]))
    if wrong:
        one = "1 schedule contradicts its own inputs"
        raise VerificationError(
            one if wrong == 1 else f"{wrong} schedules contradict their own inputs"
        )


def _checked(path: Path) -> dict[str, Any]:
    """Return what is wrong with a run, as JSON has it."""
    from cpsched.study import load_run
    from cpsched.study.reader import contradictions
    from cpsched.verification import verify

    run = load_run(path)
    found = verify(run.schedule, recorded=run.recorded)
    # Nothing can be derived from an invalid schedule.
    findings = [f"{violation.rule}: {violation.message}" for violation in found] or [
        f"files: {sentence}" for sentence in contradictions(run)
    ]
    return {"folder": str(path), "jobs": len(run.schedule.workload), "findings": findings}
