"""``--executor dask``: runs of a study on the workers of a Dask cluster."""

from __future__ import annotations

import logging
import signal
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, RunError
from cpsched.study.worker import KILLED, RunOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from cpsched.study.run_spec import RunSpec

#: Deaths of workers that a run outlives: what kills them is known from the study's folder.
_DEATHS = 1_000_000


class DaskCluster:
    """
    Runs on a cluster; the study's folder must be on a file system that all workers share.

    It is the cluster of the client that the program has; else of the scheduler that Dask's
    configuration names (``DASK_SCHEDULER_ADDRESS``); else processes of this machine.

    Parameters
    ----------
    workers
        Processes, where they are of this machine.

    Raises
    ------
    ConfigError
        If Dask is not installed.
    """

    name = "dask"
    attempts = 2

    def __init__(self, workers: int) -> None:
        try:
            import distributed
        except ImportError as error:
            raise ConfigError(
                "needs Dask: pip install 'cpsched[dask]'", key="--executor"
            ) from error
        self._dask: Any = distributed
        self._workers = workers

    def run(
        self, tasks: Sequence[RunSpec], carry: Callable[[RunSpec], RunOutcome], folder: Path
    ) -> Iterator[RunOutcome]:
        """
        Yield the outcome of each run as it ends; cancel the rest if that is stopped.

        Raises
        ------
        ConfigError
            If the scheduler is not reached.
        RunError
            If it is lost later.
        """
        del folder
        with self._client() as client:
            runs = dict(zip(client.map(carry, tasks, pure=False), tasks, strict=True))
            try:
                for future in self._dask.as_completed(list(runs)):
                    task = runs.pop(future)
                    try:
                        yield future.result()
                    except self._dask.KilledWorker:
                        yield RunOutcome(name=task.name, error=KILLED)
                    except CancelledError:
                        raise
                    except Exception as error:
                        # The worker cannot begin the run: it has no cpsched, or another one.
                        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
                        yield RunOutcome(name=task.name, error=f"Dask's worker: {reason}")
            except CancelledError as error:
                raise RunError(
                    "Dask's scheduler is lost, or has cancelled runs. What is finished is kept, and"
                    " the same command continues"
                ) from error
            finally:
                client.cancel(list(runs))

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Give the program's client, or one for as long as runs are carried out."""
        import dask

        try:
            client = self._dask.Client.current()
        except ValueError:
            pass
        else:
            yield client
            return
        # What Dask logs of killed processes and lost connections comes back as outcomes and errors.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        given = {"address": dask.config.get("scheduler-address", None)}
        if given["address"] is None:
            given = {
                "n_workers": self._workers, "threads_per_worker": 1,
                "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL,
            }  # fmt: skip
        with ExitStack() as stack:
            try:
                with (
                    _ctrl_c_blocked(),
                    dask.config.set({"distributed.scheduler.allowed-failures": _DEATHS}),
                ):
                    client = stack.enter_context(self._dask.Client(**given))
            except (OSError, ValueError) as error:
                reason = " ".join(str(error).split())
                raise ConfigError(
                    f"Dask's scheduler is not reached: {reason}", key="--executor"
                ) from error
            if client.cluster is not None:
                # A worker that is killed while it starts is not replaced otherwise.
                client.cluster.adapt(minimum=self._workers, maximum=self._workers)
            yield client


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """
    Block Ctrl-C in threads that are started here, and so in all processes that these start.

    A terminal sends it to all; this process hears it, and stops them.
    """
    # Started later, it would unblock the signal.
    resource_tracker.ensure_running()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
