"""
Whether an entry looks ahead: it is run again in a world with another future.

The window of a log is simulated in an empty folder, by a process of its own, and once more in
folders where the log's file has the same content up to a second and another one from then on:
other runtimes of jobs that have not ended, other later submits. What the entry starts up to that
second must be the same. A dispatcher that reads the log's file, one that has learnt from jobs of
the window, and one that finds the ends of running jobs somewhere in memory all give themselves
away: the other world's file, training and memory hold other things. What opens a file with jobs of
the set from somewhere else meanwhile is seen by the system, whatever process or library it is.

What this cannot find: rows of the set that were learnt by heart before, and shipped with the code.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arena.opened import opened
from cpsched.api import fit, load_run, load_system, read_log, write_log
from cpsched.api.checks import other_future
from cpsched.api.errors import RunError
from cpsched.api.tools import escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from arena.logs import Window
    from arena.submission import Submission
    from cpsched.api import Schedule

#: Shares of the window's submits after which the future is another one.
POSITIONS = (0.2, 0.5, 0.8)
_LOG, _BEFORE, _MODEL = "log.parquet", "before.parquet", "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """
    Something by which an entry knew what it could not.

    Attributes
    ----------
    log
        Of the set.
    said
        What happened, in a sentence.
    """

    log: str
    said: str


def leaks(
    submission: Submission, window: Window, folder: Path, known: Collection[Path] = ()
) -> list[Leak]:
    """
    Run an entry on a window in worlds with other futures.

    Parameters
    ----------
    folder
        Empty, for the worlds.
    known
        Files with jobs of the set, which no entry may open; nothing else may do so meanwhile.

    Raises
    ------
    RunError
        If a run fails.
    """
    name = window.log.name
    original = read_log(window.path)
    real = _world(submission, window, folder / "real", known)
    if isinstance(real, str):
        return [Leak(log=name, said=real)]
    fitted = fit(original, load_system(window.log.system))
    end = np.zeros(len(original), dtype=np.int64)
    end[np.delete(np.arange(len(original)), [row for row, _ in fitted.rejected])] = real.end
    submit = original.submit
    found = []
    for position in POSITIONS:
        until = int(submit[int(position * (len(submit) - 1))])
        other = folder / f"other-{position}"
        changed = other_future(fitted, end, until).workload
        world = _world(submission, window, other, known, changed_to=changed)
        if isinstance(world, str):
            found.append(Leak(log=name, said=world))
            break
        found += [Leak(log=name, said=one) for one in _differences(real, world, until)]
    return found


def _world(
    submission: Submission,
    window: Window,
    folder: Path,
    known: Collection[Path],
    changed_to: object = None,
) -> Schedule | str:
    """Return the schedule of an entry in a folder of its own, or which file it may not open."""
    folder.mkdir(parents=True)
    log = folder / _LOG
    write_log(read_log(window.path) if changed_to is None else changed_to, log)  # type: ignore[arg-type]
    if window.before is not None:
        write_log(read_log(window.before), folder / _BEFORE)
    with opened(known) as forbidden:
        _run(submission, window, folder)
    if forbidden:
        return f"it opens {escaped(str(min(forbidden)))}, which holds jobs of the set"
    [run] = (folder / "out" / "runs").iterdir()
    return load_run(run).schedule


def _run(submission: Submission, window: Window, folder: Path) -> None:
    """Train an entry, and simulate the log in a folder, in processes of their own."""
    trained = submission.trained(folder, folder / _BEFORE if window.before else None, _MODEL)
    command = [
        *("simulate", _LOG, "--system", window.log.system, "--out", "out"),
        *("-d", trained.dispatcher or "easy-urgency", "-p", trained.predictor or "requested"),
    ]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "cpsched", *command],
        cwd=folder, env=submission.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        reason = (done.stderr.strip() or done.stdout.strip() or "it was killed").splitlines()[-1]
        raise RunError(f"{submission.name} on {window.log.name}: {reason}")


def _differences(one: Schedule, other: Schedule, until: int) -> Iterator[str]:
    """Yield the first start up to a second that is not the same in both worlds."""
    ours, theirs = (_starts(schedule, until) for schedule in (one, other))
    for job in sorted(ours.keys() | theirs.keys(), key=lambda job: min(
        ours.get(job, until), theirs.get(job, until)
    )):  # fmt: skip
        if ours.get(job) != theirs.get(job):
            times = ["waits" if at is None else f"starts at {at:,}" for at in
                     (ours.get(job), theirs.get(job))]  # fmt: skip
            yield (
                f"with another future after second {until:,}, job"
                f" {escaped(str(one.workload.job_id[job]))} {times[1]} instead of {times[0]}"
            )
            return


def _starts(schedule: Schedule, until: int) -> dict[int, int]:
    """Return the starts up to a second, by the job's row."""
    rows = np.flatnonzero((schedule.start >= 0) & (schedule.start <= until))
    return dict(zip(rows.tolist(), schedule.start[rows].tolist(), strict=True))
