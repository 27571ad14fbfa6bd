"""One run, carried out by the process that gets it."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

from cpsched.errors import CpschedError
from cpsched.simulation.observers import Observer
from cpsched.simulation.simulate import simulate
from cpsched.study.folder import begin, is_complete_copy, put_in_place, under_way
from cpsched.study.inputs import prepare
from cpsched.study.writer import save_run
from cpsched.util import registry
from cpsched.util.arrow import release_unused
from cpsched.util.interruption import is_interruption
from cpsched.util.memory import is_out_of_memory
from cpsched.util.own_code import described, fault_of

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.model.schedule import Schedule
    from cpsched.simulation.simulate import Checkpoint
    from cpsched.study.run_spec import RunSpec

#: Makes the observers of a run: of its name, its number of jobs, and the Unix time of second 0.
Watch: TypeAlias = Callable[[str, int, int | None], Sequence[Observer]]
#: The error of a run whose process was killed each time that it was tried.
KILLED = "its process was killed, perhaps because it ran out of memory"
#: The error of a run that got no more memory.
OUT_OF_MEMORY = "out of memory"


@dataclass(frozen=True, kw_only=True)
class RunTarget:
    """
    Where a campaign's runs go.

    Attributes
    ----------
    runs, work
        Folders of the finished runs, and of what is under way.
    formats
        Extra output formats of a run.
    again
        Whether runs replace equal ones.
    attempts
        How often a run is tried that kills its process, where an executor starts it again by
        itself; None where it does not.
    campaign
        Hexadecimal digits in the names of folders under way: those of this campaign have the same.
    """

    runs: Path
    work: Path
    formats: tuple[str, ...] = ()
    again: bool = False
    attempts: int | None = None
    campaign: str = field(default_factory=lambda: uuid4().hex[:8])


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """
    The outcome of a run.

    Attributes
    ----------
    error, trace
        One line, and the traceback; None if the run succeeded.
    """

    name: str
    error: str | None = None
    trace: str | None = None


def work_on(
    task: RunSpec,
    target: RunTarget,
    watch: Watch | None,
    checkpoint: Checkpoint | None = None,
    schedules: dict[str, Schedule] | None = None,
) -> RunOutcome:
    """
    Carry out a run and return its outcome; errors of the run are never raised.

    Parameters
    ----------
    checkpoint
        Where the run saves its state.
    schedules
        Takes the schedule of the run, by its name.
    """
    killed = len(under_way(target.work, task.key, target.campaign))
    if target.attempts is not None and killed >= target.attempts:
        return RunOutcome(name=task.name, error=KILLED)
    try:
        schedule = _carried_out(task, target, watch, checkpoint)
        if schedules is not None:
            schedules[task.name] = schedule
        return RunOutcome(name=task.name)
    except BaseException as error:
        if is_interruption(error):
            raise
        # Whatever a dispatcher, a predictor or a library raises, the other runs continue.
        return RunOutcome(name=task.name, error=_reason(error), trace=traceback.format_exc())


def _reason(error: BaseException) -> str:
    """Return an error as one line; of one that nobody foresaw, its type and where it was raised."""
    if is_out_of_memory(error):
        return OUT_OF_MEMORY
    kind, message = described(error)
    if message and isinstance(error, CpschedError):
        return message
    if (fault := fault_of(error)) is not None:
        return fault
    if message and isinstance(error, OSError):
        return message
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{kind}{': ' * bool(message)}{message} ({last.filename}, line {last.lineno})"


def _carried_out(
    task: RunSpec, target: RunTarget, watch: Watch | None, checkpoint: Checkpoint | None
) -> Schedule:
    """Simulate, and put the run in its place; return its schedule."""
    folder = begin(target.work, task.key, target.campaign)
    try:
        task.check_identity()
        fitted = prepare(task.made_of)
        release_unused()
        jobs = len(fitted.workload) - len(fitted.rejected)
        run = simulate(
            fitted,
            dispatcher=task.dispatcher,
            predictor=task.predictor,
            settings=task.settings,
            observers=() if watch is None else watch(task.name, jobs, fitted.workload.epoch),
            checkpoint=checkpoint,
        )
        release_unused()
        writers = [_writer(name, task) for name in target.formats]
        arguments = task.record() | {"formats": list(target.formats)}
        save_run(run, folder / "run", arguments=arguments, formats=writers)
        # Not instead of an equal one, which somebody may be reading: this may be the orphan of a
        # process that was killed, while the next has made the run.
        if target.again or not is_complete_copy(target.runs / task.name, folder / "run"):
            put_in_place(folder / "run", target.runs / task.name, overwrite=True)
        if checkpoint is not None:
            checkpoint.remove()
        return run.schedule
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _writer(name: str, task: RunSpec) -> Callable[[Schedule, Path], object]:
    """Return the writer of a run's files of a format, named like its log."""
    write, log = registry.load("exports", name), task.made_of.source.name
    return lambda schedule, folder: write(schedule, folder, log.removesuffix(".gz"))
