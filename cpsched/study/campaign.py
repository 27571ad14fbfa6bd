"""Carry out many runs: finished ones are kept, missing ones are made, failures are recorded."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cpsched.study.executor import LOCAL, executor_of
from cpsched.study.folder import read_mark
from cpsched.study.run_spec import run_specs, run_titles
from cpsched.study.store import Failure, Store
from cpsched.study.worker import RunTarget, work_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cpsched.model.schedule import Schedule
    from cpsched.simulation.observers import Observer
    from cpsched.simulation.simulate import Checkpoint
    from cpsched.study.run_spec import RunSpec
    from cpsched.study.study import Study
    from cpsched.study.worker import RunOutcome, Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOutcome:
    """
    The outcome of a campaign.

    Attributes
    ----------
    runs
        Number of runs of the study.
    existing
        How many were done already.
    folders
        Folders of the existing runs, in the study's order.
    failed
        In the same order.
    damaged
        New places of damaged run folders; their runs were repeated.
    unknown
        What is not known of the code of runs, a sentence each; these runs are made every time.
    """

    runs: int
    existing: int
    folders: tuple[Path, ...]
    failed: tuple[Failure, ...]
    damaged: tuple[Path, ...] = ()
    unknown: tuple[str, ...] = ()


class Display(Protocol):
    """Shows the progress of a campaign."""

    def begin(self, runs: int, existing: int) -> None:
        """Show the number of runs, in all and done."""
        ...

    def note(self, sentence: str) -> None:
        """Show why runs that are done are made again."""
        ...

    def watch(self, title: str, jobs: int, epoch: int | None) -> Sequence[Observer]:
        """Return observers that show a run of this process."""
        ...

    def advance(self, *, failed: bool) -> None:
        """Count a run that has ended or failed."""
        ...


def carry_out(
    study: Study,
    folder: str | Path,
    *,
    jobs: int = 1,
    display: Display | None = None,
    watch: Watch | None = None,
    formats: Sequence[str] = (),
    again: bool = False,
    checkpoint: Checkpoint | None = None,
    executor: str | None = None,
    finish: Callable[[CampaignOutcome], object] | None = None,
    schedules: dict[str, Schedule] | None = None,
    tasks: Sequence[RunSpec] | None = None,
) -> CampaignOutcome:
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
    display
        Shows the campaign's progress, and with one process that of each run.
    watch
        Makes further observers of each run; other processes get it by name.
    formats
        Extra output formats for every run; runs without these files are repeated.
    again
        Whether to repeat existing runs. They are replaced once the new ones are complete.
    checkpoint
        Where the run saves its state, if there is only one run and this process makes it.
    executor
        What carries the runs out: ``slurm-arrays`` with its options, or the name of a backend of
        joblib, such as ``dask``; None: processes of this machine.
    finish
        Called with the outcome while the folder is still locked.
    schedules
        Takes the schedules of the runs that this process makes, by the names of their folders. They
        stay in memory.
    tasks
        The runs of the study, where they are at hand: its logs need not be read for their digests.

    Raises
    ------
    ConfigError
        If a file of the study cannot be read, or there is no such executor.
    RunError
        If the folder holds something else, or another process is using it.
    """
    if executor is None and jobs > 1:
        executor = LOCAL
    elsewhere = None if executor is None else executor_of(executor, jobs)
    tasks = run_specs(study) if tasks is None else tasks
    store = Store(Path(folder).absolute())
    with store.locked():
        finished = store.finished(tasks)
        # A run made under another label keeps its folder.
        tasks = [replace(t, name=finished[t.key].name) if t.key in finished else t for t in tasks]
        unsure = {task.key for task in tasks if again or task.unknown}
        existing = {
            key: path for key, path in finished.items() if key not in unsure and _has(path, formats)
        }
        store.describe(study, tasks)
        missing = [task for task in tasks if task.key not in existing]
        unknown = tuple(dict.fromkeys(reason for task in tasks for reason in task.unknown))
        if display is not None:
            for reason in unknown:
                display.note(f"{reason}. Its runs are made every time")
            display.begin(len(tasks), len(existing))
        failed = {}
        if missing:
            target = RunTarget(
                runs=store.runs,
                work=store.work,
                formats=tuple(formats),
                again=again,
                attempts=None if elsewhere is None else elsewhere.attempts,
            )
            if elsewhere is None:
                shown = watch if display is None else _shown(display, watch, run_titles(tasks))
                carry = partial(
                    work_on,
                    target=target,
                    watch=shown,
                    checkpoint=checkpoint,
                    schedules=schedules,
                )
                ended: Iterator[RunOutcome] = (carry(task) for task in missing)
            else:
                carry = partial(work_on, target=target, watch=watch)
                ended = elsewhere.run(missing, carry, store.folder)
            failed = {
                failure.name: failure for failure in _failures(store, missing, ended, display)
            }
        outcome = CampaignOutcome(
            runs=len(tasks),
            existing=len(existing),
            folders=tuple(store.runs / t.name for t in tasks if t.name not in failed),
            failed=tuple(failed[task.name] for task in missing if task.name in failed),
            damaged=tuple(store.damaged),
            unknown=unknown,
        )
        if finish is not None:
            finish(outcome)
        return outcome


def _shown(display: Display, watch: Watch | None, titles: Mapping[str, str]) -> Watch:
    """Return a watch that also shows the runs."""

    def both(name: str, jobs: int, epoch: int | None) -> list[Observer]:
        own = () if watch is None else watch(name, jobs, epoch)
        return [*own, *display.watch(titles[name], jobs, epoch)]

    return both


def _has(run: Path, formats: Sequence[str]) -> bool:
    """Whether a run has files of these formats."""
    return set(formats) <= set(read_mark(run)["arguments"].get("formats", ()))


def _failures(
    store: Store, missing: list[RunSpec], ended: Iterator[RunOutcome], display: Display | None
) -> list[Failure]:
    """Record the outcome of the runs; return those that failed."""
    by_name = {task.name: task for task in missing}
    failed = []
    # Closed at once where this process is interrupted, so that other processes end.
    with closing(ended):  # type: ignore[type-var]
        for done in ended:
            task = by_name[done.name]
            if done.error is not None:
                failed.append(store.fail(task, done.error, done.trace))
            else:
                store.succeed(task)
            if display is not None:
                display.advance(failed=done.error is not None)
    return failed
