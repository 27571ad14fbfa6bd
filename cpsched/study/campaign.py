"""Many runs: those already done are kept, missing ones are made, failures are written down."""

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
    What came of a campaign.

    Attributes
    ----------
    runs
        How many the study has.
    kept
        How many of them were already done.
    folders
        Of the runs that are there, in the study's order.
    failed
        In the same order.
    damaged
        Run folders that were not whole, where they are now; their runs were made again.
    """

    runs: int
    kept: int
    folders: tuple[Path, ...]
    failed: tuple[Failure, ...]
    damaged: tuple[Path, ...] = ()


class Display(Protocol):
    """Shows how far a campaign is."""

    def begin(self, work: Path, runs: int, kept: int) -> None:
        """Say how many runs there are and are done; those under way write to ``work``."""
        ...

    def advance(self, name: str, error: str | None) -> None:
        """Say that a run has ended, or failed."""
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
    Carry out the runs of a study that are not there yet.

    May be killed at any moment: what is complete then is kept, and the next call goes on from
    there. A run that fails is written down and does not stop the others.

    Parameters
    ----------
    folder
        Of the study: a new one, or that of this or another study, whose runs are kept.
    jobs
        Processes of this machine; 1: this process alone.
    scheduler
        Address of a Dask scheduler, whose workers are used instead.
    watch
        Makes an observer of each run; called with something to ``update``, 0 and the epoch.
    display
        Told about the campaign.
    formats
        Output formats of which every run gets files besides; runs without them are made again.
    again
        Whether runs that are there are made again. They are replaced when the new ones are whole.
    checkpoint
        Where the run keeps its state, if there is one run and this process makes it.
    finish
        Called with the outcome while others are still kept out of the folder.

    Raises
    ------
    ConfigError
        If a file of the study cannot be read, or the cluster cannot be reached.
    RunError
        If the folder holds something else, or another process is at work in it.
    """
    tasks = tasks_of(study)
    store = Store(Path(folder).absolute())
    with store.locked() as token:
        found = store.finished(tasks)
        # A run that was made under another label keeps its folder.
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
    """Keep what came of the runs; return those that failed."""
    by_name = {task.name: task for task in missing}
    failed = []
    for done in ended:
        task = by_name[done.name]
        if done.error is not None:
            failed.append(store.fail(task, done.error, done.trace))
        else:
            if done.files is not None:
                store.receive(task, done.files)
            store.succeed(task)
        if display is not None:
            display.advance(done.name, done.error)
    return failed
