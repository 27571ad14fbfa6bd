"""Runs carried out in this process, or in processes of this machine."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from cpsched.study.folder import under_way
from cpsched.study.worker import RunOutcome, work_on

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from cpsched.simulation.simulate import Checkpoint
    from cpsched.study.task import RunTask
    from cpsched.study.worker import RunTarget, Watch

#: Seconds a process waits for work; poll(2) takes at most 24 days.
_LONGEST_RUN = 7 * 86400
#: Libraries whose threads are limited by the environment.
_THREADED = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")
#: What joblib raises when a worker was killed under a run.
_KILLED = ("TerminatedWorkerError", "BrokenProcessPool")


class Backend(Protocol):
    """Carries runs out elsewhere; registered in the group ``backends``."""

    def run(
        self, tasks: Sequence[RunTask], carry: Callable[[RunTask], RunOutcome], folder: Path
    ) -> Iterator[RunOutcome]:
        """Yield the outcome of each run, whose ``carry`` writes it into the study's folder."""
        ...


def results(
    tasks: Sequence[RunTask],
    target: RunTarget,
    watch: Watch | None,
    *,
    jobs: int = 1,
    checkpoint: Checkpoint | None = None,
    backend: Backend | None = None,
) -> Iterator[RunOutcome]:
    """
    Carry out runs, and yield the outcome of each, in the order in which they end.

    Parameters
    ----------
    watch
        Makes the observers of each run; for several processes it goes to them by name.
    jobs
        Processes of this machine; 1: this process alone.
    checkpoint
        Where this process saves the state of its only run.
    backend
        What carries them out instead, without observers.
    """
    if backend is not None:
        yield from backend.run(
            tasks, partial(work_on, target=target, watch=None), target.runs.parent
        )
    elif jobs > 1:
        yield from _survived(tasks, replace(target, parent=os.getpid()), watch, jobs)
    else:
        for task in tasks:
            yield work_on(task, target, watch, checkpoint=checkpoint)


def _survived(
    tasks: Sequence[RunTask], target: RunTarget, watch: Watch | None, jobs: int
) -> Iterator[RunOutcome]:
    """
    Yield the outcome of each run, even if processes are killed.

    The runs in progress at a kill are tried again one at a time; the one whose process is killed
    again has failed, and the rest continue.
    """
    left = {task.name: task for task in tasks}
    while left:
        suspects = yield from _until_killed(left, target, watch, jobs)
        for name in suspects:
            # Alone, so that it is clear which run is at fault.
            alone = {name: left.pop(name)}
            yield from _until_killed(alone, target, watch, jobs)
            if alone:
                yield RunOutcome(
                    name=name, error="its process was killed, perhaps because it ran out of memory"
                )


def _until_killed(
    left: dict[str, RunTask], target: RunTarget, watch: Watch | None, jobs: int
) -> Generator[RunOutcome, None, list[str]]:
    """Yield finished runs, removing them from ``left``; return those in progress at a kill."""
    try:
        for done in _processes(list(left.values()), target, watch, jobs):
            del left[done.name]
            yield done
    except Exception as error:
        # By name: the library that raised it is not imported here.
        if type(error).__name__ not in _KILLED:
            raise
        folders = under_way(target.work)
        begun = {folder.name.partition("-")[0] for folder in folders}
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        return [name for name, task in left.items() if task.key in begun] or list(left)
    return []


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """
    Have processes that are started here not hear Ctrl-C, which a terminal sends to all.

    This process hears it, and stops them; each of them would print a traceback of its own.
    """
    # What is ignored stays so in a new program, and what is blocked meanwhile is not lost here.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, handler or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _processes(
    tasks: Sequence[RunTask], target: RunTarget, watch: Watch | None, jobs: int
) -> Iterator[RunOutcome]:
    """Yield runs finished by processes of this machine, which are ours alone."""
    from joblib.externals.loky import ProcessPoolExecutor  # type: ignore[import-untyped]

    names = [f"{name}_NUM_THREADS" for name in _THREADED]
    threads = {name: os.environ.get(name, "1") for name in names}
    # Not joblib's own workers, which a program that embeds this may be using.
    pool = ProcessPoolExecutor(jobs, timeout=_LONGEST_RUN, env=threads)
    try:
        left = iter(tasks)
        running: set[Future[RunOutcome]] = set()
        while True:
            with _deaf_to_ctrl_c():
                # One more than can run, so that none waits for this process. With many more, the
                # library's thread fails loudly when it is stopped.
                more = islice(left, jobs + 1 - len(running))
                running |= {pool.submit(work_on, task, target, watch) for task in more}
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        # Idle workers wait for work one behind the other. If the first was killed, the others would
        # never hear that there is no more, and this process would wait for them when it ends.
        pool.shutdown(kill_workers=True)
