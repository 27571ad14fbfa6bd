"""``cpsched verify``: does a recorded schedule obey its own inputs?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.options import AsJson
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.cli.progress import working
from cpsched.errors import VerificationError

if TYPE_CHECKING:
    from cpsched.study import SavedRun


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
            checked.append(checked_run(path))
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


def checked_run(path: Path) -> dict[str, Any]:
    """Return what is wrong with a run, as JSON has it."""
    from cpsched.study import load_run
    from cpsched.study.folder import faults

    # What was not written by a simulation is not read.
    if findings := [f"files: {name} {what}" for name, what in faults(path)]:
        return {"folder": str(path), "jobs": _jobs_of(path), "findings": findings}
    run = load_run(path)
    return {"folder": str(path), "jobs": len(run.schedule.workload), "findings": _findings(run)}


def _findings(run: SavedRun) -> list[str]:
    """Return what is wrong with a run whose files are as they were written."""
    from cpsched.base.arrow import UNREADABLE
    from cpsched.study.reader import contradictions, wrong_inputs
    from cpsched.verification import verify

    if found := wrong_inputs(run):
        return [f"files: {sentence}" for sentence in found]
    try:
        broken = verify(run.schedule, recorded=run.recorded, predictor=run.predictor)
        # Nothing can be derived from an invalid schedule.
        return [f"{violation.rule}: {violation.message}" for violation in broken] or [
            f"files: {sentence}" for sentence in contradictions(run)
        ]
    except UNREADABLE as error:
        # Only files that somebody has made up, with their digests, come here.
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return [f"files: no simulation has written this run ({reason:.200})"]


def _jobs_of(path: Path) -> int:
    """Return how many jobs a run says it has."""
    from cpsched.study.folder import read_mark

    said = read_mark(path).get("workload")
    number = said.get("jobs") if isinstance(said, dict) else None
    return number if isinstance(number, int) else 0
