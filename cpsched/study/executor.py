"""Executors: what carries out runs outside this process, by the name that ``--executor`` takes."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from cpsched.errors import ConfigError, UnknownNameError
from cpsched.study.dask_cluster import DaskCluster
from cpsched.study.slurm_arrays import SlurmArrays
from cpsched.study.worker import KILLED, RunOutcome
from cpsched.util.spec import Spec, construct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from cpsched.study.run_spec import RunSpec

#: Processes of this machine, in joblib's words.
LOCAL = "loky"
#: What joblib has that carries out no runs: they would share this process, or yield nothing early.
_UNSUITED = {"sequential", "threading", "multiprocessing"}


class Executor(Protocol):
    """Carries out runs outside this process."""

    @property
    def attempts(self) -> int | None:
        """
        How often to try a run that kills its process.

        None where the executor does not start such a run again by itself.
        """
        ...

    def run(
        self, tasks: Sequence[RunSpec], carry: Callable[[RunSpec], RunOutcome], folder: Path
    ) -> Iterator[RunOutcome]:
        """Yield the outcome of each run, whose ``carry`` writes it into the study's folder."""
        ...


def executor_of(spec: str, workers: int = 1) -> Executor:
    """
    Return the executor of a specification.

    Parameters
    ----------
    spec
        ``slurm-arrays`` with its options, ``dask``, or the name of a backend of joblib.
    workers
        Processes, where the executor starts them on this machine.

    Raises
    ------
    UnknownNameError
        If there is no such executor.
    ConfigError
        If it has no such option, or its library is not installed.
    """
    parsed = Spec.parse(spec)
    if parsed.name == SlurmArrays.name:
        arrays: SlurmArrays = construct(SlurmArrays, parsed)
        return arrays
    dask = parsed.name == DaskCluster.name
    executor = DaskCluster(workers) if dask else JoblibBackend(parsed.name, workers)
    if parsed.options:
        raise ConfigError("it takes no options", where=spec, key="--executor")
    return executor


class JoblibBackend:
    """
    Runs as calls of a backend of joblib: ``loky``, or one that a program has registered.

    Parameters
    ----------
    name
        Of the backend.
    workers
        Processes.

    Raises
    ------
    UnknownNameError
        If there is no such executor.
    """

    attempts = None

    def __init__(self, name: str, workers: int) -> None:
        from joblib.parallel import BACKENDS

        known = sorted({SlurmArrays.name, DaskCluster.name, *BACKENDS} - _UNSUITED)
        if name not in known:
            raise UnknownNameError("executor", name, known)
        self._name = name
        self._workers = workers
        self._options: dict[str, Any] = {}
        if self._name == LOCAL:
            # Workers of an earlier campaign, which joblib keeps, may have other code.
            own = {"initializer": _end_with, "initargs": (os.getpid(), uuid4().hex)}
            self._options = {"inner_max_num_threads": 1, **own}

    def run(
        self, tasks: Sequence[RunSpec], carry: Callable[[RunSpec], RunOutcome], folder: Path
    ) -> Iterator[RunOutcome]:
        """
        Yield the outcome of each run, even if processes are killed.

        The runs that may have been in progress at a kill are tried again one at a time; the one
        whose process is killed again has failed, and the rest continue.
        """
        del folder
        left = {task.name: task for task in tasks}
        with warnings.catch_warnings():
            # It warns of workers that it replaces, and of runs cancelled by Ctrl-C.
            warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
            while left:
                yield from self._until_killed(left, list(left), carry)
                # Runs begin in order: these are the first that have not ended.
                for name in list(left)[: self._workers]:
                    yield from self._until_killed(left, [name], carry)
                    if left.pop(name, None):
                        yield RunOutcome(name=name, error=KILLED)

    def _until_killed(
        self,
        left: dict[str, RunSpec],
        names: Sequence[str],
        carry: Callable[[RunSpec], RunOutcome],
    ) -> Iterator[RunOutcome]:
        """Yield the outcomes of runs, removing them from ``left``, until a process is killed."""
        from joblib import Parallel, delayed, parallel_config

        # One worker of joblib's is this process, which a run alone is not to bring down.
        workers = self._workers if len(names) > 1 else min(self._workers, 2)
        calls = (delayed(carry)(left[name]) for name in names)
        with parallel_config(self._name, n_jobs=workers, **self._options):
            parallel = Parallel(return_as="generator_unordered", batch_size=1)
            with _deaf_to_ctrl_c():
                outcomes = parallel(calls)
        with closing(outcomes), suppress(BrokenExecutor):
            for outcome in outcomes:
                del left[outcome.name]
                yield outcome


def _end_with(parent: int, campaign: str) -> None:
    """Have a worker of one campaign end with its parent: no one else takes its results."""
    del campaign

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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
