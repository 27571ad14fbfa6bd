"""Runs carried out in this process, in processes of this machine, or by workers elsewhere."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.study.sources import LogFile
from cpsched.study.status import under_way
from cpsched.study.worker import Done, work_on

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from cpsched.simulation.simulate import Checkpoint
    from cpsched.study.status import Watch
    from cpsched.study.task import Task
    from cpsched.study.worker import Place

#: Seconds to look for a Dask scheduler and its first worker.
_PATIENCE = 10
#: Seconds a process waits for work; poll(2) takes at most 24 days.
_LONGEST_RUN = 7 * 86400
#: What joblib and Dask raise when a worker was killed under a run.
_KILLED = ("TerminatedWorkerError", "BrokenProcessPool", "KilledWorker")


def results(
    tasks: Sequence[Task],
    place: Place,
    watch: Watch | None,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    checkpoint: Checkpoint | None = None,
) -> Iterator[Done]:
    """
    Carry out runs, and yield the outcome of each, in the order in which they end.

    Parameters
    ----------
    jobs
        Processes of this machine; 1: this process alone.
    scheduler
        Address of a Dask scheduler, ``tcp://host:8786``, whose workers are used instead.
    checkpoint
        Where this process saves the state of its only run.

    Raises
    ------
    ConfigError
        If Dask is not installed, or no scheduler answers at the address.
    """
    if scheduler is not None:
        yield from _survived(tasks, place, lambda some: _cluster(some, place, watch, scheduler))
    elif jobs > 1:
        own = replace(place, parent=os.getpid())
        yield from _survived(tasks, own, lambda some: _processes(some, own, watch, jobs))
    else:
        for task in tasks:
            yield work_on(task, place, watch, checkpoint=checkpoint)


def _survived(
    tasks: Sequence[Task], place: Place, parallel: Callable[[Sequence[Task]], Iterator[Done]]
) -> Iterator[Done]:
    """
    Yield the outcome of each run, even if processes are killed.

    The runs in progress at a kill are tried again one at a time; the one whose process is killed
    again has failed, and the rest continue.
    """
    left = {task.name: task for task in tasks}
    while left:
        suspects = yield from _some(left, place, parallel)
        for name in suspects:
            # Alone, so that it is clear which run is at fault.
            alone = {name: left.pop(name)}
            yield from _some(alone, place, parallel)
            if alone:
                yield Done(
                    name=name, error="its process was killed, perhaps because it ran out of memory"
                )


def _some(
    left: dict[str, Task], place: Place, parallel: Callable[[Sequence[Task]], Iterator[Done]]
) -> Generator[Done, None, list[str]]:
    """Yield finished runs, removing them from ``left``; return those in progress at a kill."""
    try:
        for done in parallel(list(left.values())):
            del left[done.name]
            yield done
    except Exception as error:
        # By name: the library that raised it need not be installed, nor be imported here.
        if type(error).__name__ not in _KILLED:
            raise
        begun = [status.name for status in under_way(place.work)]
        for folder in place.work.glob("*-*"):
            shutil.rmtree(folder, ignore_errors=True)
        return [name for name in begun if name in left] or list(left)
    return []


def _processes(
    tasks: Sequence[Task], place: Place, watch: Watch | None, jobs: int
) -> Iterator[Done]:
    """Yield runs finished by processes of this machine, through joblib."""
    import joblib  # type: ignore[import-untyped]

    # Joblib warns of processes that give up waiting for the last long run to end.
    with joblib.parallel_config("loky", idle_worker_timeout=_LONGEST_RUN):
        # Runs differ too much for batches: one batch might get a dozen long ones.
        parallel = joblib.Parallel(
            n_jobs=jobs, batch_size=1, max_nbytes=None, return_as="generator_unordered"
        )
    yield from parallel(joblib.delayed(work_on)(task, place, watch) for task in tasks)


def _cluster(
    tasks: Sequence[Task], place: Place, watch: Watch | None, scheduler: str
) -> Iterator[Done]:
    """
    Yield runs finished by the workers of a Dask cluster, through joblib's Dask backend.

    All workers need to see the campaign's folder and the logs at their paths.
    """
    import joblib

    sources = {task.made_of.source for task in tasks}
    logs = {str(one.path) for one in sources if isinstance(one, LogFile)}
    with _client(scheduler) as client:
        _check_storage(client, [str(place.work / place.token), *sorted(logs)])
        with joblib.parallel_config(backend="dask", client=client):
            parallel = joblib.Parallel(batch_size=1, return_as="generator_unordered")
            yield from parallel(joblib.delayed(work_on)(task, place, watch) for task in tasks)


@contextmanager
def _client(scheduler: str) -> Iterator[Any]:
    """Give a client of a cluster that has at least one worker."""
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise ConfigError(
            "needs Dask; install it with: pip install 'cpsched[dask]'", key="--scheduler"
        ) from error
    try:
        client = distributed.Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ConfigError(
            f"no Dask scheduler answers at {scheduler} ({error or type(error).__name__}); start"
            " one with: dask scheduler",
            key="--scheduler",
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError as error:
            raise ConfigError(
                f"{scheduler} has no worker; start some with: dask worker --nthreads 1 {scheduler}",
                key="--scheduler",
            ) from error
        yield client


def _check_storage(client: Any, paths: list[str]) -> None:
    """Refuse workers that do not see the campaign's folder, or a log."""
    for worker, missing in client.run(_unreadable, paths).items():
        for path in missing:
            raise ConfigError(
                f"worker {worker} does not see {path}; workers share the study's folder and its"
                " logs with this machine",
                key="--scheduler",
            )


def _unreadable(paths: list[str]) -> list[str]:
    """Return the files this process cannot read."""
    return [path for path in paths if not os.access(path, os.R_OK)]
