"""Many runs: what is there is kept, what is missing is made, what fails is written down."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cpsched.study.executor import Cluster, Executor, InTurn, Processes
from cpsched.study.store import Failure, Store
from cpsched.study.task import tasks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.study.status import Watch
    from cpsched.study.study import Study
    from cpsched.study.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    What came of a campaign.

    Attributes
    ----------
    runs
        How many the plan has.
    kept
        How many of them were there before.
    failed
        In the plan's order.
    damaged
        Run folders that were not whole, where they are now; their runs were made again.
    """

    runs: int
    kept: int
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
    plan: Study,
    folder: str | Path,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    watch: Watch | None = None,
    display: Display | None = None,
) -> Outcome:
    """Carry out the runs of a plan that are not there yet; see :func:`carried_out`."""
    with carried_out(
        plan, folder, jobs=jobs, scheduler=scheduler, watch=watch, display=display
    ) as outcome:
        return outcome


@contextmanager
def carried_out(
    plan: Study,
    folder: str | Path,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    watch: Watch | None = None,
    display: Display | None = None,
) -> Iterator[Outcome]:
    """
    Carry out the runs of a plan that are not there yet, and keep others out while the block runs.

    May be killed at any moment: what is complete then is kept, and the next call goes on from
    there. A run that fails is written down and does not stop the others.

    Parameters
    ----------
    folder
        Of the campaign: a new one, or that of this or another plan, whose runs are kept.
    jobs
        Processes of this machine; 1: this process alone.
    scheduler
        Address of a Dask scheduler, whose workers are used instead.
    watch
        Makes an observer of each run; called with something to ``update``, 0 and the epoch.
    display
        Told about the campaign.

    Raises
    ------
    ConfigError
        If a file of the plan cannot be read, or the cluster cannot be reached.
    RunError
        If the folder holds something else, or another campaign is at work in it.
    """
    tasks = tasks_of(plan)
    store = Store(Path(folder).absolute())
    with store.locked() as token:
        found = store.finished(tasks)
        store.describe(plan, tasks, found)
        missing = [task for task in tasks if task.key not in found]
        if display is not None:
            display.begin(store.work, len(tasks), len(found))
        failed = {}
        if missing:
            for failure in _failures(
                store, missing, _executor(store, token, watch, jobs, scheduler), display
            ):
                failed[failure.name] = failure
        order = [task.name for task in missing if task.name in failed]
        yield Outcome(
            runs=len(tasks),
            kept=len(found),
            failed=tuple(failed[name] for name in order),
            damaged=tuple(store.damaged),
        )


def _failures(
    store: Store, missing: list[Task], executor: Executor, display: Display | None
) -> list[Failure]:
    """Have the runs carried out; return those that failed."""
    by_name = {task.name: task for task in missing}
    failed = []
    for done in executor.results(missing):
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


def _executor(
    store: Store, token: str, watch: Watch | None, jobs: int, scheduler: str | None
) -> Executor:
    if scheduler is not None:
        return Cluster(store.folder, token, watch, scheduler)
    if jobs > 1:
        return Processes(store.folder, token, watch, jobs)
    return InTurn(store.folder, token, watch)
