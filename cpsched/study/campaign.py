"""Carry out many runs: finished ones are kept, missing ones are made, failures are recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cpsched.simulation.identity import versions_here
from cpsched.study.executor import results
from cpsched.study.folder import read_mark
from cpsched.study.store import Failure, Store
from cpsched.study.task import tasks_of
from cpsched.study.worker import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cpsched.simulation.simulate import Checkpoint
    from cpsched.study.status import Watch
    from cpsched.study.study import Study
    from cpsched.study.task import Task
    from cpsched.study.worker import Done


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    The outcome of a campaign.

    Attributes
    ----------
    runs
        Number of runs of the study.
    kept
        How many were done already.
    folders
        Folders of the existing runs, in the study's order.
    failed
        In the same order.
    damaged
        New places of damaged run folders; their runs were repeated.
    """

    runs: int
    kept: int
    folders: tuple[Path, ...]
    failed: tuple[Failure, ...]
    damaged: tuple[Path, ...] = ()


class Display(Protocol):
    """Shows the progress of a campaign."""

    def begin(self, work: Path, runs: int, kept: int) -> None:
        """Show the number of runs, in all and done; runs in progress write to ``work``."""
        ...

    def advance(self, name: str, error: str | None) -> None:
        """Count a run that has ended or failed."""
        ...


def carry_out(
    study: Study,
    folder: str | Path,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    watch: Watch | None = None,
    display: Display | None = None,
    formats: Sequence[str] = (),
    again: bool = False,
    checkpoint: Checkpoint | None = None,
    finish: Callable[[Outcome], object] | None = None,
) -> Outcome:
    """
    Carry out the missing runs of a study.

    It may be killed at any time: complete runs are kept, and the next call continues from there. A
    failed run is recorded and does not stop the others.

    Parameters
    ----------
    folder
        Of the study: a new one, or that of this or another study, whose runs are kept.
    jobs
        Processes of this machine; 1: this process alone.
    scheduler
        Address of a Dask scheduler, whose workers are used instead.
    watch
        Makes an observer for each run; called with something to ``update``, 0 and the epoch.
    display
        Shows the campaign's progress.
    formats
        Extra output formats for every run; runs without these files are repeated.
    again
        Whether to repeat existing runs. They are replaced once the new ones are complete.
    checkpoint
        Where the run saves its state, if there is only one run and this process makes it.
    finish
        Called with the outcome while the folder is still locked.

    Raises
    ------
    ConfigError
        If a file of the study cannot be read, or the cluster cannot be reached.
    RunError
        If the folder holds something else, or another process is using it.
    """
    tasks = tasks_of(study)
    store = Store(Path(folder).absolute())
    with store.locked() as token:
        found = store.finished(tasks)
        # A run made under another label keeps its folder.
        tasks = [replace(t, name=found[t.key].name) if t.key in found else t for t in tasks]
        kept = {key: path for key, path in found.items() if not again and _has(path, formats)}
        store.describe(study, tasks)
        missing = [task for task in tasks if task.key not in kept]
        if display is not None:
            display.begin(store.work, len(tasks), len(kept))
        failed = {}
        if missing:
            place = Place(
                folder=store.folder,
                token=token,
                parent=None,
                versions=tuple(versions_here().items()),
                formats=tuple(formats),
                again=frozenset(found) - frozenset(kept),
            )
            ended = results(
                missing, place, watch, jobs=jobs, scheduler=scheduler, checkpoint=checkpoint
            )
            failed = {one.name: one for one in _failures(store, missing, ended, display)}
        outcome = Outcome(
            runs=len(tasks),
            kept=len(kept),
            folders=tuple(store.runs / t.name for t in tasks if t.name not in failed),
            failed=tuple(failed[task.name] for task in missing if task.name in failed),
            damaged=tuple(store.damaged),
        )
        if finish is not None:
            finish(outcome)
        return outcome


def _has(run: Path, formats: Sequence[str]) -> bool:
    """Whether a run has files of these formats."""
    return set(formats) <= set(read_mark(run)["arguments"].get("formats", ()))


def _failures(
    store: Store, missing: list[Task], ended: Iterable[Done], display: Display | None
) -> list[Failure]:
    """Record the outcome of the runs; return those that failed."""
    by_name = {task.name: task for task in missing}
    failed = []
    for done in ended:
        task = by_name[done.name]
        if done.error is not None:
            failed.append(store.fail(task, done.error, done.trace))
        else:
            store.succeed(task)
        if display is not None:
            display.advance(done.name, done.error)
    return failed
