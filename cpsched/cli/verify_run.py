"""Whether a run is right: its files, its schedule, and what follows from the schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.errors import RunError

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.study import SavedRun

#: Begins each finding about a file.
FILES = "files: "
#: Files that follow from the others: if they were changed, findings name what in them differs.
_DERIVED = ("metrics.json",)


def checked_run(path: Path) -> dict[str, Any]:
    """Return what is wrong with a run, as JSON has it."""
    from cpsched.study import load_run

    broken = _broken_files(path)
    derived = _DERIVED if all(name in _DERIVED for name, _ in broken) else ()
    findings = [f"{FILES}{name} {what}" for name, what in broken]
    if broken and not derived:
        # What was not written by a simulation is not read.
        return {"folder": str(path), "jobs": _jobs_of(path), "findings": findings}
    try:
        run = load_run(path, changed=derived)
    except RunError as error:
        if not findings:
            # Its message names the file by its whole path.
            text = str(error).removeprefix(f"{path}/").partition("; ")[0]
            findings.append(f"{FILES}{text}")
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

    if faults := wrong_inputs(run):
        return [f"files: {sentence}" for sentence in faults]
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

    workload = read_mark(path).get("workload")
    number = workload.get("jobs") if isinstance(workload, dict) else None
    return number if isinstance(number, int) else 0
