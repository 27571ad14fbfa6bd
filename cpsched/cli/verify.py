"""``cpsched verify``: does a recorded schedule obey its own inputs?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.options import AsJson
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.cli.progress import working
from cpsched.errors import RunError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.study import SavedRun

#: Begins each finding about a file.
_FILES = "files: "
#: Files that follow from the others: if they were changed, findings name what in them differs.
_DERIVED = ("metrics.json",)


def command(
    folder: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run folders, or folders that contain them."),
    ],
    as_json: AsJson = False,
) -> None:
    """Check recorded schedules: every job accounted for, nothing over capacity, every rule kept."""
    from cpsched.study.folder import find_runs, unmarked_runs

    checked: list[dict[str, Any]] = []
    unmarked = [run for given in folder for run in unmarked_runs(given)]
    paths = [run for given in folder for run in _runs_in(find_runs, given, unmarked)] + unmarked
    with working("checking") as told:
        for done, path in enumerate(paths):
            told(done, len(paths))
            checked.append(checked_run(path))
    wrong = [run["findings"] for run in checked if run["findings"]]
    if as_json:
        print_json("verify", {"wrong": len(wrong), "runs": checked})
    for run_checked in () if as_json else checked:
        number = len(run_checked["findings"])
        said = f"{counted(number, 'thing')} wrong" if number else "OK"
        line = f"{escaped(run_checked['folder'])}: {counted(run_checked['jobs'], 'job')}, {said}"
        echo("\n  ".join([line, *run_checked["findings"]]))
    if wrong:
        raise VerificationError(summary_of(wrong))


def _runs_in(
    find_runs: Callable[[Path], list[Path]], folder: Path, unmarked: Sequence[Path]
) -> list[Path]:
    """Return the runs in a folder; none where all that are there lack their mark."""
    try:
        return find_runs(folder)
    except RunError:
        if any(path.is_relative_to(folder) for path in unmarked):
            return []
        raise


def summary_of(wrong: Sequence[Sequence[str]]) -> str:
    """Return one line on the findings of runs: schedules that break rules, and wrong files."""
    schedules = sum(any(not one.startswith(_FILES) for one in findings) for findings in wrong)
    of_files = [
        [one.removeprefix(_FILES).partition(" ")[0].rstrip(":") for one in findings]
        for findings in wrong
        if all(one.startswith(_FILES) for one in findings)
    ]
    parts = []
    if schedules:
        one = "1 schedule contradicts its own inputs"
        parts.append(
            one if schedules == 1 else f"{schedules} schedules contradict their own inputs"
        )
    if of_files:
        names = dict.fromkeys(
            name for names in of_files for name in names if name.endswith((".json", ".parquet"))
        )
        parts.append(
            f"files of {counted(len(of_files), 'run')} are missing, changed, or not what follows"
            f" from the schedule{': ' * bool(names)}{', '.join(names)}"
        )
    return ", and ".join(parts)


def checked_run(path: Path) -> dict[str, Any]:
    """Return what is wrong with a run, as JSON has it."""
    from cpsched.study import load_run

    broken = _broken_files(path)
    derived = _DERIVED if all(name in _DERIVED for name, _ in broken) else ()
    findings = [f"{_FILES}{name} {what}" for name, what in broken]
    if broken and not derived:
        # What was not written by a simulation is not read.
        return {"folder": str(path), "jobs": _jobs_of(path), "findings": findings}
    try:
        run = load_run(path, changed=derived)
    except RunError as error:
        if not findings:
            # Its message names the file by its whole path.
            text = str(error).removeprefix(f"{path}/").partition("; ")[0]
            findings.append(f"{_FILES}{text}")
        return {"folder": str(path), "jobs": _jobs_of(path), "findings": findings}
    findings += _findings(run)
    return {"folder": str(path), "jobs": len(run.schedule.workload), "findings": findings}


def _broken_files(path: Path) -> list[tuple[str, str]]:
    """Return which files of a run are not as they were written, and what is wrong with them."""
    from cpsched.study.folder import MARK, faults, read_mark

    if not (path / MARK).is_file():
        return [(MARK, "is missing: the run is incomplete")]
    if not read_mark(path):
        # It names the digests of the others.
        return []
    return list(faults(path))


def _findings(run: SavedRun) -> list[str]:
    """Return what is wrong with a run whose files are as they were written."""
    from cpsched.study.reader import contradictions, wrong_inputs
    from cpsched.util.arrow import UNREADABLE
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
