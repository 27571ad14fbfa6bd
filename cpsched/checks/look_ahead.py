"""
The look-ahead test: counterfactual logs, each simulated by a process of its own.

A log is simulated, and simulated again with a log that is the same up to a second and has another
future: other runtimes of jobs that have not ended by then, other later submits. Every start up to
that second must be the same. A dispatcher that reads the log's file, one that has learnt from jobs
of the log, and one that searches the simulator's memory for the ends of running jobs all differ.

Rows of the log that were learnt by heart, and shipped with the code, are not found this way.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cpsched import logs, systems
from cpsched.checks import moved, other_future
from cpsched.errors import RunError
from cpsched.study import load_run
from cpsched.systems.mapping import fit
from cpsched.util.words import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.schedule import Schedule
    from cpsched.model.workload import Workload

#: Shares of the submits after which the future is changed.
POSITIONS = (0.2, 0.5, 0.8)
#: The file of the log in the folder of a simulation.
LOG = "log.parquet"


def look_ahead(log: Path, system: str, dispatcher: str, predictor: str, folder: Path) -> list[str]:
    """
    Return how starts depend on the future, at most one sentence for each counterfactual log.

    Parameters
    ----------
    log, system
        The file of the log, and the name or file of the system.
    dispatcher, predictor
        Specifications.
    folder
        Empty, for the simulations.

    Raises
    ------
    RunError
        If a simulation fails.
    """
    workload = logs.read(log)
    words = ("--system", system, "-d", dispatcher, "-p", predictor)
    original = _simulated(workload, words, folder / "original")
    fitted = fit(workload, systems.load(system))
    rows = np.delete(np.arange(len(workload)), [row for row, _ in fitted.rejected])
    start, end = np.zeros((2, len(workload)), dtype=np.int64)
    start[rows], end[rows] = original.start, original.end
    differences = []
    for position in POSITIONS:
        until = int(workload.submit[int(position * (len(workload) - 1))])
        other = other_future(fitted, start, end, until, moved=rows[moved(original)]).workload
        other = workload.with_columns(submit=other.submit, runtime=other.runtime)
        changed = _simulated(other, words, folder / f"changed-{position}")
        if difference := _first_difference(original, changed, until):
            differences.append(difference)
    return differences


def _simulated(workload: Workload, words: Sequence[str], folder: Path) -> Schedule:
    """Return the schedule of a log that is written to a folder."""
    folder.mkdir(parents=True)
    logs.write(workload, folder / LOG)
    command = ["simulate", str(folder / LOG), *words, "--out", str(folder / "out")]
    # What is found here is found there, and nothing else.
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-P", "-m", "cpsched", *command],
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        reason = (done.stderr.strip() or done.stdout.strip() or "it was killed").splitlines()[-1]
        raise RunError(f"the simulation fails: {reason.removeprefix('cpsched: ')}")
    [run] = (folder / "out" / "runs").iterdir()
    return load_run(run).schedule


def _first_difference(original: Schedule, changed: Schedule, until: int) -> str:
    """Return the first start up to a second that differs, in a sentence; else nothing."""
    ours, theirs = (_starts(schedule, until) for schedule in (original, changed))
    differing = [job for job in ours.keys() | theirs.keys() if ours.get(job) != theirs.get(job)]
    if not differing:
        return ""
    first = min(differing, key=lambda job: (min(ours.get(job, until), theirs.get(job, until)), job))
    now, then = (
        "waits" if at is None else f"starts at {at:,}"
        for at in (theirs.get(first), ours.get(first))
    )
    name = escaped(str(original.workload.job_id[first]))
    return f"with other jobs after second {until:,}, job {name} {now} instead of {then}"


def _starts(schedule: Schedule, until: int) -> dict[int, int]:
    """Return the starts up to a second, by the job's row."""
    rows = np.flatnonzero((schedule.start >= 0) & (schedule.start <= until))
    return dict(zip(rows.tolist(), schedule.start[rows].tolist(), strict=True))
