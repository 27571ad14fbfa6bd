"""One run, carried out by the process that gets it."""

from __future__ import annotations

import os
import shutil
import threading
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from cpsched.base import registry
from cpsched.errors import ConfigError
from cpsched.simulation.identity import versions_here
from cpsched.simulation.simulate import simulate
from cpsched.study.folder import MARK, put_in_place
from cpsched.study.sources import prepare
from cpsched.study.status import StatusFile, die_with
from cpsched.study.writer import save_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cpsched.simulation.simulate import Checkpoint, Run
    from cpsched.study.status import Watch
    from cpsched.study.task import Task

#: Runs of one process take turns: threads would only wait for each other.
_TURN = threading.Lock()
_guarded: set[int] = set()


@dataclass(frozen=True, kw_only=True)
class Place:
    """
    Where a campaign's runs go.

    Attributes
    ----------
    folder
        The campaign's, as seen by the process that began it.
    token
        Name of a folder in its ``.work``: a machine that has it shares the storage.
    parent
        Process whose end stops its workers, or None if it did not start them.
    versions
        Of the libraries there, and of the source.
    formats
        Extra output formats of a run.
    again
        Keys of the runs to repeat although they exist.
    """

    folder: Path
    token: str
    parent: int | None
    versions: tuple[tuple[str, str], ...]
    formats: tuple[str, ...] = ()
    again: frozenset[str] = frozenset()

    @property
    def runs(self) -> Path:
        """Folder of the finished runs."""
        return self.folder / "runs"

    @property
    def work(self) -> Path:
        """Folder of what is under way."""
        return self.folder / ".work"


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
        threading.Thread(target=die_with, args=(place.parent,), daemon=True).start()
    with _TURN:
        try:
            _carried_out(task, place, watch, checkpoint)
            return Done(name=task.name)
        except Exception as error:
            # Whatever a dispatcher, a predictor or a library raises, the other runs continue.
            reason = " ".join(str(error).split()) or type(error).__name__
            return Done(name=task.name, error=reason, trace=traceback.format_exc())


def _carried_out(
    task: Task, place: Place, watch: Watch | None, checkpoint: Checkpoint | None
) -> None:
    """Simulate, and put the run in its place."""
    _check_versions(place)
    if task.key not in place.again and (place.runs / task.name / MARK).is_file():
        # Another worker, assumed lost, has finished it after all.
        return
    # No other process writes here, not even a worker assumed lost with the same run.
    folder = place.work / f"{task.key}-{uuid4().hex}"
    folder.mkdir()
    try:
        status = StatusFile(folder, task.name)
        status.begin(0)
        fitted = prepare(task.made_of)
        status.begin(len(fitted.workload) - len(fitted.rejected))
        run = simulate(
            fitted,
            dispatcher=task.dispatcher,
            predictor=task.predictor,
            settings=task.settings,
            observers=() if watch is None else watch(status, 0, fitted.workload.epoch),
            checkpoint=checkpoint,
        )
        writers = [_writer(name, task) for name in place.formats]
        arguments = task.record() | {"formats": list(place.formats)}
        save_run(run, folder / "run", arguments=arguments, formats=writers)
        put_in_place(folder / "run", place.runs / task.name, overwrite=True)
        if checkpoint is not None:
            checkpoint.remove()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _writer(name: str, task: Task) -> Callable[[Run, Path], object]:
    """Return what writes a run's files of a format, named like its log."""
    write, log = registry.load("formats", name), task.made_of.source.name
    return lambda run, folder: write(run, folder, log.removesuffix(".gz"))


def _check_versions(place: Place) -> None:
    """Refuse to work with other libraries: the run would not match its name."""
    here = versions_here()
    for library, version in place.versions:
        if here.get(library) != version:
            raise ConfigError(
                f"this worker has {library} {here.get(library, 'not at all')}, the campaign"
                f" {version}; install the same on both",
                where=f"worker {os.uname().nodename}",
            )
