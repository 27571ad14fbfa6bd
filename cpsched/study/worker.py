"""One run, carried out by the process that gets it."""

from __future__ import annotations

import os
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from cpsched.errors import CpschedError
from cpsched.simulation.observers import Observer
from cpsched.simulation.simulate import simulate
from cpsched.study.folder import begin, is_whole_copy, put_in_place
from cpsched.study.sources import prepare
from cpsched.study.writer import save_run
from cpsched.util import registry
from cpsched.util.own_code import described, fault_of

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.model.schedule import Schedule
    from cpsched.simulation.simulate import Checkpoint
    from cpsched.study.task import Task

#: Makes the observers of a run: of its name, its number of jobs, and the Unix time of second 0.
Watch: TypeAlias = Callable[[str, int, int | None], Sequence[Observer]]
_guarded: set[int] = set()


@dataclass(frozen=True, kw_only=True)
class Place:
    """
    Where a campaign's runs go.

    Attributes
    ----------
    runs, work
        Folders of the finished runs, and of what is under way.
    parent
        Process whose end stops its workers, or None if it did not start them.
    formats
        Extra output formats of a run.
    again
        Whether runs replace equal ones.
    """

    runs: Path
    work: Path
    parent: int | None = None
    formats: tuple[str, ...] = ()
    again: bool = False


@dataclass(frozen=True, kw_only=True)
class Done:
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
    task: Task,
    place: Place,
    watch: Watch | None,
    checkpoint: Checkpoint | None = None,
) -> Done:
    """
    Carry out a run and return its outcome; errors of the run are never raised.

    Parameters
    ----------
    checkpoint
        Where the run saves its state.
    """
    if place.parent is not None and place.parent not in _guarded:
        _guarded.add(place.parent)
        threading.Thread(target=_die_with, args=(place.parent,), daemon=True).start()
    try:
        _carried_out(task, place, watch, checkpoint)
        return Done(name=task.name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Whatever a dispatcher, a predictor or a library raises, the other runs continue.
        return Done(name=task.name, error=_reason(error), trace=traceback.format_exc())


def _reason(error: BaseException) -> str:
    """Return an error as one line; of one that nobody foresaw, its type and where it was raised."""
    kind, said = described(error)
    if said and isinstance(error, CpschedError):
        return said
    if (fault := fault_of(error)) is not None:
        return fault
    if said and isinstance(error, OSError):
        return said
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{kind}{': ' * bool(said)}{said} ({last.filename}, line {last.lineno})"


def _die_with(parent: int) -> None:
    """End this process soon after its parent ends, since no one would take its results."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _carried_out(
    task: Task, place: Place, watch: Watch | None, checkpoint: Checkpoint | None
) -> None:
    """Simulate, and put the run in its place."""
    folder = begin(place.work, task.key)
    try:
        task.check_identity()
        fitted = prepare(task.made_of)
        jobs = len(fitted.workload) - len(fitted.rejected)
        run = simulate(
            fitted,
            dispatcher=task.dispatcher,
            predictor=task.predictor,
            settings=task.settings,
            observers=() if watch is None else watch(task.name, jobs, fitted.workload.epoch),
            checkpoint=checkpoint,
        )
        writers = [_writer(name, task) for name in place.formats]
        arguments = task.record() | {"formats": list(place.formats)}
        save_run(run, folder / "run", arguments=arguments, formats=writers)
        # Not instead of an equal one, which somebody may be reading: this may be the orphan of a
        # process that was killed, while the next has made the run.
        if place.again or not is_whole_copy(place.runs / task.name, folder / "run"):
            put_in_place(folder / "run", place.runs / task.name, overwrite=True)
        if checkpoint is not None:
            checkpoint.remove()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _writer(name: str, task: Task) -> Callable[[Schedule, Path], object]:
    """Return what writes a run's files of a format, named like its log."""
    write, log = registry.load("formats", name), task.made_of.source.name
    return lambda schedule, folder: write(schedule, folder, log.removesuffix(".gz"))
